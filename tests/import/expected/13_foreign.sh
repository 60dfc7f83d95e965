launch script, program train_model.py, line 4, 8 GPUs (1 x 8)
--attention-backend unfused
--num-layers 24
--hidden-size 2048
--num-attention-heads 16
--seq-length 2048
--max-position-embeddings 2048
--vocab-size 50304
--bf16
--micro-batch-size 1
--global-batch-size 64
--tensor-model-parallel-size=2
note: line 2: not read: source ./env.sh; what it sets does not count
note: DeepSpeed's settings are not read: ZeRO is planned as stage 0 (-- --use-distributed-optimizer plans stage 1)
note: --deepspeed: of a release that builds its own layers, which are planned as TransformerEngine's: where Apex' fused kernels are missing a step is longer (-- --transformer-impl local)
note: --deepspeed: of a release whose attention is unfused unless flash attention is asked for, which is planned so (-- --attention-backend flash)
note: line 7: left out: what is not known of $EXTRA_ARGS, which is not set (the file of line 2 is not read)
note: left out, no effect on time or memory: --deepspeed
note: not known and left out, may change memory and time: --zero-stage-of-mine
