# `explain` names the changes that gain most. Applied, with --set and with Megatron's flags, each is
# feasible and takes exactly the step that was promised; so does the plan of the search. The best
# plan of a search has nothing left to gain.
set -eu

# The objects of "gains" and "searched", each with one more line that ends it, as files 1, 2, ...
split_changes() {
    rm -f "$SCRATCH"/change.*
    sed -n '/^  "gains": \[/,$p' "$SCRATCH/plan.json" | awk -v out="$SCRATCH/change." '
        /^    \{|^  "searched": \{/ { n++; inside = 1 }
        inside { print > (out n) }
        /^    \}|^  \}/ { inside = 0 }'
}
words_of() { # FILE NAME
    sed -n "/\"$2\": \[/,/\]/p" "$1" | sed -n 's/^ *"\([^"]*\)",*$/\1/p'
}
step_of() { # FILE, of a change or a plan
    sed -n 's/^ *"step_s": \([^,]*\),*$/\1/p' "$1" | head -n 1
}

must_take() { # WHAT STEP ARGUMENTS...
    what=$1 step=$2
    shift 2
    "$ASTRA" estimate --format json "$@" >"$SCRATCH/then.json" ||
        { echo "$what: not feasible: $*"; exit 1; }
    [ "$(step_of "$SCRATCH/then.json")" = "$step" ] && return
    echo "$what: a step of $(step_of "$SCRATCH/then.json"), promised $step: $*"
    exit 1
}

. tests/changed.sh

must_keep() { # FILE ARGUMENTS...
    file=$1
    shift
    pool=$2
    words_of "$file" set >"$SCRATCH/set"
    words_of "$file" flags >"$SCRATCH/flags"
    changed "$@" >"$SCRATCH/arguments"
    set --
    while IFS= read -r word; do set -- "$@" "$word"; done <"$SCRATCH/arguments"
    must_take settings "$(step_of "$file")" "$@"
    set --
    while IFS= read -r word; do set -- "$@" "$word"; done <"$SCRATCH/flags"
    must_take flags "$(step_of "$file")" --cluster "$pool" -- "$@"
}

check() { # CHANGES CLUSTER ARGUMENTS...: so many, that of the search included
    want=$1
    shift
    "$ASTRA" explain --cluster "$@" --format json >"$SCRATCH/plan.json" 2>"$SCRATCH/err" || true
    "$ASTRA" explain --cluster "$@" >"$SCRATCH/text" 2>"$SCRATCH/err" || true
    split_changes
    [ -s "$SCRATCH/change.$want" ] || { echo "fewer than $want changes for $*"; exit 1; }
    for change in "$SCRATCH"/change.*; do
        must_keep "$change" --cluster "$@"
    done
    while IFS= read -r word; do # of the first
        grep -qF -- "--set $word" "$SCRATCH/text" || { echo "$word is not in the text"; exit 1; }
    done <<WORDS
$(words_of "$SCRATCH/change.1" set)
WORDS
    grep -q '^  - .*searched: ' "$SCRATCH/text"
}

# A plan that fits; one with a remedy; experts and a batch that follows from dp; other layers.
check 4 64x8:A100 --model gpt3-175b --set tp=8 --set pp=8 --set recompute=full \
    --set recompute_method=uniform --set recompute_layers=1 --global-batch 1536
check 4 8x8:H100 --model llama3-70b --set tp=8 --set pp=4 --global-batch 64
grep -q '^Speedups, once it fits' "$SCRATCH/text"
check 3 8x8:H100 --model mixtral-8x7b --set ep=8 --set pp=2 --set dispatcher=alltoall \
    --set dist_opt=on --set recompute=full --set recompute_method=uniform --set recompute_layers=1
check 3 2x8:A100 --model llama3-8b --set tp=8 --stack torch --set dist_opt=on --global-batch 64

# Rules of the user hold for gains and for the search.
cat >"$SCRATCH/stiff.rules" <<END_OF_RULES
require tp == 8 && pp == 8 && recompute == full && recompute_method == uniform "as it is"
END_OF_RULES
check 3 64x8:A100 --model gpt3-175b --set tp=8 --set pp=8 --set recompute=full \
    --set recompute_method=uniform --set recompute_layers=1 --global-batch 1536 \
    --rules "$SCRATCH/stiff.rules"
if grep -E '"(tp|pp|recompute|recompute_method)=' "$SCRATCH"/change.*; then exit 1; fi

# What a search calls best; also when another explain asks for one stage only.
"$ASTRA" search --model llama3-70b --cluster 8x8:H100 --gpus 64 --format json >"$SCRATCH/best.json"
"$ASTRA" explain "$SCRATCH/best.json" >"$SCRATCH/text"
grep -q 'no single change is 1 % faster; searched: a search puts no faster plan first' "$SCRATCH/text"
"$ASTRA" explain "$SCRATCH/best.json" --stage memory >"$SCRATCH/text"
if grep -q searched "$SCRATCH/text"; then exit 1; fi
"$ASTRA" estimate --model llama3-8b --cluster 2x8:H100 --set tp=4 --set dist_opt=on \
    --global-batch 64 --format json >"$SCRATCH/plan.json"
if grep -q '"gains"' "$SCRATCH/plan.json"; then exit 1; fi
