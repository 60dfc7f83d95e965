# Both libraries export astra_* and nothing else.
set -eu

check() { # WHAT, with the output of nm on standard input
    sed -n 's/^[0-9a-f]* [A-Z] //p' >"$SCRATCH/names"
    grep -q '^astra_' "$SCRATCH/names" || { echo "$1 exports no astra_*"; exit 1; }
    if grep -v '^astra_' "$SCRATCH/names"; then
        echo "$1 exports the names above"
        exit 1
    fi
}

nm -g --defined-only "$BUILD/libastra.a" | check libastra.a
nm -D --defined-only "$BUILD/libastra.so" | check libastra.so
