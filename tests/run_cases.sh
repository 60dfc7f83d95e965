#!/bin/sh
# Runs tests and counts them: run_cases.sh KIND...   Exit code 0 when all passed, 1 otherwise.
# Kinds run beside each other: failures are shown at once, how far each is every few seconds, the
# counts in the order of the kinds at the end.
#
#   unit     BUILD/unit/test_*          cmocka programs
#   seeds    BUILD/replay/*             fuzz targets, fed with tests/fuzz/seeds
#   bad      tests/bad/*.case           $ astra ARGUMENTS / exit N / exact stderr; stdout empty
#   golden   tests/golden/*.case        $ astra ARGUMENTS / exit N / exact stdout
#   cli      tests/cli/*.sh, layers.sh  scripts that exit 0 on success
#   rewrite  the cases of both          puts what astra prints now in place of what is expected (not
#                                       of the exit code), new numbers into examples of documents
#
# From the environment: BUILD (build), ASTRA (BUILD/astra), RUNNER (words put before each program,
# such as valgrind), LIMIT_S (seconds of CPU that a process may take, 300), FUSE_S (seconds after
# which a test is ended that hangs asleep, 1800: a busy machine is no failure), ONLY (files to run,
# as a pattern of their names: 'test_rules.c', 'cluster_*'). Scripts in tests/cli find ASTRA, BUILD
# and SCRATCH (an empty folder of their own) as absolute paths, and CC, LDFLAGS, LIBS and VERSION of
# the build.
set -u
cd "$(dirname "$0")/.." || exit 3
BUILD=$(cd "${BUILD:-build}" && pwd) || exit 3
: "${ASTRA:=$BUILD/astra}" "${RUNNER:=}" "${LIMIT_S:=300}" "${FUSE_S:=1800}" "${ONLY:=*}"
ulimit -S -t "$LIMIT_S"
case $ASTRA in /*) ;; *) ASTRA=$PWD/$ASTRA ;; esac
work=$(mktemp -d) || exit 3
trap 'rm -rf "$work"' EXIT
trap 'exit 3' INT TERM
export ASTRA BUILD LC_ALL=C XDG_CONFIG_HOME="$work" # whose defaults are none
passed=0
failed=0

# What depends on the machine and the moment, in JSON and in text.
filter() {
    sed -E -e 's/("elapsed_s": )[-+.0-9eE]+/\1ELAPSED/' \
        -e 's/(elapsed|took) [0-9.]+ (us|ms|s|min)([^a-z]|$)/\1 ELAPSED\3/'
}

run() { timeout "$FUSE_S" "$@"; }
# What an exit code says where nothing else does.
meaning() { # CODE
    case $1 in
    124) echo "exit code $1: not done after $FUSE_S s" ;;
    152) echo "exit code $1: more than $LIMIT_S s of CPU" ;; # 128 + SIGXCPU
    *) echo "exit code $1" ;;
    esac
}

indent() { sed 's/^/    /' "$@"; }
pass() { passed=$((passed + 1)); }
fault() { # NAME REASON: a failed test; $work/why may hold more
    failed=$((failed + 1))
    {
        echo "FAIL $1: $2"
        [ ! -s "$work/why" ] || indent "$work/why"
    } >"$work/fault"
    cat "$work/fault" # at one go: other kinds print too
}

# How far a kind is: begin with its files, next before each of them.
begin() {
    all=$# at=0
    echo "0/$all" >"$work/progress"
}
next() { # FILE: false where it is not to run, or the pattern matched none
    echo "$at/$all" >"$work/progress"
    at=$((at + 1))
    case ${1##*/} in $ONLY) [ -f "$1" ] ;; *) false ;; esac
}

# Programs that print a plan "1..N", then "ok ..." or "not ok ..." for every test; what a test prints
# itself may stand before these on the line. One that dies or ends early counts as a failure.
run_tap() { # NAME PROGRAM ARGUMENTS...
    name=$1
    shift
    # RUNNER is a list of words.
    run env CMOCKA_MESSAGE_OUTPUT=TAP $RUNNER "$@" </dev/null >"$work/why" 2>&1
    code=$?
    tap_counts "$work/why" >"$work/tap"
    read -r plan good bad <"$work/tap"
    passed=$((passed + good))
    if [ "$bad" -gt 0 ]; then
        failed=$((failed + bad - 1))
        fault "$name" "$bad of $((good + bad)) tests"
    elif [ $code -ne 0 ]; then
        fault "$name" "$(meaning $code)"
    elif [ "$good" -eq 0 ]; then
        fault "$name" "ran no test"
    elif [ "$good" -ne "$plan" ]; then
        fault "$name" "ran $good tests of $plan"
    fi
}
tap_counts() { # FILE: tests planned, passed, failed
    awk '/^1\.\.[0-9]+$/ { plan += substr($0, 4) }
        /not ok [0-9]+ / { bad++; next }
        /ok [0-9]+ - / { good++ }
        END { print plan + 0, good + 0, bad + 0 }' "$1"
}

run_unit() {
    begin tests/unit/test_*.c
    for source in tests/unit/test_*.c; do
        next "$source" || continue
        name=$(basename "$source" .c)
        run_tap "$name" "$BUILD/unit/$name"
    done
}

