# Megatron-Bridge: a recipe by its name, settings behind it win.
GPUS=16
python scripts/performance/setup_experiment.py --account me --partition long -i image.sqsh \
    -m qwen -mr qwen3_30b_a3b -g h100 -ng $GPUS -gn 8 -c bf16 -ep 8 -sl 8192 \
    model.recompute_granularity=full model.recompute_method=uniform model.recompute_num_layers=1 \
    ddp.overlap_grad_reduce=false model.cuda_graph_impl=none ddp.average_in_collective=true logger.log_interval=1
