# What a search says of changed inputs: the choice changes or it does not, no plan is an answer too,
# and neither the rest of the answer nor the number of threads has anything to do with it.
set -eu
fault() { echo "$*"; exit 1; }
search() { # ARGUMENTS...
    "$ASTRA" search --model llama3-8b --cluster 1x8:H100,1x8:A100 --top 2 "$@"
}
row() { # CHANGE OUTCOME: the row of the table
    grep -qE "^  $1 +$2( |\$)" "$SCRATCH/out" || fault "$1: not '$2'"
}

search --price h100=2.5 --what-if price:h100=-20% --what-if price:h100=2 --what-if gpus=8 \
    --what-if nodes:h100=x2 --what-if set:tp=2 --what-if gpus=64 --what-if global-batch=x2 >"$SCRATCH/out"
row 'price:h100=-20%' 'the same plan'
row 'gpus=8' 'other GPUs'
row 'nodes:h100=x2' 'other GPUs'
row 'set:tp=2' 'other strategy'
row 'gpus=64' 'no plan'
row 'global-batch=x2' 'the same plan'
[ "$(sed -n 's/^  price:h100=-20% //p' "$SCRATCH/out" | tr -d ' ')" = \
    "$(sed -n 's/^  price:h100=2 //p' "$SCRATCH/out" | tr -d ' ')" ] || fault "20 % off 2.5 is not 2"
grep -q '^  - gpus=8: 8 H100-SXM5-80GB instead of ' "$SCRATCH/out" || fault "the GPUs are not named"
grep -q '^  - set:tp=2: same GPUs, other strategy: tp 1 -> 2, ' "$SCRATCH/out" ||
    fault "the parameter is not named"
grep -q '^  - gpus=64: no plan: 64 GPUs are asked for, ' "$SCRATCH/out" || fault "no reason"

# Without the section the answer is what it is without the option; CSV has a column more.
elapsed() { sed 's/elapsed .*//'; }
sed '/^What if/,/^$/d' "$SCRATCH/out" | elapsed >"$SCRATCH/less"
search --price h100=2.5 | elapsed | cmp - "$SCRATCH/less"
search --format csv >"$SCRATCH/plain"
search --format csv --what-if gpus=8 | grep -v '^what_if,' | sed 's/,[^,]*$//' | cmp - "$SCRATCH/plain"
search --format csv --what-if gpus=8 | grep -q '^what_if,1,.*,gpus=8$'

for threads in 1 2 5; do
    search --format json --check --threads $threads --what-if gpus=8 --what-if nodes:a100=x2 |
        sed '/"elapsed_s"/d' >"$SCRATCH/$threads"
    grep -q '"change": "nodes:a100=x2"' "$SCRATCH/$threads"
    cmp "$SCRATCH/1" "$SCRATCH/$threads"
done

# Nothing is written when a change is wrong.
code=0
search -o "$SCRATCH/file" --what-if gpus=8 --what-if gpus=x2 2>"$SCRATCH/err" || code=$?
[ $code -eq 2 ] || fault "a wrong change: exit code $code"
[ ! -e "$SCRATCH/file" ] || fault "a wrong change left a file"
