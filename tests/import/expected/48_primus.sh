launch script, program primus, line 7, 0 GPUs (0 x 0)
--bf16
--sequence-parallel
--use-distributed-optimizer
--micro-batch-size 2
--global-batch-size 128
--seq-length 8192
--tensor-model-parallel-size 1
--pipeline-model-parallel-size 1
--recompute-granularity full
--recompute-method block
--recompute-num-layers 4
note: EXP names examples/megatron/configs/MI355X/llama3.1_8B-BF16-pretrain.yaml, which is not read: the model is taken by its name, what else it sets does not count (astra estimate llama3.1_8B-BF16-pretrain.yaml reads it)
