# What a stack is computed for is what its scripts start: those of torch bring their module to every
# node and name it, those of local are stock Megatron; both are read back as they were.
set -eu
fault() { echo "$*"; exit 1; }
mkdir "$SCRATCH/bin" "$SCRATCH/tmp" "$SCRATCH/beside"
export TMPDIR="$SCRATCH/tmp"
module=tools/rank/astra_sdpa.py

# Stands in for Python of a rank: shows the module as it would be found.
cat >"$SCRATCH/bin/torchrun" <<'END'
#!/bin/sh
cat "${PYTHONPATH%%:*}/astra_sdpa.py" 2>/dev/null || echo "no module in $PYTHONPATH"
END
cat >"$SCRATCH/bin/srun" <<'END'
#!/bin/sh
while [ "${1#-}" != "$1" ]; do shift; done
SLURMD_NODENAME=n1 SLURM_LOCALID=0 "$@"
END
printf '#!/bin/sh\necho n1\n' >"$SCRATCH/bin/scontrol"
chmod +x "$SCRATCH/bin/"*

start() { # SCRIPT
    env PATH="$SCRATCH/bin:$PATH" MEGATRON=/m SLURM_JOB_NODELIST=n1 SKYPILOT_NODE_IPS=1.2.3.4 \
        SKYPILOT_NODE_RANK=0 DATA_PATH= TOKENIZER_TYPE= TOKENIZER_MODEL= CHECKPOINT= SAVE_INTERVAL=1 \
        TRAIN_ITERS=1 WARMUP_ITERS=0 LR=1 MIN_LR=1 EVAL_ITERS=0 EVAL_INTERVAL=1 bash "$1"
}
plan() { # STACK
    "$ASTRA" estimate --model llama3.2-1b --cluster 1x8:H100 --seq-len 2048 --global-batch 64 \
        --set dist_opt=on --stack "$1" --format json >"$SCRATCH/$1.json" || fault "no plan for $1"
}
figures() { grep -E '"(stack|step_s|peak_bytes|device_bytes)":' "$1" | head -n 4; } # of the plan itself
read_back() { # STACK SCRIPT
    "$ASTRA" estimate "$2" --cluster 1x8:H100 --format json >"$SCRATCH/again.json" ||
        fault "$2 is not read back"
    figures "$SCRATCH/$1.json" >"$SCRATCH/want"
    figures "$SCRATCH/again.json" | diff "$SCRATCH/want" - || fault "$2 is another plan"
}

plan torch
for format in torchrun slurm k8s pytorchjob skypilot megatron; do
    script=$SCRATCH/beside/$format
    "$ASTRA" export "$SCRATCH/torch.json" --to $format -o "$script"
    grep -q -e '--spec astra_sdpa layer_spec' "$script" || fault "$format does not name the module"
    cmp "$module" "$SCRATCH/beside/astra_sdpa.py" || fault "$format: no module beside the script"
    rm "$SCRATCH/beside/astra_sdpa.py"
    read_back torch "$script"
    case $format in
    k8s | pytorchjob) sed -e '1,/^  train.sh: |$/d' -e '/^---$/,$d' -e 's/^    //' "$script" >"$SCRATCH/script" ;;
    skypilot) sed -e '1,/^run: |$/d' -e 's/^  //' "$script" >"$SCRATCH/script" ;;
    megatron) { cat "$script"; echo 'exec torchrun'; } >"$SCRATCH/script" ;;
    *) cp "$script" "$SCRATCH/script" ;;
    esac
    shellcheck -s bash -e SC2154,SC2034 "$SCRATCH/script" || fault "shellcheck: $format"
    start "$SCRATCH/script" | cmp - "$module" || fault "$format: Python would not find the module"
done
"$ASTRA" export "$SCRATCH/torch.json" --to torchrun | cmp - "$SCRATCH/beside/torchrun" ||
    fault "another script on standard output"
for format in bridge flagscale; do
    code=0
    "$ASTRA" export "$SCRATCH/torch.json" --to $format -o "$SCRATCH/none" 2>"$SCRATCH/err" || code=$?
    [ $code -eq 2 ] && grep -q 'stack torch needs the module' "$SCRATCH/err" || fault "$format: $code"
done
"$ASTRA" export "$SCRATCH/torch.json" --to torchrun --megatron-version 0.15 2>"$SCRATCH/err" &&
    fault "a release that cannot take the module"
grep -q 'has since 0.16' "$SCRATCH/err" || fault "$(cat "$SCRATCH/err")"

plan local
for format in torchrun slurm skypilot megatron; do
    script=$SCRATCH/beside/$format
    "$ASTRA" export "$SCRATCH/local.json" --to $format -o "$script"
    ! grep -q -e '--spec' -e astra_sdpa "$script" || fault "local names a module"
    [ ! -e "$SCRATCH/beside/astra_sdpa.py" ] || fault "local has a module"
    read_back local "$script"
done

# GPUs before compute capability 8.0 have no flash kernel: what runs is what is computed.
peak() { # GPU SETTING...
    gpu=$1
    shift
    "$ASTRA" estimate --model llama3.2-1b --cluster "1x8:$gpu" --precision fp16 --seq-len 2048 \
        --global-batch 64 --set dist_opt=on "$@" --format json >"$SCRATCH/out.json" 2>/dev/null || code=$?
    grep -m 1 '"peak_bytes":' "$SCRATCH/out.json"
}
for gpu in V100 T4 A100; do
    code=0 auto=$(peak $gpu) unfused=$(peak $gpu --set attention=unfused)
    if [ $gpu = A100 ]; then [ "$auto" != "$unfused" ]; else [ "$auto" = "$unfused" ]; fi ||
        fault "$gpu: $auto, unfused $unfused"
done
code=0
peak V100 --set attention=flash >"$SCRATCH/text"
[ $code -eq 1 ] && grep -q 'flash and fused attention need GPUs of compute capability' "$SCRATCH/out.json" ||
    fault "flash on a V100: exit code $code"
[ -n "$(ls "$TMPDIR")" ] || fault "no script made a folder for its module"

# A softmax in fp32 keeps 6 bytes a score instead of 2: 16 layers of 32 heads, 2048 x 2048, on 8 GPUs alike.
flags='--transformer-impl local --no-masked-softmax-fusion --bf16 --seq-length 2048
    --global-batch-size 64 --use-distributed-optimizer
    --attention-dropout 0 --hidden-dropout 0'
for flag in '' --attention-softmax-in-fp32 --apply-query-key-layer-scaling; do
    "$ASTRA" estimate --model llama3.2-1b --cluster 1x8:H100 --format json -- $flags $flag >"$SCRATCH/local.json"
    "$ASTRA" export "$SCRATCH/local.json" --to torchrun >"$SCRATCH/script"
    read_back local "$SCRATCH/script"
    sed -n 's/^ *"peak_bytes": \([0-9]*\),$/\1/p' "$SCRATCH/local.json" | head -n 1 >>"$SCRATCH/peaks"
done
awk -v layer=$((32 * 2048 * 2048)) '{ peak[NR] = $1 } END { more = (peak[2] - peak[1]) / layer
    exit !(more > 15 * 4 && more < 18 * 4 && peak[2] == peak[3]) }' "$SCRATCH/peaks" ||
    fault "a softmax in fp32 keeps something else: $(cat "$SCRATCH/peaks")"
