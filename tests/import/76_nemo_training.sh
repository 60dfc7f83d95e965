# NeMo's launcher: the split is that of its own file, but for what stands here.
python3 launcher_scripts/main.py training=gpt3/20b stages=[training] training.trainer.num_nodes=4 \
    training.model.micro_batch_size=4 training.model.sequence_parallel=false +training.model.optim.grad_sync_dtype=bf16
