launch script, program pretrain_gpt.py, line 3, 8 GPUs (1 x 8)
--num-layers=4
--hidden-size 512
--num-attention-heads 8
--seq-length=1024
--max-position-embeddings 1024
--vocab-size 32000
--bf16
open: tests/import/86_underscores.sh:5: --tensor-model-parallel-size is ${TP}, which is not set: give --env TP=VALUE
open: tests/import/86_underscores.sh:5: --pipeline-model-parallel-size is ${PP}, which is not set: give --env PP=VALUE
note: left out, no effect on time or memory: --no-shared-fs
