# Options of Megatron-Bridge's launcher: what they set is not the recipe's, tp brings its sequence parallelism along,
# and overlap of tensor parallelism is off without it.
torchrun --nnodes 16 --nproc-per-node 8 scripts/performance/run_script.py -m qwen -mr qwen3_235b_a22b --gpu b200 \
    --num_gpus 128 --gpus_per_node 8 --compute_dtype fp8_mx --config_variant v9 --global_batch_size 4096 \
    --tensor_model_parallel_size 1 --virtual_pipeline_model_parallel_size None --moe_a2a_overlap True \
    --cuda_graph_impl transformer_engine --cuda_graph_scope attn,moe_router --recompute_num_layers 2 \
    --use_megatron_fsdp false --moe_flex_dispatcher_backend None
