# Every plan of a search, read back from the flags it would be launched with, has the same figures
# to the last digit: explain and estimate ask the same question that the search has answered.
set -eu

# One file per plan of best[] and pareto[]: objects that begin in column 5.
split_plans() {
    awk -v folder="$SCRATCH" '
        /^    \{$/ { name = sprintf("%s/plan_%03d.json", folder, count++); inside = 1 }
        inside { line = $0; if (line == "    },") line = "    }"; print line > name }
        /^    \},?$/ && inside { close(name); inside = 0 }' "$1"
}

names='step_s|tokens_per_s|mfu|feasible|peak_bytes|device_bytes|layers|compute|bubble|dp'
# Of the plan itself: what explain says of other plans stands at the end.
figures() { sed -e '/^  "gains": /,$d' -e '/^  "instead": /,$d' "$1" | grep -E "\"($names)\":" | tr -d ' ,'; }

compare() { # FILE-OF-PLAN WHAT ARGUMENTS...
    plan=$1 what=$2
    shift 2
    "$ASTRA" "$@" >"$SCRATCH/again.json" ||
        { echo "not feasible: $what of $(cat "$plan")"; exit 1; }
    figures "$plan" >"$SCRATCH/first"
    figures "$SCRATCH/again.json" | diff "$SCRATCH/first" - || { echo "$what differs: $*"; exit 1; }
}

words_of() { sed -n '/"flags": \[/,/^ *\],*$/s/^ *"\(.*\)",*$/\1/p' "$1"; }

ask() { # ARGUMENTS of search
    rm -f "$SCRATCH"/plan_*.json
    "$ASTRA" search "$@" --check --format json >"$SCRATCH/found.json"
    split_plans "$SCRATCH/found.json"
    [ -s "$SCRATCH/plan_000.json" ]
    for plan in "$SCRATCH"/plan_*.json; do
        compare "$plan" explain explain "$plan" --format json
        pool=$(sed -n 's/^ *"cluster": "\(.*\)",$/\1/p' "$plan")
        gpus=$(sed -n '0,/"gpus"/s/^ *"gpus": \([0-9]*\),$/\1/p' "$plan")
        set -- # the flags, one word each
        while IFS= read -r word; do set -- "$@" "$word"; done <<END
$(words_of "$plan")
END
        compare "$plan" estimate estimate --cluster "$pool" --gpus "$gpus" --format json -- "$@"
    done
}

ask --model llama3-8b --cluster 1x8:H100
ask --model llama3-8b --cluster 2x8:H100 --gpus 12
ask --model llama3-70b --cluster 16x8:A100@50 --stack torch --top 4
ask --model llama3-8b --cluster 2x8:A100@50 --stack local --seq-len 2048 --top 3
ask --model llama3-8b --cluster 4x8:V100 --precision fp16 --top 3
ask --model mixtral-8x7b --cluster 1..8x8:H100 --precision fp8 --top 4
ask --model deepseek-v3 --cluster 32x8:H100 --top 3
ask --model gpt-oss-20b --cluster 18x4:GB200 --top 3
ask --model layers=7,hidden=1024,ffn=4096,heads=16,kv=2,vocab=32000,tied=1 --cluster 3x8:L40S \
    --global-batch 96 --seq-len 1000 --top 4
ask --model llama3-8b --cluster 2x8:H100 --set recompute=full --set pp=4 --top 3
ask --model llama3-8b --cluster 2x8:H100 --set optimizer_offload=50 --set pp=2 --set split=uneven \
    --top 3
