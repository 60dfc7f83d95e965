launch script, program pretrain_gpt2.py, line 3, 16 GPUs (2 x 8)
--attention-backend unfused
--moe-token-dispatcher-type alltoall
--recompute-granularity full
--recompute-method uniform
--recompute-num-layers 1
--moe-router-topk 1
--moe-layer-freq 2
--tensor-model-parallel-size 2
--pipeline-model-parallel-size 2
--num-layers 24
--hidden-size 2048
--num-attention-heads 16
--seq-length 1024
--max-position-embeddings 1024
--micro-batch-size 4
--vocab-size 50257
--fp16
--no-position-embedding
--num-experts 32
--moe-router-topk 1
--expert-model-parallel-size 4
--moe-layer-freq [0,1,0,1,0,1,0,1,0,1,0,1,0,1,0,1,0,1,0,1,0,1,0,1]
--global-batch-size 512
note: DeepSpeed's settings are not read: ZeRO is planned as stage 0 (-- --use-distributed-optimizer plans stage 1)
note: --deepspeed: of a release that builds its own layers, which are planned as TransformerEngine's: where Apex' fused kernels are missing a step is longer (-- --transformer-impl local)
note: --deepspeed: of a release whose attention is unfused unless flash attention is asked for, which is planned so (-- --attention-backend flash)
note: line 6: --num-experts: layers have different numbers of experts, and all are planned with 32
note: line 5: --partition-activations: saved activations are planned undistributed: memory is too high with tensor parallelism
note: left out, no effect on time or memory: --deepspeed, --deepspeed_config, --zero-contigious-gradients
