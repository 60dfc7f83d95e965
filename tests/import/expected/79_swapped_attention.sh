launch script, program pretrain_gpt.py, line 2, 8 GPUs (1 x 8)
--attention-backend unfused
--num-layers 8
--hidden-size 1024
--num-attention-heads 16
--seq-length 4096
--max-position-embeddings 4096
--micro-batch-size 1
--vocab-size 32000
--bf16
--recompute-num-layers 4
--recompute-granularity full
--recompute-method block
note: MindSpeed without --use-flash-attn: attention is planned unfused (-- --attention-backend flash)
note: line 3: --swap-attention: activations are planned on the GPU: memory is too high
