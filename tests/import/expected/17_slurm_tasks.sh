sbatch file, program pretrain_gpt.py, line 12, 16 GPUs (2 x 8)
--num-layers 24
--hidden-size 2048
--num-attention-heads 16
--seq-length 2048
--micro-batch-size 1
--global-batch-size 128
note: line 6: not read: . /etc/profile; what it sets does not count
