launch script, program pretrain_gpt.py, line 2, 8 GPUs (1 x 8)
--attention-backend unfused
--num-layers 6
--hidden-size 1536
--num-attention-heads 16
--seq-length 512
--max-position-embeddings 512
--vocab-size 32000
--bf16
note: MindSpeed without --use-flash-attn: attention is planned unfused (-- --attention-backend flash)
note: left out, no effect on time or memory: --use-fused-rmsnorm
