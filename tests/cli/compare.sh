# Plans side by side: steps end in the other plan and multiply to the whole, files and searches are
# one thing, what is the same is said, and a message names its side.
set -eu
fault() { echo "$*"; exit 1; }
WHERE="--model llama3-8b --cluster 1x8:H100"
field() { # NAME FILE: values of a number in JSON, one a line
    grep -o "\"$1\": [-0-9.e]*" "$2" | sed 's/.*: //'
}
refused() { # CODE TEXT ARGUMENTS...
    want=$1 text=$2 code=0
    shift 2
    "$ASTRA" compare "$@" >"$SCRATCH/out" 2>"$SCRATCH/err" || code=$?
    [ $code -eq "$want" ] || fault "compare $*: exit code $code"
    grep -qF "$text" "$SCRATCH/err" || fault "compare $*: $(cat "$SCRATCH/err")"
}

"$ASTRA" search $WHERE --top 3 --format json -o "$SCRATCH/plan.json"
"$ASTRA" compare best "tp=4 pp=2" $WHERE --format json -o "$SCRATCH/two.json"
sed -n '/"comparisons"/,$p' "$SCRATCH/two.json" >"$SCRATCH/steps"
sed '/"comparisons"/,$d' "$SCRATCH/two.json" >"$SCRATCH/plans"
[ "$(field step_s "$SCRATCH/steps" | tail -1)" = "$(field step_s "$SCRATCH/plans" | tail -1)" ] ||
    fault "the last step is not the other plan"
# The first change is the whole one, the others are those of the steps.
field change "$SCRATCH/steps" | awk 'NR == 1 { whole = 1 + $1; next } { product = (product ? product : 1) * (1 + $1) }
    END { d = product / whole - 1; exit !(NR > 3 && d < 1e-6 && d > -1e-6) }' || fault "changes do not multiply"

# A file and the search that wrote it are one plan; the second one of it is another.
"$ASTRA" compare best "$SCRATCH/plan.json" "$SCRATCH/plan.json#2" $WHERE >"$SCRATCH/text"
sed -n '/^From A to B/,/^$/p' "$SCRATCH/text" | grep -q 'the same plan' || fault "best is not plan.json"
sed -n '/^From A to C/,$p' "$SCRATCH/text" | grep -q 'change: of the time per token' || fault "#2 is plan 1"
"$ASTRA" compare "$SCRATCH/plan.json" "$SCRATCH/plan.json" --price H100=2 | grep -q 'same plan' || fault "same file"

# A script beside its improved self, and one row of CSV for each plan and difference.
"$ASTRA" improve tests/import/01_arrays.sh --gpu H100 -o "$SCRATCH/faster.sh" >"$SCRATCH/text"
"$ASTRA" compare tests/import/01_arrays.sh "$SCRATCH/faster.sh" --gpu H100 >"$SCRATCH/text"
grep -q '^From A to B: -' "$SCRATCH/text" || fault "the improved script is not faster"
grep -q '^  micro_batch  *1  *2 ' "$SCRATCH/text" || fault "its difference is missing"
"$ASTRA" compare tests/import/01_arrays.sh "$SCRATCH/faster.sh" --gpu H100 --format csv >"$SCRATCH/csv"
[ "$(grep -c '^plan,' "$SCRATCH/csv")" -eq 2 ] && grep -q '^difference,.*,micro_batch,1,2,' "$SCRATCH/csv" ||
    fault "CSV: $(cat "$SCRATCH/csv")"

# A plan stays on its nodes, whatever the cluster of the others.
"$ASTRA" compare "$SCRATCH/plan.json" best --model llama3-8b --cluster 2x8:H100 >"$SCRATCH/text"
grep -q '^  cluster  *1x8:H100-SXM5-80GB  *2x8:H100-SXM5-80GB ' "$SCRATCH/text" || fault "a plan is moved"

# Other hardware is one difference; mixed jobs and other models are listed, not taken apart.
"$ASTRA" compare cluster=1x8:H100 cluster=1x8:B200 --model llama3-8b >"$SCRATCH/text"
grep -q '^  cluster  *1x8:H100-SXM5-80GB  *1x8:B200-SXM ' "$SCRATCH/text" || fault "the cluster is no difference"
"$ASTRA" compare cluster=1x8:H100,1x8:A100 best $WHERE | grep -q 'not taken apart: a job on several' ||
    fault "a mixed job is taken apart"
"$ASTRA" compare model=llama3-8b model=qwen3-8b --cluster 1x8:H100 | grep -q 'not taken apart: they train' ||
    fault "models are taken apart"

refused 2 'two plans are needed' best $WHERE
refused 2 'tp=3x: tp is' best tp=3x $WHERE
refused 2 "nosuch=3: 'nosuch' is neither" best nosuch=3 $WHERE
refused 2 'no.json' best no.json $WHERE
refused 1 'gpus=64: ' best gpus=64 $WHERE
refused 2 "'x' is no change" best "tp=4 x" $WHERE

# The page has the answer, is the same every time and changes nothing of it.
page=$SCRATCH/page.html
"$ASTRA" compare best "tp=4 pp=2" $WHERE --format json --report "$page" | cmp - "$SCRATCH/two.json"
"$ASTRA" compare best "tp=4 pp=2" $WHERE --report "$SCRATCH/again.html" >"$SCRATCH/text"
cmp "$page" "$SCRATCH/again.html"
grep -q "The page with charts is $SCRATCH/again.html" "$SCRATCH/text" || fault "the page is not said"
grep -q '<title>best vs. tp=4 pp=2 - Astra</title>' "$page" || fault "no title"
"$ASTRA" compare best "tp=4 <b>=2" $WHERE --report "$page" >/dev/null 2>&1 && fault "a wrong change"
if command -v node >/dev/null; then
    node -e '
        const read = (path) => require("fs").readFileSync(path, "utf8");
        const data = JSON.parse(/id="data">(.*?)<\/script>/s.exec(read(process.argv[1]))[1]);
        const same = JSON.stringify(data.comparison) === JSON.stringify(JSON.parse(read(process.argv[2])));
        if (!same || data.sides.length !== 2 || data.limit_gib.length !== 2) process.exit(1);' \
        "$SCRATCH/again.html" "$SCRATCH/two.json" || fault "the page has another answer"
fi
refused 2 'are one file' best tp=4 $WHERE --report "$page" -o "$page"
