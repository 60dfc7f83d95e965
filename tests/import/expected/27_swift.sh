launch script, program megatron, line 2, 8 GPUs (1 x 8)
--use-distributed-optimizer
--bf16
--expert-tensor-parallel-size 1
--attention-backend flash
--cross-entropy-loss-fusion
--moe-grouped-gemm
--moe-token-dispatcher-type alltoall
--attention-dropout 0
--hidden-dropout 0
--no-rope-fusion
--seq-length 2048
--tensor-model-parallel-size 2
--sequence-parallel
--finetune
--micro-batch-size 1
--global-batch-size 32
--recompute-granularity full
--recompute-method uniform
--recompute-num-layers 1
--lr 1e-5
note: ms-swift: every sample is planned with --max_length tokens, shorter ones take less
note: left out, no effect on time or memory: --model, --dataset, --num_train_epochs, --output_dir
