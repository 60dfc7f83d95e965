# The same question has the same answer, byte for byte, whatever the number of threads; and a pool of
# one group is no mixed question, whatever --mix says.
set -eu
search() { # POOL ARGUMENTS...
    pool=$1
    shift
    "$ASTRA" search --model llama3-8b --cluster "$pool" --format json "$@" | sed '/"elapsed_s"/d'
}
for pool in 4x8:H100 2x8:A100,2x8:H100; do
    search $pool --threads 1 >"$SCRATCH/one"
    [ -s "$SCRATCH/one" ]
    for threads in 1 2 5; do
        search $pool --threads $threads >"$SCRATCH/other"
        cmp "$SCRATCH/one" "$SCRATCH/other"
    done
done
search 4x8:H100 >"$SCRATCH/one"
for mix in 1 2 4; do
    search 4x8:H100 --mix $mix >"$SCRATCH/other"
    cmp "$SCRATCH/one" "$SCRATCH/other"
done
# What one structure leaves behind for the next, which another thread may take: seldom more than a few
# arrangements that are judged, thus several times.
expert_pool() { # THREADS
    "$ASTRA" search --model mixtral-8x7b --cluster 4x4:H200,16x8:L40S --top 1 --format json \
        --threads "$1" | sed '/"elapsed_s"/d'
}
expert_pool 1 >"$SCRATCH/one"
for threads in 2 2 2 3 5; do
    expert_pool $threads >"$SCRATCH/other"
    cmp "$SCRATCH/one" "$SCRATCH/other"
done
