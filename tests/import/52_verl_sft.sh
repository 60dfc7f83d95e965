# verl's SFT on its Megatron engine, under torchrun.
torchrun --standalone --nnodes=1 --nproc-per-node=8 -m verl.trainer.sft_trainer \
    data.train_batch_size=128 data.max_length=4096 data.use_dynamic_bsz=False data.micro_batch_size_per_gpu=2 \
    model.path=Qwen/Qwen3-8B engine=megatron optim=megatron engine.tensor_model_parallel_size=2 \
    engine.pipeline_model_parallel_size=2 engine.sequence_parallel=False optim.lr=1e-5
