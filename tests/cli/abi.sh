# What the libraries export is what tests/abi.txt lists and astra.h declares. A name that is gone
# breaks programs that were linked with an earlier release: that takes another soname. A new one is
# added to the list.
set -eu
exported() { # OPTIONS FILE: but what sanitizers add
    nm -g --defined-only "$@" | awk 'NF == 3 && $3 !~ /^_/ { print $3 }' | LC_ALL=C sort -u
}
exported -D "$BUILD/libastra.so" >"$SCRATCH/so"
exported "$BUILD/libastra.a" >"$SCRATCH/a"
grep -oE '\bastra_[a-z0-9_]+\(' include/astra.h | tr -d '(' | LC_ALL=C sort -u >"$SCRATCH/declared"
for list in so a declared; do
    diff -u --label tests/abi.txt --label "$list" tests/abi.txt "$SCRATCH/$list"
done
