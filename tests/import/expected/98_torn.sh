launch script, program pretrain_gpt.py, line 2, 8 GPUs (1 x 8)
--num-layers 8
--hidden-size 1024
--num-attention-heads 16
--seq-length 2048
--max-position-embeddings 2048
--vocab-size 32000
--bf16
note: line 5: a command begins with a flag: the line before it has no backslash at its end, or a blank behind it, and flags from there on do not reach the program
