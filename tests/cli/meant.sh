# Words of other tools, parameters as options, models and pools that stand alone: the message says what to write.
set -eu
says() { # MESSAGE ARGUMENTS...
    want="astra: $1"
    shift
    code=0
    "$ASTRA" "$@" >"$SCRATCH/out" 2>"$SCRATCH/err" || code=$?
    [ $code -eq 2 ] && [ "$(cat "$SCRATCH/err")" = "$want" ] ||
        { echo "astra $*: exit code $code, $(cat "$SCRATCH/err")"; exit 1; }
}

says 'search has no option --tp (did you mean --set tp=4?)' search --tp 4
says 'explain has no option --tp (did you mean --set tp=4?)' explain --tp=4
says 'search has no option --micro-batch (did you mean --set micro_batch=...?)' search --micro-batch
says 'search has no option --spot (did you mean --market spot?)' search --spot --top 3
says 'search has no option --seq (did you mean --seq-len 128k?)' search --seq 128k
says 'search has no option --nodes (did you mean --cluster 8x8:H100?)' search --nodes 32
says 'gpus has no option --json (did you mean --format json?)' gpus --json
says 'improve has no option --tp; Megatron'"'"'s flags go behind --, as in astra improve --cluster 8x8:H100 -- --tp ...' \
    improve --tp 4
says "'Llama3-8B' is neither an option nor the value of one (did you mean --model Llama3-8B?)" search Llama3-8B
says "'8x8:H100' is neither an option nor the value of one (did you mean --cluster 8x8:H100?)" search 8x8:H100
says "'tp=4' is neither an option nor the value of one (did you mean --set tp=4?)" search tp=4
says "unknown command 'fix' (did you mean explain?)" fix
says "'memory' is a topic, not a command: astra help memory" memory
