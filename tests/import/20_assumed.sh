# Says neither precision nor vocabulary; the tokenizer's name does.
torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 2 --hidden-size 64 --num-attention-heads 4 \
    --seq-length 64 --max-position-embeddings 64 --tokenizer-type HuggingFaceTokenizer \
    --tokenizer-model /models/Meta-Llama-3-8B --train-samples 220_000_000 --lr fast \
    --data-path first second --seed 1 model
