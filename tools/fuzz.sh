#!/bin/sh
# Runs every fuzz target for FUZZ_SECONDS, from its seeds in tests/fuzz/seeds and what earlier runs
# came upon (kept in BUILD/corpus). An input that is a finding becomes a seed under the name that
# libFuzzer gives it, crash-SHA1 or leak-SHA1: `make test` replays it from then on. Goes on to the
# next target; exit code 1 when there was a finding. libFuzzer's limit is one of the wall clock: it
# is long enough for a search on a busy machine.
set -u
: "${BUILD:=build/fuzz}" "${FUZZ_SECONDS:=30}"
kept=

# An input that is merely slow (slow-unit-*) is no finding.
keep() { # NAME: its findings become seeds
    seeds=tests/fuzz/seeds/$1
    mkdir -p "$seeds"
    for input in "$BUILD/found/$1"/*; do
        case $input in */slow-unit-* | *'*') continue ;; esac
        for seed in "$seeds"/*; do
            cmp -s "$input" "$seed" && echo "$1: the input is $seed" && continue 2
        done
        cp "$input" "$seeds/"
        kept="$kept $seeds/$(basename "$input")"
    done
}

status=0
for source in tests/fuzz/fuzz_*.c; do
    name=$(basename "$source" .c)
    name=${name#fuzz_}
    corpus=$BUILD/corpus/$name
    log=$BUILD/$name.log
    rm -rf "$BUILD/found/$name"
    mkdir -p "$corpus" "$BUILD/found/$name"
    set -- "$corpus"
    [ ! -d "tests/fuzz/seeds/$name" ] || set -- "$@" "tests/fuzz/seeds/$name"
    if "$BUILD/fuzz_$name" -max_total_time="$FUZZ_SECONDS" -timeout=120 -rss_limit_mb=2048 \
        -artifact_prefix="$BUILD/found/$name/" -print_final_stats=1 "$@" >"$log" 2>&1; then
        runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
        echo "$name: $runs inputs in $FUZZ_SECONDS s, nothing found"
    else
        status=1
        grep -v '^#[0-9]' "$log" | tail -n 40
        echo "$name: FAILED, see $log"
        keep "$name"
    fi
done
[ -z "$kept" ] || echo "kept as seeds, which \`make test\` replays; commit them with what mends them:"
for file in $kept; do
    echo "  $file"
done
exit $status
