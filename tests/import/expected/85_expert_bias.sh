launch script, program pretrain_gpt.py, line 2, 8 GPUs (1 x 8)
--attention-backend unfused
--num-layers 4
--hidden-size 1024
--num-attention-heads 16
--num-experts 8
--moe-router-topk 2
--moe-ffn-hidden-size 512
--expert-model-parallel-size 8
--moe-router-enable-expert-bias
--moe-grouped-gemm
--moe-token-dispatcher-type alltoall
--seq-length 4096
--max-position-embeddings 4096
--micro-batch-size 1
--disable-bias-linear
--use-distributed-optimizer
--vocab-size 32000
--bf16
note: MindSpeed without --use-flash-attn: attention is planned unfused (-- --attention-backend flash)
note: left out, no effect on time or memory: --use-fused-rmsnorm
