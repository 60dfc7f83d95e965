# A plan that does not fit comes with the cheapest change that makes it fit. Applied, with --set and
# with Megatron's flags, the change is feasible and has the figures that were promised.
set -eu

# Words of a list in the object "remedy" of a plan, one a line.
words_of() { # NAME
    sed -n '/^  "remedy": {/,/^  }/p' "$SCRATCH/plan.json" | sed -n "/\"$1\": \[/,/\]/p" |
        sed -n 's/^ *"\([^"]*\)",*$/\1/p'
}
promised() { # NAME
    sed -n '/^  "remedy": {/,/^  }/s/^    "'"$1"'": \([^,]*\),*$/\1/p' "$SCRATCH/plan.json"
}

must_keep() { # WHAT ARGUMENTS...: feasible, with the step and the memory of the remedy
    what=$1
    shift
    "$ASTRA" estimate --format json "$@" >"$SCRATCH/then.json" ||
        { echo "$what: not feasible: $*"; exit 1; }
    if grep -q '"remedy"' "$SCRATCH/then.json"; then
        echo "$what: a plan that fits has a remedy: $*"
        exit 1
    fi
    step=$(sed -n 's/^  "step_s": \(.*\),$/\1/p' "$SCRATCH/then.json")
    bytes=$(sed -n 's/^ *"device_bytes": \(.*\),$/\1/p' "$SCRATCH/then.json" | sort -n | tail -n 1)
    [ "$step $bytes" = "$(promised step_s) $(promised device_bytes)" ] && return
    echo "$what: step $step, $bytes bytes; promised $(promised step_s), $(promised device_bytes)"
    exit 1
}

. tests/changed.sh

check() { # CLUSTER ARGUMENTS...
    code=0
    "$ASTRA" estimate --cluster "$@" --format json >"$SCRATCH/plan.json" 2>"$SCRATCH/err" || code=$?
    [ $code -eq 1 ] || { echo "exit code $code of $*"; exit 1; }
    pool=$1
    words_of set >"$SCRATCH/set"
    words_of flags >"$SCRATCH/flags"
    [ -s "$SCRATCH/set" ] || { echo "no remedy for $*"; exit 1; }
    "$ASTRA" estimate --cluster "$@" >"$SCRATCH/text" 2>/dev/null || true
    while IFS= read -r word; do
        grep -qF -- "--set $word" "$SCRATCH/text" || { echo "$word is not in the text"; exit 1; }
    done <"$SCRATCH/set"
    changed "$@" >"$SCRATCH/arguments"
    set --
    while IFS= read -r word; do set -- "$@" "$word"; done <"$SCRATCH/arguments"
    must_keep settings --cluster "$@"
    set --
    while IFS= read -r word; do set -- "$@" "$word"; done <"$SCRATCH/flags"
    must_keep flags --cluster "$pool" -- "$@"
}

# One change; two; several, with a batch that followed from dp; experts; without TransformerEngine.
check 8x8:H100 --model llama3-70b --set tp=8 --set pp=4 --global-batch 64
check 2x8:H100 --model llama3-8b --set micro_batch=4
check 4x8:H100 --model llama3-70b --set pp=2 --set micro_batch=2
check 8x8:H100 --model mixtral-8x7b --set ep=8
check 2x8:A100 --model gpt3-175b --set tp=8 --stack torch --global-batch 16
grep -q 'another plan does' "$SCRATCH/text"

# Numerics change only when nothing else is left, and then it is said.
cat >"$SCRATCH/stiff.rules" <<END
require tp == 1 && cp == 1 && pp == 1 "one way of parallelism"
require fsdp == none && optimizer_offload == 0 && recompute == full "nothing else"
END
check 1x8:H100 --model llama3-8b --rules "$SCRATCH/stiff.rules" --set dist_opt=on \
    --set recompute=full --set recompute_method=uniform --set recompute_layers=1 --global-batch 8 \
    --memory-margin 0.3
grep -q 'changes the numerics' "$SCRATCH/text"
grep -q '"numerics": true' "$SCRATCH/plan.json"

# Nothing fits: how much it needs at least, and on how many GPUs there is a plan.
refused() { # ARGUMENTS...
    code=0
    "$ASTRA" estimate "$@" >"$SCRATCH/text" 2>"$SCRATCH/err" || code=$?
    [ $code -eq 1 ] || { echo "exit code $code of estimate $*"; exit 1; }
}
refused --cluster 1x8:H100 --model llama3-405b --set tp=8
grep -q 'nothing that was tried fits on 8 H100-SXM5-80GB: the least, ' "$SCRATCH/text"
grep -q ' GiB on every GPU of its fullest stage; 64 of these GPUs would do$' "$SCRATCH/text"

# A plan that breaks a rule has no remedy for its memory.
refused --cluster 1x8:H100 --model llama3-70b --set tp=3 --format json
if grep -q '"remedy"' "$SCRATCH/text"; then exit 1; fi

# From flags, with Megatron's default dropout, whose masks are counted: the flags keep it.
code=0
"$ASTRA" estimate --cluster 1x8:H100 --format json -- --num-layers 32 --hidden-size 4096 \
    --num-attention-heads 32 --seq-length 4096 --max-position-embeddings 4096 --bf16 \
    --micro-batch-size 8 --global-batch-size 64 --vocab-size 50304 --sequence-parallel \
    --tensor-model-parallel-size 2 --use-distributed-optimizer \
    >"$SCRATCH/plan.json" 2>/dev/null || code=$?
[ $code -eq 1 ] || { echo "exit code $code of flags with dropout"; exit 1; }
set --
words_of flags >"$SCRATCH/flags"
while IFS= read -r word; do set -- "$@" "$word"; done <"$SCRATCH/flags"
must_keep 'flags with dropout' --cluster 1x8:H100 -- "$@"
