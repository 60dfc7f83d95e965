# ms-swift: underscores, switches with values, the model by its name.
PYTORCH_CUDA_ALLOC_CONF='expandable_segments:True' \
NPROC_PER_NODE=8 \
megatron sft \
    --model Qwen/Qwen2.5-7B-Instruct --dataset 'one#500' 'two#500' --max_length 2048 \
    --tensor_model_parallel_size 2 --sequence_parallel true --finetune true --overlap_param_gather false \
    --micro_batch_size 1 --global_batch_size 32 --recompute_granularity full --recompute_method uniform \
    --recompute_num_layers 1 --num_train_epochs 1 --lr 1e-5 --output_dir out
