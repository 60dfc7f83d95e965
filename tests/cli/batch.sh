# The default batch fits the pool: 4M tokens at most, steps of a minute at half of peak, a sequence a GPU.
set -eu
batch() { # WANTED ARGUMENTS...
    want=$1
    shift
    got=$("$ASTRA" search "$@" --top 1 --format csv | sed -n '2{s/^\([^,]*,\)\{6\}\([0-9]*\),.*/\2/;p}')
    [ "$got" = "$want" ] || { echo "$*: batch '$got', expected $want"; exit 1; }
}
batch 512 --model llama3-8b --cluster 1x8:H100 # 64 s at 40 %: as it ever was
batch 64 --model llama3-8b --cluster 1x8:RTX4090
batch 1024 --model llama3-8b --cluster 1x8:H100 --seq-len 4096
batch 64 --model llama3-70b --cluster 8x8:A40 # 83 sequences take a minute
"$ASTRA" search --model llama3-8b --cluster 1x8:RTX4090 --top 1 | grep -q 'global batch 64 (default: steps of a minute' ||
    { echo "what decided is not said"; exit 1; }
