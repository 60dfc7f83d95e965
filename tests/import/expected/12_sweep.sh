launch script, program pretrain_gpt.py, line 3, 8 GPUs (1 x 8)
--num-layers 24
--hidden-size 2048
--num-attention-heads 16
--seq-length 2048
--max-position-embeddings 2048
--vocab-size 50304
--bf16
--micro-batch-size 1
--global-batch-size 32
open: tests/import/12_sweep.sh:5: --tensor-model-parallel-size is ${TP}, which the loop in line 2 sets: give --env TP=VALUE
