launch script, program pretrain_gpt.py, line 63, 8 GPUs (1 x 8)
--num-layers 32
--hidden-size 4096
--ffn-hidden-size 14336
--num-attention-heads 32
--group-query-attention
--num-query-groups 8
--seq-length 4096
--max-position-embeddings 8192
--position-embedding-type rope
--normalization RMSNorm
--swiglu
--disable-bias-linear
--untie-embeddings-and-output-weights
--attention-dropout 0.0
--hidden-dropout 0.0
--vocab-size 128256
--micro-batch-size 1
--global-batch-size 128
--train-iters 50000
--lr 3.0e-4
--min-lr 3.0e-5
--bf16
--tensor-model-parallel-size 2
--pipeline-model-parallel-size 1
--sequence-parallel
--use-distributed-optimizer
--split 949,50,1
--log-interval 10
open: tests/import/01_arrays.sh:67: --data-path is $2, which is not set: give --env 2=VALUE
open: tests/import/01_arrays.sh:58: --save is $1, which is not set: give --env 1=VALUE
open: tests/import/01_arrays.sh:59: --load is $1, which is not set: give --env 1=VALUE
open: tests/import/01_arrays.sh:60: --tensorboard-dir is $1/tensorboard, which is not set: give --env 1=VALUE
