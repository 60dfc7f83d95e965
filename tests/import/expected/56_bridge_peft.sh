launch script, program run_recipe.py, line 2, 8 GPUs (1 x 8)
--tensor-model-parallel-size 1
--pipeline-model-parallel-size 1
--context-parallel-size 1
--expert-model-parallel-size 1
--micro-batch-size 1
--global-batch-size 8
--seq-length 4096
--bf16
--attention-dropout 0.0
--hidden-dropout 0.0
--save /tmp/out
note: adapters (LoRA) are planned as --train lora:r=32,targets=linear_qkv,linear_proj,linear_fc1,linear_fc2,dropout=0
note: recipe llama32_1b_peft_config of Megatron-Bridge 067f987d (2026-08-22): other releases may set other values
