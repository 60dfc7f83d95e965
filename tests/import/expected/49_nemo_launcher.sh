launch script, program main.py, line 4, 64 GPUs (8 x 8)
--bf16
--use-distributed-optimizer
--global-batch-size 128
--micro-batch-size 1
--encoder-seq-length 4096
--tensor-model-parallel-size 4
--pipeline-model-parallel-size 4
--fp8-format hybrid
note: training=llama/llama2_70b: its file is not read; planned are the model of its name, bf16 and the distributed optimizer, as the launcher's files have it
