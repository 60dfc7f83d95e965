launch script, program pretrain_gpt.py, line 2, 16 GPUs (2 x 8)
--moe-router-force-load-balancing
--num-layers 16
--pipeline-model-parallel-size 4
--num-experts 8
--hidden-size 64
--num-attention-heads 4
--seq-length 64
--vocab-size 256
--bf16
--micro-batch-size 1
--global-batch-size 64
--num-layers 13
--pipeline-model-parallel-layout Et|tt|tt|tt|tt|tt|tt|L
--moe-layer-freq [0,1,1,1,1,1,1,1,1,1,1,1,1]
note: left out, no effect on time or memory: --moe-layer-freq
