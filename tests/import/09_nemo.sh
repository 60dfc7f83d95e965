#!/bin/bash
NODES=2
DEVICES=8
python /opt/NeMo/examples/nlp/language_modeling/megatron_gpt_pretraining.py \
    trainer.num_nodes=${NODES} \
    trainer.devices=${DEVICES} \
    trainer.precision=bf16 \
    model.num_layers=32 \
    model.hidden_size=4096 \
    model.ffn_hidden_size=11008 \
    model.num_attention_heads=32 \
    model.encoder_seq_length=4096 \
    model.max_position_embeddings=4096 \
    model.position_embedding_type=rope \
    model.normalization=rmsnorm \
    model.micro_batch_size=1 \
    model.global_batch_size=128 \
    model.tensor_model_parallel_size=4 \
    model.pipeline_model_parallel_size=2 \
    model.virtual_pipeline_model_parallel_size=4 \
    model.sequence_parallel=True \
    +model.vocab_size=32000 \
    exp_manager.exp_dir=/results
