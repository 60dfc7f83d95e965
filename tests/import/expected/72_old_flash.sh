launch script, program pretrain_gpt.py, line 2, 8 GPUs (1 x 8)
--attention-backend flash
--tensor-model-parallel-size 2
--num-layers 24
--hidden-size 2048
--num-attention-heads 16
--seq-length 2048
--max-position-embeddings 2048
--micro-batch-size 2
--vocab-size 50257
--bf16
note: left out, no effect on time or memory: --no-query-key-layer-scaling
