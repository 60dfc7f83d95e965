launch script, program train.py, line 29, 32 GPUs (4 x 8)
--use-distributed-optimizer
--bf16
--moe-token-dispatcher-type alltoall
--moe-grouped-gemm
--rotary-base 5000000
--load /root/checkpoints/my-model_torch_dist
--tensor-model-parallel-size 4
--sequence-parallel
--expert-model-parallel-size 8
--expert-tensor-parallel-size 1
--context-parallel-size 2
--recompute-granularity full
--recompute-method uniform
--recompute-num-layers 1
--global-batch-size 256
--seq-length 8192
--micro-batch-size 2
note: line 4: not read: source $(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" &>/dev/null && p.../../../somewhere/models/qwen3-30B-A3B.sh; what it sets does not count
note: slime: every sequence is planned with 8192 tokens, 2 in a micro-batch, an answer at its longest; prompts and further turns count where --rollout-max-context-len says them, shorter ones take less
note: line 31: left out: what is not known of ${MODEL_ARGS[@]}, which is not set (the file of line 4 is not read)
note: line 12: --rollout-batch-size: only training is planned: generation and the reference model are left out
note: left out, no effect on time or memory: --actor-num-nodes, --actor-num-gpus-per-node, --colocate, --hf-checkpoint, --prompt-data, --num-rollout, --n-samples-per-prompt, --num-steps-per-rollout, --rollout-max-response-len, --use-dynamic-batch-size, --max-tokens-per-gpu
