#!/bin/sh
# Puts random faults into copies of the sources and says which test notices each: `make mutants`.
# A fault that does not compile is replaced by another. Tests that run the line go one by one, quick
# ones first, until one fails or hangs. Which those are is found once for a tree, with gcov.
#
# From the environment: what run_cases.sh wants; SEED (1) draws the faults, FAULTS (60) are tried,
# none is begun after MINUTES (60), JOBS (the cores) at a time. Copies lie in BUILD/mutants and are
# removed; BUILD/mutants.seen keeps what tests run, BUILD/mutants.patch the faults that passed.
set -u
cd "$(dirname "$0")/.." || exit 3
: "${SEED:=1}" "${FAULTS:=60}" "${MINUTES:=60}" "${JOBS:=$(nproc)}" "${BUILD:=build}"
here=$PWD/$BUILD/mutants seen=$PWD/$BUILD/mutants.seen
workers=
rm -rf "$here" && mkdir -p "$here/slot" || exit 3
trap 'rm -rf "$here"' EXIT
trap 'kill $workers 2>/dev/null; exit 3' INT TERM
export LC_ALL=C BUILD
unset MAKEFLAGS MAKELEVEL ONLY RUNNER

now() { date +%s%N | cut -b 1-13; } # milliseconds
sources() { git ls-files -co --exclude-standard; }

# The sources with the objects made of them; programs are linked when a test needs them.
copy_tree() { # FOLDER
    mkdir -p "$1" && sources | tar -cf - -T - | tar -xf - -C "$1" &&
        (cd "$BUILD" && tar -cf - --exclude='./mutants*' --exclude=./unit --exclude=./replay --exclude=./san \
            --exclude=./fuzz --exclude=./browser .) | tar -xf - -C "$1" --one-top-level="$BUILD"
}

# Every test as "KIND FILES"; bad inputs by what they are bad for, they are many and quick.
list_tests() {
    for file in tests/unit/test_*.c; do echo "unit ${file##*/}"; done
    for file in tests/fuzz/fuzz_*.c; do echo "seeds ${file##*/}"; done
    for file in tests/bad/*.case; do file=${file##*/} && echo "bad ${file%%_*}_*"; done | sort -u
    for file in tests/golden/*.case; do echo "golden ${file##*/}"; done
    for file in tests/layers.sh tests/cli/*.sh; do echo "cli ${file##*/}"; done
}

# False when it fails, hangs, or wants all the memory there is.
run_test() { # MILLISECONDS-IT-TAKES KIND FILES LOG
    (
        ulimit -S -v 16000000 && ulimit -S -f 2000000
        ONLY=$3 LIMIT_S=$((10 + $1 / 200)) FUSE_S=$((60 + $1 / 50)) sh tests/run_cases.sh "$2" >"$4" 2>&1
    )
}

# Builds what a test needs, once for a fault.
build_for() { # KIND FILES
    case $1 in
    unit) target=$BUILD/unit/${2%.c} ;;
    seeds) target=$BUILD/replay/$(basename "${2#fuzz_}" .c) ;;
    cli) target=programs ;;
    *) target=$BUILD/astra ;;
    esac
    case $built in *" $target "*) ;; *) make -s "$target" >../log 2>&1 || return ;; esac
    built="$built $target "
}

# What every test runs, in SEEN/NUMBER, and how long it takes, in SEEN/times. A test that fails with
# what gcov adds to programs must pass without, and is taken to run everything.
look_on() { # WORKER
    number=0
    list_tests | while read -r kind files; do
        number=$((number + 1))
        [ $((number % JOBS)) -eq $(($1 % JOBS)) ] || continue
        begin=$(now)
        GCOV_PREFIX=$seen/$number run_test 60000 "$kind" "$files" "$seen/log" </dev/null ||
            { rm -rf "$seen/$number" && echo "$kind $files" >>"$seen/again"; }
        echo "$(($(now) - begin)) $kind $files $number" >>"$seen/times"
    done
}
look() {
    tree=$(sources | tar -cf - -T - --mtime=@0 | cksum)
    [ "$tree" != "$(cat "$seen/tree" 2>/dev/null)" ] || return 0
    echo "mutants: every test once without a fault, to see what it runs"
    rm -rf "$seen" && mkdir "$seen" && cd "$here/1/tree" || exit 3
    plain=$BUILD BUILD=$PWD/$BUILD/coverage
    make -s -j "$JOBS" BUILD="$BUILD" VARIANT=--coverage CFLAGS=-Og programs >"$seen/log" || exit 3
    GCOV_PREFIX_STRIP=$(echo "$BUILD" | tr -cd / | wc -c)
    export GCOV_PREFIX_STRIP LDFLAGS="--coverage ${LDFLAGS:-}"
    for worker in $(seq "$JOBS"); do look_on "$worker" & workers="$workers $!"; done
    wait $workers
    (cd "$BUILD" && find src -name '*.gcno' | tar -cf - -T -) | tar -xf - -C "$seen"
    rm -rf "$BUILD"
    BUILD=$plain built=
    [ ! -e "$seen/again" ] || while read -r kind files <&4; do
        build_for "$kind" "$files" && run_test 60000 "$kind" "$files" ../log ||
            { echo "mutants: fails without a fault: $kind $files" && cat ../log && exit 3; }
    done 4<"$seen/again"
    echo "$tree" >"$seen/tree"
}

