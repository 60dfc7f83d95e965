# The terminal cast of the README shows what the program prints now; `make cast` draws it anew.
set -eu
script -qec true /dev/null </dev/null >/dev/null 2>&1 || { echo 'no pseudo-terminals here'; exit 0; }
sh tools/cast.sh "$SCRATCH/cast.svg"
cmp "$SCRATCH/cast.svg" doc/cast.svg || { echo 'doc/cast.svg is not of this program: make cast'; exit 1; }
