# A training of NeMo's launcher whose file writes whole numbers with a point, without dropout.
python3 launcher_scripts/main.py training=qwen2/qwen2_7b stages=[training] training.trainer.num_nodes=4 \
    training.model.micro_batch_size=4 training.model.sequence_parallel=false
