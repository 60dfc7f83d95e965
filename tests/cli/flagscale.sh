# A job whose types of GPU run differently: from FlagScale's flags to JSON and back, the same figures to
# the last digit.
set -eu
fault() { echo "$*"; exit 1; }

ask() { # MODEL POOL FLAG...
    model=$1 pool=$2
    shift 2
    "$ASTRA" estimate --model "$model" --cluster "$pool" --format json -- --bf16 --enable-hetero \
        --sequence-parallel --use-distributed-optimizer --seq-length 4096 "$@" >"$SCRATCH/plan.json"
    grep -q '"name": "flagscale"' "$SCRATCH/plan.json" || fault "another engine for $*"
    "$ASTRA" explain "$SCRATCH/plan.json" --format json >"$SCRATCH/again.json"
    sed -e '/^  "instead": /,$d' -e '$d' "$SCRATCH/plan.json" | grep -v '"name": "[^f]\|"name": "flags"' | tr -d , >"$SCRATCH/first"
    sed '/^  "gains": \[/,$d' "$SCRATCH/again.json" | grep -v '"name": "[^f]\|"name": "flags"' |
        tr -d , | diff "$SCRATCH/first" - || fault "explain differs for $*"
}

# tp, dp and micro-batch; recompute; experts; a shared embedding; groups of one type of GPU.
ask llama3-8b 1x8:A100,1x8:H100 --pipeline-model-parallel-size 2 --micro-batch-size 1 \
    --global-batch-size 32 --hetero-device-types A100 H100 \
    --hetero-process-meshes 1 1 1 8 1 4 1 1 2 1 --hetero-pipeline-layer-split 10 22
grep -q '"micro_batch": 4' "$SCRATCH/plan.json" || fault "the micro-batch of the second mesh"
ask llama3-8b 2x8:A100,1x8:H100 --pipeline-model-parallel-size 3 --global-batch-size 32 \
    --hetero-device-types A100 H100 --hetero-process-meshes 2 1 1 4 2 2 1 1 4 1 \
    --hetero-pipeline-layer-split 10 10 12 --recompute-granularity full --recompute-method block \
    --recompute-num-layers 4 --recompute-granularity-per-stage-micro-batch '[2, 8, 0]' '[1, 4, 1, 4, 1]'
grep -q '"recompute": "full"' "$SCRATCH/plan.json" || fault "the second mesh does not recompute"
ask mixtral-8x7b 4x8:A100,2x8:H100 --pipeline-model-parallel-size 3 --global-batch-size 64 \
    --hetero-device-types A100 H100 --hetero-process-meshes 2 1 4 8 2 1 1 8 16 1 --micro-batch-size 2 \
    --expert-tensor-parallel-size-per-process-mesh 1 1 --hetero-pipeline-layer-split 10 10 12 \
    --moe-token-dispatcher-type alltoall
ask llama3.2-1b 1x8:H100,1x8:A100 --pipeline-model-parallel-size 3 --global-batch-size 32 \
    --hetero-device-types H100 A100 --hetero-process-meshes 2 1 1 4 1 2 1 1 2 2 \
    --hetero-pipeline-layer-split 8 4 4 --use-partial-reduce-for-shared-embedding
ask llama3-8b 1x8:H100,1x8:H100@100 --pipeline-model-parallel-size 2 --global-batch-size 32 \
    --hetero-device-types H100 H100-2 --hetero-process-meshes 2 1 1 4 1 4 1 1 2 1 \
    --hetero-pipeline-layer-split 16 16
grep -q '"H100-2"' "$SCRATCH/plan.json" || fault "two groups have one name"

# What the text says of the types.
"$ASTRA" explain "$SCRATCH/plan.json" >"$SCRATCH/text"
grep -q 'on H100-SXM5-80GB: tp 4, pp 1, dp 2' "$SCRATCH/text" || fault "no line for each type"
