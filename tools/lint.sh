#!/bin/sh
# What a reader of the sources would object to, in seconds and without building: lint.sh
# Layout (.clang-format), warnings of both compilers, the order of rooms, spelling (.codespellrc).
# From the environment: WARN and INCLUDE of the build, FILES (all .c and .h). Exit code 1
# when there is something to say.
set -u
cd "$(dirname "$0")/.." || exit 3
passed=0 failed=0
jobs=$(nproc 2>/dev/null || echo 2)
check() { # NAME COMMAND...: says it when the command fails, and goes on
    name=$1
    shift
    if "$@"; then
        echo "lint: $name: ok"
        passed=$((passed + 1))
    else
        echo "lint: $name: FAILED"
        failed=$((failed + 1))
    fi
}

format() { echo $FILES | xargs -P "$jobs" -n 50 clang-format --dry-run --Werror; }
warnings() { # COMPILER OPTIONS...
    compiler=$1
    shift
    for file in $FILES; do
        case $file in *.c) echo "$file" ;; esac
    done | xargs -P "$jobs" -n 1 "$compiler" -std=c17 $WARN -Wconversion $INCLUDE -Itests -Itools \
        -DASTRA_VERSION='""' -DASTRA_DATE='""' -DASTRA_COMMIT='""' "$@"
}

check format format
# Some warnings of gcc need more than syntax, and differ without optimization: it makes code.
check 'warnings of gcc' warnings gcc -O0 -c -o /dev/null
# gcc watches over signs; clang would have every enum cast that becomes an int.
check 'warnings of clang' warnings clang -fsyntax-only -Wno-sign-conversion
check 'order of rooms' sh tests/layers.sh
check spelling codespell
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
