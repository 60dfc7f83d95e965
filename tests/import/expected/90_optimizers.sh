launch script, program pretrain_gpt.py, line 2, 8 GPUs (1 x 8)
--num-layers 8
--hidden-size 1024
--num-attention-heads 16
--seq-length 2048
--max-position-embeddings 2048
--micro-batch-size 1
--vocab-size 50000
note: line 4 starts another training, which is not read
note: line 3: --optimizer: the optimizer is planned as Adam: AdEMAMix keeps a third moment, so memory is too low by 4 bytes a parameter of the optimizer's share
