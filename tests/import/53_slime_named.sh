#!/bin/bash
# slime: the model's flags come from a file elsewhere, whose name says which model it is.
SCRIPT_DIR="$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" &>/dev/null && pwd)"
source "${SCRIPT_DIR}/../../somewhere/models/qwen3-30B-A3B.sh"
CKPT_ARGS=(
   --hf-checkpoint /root/checkpoints/my-model
   --load /root/checkpoints/my-model_torch_dist
)
ROLLOUT_ARGS=(
   --prompt-data /root/data/train.jsonl
   --num-rollout 100
   --rollout-batch-size 64
   --n-samples-per-prompt 8
   --num-steps-per-rollout 2
   --rollout-max-response-len 8192
)
PERF_ARGS=(
   --tensor-model-parallel-size 4
   --sequence-parallel
   --expert-model-parallel-size 8
   --expert-tensor-parallel-size 1
   --context-parallel-size 2
   --recompute-granularity full
   --recompute-method uniform
   --recompute-num-layers 1
   --use-dynamic-batch-size
   --max-tokens-per-gpu 8192
)
ray job submit --address="http://127.0.0.1:8265" -- python3 train.py \
   --actor-num-nodes 4 --actor-num-gpus-per-node 8 --colocate --rotary-base 5000000 \
   ${MODEL_ARGS[@]} ${CKPT_ARGS[@]} ${ROLLOUT_ARGS[@]} ${PERF_ARGS[@]}
