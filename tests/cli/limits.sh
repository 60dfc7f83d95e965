# Little memory, many rules. Too little memory is trouble of the system, exit code 3, whoever runs
# out of it; 100,000 rules are read, applied and told of in seconds.
set -eu
fault() { echo "$*"; exit 1; }
awk 'BEGIN { for (i = 0; i < 100000; i++)
    printf "reject tp == %d && pp == %d \"no %d\"\n", i % 64 + 1, i % 7 + 1, i }' >"$SCRATCH/rules"

if ! nm "$ASTRA" 2>"$SCRATCH/err" | grep -q __asan_init; then # which needs terabytes of addresses
    for limit in 30000 50000 100000; do
        code=0
        (ulimit -v $limit && exec "$ASTRA" search --model llama3-8b --cluster 2x8:H100 \
            --rules "$SCRATCH/rules") >"$SCRATCH/out" 2>"$SCRATCH/err" || code=$?
        [ $code -eq 3 ] || fault "with $limit KiB the exit code is $code: $(cat "$SCRATCH/err")"
        [ "$(wc -l <"$SCRATCH/err")" -eq 1 ] || fault "more than a line: $(cat "$SCRATCH/err")"
    done
fi

timeout 20 "$ASTRA" search --model llama3-8b --cluster 2x8:H100 --rules "$SCRATCH/rules" \
    >"$SCRATCH/out" || fault "100,000 rules take longer than 20 s"
grep -q 'more rules dropped nothing either' "$SCRATCH/out" || fault "rules without effect are not told"
[ "$(grep -c 'dropped nothing' "$SCRATCH/out")" -lt 30 ] || fault "too many notes"
