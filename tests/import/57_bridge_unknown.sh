# A recipe that is not known is never guessed.
torchrun --nproc-per-node=8 scripts/training/run_recipe.py --recipe llama3_8b_pretrain_confg train.train_iters=10
