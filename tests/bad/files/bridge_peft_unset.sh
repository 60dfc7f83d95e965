torchrun --nproc_per_node 8 scripts/training/run_recipe.py --recipe qwen3_8b_peft_config "peft.dim=$RANK"
