# Examples in the documentation run: every line "$ astra ..." of a fenced block, from the root of the
# project, with the exit code it announces ("# exit 1" or "# exit 2" at its end) or 0.
set -eu
astra() { "$ASTRA" "$@"; }

for page in README.md doc/*.md; do
    awk -v page="$page" '/^```/ { fenced = !fenced; next }
        fenced && /^\$ astra( |$)/ { print page ":" FNR, substr($0, 3) }' "$page"
done >"$SCRATCH/examples"
[ -s "$SCRATCH/examples" ] || { echo "no page has an example"; exit 1; }

failed=0
while read -r place command; do
    want=0
    case $command in
    *'# exit 1') want=1 ;;
    *'# exit 2') want=2 ;;
    esac
    code=0
    (eval "$command") </dev/null >"$SCRATCH/out" 2>"$SCRATCH/err" || code=$?
    if [ $code -ne $want ]; then
        echo "$place: exit code $code, expected $want: $command"
        cat "$SCRATCH/err"
        failed=1
    fi
done <"$SCRATCH/examples"
[ $failed -eq 0 ]
