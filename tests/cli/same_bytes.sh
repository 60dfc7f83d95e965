# The same question has the same answer, byte for byte, whatever the number of threads.
set -eu
search() { # THREADS
    "$ASTRA" search --model llama3-8b --cluster 4x8:H100 --threads "$1" --format json |
        sed '/"elapsed_s"/d'
}
search 1 >"$SCRATCH/one"
[ -s "$SCRATCH/one" ]
for threads in 1 2 5; do
    search $threads >"$SCRATCH/other"
    cmp "$SCRATCH/one" "$SCRATCH/other"
done
