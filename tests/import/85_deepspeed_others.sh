#!/bin/bash
# DeepSpeed's settings beyond ZeRO: a curriculum, quantized gradients, and a file that is not there.
cat <<EOT > ds.json
{"train_batch_size": 16, "zero_optimization": {"stage": 1, "zero_quantized_gradients": true},
 "activation_checkpointing": {"cpu_checkpointing": true, "partition_activations": false},
 "curriculum_learning": {"enabled": true, "curriculum_type": "seqlen", "min_difficulty": CONFIG_CL_MIN}}
EOT
deepspeed --num_gpus 8 pretrain_gpt.py --num-layers 4 --hidden-size 512 --num-attention-heads 8 \
    --seq-length 1024 --max-position-embeddings 1024 --micro-batch-size 1 --global-batch-size 8 \
    --vocab-file gpt2-vocab.json --merge-file merges.txt --fp16 --no-masked-softmax-fusion \
    --zero-stage 1 --deepspeed --deepspeed_config ds.json
