#!/bin/bash
# Its model lies beside it; what lies elsewhere is not opened.
SCRIPT_DIR="$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" &>/dev/null && pwd)"
source "${SCRIPT_DIR}/models/small.sh"
. ./models/../../bad/files/import_unset.sh
source /etc/profile
TP=${1:-2}
torchrun --nproc_per_node 8 pretrain_gpt.py ${MODEL_ARGS[@]} --seq-length $SEQ --tensor-model-parallel-size $TP \
    --micro-batch-size ${2:?} --bf16
