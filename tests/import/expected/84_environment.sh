launch script, program pretrain_gpt.py, line 6, 8 GPUs (1 x 8)
--attention-backend unfused
--num-layers 4
--hidden-size 512
--num-attention-heads 8
--seq-length 1024
--max-position-embeddings 1024
--micro-batch-size 1
--global-batch-size 8
--vocab-size 32000
--bf16
note: CUDA_LAUNCH_BLOCKING=1 in the environment: kernels are planned to be launched without waiting: a step is longer
note: NVTE_FLASH_ATTN=0 and NVTE_FUSED_ATTN=0 in the environment: attention is planned unfused (-- --attention-backend flash)
