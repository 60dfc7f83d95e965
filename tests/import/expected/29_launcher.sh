sbatch file, program pretrain_gpt.py, line 6, 16 GPUs (2 x 8)
--num-layers 4
--hidden-size 64
--num-attention-heads 4
--vocab-size 256
--seq-length 128
--tensor-model-parallel-size 2
--global-batch-size 64
--bf16
note: line 6 runs models/job.sh, which is read: its words are counted to that line
