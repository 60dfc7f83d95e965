torchrun --nproc-per-node=8 scripts/training/run_recipe.py --recipe step35_flash_sft_config
