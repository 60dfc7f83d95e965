# Recipes of adapters are refused.
torchrun --nproc-per-node=8 scripts/training/run_recipe.py --recipe llama32_1b_peft_config checkpoint.save=/tmp/out
