# The runner of the tests notices what goes wrong in a program that prints the Test Anything Protocol,
# whatever exit code it gives itself.
set -eu
mkdir -p "$SCRATCH/tests/unit" "$SCRATCH/build/unit"
cp tests/run_cases.sh "$SCRATCH/tests"

program() { # NAME LINES: a test that does what the lines say
    : >"$SCRATCH/tests/unit/test_$1.c"
    printf '#!/bin/sh\n%s\n' "$2" >"$SCRATCH/build/unit/test_$1"
    chmod +x "$SCRATCH/build/unit/test_$1"
}
must_say() { # EXIT-CODE LINES: of the runner, without what a failed program printed
    code=0
    BUILD=$SCRATCH/build RUNNER='' ONLY=${only:-} \
        sh "$SCRATCH/tests/run_cases.sh" unit >"$SCRATCH/out" 2>&1 || code=$?
    grep -v -e '^    ' -e 's of CPU$' -e '^run:' "$SCRATCH/out" >"$SCRATCH/said" || true
    [ "$code $(cat "$SCRATCH/said")" = "$*" ] && return
    echo "expected $*, but the runner said $code:"
    cat "$SCRATCH/out"
    exit 1
}

program good 'echo 1..2; echo "ok 1 - a"; printf "half a line"; echo "ok 2 - b"'
program two_groups 'echo 1..1; echo "ok 1 - a"; echo 1..1; echo "ok 1 - b"'
must_say 0 'unit         4 passed, 0 failed
4 passed, 0 failed'

only='*_groups.c'
must_say 0 'unit         2 passed, 0 failed
2 passed, 0 failed'
only=nothing
must_say 1 'unit         0 passed, 0 failed
0 passed, 0 failed'
only=

program cut 'echo 1..2; echo "ok 1 - a"; printf "garbage"; echo "not ok 2 - b"'
program dies 'echo 1..1; echo "ok 1 - a"; exit 1'
program early 'echo 1..3; echo "ok 1 - a"; exit 0'
program more 'echo 1..1; echo "ok 1 - a"; echo "ok 2 - b"'
program no_plan 'echo "ok 1 - a"'
program none 'echo 1..0'
must_say 1 'FAIL test_cut: 1 of 2 tests
FAIL test_dies: exit code 1
FAIL test_early: ran 1 tests of 3
FAIL test_more: ran 2 tests of 1
FAIL test_no_plan: ran 1 tests of 0
FAIL test_none: ran no test
unit        10 passed, 6 failed
10 passed, 6 failed'
