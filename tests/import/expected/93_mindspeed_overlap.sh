launch script, program pretrain_gpt.py, line 2, 8 GPUs (1 x 8)
--attention-backend unfused
--use-precision-aware-optimizer
--overlap-moe-expert-parallel-comm
--num-layers 8
--hidden-size 1024
--num-attention-heads 16
--seq-length 2048
--max-position-embeddings 2048
--micro-batch-size 1
--vocab-size 50000
--bf16
--num-experts 8
--moe-router-topk 2
--moe-ffn-hidden-size 512
--moe-grouped-gemm
--moe-token-dispatcher-type alltoall
--disable-bias-linear
--expert-model-parallel-size 4
--expert-tensor-parallel-size 1
--pipeline-model-parallel-size 2
--num-layers-per-virtual-pipeline-stage 2
--use-distributed-optimizer
--global-batch-size 64
note: MindSpeed without --use-flash-attn: attention is planned unfused (-- --attention-backend flash)
note: line 6: --reuse-fp32-param: planned as the precision-aware optimizer, which keeps as much
note: line 6: --moe-fb-overlap: planned as Megatron's overlap of expert communication
note: left out, no effect on time or memory: --use-fused-rmsnorm
