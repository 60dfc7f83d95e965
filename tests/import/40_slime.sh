# slime: the training part of a reinforcement-learning run; ZeRO 1 and bf16 are its own defaults.
MODEL_ARGS=(--num-layers 36 --hidden-size 4096 --ffn-hidden-size 12288 --num-attention-heads 32
    --group-query-attention --num-query-groups 8 --kv-channels 128 --vocab-size 151936 --qk-layernorm
    --normalization RMSNorm --swiglu --disable-bias-linear --use-rotary-position-embeddings --rotary-base 1000000
    --untie-embeddings-and-output-weights)
ROLLOUT_ARGS=(--rollout-batch-size 32 --n-samples-per-prompt 8 --num-steps-per-rollout 2)
PERF_ARGS=(--tensor-model-parallel-size 2 --sequence-parallel --context-parallel-size 2
    --recompute-granularity full --recompute-method uniform --recompute-num-layers 1
    --use-dynamic-batch-size --max-tokens-per-gpu 9216 --seq-length 8192)
ray job submit --address="http://127.0.0.1:8265" \
    -- python3 train.py --actor-num-nodes 1 --actor-num-gpus-per-node 8 --colocate \
    "${MODEL_ARGS[@]}" "${ROLLOUT_ARGS[@]}" "${PERF_ARGS[@]}"
