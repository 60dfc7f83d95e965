# Values with the quotes and backslashes that a shell or a wrapper in between takes off, and what wrappers write for none.
ARGS=(--num-layers 8 --hidden-size 1024 --num-attention-heads 16 --num-experts 8 --moe-layer-freq "'([0]*1+[1]*7)'"
    --pipeline-model-parallel-size 2 --pipeline-model-parallel-layout "Et*4\\|\\(tt\\|\\)*2L" --mtp-num-layers None)
torchrun --nproc_per_node 8 pretrain_gpt.py "${ARGS[@]}" --recompute-granularity null --seq-length 2048 \
    --max-position-embeddings 2048 --micro-batch-size 1 --vocab-size 32000 --bf16 --tokenizer-model="'a b'"
