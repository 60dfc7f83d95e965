launch script, program pretrain_gpt.py, line 20, 16 GPUs (2 x 8)
--num-layers 27
--hidden-size 2048
--num-attention-heads 16
--ffn-hidden-size 8192
--num-experts 64
--moe-router-topk 6
--moe-ffn-hidden-size 1408
--moe-layer-freq [0,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]
--tensor-model-parallel-size 2
--expert-model-parallel-size 8
--micro-batch-size 1
--global-batch-size 128
--seq-length 4096
--bf16
--swiglu
--disable-bias-linear
--sequence-parallel
open: tests/import/28_computed.sh:26: --save is /ckpt/$(date +%F), and no command is run: give -- --save VALUE
