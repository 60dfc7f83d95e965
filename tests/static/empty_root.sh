# empty_root.sh PROGRAM: a static program answers in a root that holds nothing but itself.
# EMULATOR names a static emulator for a program of another architecture; it is put beside it. As
# root, or where users may have namespaces of their own.
set -eu
program=$1
EMULATOR=${EMULATOR:-}
limit=8000000
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
cp "$program" "$root/astra"
[ -z "$EMULATOR" ] || cp "$(command -v "$EMULATOR")" "$root/emulator"
[ "$(id -u)" = 0 ] && enter= || enter='unshare -r'

inside() { $enter chroot "$root" ${EMULATOR:+/emulator} /astra "$@"; }
fault() {
    echo "FAIL $program: $*"
    exit 1
}

bytes=$(wc -c <"$program")
[ "$bytes" -lt $limit ] || fault "$bytes bytes, $limit are allowed"
! readelf -l "$program" | grep -q INTERP || fault 'wants a dynamic linker'
! readelf -S "$program" | grep -q debug_info || fault 'is not stripped'

inside --version | grep -q '^astra [0-9]' || fault 'no version'
inside search --model llama3-8b --cluster 1x8:H100 --top 3 | grep -q '^Run tp' || fault 'no plan'
inside estimate --model llama3-70b --cluster 64x8:H100 --set tp=4 --set pp=4 --set seq_parallel=on \
    --set dist_opt=on --set recompute=full --set recompute_method=uniform --set recompute_layers=1 \
    --format json | grep -q '"feasible": true' || fault 'no estimate'
# What the environment says of languages and homes leads nowhere here.
for locale in C C.UTF-8 de_DE.UTF-8 tr_TR@no-such; do
    LC_ALL=$locale HOME=/nowhere inside search --model llama3-8b --cluster 1..2x8:H100 >"$root/out" ||
        fault "no plan with LC_ALL=$locale"
    grep -q '7\.\|[0-9]\.[0-9]' "$root/out" || fault "no decimal point with LC_ALL=$locale"
done
if inside search --model lama3-8b --cluster 1x8:H100 2>"$root/err"; then
    fault 'an unknown model is let pass'
fi
grep -q 'did you mean llama3-8b' "$root/err" || fault 'no message'
echo "$program: $bytes bytes, answers in an empty root"
