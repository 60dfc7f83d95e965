#!/bin/bash
# NeMo's launcher: the model is a file of its own tree, the split stands here.
LAUNCHER=${LAUNCHER:-/opt/launcher}
python3 ${LAUNCHER}/launcher_scripts/main.py \
    training=llama/llama9_70b \
    stages=[training] \
    training.trainer.num_nodes=8 \
    training.trainer.devices=8 \
    training.model.global_batch_size=128 \
    training.model.micro_batch_size=1 \
    training.model.encoder_seq_length=4096 \
    training.model.pipeline_model_parallel_size=4 \
    training.model.fp8=true
