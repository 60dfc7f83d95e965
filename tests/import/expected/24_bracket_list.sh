launch script, program pretrain_gpt.py, line 12, 8 GPUs (1 x 8)
--num-layers 4
--hidden-size 64
--num-attention-heads 4
--num-experts 8
--moe-layer-freq [0]*1+[1]*3
--seq-length 64
--vocab-size 256
--bf16
