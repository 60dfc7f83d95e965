launch script, program pretrain_gpt.py, line 13, 4 GPUs (1 x 4)
--num-layers 12
--hidden-size 768
--num-attention-heads 12
--seq-length 1024
--max-position-embeddings 1024
--vocab-size 50304
--bf16
--micro-batch-size 1
--global-batch-size 16
