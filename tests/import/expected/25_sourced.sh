launch script, program pretrain_gpt.py, line 8, 8 GPUs (1 x 8)
--num-layers 4
--hidden-size 64
--num-attention-heads 4
--vocab-size 256
--seq-length 128
--tensor-model-parallel-size 2
--bf16
open: tests/import/25_sourced.sh:9: --micro-batch-size is ${2:?}, which is not set (the file of line 5 is not read): give --env 2=VALUE
note: line 5: not read: . ./models/../../bad/files/import_unset.sh; what it sets does not count