run_seeds() {
    begin tests/fuzz/fuzz_*.c
    for source in tests/fuzz/fuzz_*.c; do
        next "$source" || continue
        name=$(basename "$source" .c)
        name=${name#fuzz_}
        set --
        for seed in "tests/fuzz/seeds/$name"/*; do
            [ ! -f "$seed" ] || set -- "$@" "$seed"
        done
        run_tap "seeds of $name" "$BUILD/replay/$name" "$@"
    done
}

astra() { run $RUNNER "$ASTRA" "$@"; }

# Runs the command of a case: exit code in $code, output in $work/out and $work/err, what the case
# expects in $want and $work/want. False when the file is not a case.
run_command() { # FILE
    command=$(sed -n 1p "$1")
    want=$(sed -n 2p "$1")
    : >"$work/why"
    case $command in '$ astra' | '$ astra '*) ;; *) return 1 ;; esac
    case $want in 'exit '[0-9]) ;; *) return 1 ;; esac
    want=${want#exit }
    tail -n +3 "$1" >"$work/want"
    (eval "${command#??}") </dev/null >"$work/out" 2>"$work/err"
    code=$?
}

not_a_case='line 1 must be "$ astra ARGUMENTS", line 2 "exit N"'

# Compares one stream with what the case expects; the other one helps to understand a failure.
judge() { # FILE EXPECTED-NAME ACTUAL OTHER
    if [ "$code" != "$want" ]; then
        cat "$work/out" "$work/err" >"$work/why"
        fault "$1" "$(meaning $code), expected $want"
    elif ! diff -u --label "expected $2" --label "actual $2" "$work/want" "$3" >"$work/why"; then
        cat "$4" >>"$work/why"
        fault "$1" "$2 differs"
    else
        return 0
    fi
    return 1
}

run_bad() {
    begin tests/bad/*.case
    for file in tests/bad/*.case; do
        next "$file" || continue
        if ! run_command "$file"; then
            fault "$file" "$not_a_case"
        elif judge "$file" stderr "$work/err" "$work/out"; then
            cp "$work/out" "$work/why"
            if [ -s "$work/out" ]; then fault "$file" "stdout is not empty"; else pass; fi
        fi
    done
}

run_golden() {
    begin tests/golden/*.case
    for file in tests/golden/*.case; do
        next "$file" || continue
        if ! run_command "$file"; then
            fault "$file" "$not_a_case"
            continue
        fi
        filter <"$work/out" >"$work/filtered"
        ! judge "$file" stdout "$work/filtered" "$work/err" || pass
    done
}

run_rewrite() {
    begin tests/bad/*.case tests/golden/*.case
    for file in tests/bad/*.case tests/golden/*.case; do
        next "$file" || continue
        if ! run_command "$file"; then
            fault "$file" "$not_a_case"
            continue
        elif [ "$code" != "$want" ]; then
            cp "$work/err" "$work/why"
            fault "$file" "$(meaning $code), expected $want; left as it was"
            continue
        fi
        case $file in
        tests/bad/*) cat "$work/err" ;;
        *) filter <"$work/out" ;;
        esac >"$work/now"
        { sed 2q "$file" && cat "$work/now"; } >"$work/new"
        cmp -s "$work/new" "$file" || cp "$work/new" "$file"
        pass
    done
    mkdir "$work/scratch"
    if REWRITE=1 SCRATCH=$work/scratch sh tests/cli/doc_examples.sh </dev/null >"$work/why" 2>&1; then
        pass
    else
        fault "examples in documents" "more than numbers differ"
    fi
}

run_cli() {
    begin tests/layers.sh tests/cli/*.sh
    for file in tests/layers.sh tests/cli/*.sh; do
        next "$file" || continue
        rm -rf "$work/scratch"
        mkdir "$work/scratch"
        if run env SCRATCH="$work/scratch" sh "$file" </dev/null >"$work/why" 2>&1; then
            pass
        else
            fault "$file" "$(meaning $?)"
        fi
    done
}

# All tests of one kind; the counts lie in its folder when it is through.
run_kind() { # KIND
    work=$work/$1
    "run_$1"
    echo "$all/$all" >"$work/progress"
    echo "$passed $failed" >"$work/counts"
}

show_progress() { # KIND...
    before=
    pause=2
    while sleep $pause >/dev/null; do
        pause=5
        line=
        for kind in "$@"; do
            line="$line  $kind $(cat "$work/$kind/progress")"
        done
        [ "$line" = "$before" ] || echo "run:$line"
        before=$line
    done
} 2>/dev/null

for kind in "$@"; do
    case $kind in
    unit | seeds | bad | golden | cli | rewrite) ;;
    *)
        echo "run_cases.sh: unknown kind '$kind'" >&2
        exit 3
        ;;
    esac
done

pids=
for kind in "$@"; do
    mkdir "$work/$kind"
    run_kind "$kind" 2>&1 &
    pids="$pids $!"
done
show_progress "$@" &
progress=$!
trap 'kill $pids $progress 2>/dev/null; exit 3' INT TERM # in the background they do not hear of INT
wait $pids
kill $progress
all_passed=0 all_failed=0
for kind in "$@"; do
    read -r passed failed <"$work/$kind/counts" || { echo "$kind: not finished"; passed=0 failed=1; }
    printf '%-8s %5d passed, %d failed\n' "$kind" "$passed" "$failed"
    all_passed=$((all_passed + passed)) all_failed=$((all_failed + failed))
done
times >"$work/times" # of the shell, then of its children: minutes "m" seconds "s"
awk -F '[ms ]+' 'NR == 2 { printf "%.0f s of CPU\n", 60 * $1 + $2 + 60 * $3 + $4 }' "$work/times"
echo "$all_passed passed, $all_failed failed"
[ $all_failed -eq 0 ] && [ $all_passed -gt 0 ]
