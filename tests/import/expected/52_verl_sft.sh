launch script, program verl, line 2, 8 GPUs (1 x 8)
--bf16
--use-distributed-optimizer
--attention-backend flash
--moe-token-dispatcher-type alltoall
--moe-grouped-gemm
--attention-dropout 0.0
--hidden-dropout 0.0
--no-overlap-p2p-communication
--moe-shared-expert-overlap
--global-batch-size 128
--seq-length 4096
--micro-batch-size 2
--tensor-model-parallel-size 2
--pipeline-model-parallel-size 2
note: verl: activation and rotary positions are planned fused: without use_mbridge, the default of earlier releases, dense models run them unfused, and time and memory are a few percent too low
