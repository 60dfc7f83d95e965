torchrun pretrain_gpt.py --num-layers 2 --hidden-size 64 --num-attention-heads 4 --lora-r 8
