launch script, program megatron, line 3, 16 GPUs (2 x 8)
--use-distributed-optimizer
--bf16
--expert-tensor-parallel-size 1
--attention-backend flash
--cross-entropy-loss-fusion
--moe-token-dispatcher-type alltoall
--attention-dropout 0
--hidden-dropout 0
--no-rope-fusion
--tensor-model-parallel-size 2
--expert-model-parallel-size 8
--sequence-parallel
--moe-grouped-gemm
--seq-length 8192
--micro-batch-size 1
--global-batch-size 64
--micro-batch-size 2
--global-batch-size 128
note: a sample is two sequences, the chosen and the rejected one: twice the batch and micro-batch are planned
note: line 5: --rlhf-type: only training is planned: generation, reference and reward models are left out
note: left out, no effect on time or memory: --model, --tuner-type, --dataset, --num-labels, --output_dir
