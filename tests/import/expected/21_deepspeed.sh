sbatch file, program pretrain_gpt.py, line 10, 0 GPUs (0 x 0)
--attention-backend unfused
--moe-token-dispatcher-type alltoall
--group-query-attention
--moe-router-topk 1
--moe-layer-freq 2
--recompute-granularity full
--recompute-method uniform
--recompute-num-layers 1
--use-distributed-optimizer
--tensor-model-parallel-size 2
--num-layers 24
--hidden-size 2048
--num-attention-heads 16
--num-query-groups 4
--seq-length 2048
--max-position-embeddings 2048
--micro-batch-size 2
--global-batch-size 256
--num-experts 16
--expert-model-parallel-size 4
--moe-router-topk 2
--recompute-num-layers 2
--fp16
--vocab-file gpt2-vocab.json
--moe-layer-freq [0,1,0,1,0,1,0,1,0,1,0,1,0,1,0,1,0,1,0,1,0,1,0,1]
note: DeepSpeed's settings are not read: the flags alone count, offloading or a curriculum that is on there is not planned
note: --deepspeed: of a release that builds its own layers, which are planned as TransformerEngine's: where Apex' fused kernels are missing a step is longer (-- --transformer-impl local)
note: --deepspeed: of a release whose attention is unfused unless flash attention is asked for, which is planned so (-- --attention-backend flash)
note: left out, no effect on time or memory: --no-pipeline-parallel, --train-tokens, --lr-decay-tokens, --data-impl, --use-mpi, --deepspeed-activation-checkpointing, --deepspeed_config, --deepspeed
