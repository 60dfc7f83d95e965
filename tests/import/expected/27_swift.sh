launch script, program megatron, line 2, 0 GPUs (0 x 0)
--use-distributed-optimizer
--global-batch-size 16
--recompute-granularity selective
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
note: left out, no effect on time or memory: --model, --dataset, --num_train_epochs, --output_dir
