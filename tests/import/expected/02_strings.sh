launch script, program pretrain_gpt.py, line 22, 16 GPUs (2 x 8)
--num-layers 40
--hidden-size 5120
--num-attention-heads 40
--seq-length 2048
--max-position-embeddings 2048
--vocab-size 50257
--micro-batch-size 4
--global-batch-size 64
--tensor-model-parallel-size 4
--pipeline-model-parallel-size 2
--fp16
--recompute-activations
open: tests/import/02_strings.sh:22: --data-path is ${DATA}, which is not set: give --env DATA=VALUE
