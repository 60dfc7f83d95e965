torchrun --nproc-per-node 8 run.py --factory "recipe()" trainer.num_nodes=2 trainer.devices=8 trainer.max_steps=100
