# A search without an answer exits with 1, prints no answer, and says in one line what stood in the
# way and the nearest change that helps.
set -eu
expect() { # TEXT ARGUMENTS...
    text=$1
    shift
    code=0
    "$ASTRA" search "$@" >"$SCRATCH/out" 2>"$SCRATCH/err" || code=$?
    [ $code -eq 1 ] || { echo "exit code $code of search $*"; exit 1; }
    [ ! -s "$SCRATCH/out" ] || { echo "search $* printed an answer"; exit 1; }
    [ "$(wc -l <"$SCRATCH/err")" -eq 1 ] || { echo "not one line: search $*"; exit 1; }
    grep -qF -- "$text" "$SCRATCH/err" && return
    echo "search $*: expected '$text'"
    cat "$SCRATCH/err"
    exit 1
}
eight="--model llama3-8b --cluster 1x8:H100" # words

# Settings: their reason, then the value that a plan has.
expect 'dropped: tp must divide the attention heads; without --set tp=3 there is a plan' \
    $eight --set tp=3
expect 'without --set tp=3,5 there is a plan' $eight --set tp=3,5
expect 'the global batch must be a multiple of micro-batch x dp; without --set micro_batch=3' \
    $eight --set micro_batch=3
expect 'dropped: more GPUs than the pool has; without --set pp=64' $eight --set pp=64

# Rules of the user.
echo 'reject tp >= 1 "nothing is good enough"' >"$SCRATCH/all.rules"
expect 'dropped: nothing is good enough; without the rules of' $eight --rules "$SCRATCH/all.rules"

# Options.
expect 'with --stack te there is a plan' $eight --stack torch --precision fp8
expect 'with --precision fp16 there is a plan' --model llama3-8b --cluster 1x8:V100
expect 'with --precision bf16 there is a plan' \
    --model llama3-8b --cluster 1x8:A100 --set precision=fp8
expect 'with --seq-len 2048, the model'\''s longest, there is a plan' \
    --model gpt3-13b --cluster 1x8:H100 --seq-len 100000
expect 'with --memory-margin 0 there is a plan' $eight --memory-margin 0.999
expect 'with --gpus 512 there is a plan' --model llama3-8b --cluster 1x1000:H100

# A small model has few ways besides dp; nodes of an odd size hold numbers that do not split.
small="--model layers=2,hidden=256,ffn=512,heads=2,vocab=1000 --seq-len 7 --global-batch 1"
expect 'feasible; with --global-batch 16 there is a plan' $small --cluster 8x8:H100 --gpus 64
expect 'with --global-batch 2 there is a plan' $small --cluster 1x8:H100 --gpus 8
expect 'with --gpus 2 there is a plan' $small --cluster 1x3:H100
expect 'no single change of the options helps' $small --cluster 1x3:H100 --gpus 3

# Memory: how much is missing, and how many nodes would do.
expect 'times what may be allocated' --model llama3-405b --cluster 1x8:H100
expect ' H100-SXM5-80GB (' --model llama3-405b --cluster 1x8:H100

# Any group of the pool may have the answer.
expect 'without --set tp=3 there is a plan' \
    --model llama3-405b --cluster 1x8:A100,64x8:H100 --set tp=3

# What came nearest is a strategy: estimated, it needs as much as was said. What may be allocated is
# what is left of the device by its context and buffers, so that the device's share is a bit smaller.
for pool in 1x1:H100 2x4:L40S; do
    expect 'what came nearest needs' --model llama3-70b --cluster "$pool" --global-batch 512
    said=$(sed 's/.*came nearest needs \([0-9.]*\) times.*/\1/' "$SCRATCH/err")
    set -- # switches have no value in a strategy's words
    for word in $(sed 's/.*may be allocated: \([^;]*\);.*/\1/' "$SCRATCH/err"); do
        case $word in *=*) set -- "$@" --set "$word" ;; *) set -- "$@" --set "$word=on" ;; esac
    done
    "$ASTRA" estimate --model llama3-70b --cluster "$pool" --global-batch 512 "$@" --format json \
        >"$SCRATCH/plan" 2>"$SCRATCH/err" || true
    awk -v said="$said" '/"device_bytes"/ && $2 + 0 > most { most = $2 + 0 }
        /"limit_bytes"/ { ratio = said / (most / $2) }
        END { exit !(ratio > 1 && ratio < 1.03) }' "$SCRATCH/plan" ||
        { echo "$pool: $said times the memory is not what $* needs"; exit 1; }
done
