launch script, program megatron, line 2, 8 GPUs (1 x 8)
--use-distributed-optimizer
--global-batch-size 16
--expert-tensor-parallel-size 1
--attention-backend flash
--moe-grouped-gemm
--moe-token-dispatcher-type alltoall
--attention-dropout 0
--hidden-dropout 0
--no-rope-fusion
--num-layers 24
--hidden-size 2048
--ffn-hidden-size 6144
--num-attention-heads 16
--num-experts 64
--moe-ffn-hidden-size 768
--moe-router-topk 4
--vocab-size 151936
--swiglu
--tensor-model-parallel-size 2
--expert-model-parallel-size 4
--pipeline-model-parallel-size 1
--micro-batch-size 2
--seq-length 4096
--num-virtual-stages-per-pipeline-rank 1
--bf16
note: ms-swift: samples are packed to --max_length; attention is planned over all of it, and takes less within each
note: left out, no effect on time or memory: --packing
