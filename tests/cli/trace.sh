# A trace is whole or not there, ends with the step, does not change the answer, and is the same from
# the flags and from the plan's file.
set -eu
fault() { echo "$*"; exit 1; }
code_of() { code=0; "$@" >"$SCRATCH/out" 2>"$SCRATCH/err" || code=$?; }
trace=$SCRATCH/trace.json

set -- --model llama3-8b --cluster 1x8:H100 --set tp=2 --set pp=4 --set vpp=2 --set dist_opt=on \
    --set p2p_overlap=on --global-batch 16
"$ASTRA" estimate "$@" --format json >"$SCRATCH/plan.json"
"$ASTRA" estimate "$@" --format json --trace "$trace" | cmp "$SCRATCH/plan.json" -
"$ASTRA" explain "$SCRATCH/plan.json" --trace "$SCRATCH/again.json" >"$SCRATCH/out"
cmp "$trace" "$SCRATCH/again.json"
[ "$(grep -c '"process_name"' "$trace")" -eq 4 ] || fault "not one process a stage"
[ "$(grep -c '"name":"F[0-9]*",' "$trace")" -eq $((4 * 2 * 16)) ] || fault "forward passes"
[ "$(grep -c '"name":"B[0-9]*",' "$trace")" -eq $((4 * 2 * 16)) ] || fault "backward passes"
step_s=$(sed -n 's/^ *"step_s": \([0-9.]*\),.*/\1/p' "$SCRATCH/plan.json")
sed -n 's/.*"ts":\([0-9.]*\).*/\1/p' "$trace" | sort -n | tail -n 1 |
    awk -v step="$step_s" '{ d = $1 / 1e6 / step - 1; exit !(d < 1e-8 && d > -1e-8) }' ||
    fault "the trace does not end with the step, $step_s s"

# What is wrong leaves the old file alone, and no answer; what does not fit is drawn all the same.
cp "$trace" "$SCRATCH/old"
code_of "$ASTRA" estimate --model llama3-8b --cluster 1x8:H100 --set pp=4 --set vpp=3 --trace "$trace"
[ $code -eq 2 ] && [ ! -s "$SCRATCH/out" ] || fault "cannot be computed: exit code $code"
code_of "$ASTRA" estimate --model llama3-8b --cluster 1x8:H100 --set pp=8 --global-batch 1M --trace "$trace"
[ $code -eq 2 ] && [ ! -s "$SCRATCH/out" ] || fault "too many slices: exit code $code"
cmp "$trace" "$SCRATCH/old"
code_of "$ASTRA" explain --model llama3-70b --cluster 1x8:H100 --trace "$trace"
[ $code -eq 1 ] && [ -s "$SCRATCH/out" ] || fault "does not fit: exit code $code"
[ "$(tail -n 1 "$trace")" = ']}' ] || fault "does not fit: no trace"

mkdir "$SCRATCH/folder"
mkfifo "$SCRATCH/pipe"
for place in "$SCRATCH/none/trace.json" "$SCRATCH/folder" "$SCRATCH/pipe"; do
    code_of "$ASTRA" estimate --model llama3-8b --cluster 1x8:H100 --trace "$place"
    [ $code -eq 3 ] && [ -s "$SCRATCH/err" ] || fault "$place: exit code $code"
done
[ -p "$SCRATCH/pipe" ] || fault "the pipe was replaced by a file"
[ -z "$(find "$SCRATCH" -name '*.new')" ] || fault "a temporary file was left behind"
