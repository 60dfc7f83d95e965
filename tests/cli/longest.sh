# Words of exactly the longest size are read whole, one byte more is refused or cut.
set -eu
expect() { # TEXT ARGUMENTS...: in the first line of the message of a search
    text=$1
    shift
    code=0
    "$ASTRA" search "$@" >"$SCRATCH/out" 2>"$SCRATCH/err" || code=$?
    [ $code -eq 2 ] && head -n 1 "$SCRATCH/err" | grep -qF -- "$text" && return
    echo "search $*: exit code $code, expected '$text'"
    cat "$SCRATCH/err"
    exit 1
}
fits=$(printf '%063d' 0 | tr 0 x)
over=x$fits
on="--cluster 1x8:H100" # words
job="--model llama3-8b $on"
expect "unknown key '$fits'" --model "$fits=1" $on
expect "'$over...' is longer than any key=value pair" --model "$over=1" $on
expect "layers is '$fits', expected" --model "layers=$fits" $on
expect "is longer than any key=value pair" --model "layers=$over" $on
expect "unknown GPU '$fits' (" $job --price "$fits=2"
expect "unknown GPU '$fits' (" $job --price "$over=2"
expect "unknown GPU '$fits' (" --model llama3-8b --cluster "1x8:$fits"
expect "unknown GPU '$fits' (" --model llama3-8b --cluster "1x8:$over"
expect "no parameter is called $fits" $job --set "$fits=1"
expect "=1: expected name=value" $job --set "$over=1"
expect "tp is '$fits', expected" $job --set "tp=$fits"
expect "too long, at most 64 values" $job --set "tp=$over"
