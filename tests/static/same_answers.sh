# same_answers.sh PROGRAM OTHER: two builds of the program give the same JSON, but for the seconds
# that a search took. EMULATOR runs PROGRAM. Numbers may differ where a C library rounds otherwise:
# by one part in 1e8, or by a picosecond where a difference of nearly equal times is all there is.
set -eu
program=$1
other=$2
EMULATOR=${EMULATOR:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Lines whose numbers differ, with by how much; exit code 1 where more does.
judge='
function size(x) { return x < 0 ? -x : x }
{
    name = $0; sub(/:.*/, "", name)
    x = $0; sub(/.*: /, "", x); y = other[FNR]; sub(/.*: /, "", y)
}
NR == FNR { other[FNR] = $0; lines = FNR; next }
$0 == other[FNR] { next }
{
    by = size(x - y)
    print name, y, x
    mine = $0; sub(/[-+.0-9eE]+,?$/, "", mine); theirs = other[FNR]; sub(/[-+.0-9eE]+,?$/, "", theirs)
    if (mine != theirs || (by > 1e-8 * size(y) && by > 1e-12)) bad = 1
}
END { exit bad || FNR != lines }'

compare() { # ARGUMENTS...
    $EMULATOR "$program" "$@" --format json | grep -v '"elapsed_s"' >"$work/mine"
    "$other" "$@" --format json | grep -v '"elapsed_s"' >"$work/theirs"
    [ -s "$work/mine" ] || { echo "FAIL no answer: astra $*"; exit 1; }
    if ! awk "$judge" "$work/theirs" "$work/mine" >"$work/why"; then
        echo "FAIL $(wc -l <"$work/why") of $(wc -l <"$work/mine") lines differ: astra $*"
        head -n 10 "$work/why"
        exit 1
    fi
    echo "same but for $(wc -l <"$work/why") of $(wc -l <"$work/mine") lines: astra $1 $2 $3 $4 $5"
    cat "$work/why"
}

compare search --model llama3-70b --cluster 1..8x8:H100
compare search --model mixtral-8x7b --cluster 2x8:A100,1x8:H100
compare search --model llama3-8b --cluster 1..4x8:H200 --tokens 1T --budget 1.5M
compare estimate --model llama3-70b --cluster 64x8:H100 --set tp=4 --set pp=4 \
    --set seq_parallel=on --set dist_opt=on --set recompute=full --set recompute_method=uniform \
    --set recompute_layers=1
compare explain --model llama3-8b --cluster 2x8:GB200 --set tp=2 --set pp=2 --set dist_opt=on
