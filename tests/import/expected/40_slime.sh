launch script, program train.py, line 10, 8 GPUs (1 x 8)
--use-distributed-optimizer
--bf16
--moe-token-dispatcher-type alltoall
--moe-grouped-gemm
--num-layers 36
--hidden-size 4096
--ffn-hidden-size 12288
--num-attention-heads 32
--group-query-attention
--num-query-groups 8
--kv-channels 128
--vocab-size 151936
--qk-layernorm
--normalization RMSNorm
--swiglu
--disable-bias-linear
--use-rotary-position-embeddings
--rotary-base 1000000
--untie-embeddings-and-output-weights
--tensor-model-parallel-size 2
--sequence-parallel
--context-parallel-size 2
--recompute-granularity full
--recompute-method uniform
--recompute-num-layers 1
--seq-length 8192
--global-batch-size 128
--seq-length 8192
--micro-batch-size 2
note: slime: every sequence is planned with 8192 tokens, 2 in a micro-batch, an answer at its longest; prompts and further turns count where --rollout-max-context-len says them, shorter ones take less
note: line 6: --rollout-batch-size: only training is planned: generation and the reference model are left out
note: left out, no effect on time or memory: --actor-num-nodes, --actor-num-gpus-per-node, --colocate, --n-samples-per-prompt, --num-steps-per-rollout, --use-dynamic-batch-size, --max-tokens-per-gpu