# Whether a test runs the line; where a line is no code, as in a table, any line of the file.
runs() { # NUMBER FILE LINE
    [ -d "$seen/$1" ] || return 0
    [ -e "$seen/$1/${2%.c}.gcda" ] || return
    ln -f "$seen/${2%.c}.gcno" "$seen/$1/${2%.c}.gcno"
    gcov -t "$seen/$1/${2%.c}.gcda" 2>/dev/null | awk -F : -v line="$3" '$1 + 0 > 0 { any = 1 }
        $2 + 0 == line { own = $1; sub(/^ */, "", own) }
        END { exit !(own == "-" || own == "" ? any : own + 0 > 0) }'
}

# Runs tests until one fails, which is left in $by.
judge() { # FILE LINE
    by= built=
    sort -n "$seen/times" >../times
    while read -r cost kind files number <&4; do
        case $1 in *.c) runs "$number" "$1" "$2" || continue ;; esac
        build_for "$kind" "$files" && run_test "$cost" "$kind" "$files" ../log || { by="$kind $files" && return; }
    done 4<../times
}

# The first fault of a slot that compiles, put in and judged; the others stand in for it.
try_slot() { # SLOT
    awk -v n="$FAULTS" -v slot="$1" 'NR % n == slot % n' "$here/faults" >../mine
    while IFS='	' read -r file line fault text <&3; do
        cp "$file" ../kept
        { head -n $((line - 1)) ../kept && printf '%s\n' "$text" && tail -n +$((line + 1)) ../kept; } >"$file"
        diff -u --label "a/$file" --label "b/$file" ../kept "$file" >../patch
        begin=$(now)
        if make -s "$BUILD/astra" >../log 2>&1; then
            judge "$file" "$line"
            [ -n "$by" ] || cp ../patch "$here/slot/$1/passed"
            {
                echo "$file:$line: $fault: ${by:-PASSED UNNOTICED} ($((($(now) - begin) / 1000)) s)"
                sed -n '4,$s/^\([-+]\) */    \1 /p' ../patch
            } >../report
            cat ../report # at one go: others print too
            line=
        fi
        cp ../kept "$file" # newer than what was built of the fault
        [ -n "$line" ] || return 0
    done 3<../mine
}

work() { # WORKER
    cd "$here/$1/tree" || exit 3
    for slot in $(seq "$FAULTS"); do
        [ "$(date +%s)" -lt "$until" ] || break
        ! mkdir "$here/slot/$slot" 2>/dev/null || try_slot "$slot"
    done
}

copy_tree "$here/1/tree" || exit 3
(look) || exit
for worker in $(seq 2 "$JOBS"); do mkdir "$here/$worker" && cp -a "$here/1/tree" "$here/$worker" || exit 3; done
awk -v SEED="$SEED" -v COUNT=$((10 * FAULTS)) -f tools/mutants.awk \
    $(find src -name '*.c' -o -name '*.def' | sort) >"$here/faults"
until=$(($(date +%s) + 60 * MINUTES))
for worker in $(seq "$JOBS"); do
    work "$worker" &
    workers="$workers $!"
done
wait $workers
tried=$(ls "$here/slot" | wc -l)
cat "$here"/slot/*/passed >"$BUILD/mutants.patch" 2>/dev/null
passed=$(ls "$here"/slot/*/passed 2>/dev/null | wc -l)
echo "mutants: seed $SEED: $((tried - passed)) of $tried faults noticed," \
    "$((100 * (tried - passed) / (tried + !tried))) %; those that passed: $BUILD/mutants.patch"
