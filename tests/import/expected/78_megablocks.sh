launch script, program pretrain_gpt.py, line 2, 8 GPUs (1 x 8)
--attention-backend unfused
--moe-grouped-gemm
--moe-token-dispatcher-type alltoall
--moe-router-topk 1
--num-experts 64
--moe-expert-capacity-factor 1
--moe-router-topk 1
--num-layers 12
--hidden-size 768
--num-attention-heads 12
--seq-length 1024
--max-position-embeddings 1024
--micro-batch-size 32
--global-batch-size 512
--vocab-file gpt2-vocab.json
--fp16
--expert-model-parallel-size 8
note: --DDP-impl: of a release that builds its own layers, which are planned as TransformerEngine's: where Apex' fused kernels are missing a step is longer (-- --transformer-impl local)
note: --DDP-impl: of a release whose attention is unfused unless flash attention is asked for, which is planned so (-- --attention-backend flash)
note: left out, no effect on time or memory: --moe-loss-weight, --DDP-impl
