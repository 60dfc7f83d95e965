launch script, program pretrain_gpt.py, line 2, 8 GPUs (1 x 8)
--attention-backend unfused
--num-layers 8
--hidden-size 1024
--num-attention-heads 16
--seq-length 2048
--max-position-embeddings 2048
--micro-batch-size 1
--vocab-size 50000
--bf16
--tensor-model-parallel-size 2
note: MindSpeed without --use-flash-attn: attention is planned unfused (-- --attention-backend flash)
note: left out, no effect on time or memory: --use-fused-rmsnorm
