launch script, program pretrain_gpt.py, line 3, 8 GPUs (1 x 8)
--num-layers 24
--hidden-size 2048
--num-attention-heads 16
--seq-length 2048
--max-position-embeddings 2048
--vocab-size 50304
--bf16
--micro-batch-size 1
--global-batch-size 32
--tensor-model-parallel-size 1
note: line 2: the loop starts a training for each of 4 values of TP: that of the first, 1, is planned (--env TP=VALUE)
