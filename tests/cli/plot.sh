# The picture of a front is whole or not there, shows every point, does not change the answer, and
# is the same every time.
set -eu
fault() { echo "$*"; exit 1; }
plot=$SCRATCH/front.svg

set -- --model llama3-8b --cluster 1..8x8:H100,1..8x8:A100 --price H100=2.5 --top 3
"$ASTRA" search "$@" --format json | sed '/"elapsed_s"/d' >"$SCRATCH/answer"
"$ASTRA" search "$@" --format json --threads 1 --plot "$plot" | sed '/"elapsed_s"/d' |
    cmp "$SCRATCH/answer" -
"$ASTRA" search "$@" --threads 3 --plot "$SCRATCH/again.svg" >"$SCRATCH/text"
cmp "$plot" "$SCRATCH/again.svg"
[ "$(tail -n 1 "$plot")" = '</svg>' ] || fault "the picture does not end"
! command -v xmllint >/dev/null || xmllint --noout "$plot"

# As many full marks with a title as the table of the text has lines.
rows=$(sed -n '/^Pareto front of speed and money/,/^$/p' "$SCRATCH/text" | grep -c ' tp ')
marks=$(grep -c '^<path class="full.*<title>' "$plot") || true
[ "$rows" -ge 3 ] && [ "$marks" -eq "$rows" ] || fault "$marks marks for $rows points"
grep -q '<title>plan 1: 64 H100-SXM5-80GB, tp' "$plot" || fault "plan 1 is not marked"
grep -q '>64 x H100</text>' "$plot" || fault "plan 1 has no label"
grep -q '^  \* plan 1, H H100' "$SCRATCH/text" || fault "no plot in the text"

# The model's name is that of its file.
mkdir "$SCRATCH/odd"
cp data/models/llama3-8b.json "$SCRATCH/odd/a<b&\"c\".json"
"$ASTRA" search --model "$SCRATCH/odd/a<b&\"c\".json" --cluster 1..2x8:H100 \
    --plot "$SCRATCH/odd.svg" >"$SCRATCH/out"
grep -q 'a&lt;b&amp;&quot;c&quot;' "$SCRATCH/odd.svg" || fault "the name is not escaped"
! command -v xmllint >/dev/null || xmllint --noout "$SCRATCH/odd.svg"

# What has no answer leaves the old file alone.
code=0
"$ASTRA" search --model llama3-70b --cluster 1x1:RTX4090 --plot "$plot" >"$SCRATCH/out" 2>&1 ||
    code=$?
[ $code -eq 1 ] || fault "does not fit: exit code $code"
cmp "$plot" "$SCRATCH/again.svg"
[ -z "$(find "$SCRATCH" -name '*.new')" ] || fault "a temporary file was left behind"
