#!/bin/sh
# Runs every fuzz target for FUZZ_SECONDS, from its seeds in tests/fuzz/seeds and what earlier runs
# found (kept in BUILD/corpus). A finding is left in BUILD and named; goes on to the next target.
set -u
: "${BUILD:=build/fuzz}" "${FUZZ_SECONDS:=30}"
status=0
for source in tests/fuzz/fuzz_*.c; do
    name=$(basename "$source" .c)
    name=${name#fuzz_}
    corpus=$BUILD/corpus/$name
    log=$BUILD/$name.log
    mkdir -p "$corpus"
    set -- "$corpus"
    [ ! -d "tests/fuzz/seeds/$name" ] || set -- "$@" "tests/fuzz/seeds/$name"
    if "$BUILD/fuzz_$name" -max_total_time="$FUZZ_SECONDS" -timeout=10 -rss_limit_mb=2048 \
        -artifact_prefix="$BUILD/$name-" -print_final_stats=1 "$@" >"$log" 2>&1; then
        runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
        echo "$name: $runs inputs in $FUZZ_SECONDS s, nothing found"
    else
        status=1
        grep -v '^#[0-9]' "$log" | tail -n 40
        echo "$name: FAILED, see $log; its input belongs in tests/fuzz/seeds/$name"
    fi
done
exit $status
