# The page of a report is whole or not there, one file, the same every time, does not change the
# answer, and says of other values what a search for them says. `make browser` opens pages.
set -eu
fault() { echo "$*"; exit 1; }
page=$SCRATCH/page.html

set -- --model llama3-8b --cluster 1..4x8:H100 --top 5
"$ASTRA" search "$@" --format json | sed '/"elapsed_s"/d' >"$SCRATCH/answer"
"$ASTRA" search "$@" --format json --threads 1 --report "$page" | sed '/"elapsed_s"/d' |
    cmp "$SCRATCH/answer" - || fault "--report changes the answer"
"$ASTRA" search "$@" --threads 3 --report "$SCRATCH/again.html" >"$SCRATCH/text"
cmp "$page" "$SCRATCH/again.html"
[ "$(tail -n 1 "$page")" = '</html>' ] || fault "the page does not end"
[ "$(grep -o '<script' "$page" | wc -l)" -eq 2 ] || fault "more than two scripts"
grep -q "default-src 'none'" "$page" || fault "no policy"
sed 's,http://www.w3.org/2000/svg,,g' "$page" | grep -q 'https\{0,1\}:' &&
    fault "names another place"
grep -q 'innerHTML\|insertAdjacent\|document\.write\|eval(' data/page/*.js &&
    fault "markup from data"

# What the policy allows are the style and the script that are there.
for tag in style script; do
    awk -v tag=$tag 'BEGIN { RS = "\001" }
        { text = substr($0, index($0, "<" tag ">") + length(tag) + 2)
          printf "%s", substr(text, 1, index(text, "</" tag ">") - 1) }' "$page" |
        sha256sum >"$SCRATCH/hash"
    sed -n "s/.*$tag-src 'sha256-\([^']*\)'.*/\1/p" "$page" | base64 -d | od -An -tx1 | tr -d ' \n' |
        cmp -n 64 - "$SCRATCH/hash" || fault "policy of $tag"
done
# The data is JSON.
if command -v node >/dev/null; then
    node -e '
        const html = require("fs").readFileSync(process.argv[1], "utf8");
        const data = JSON.parse(/id="data">(.*?)<\/script>/s.exec(html)[1]);
        if (data.plans.listed !== 5 || data.front.length < 1) throw new Error("plans are missing");' "$page"
fi

# Of another value it has the plan that a search with this value finds.
column() { # NAME: of the first plan, from CSV
    awk -F, -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) c = i }
        NR == 2 { printf "%.9g", $c }'
}
step_of() { # PATTERN FILE: of the plan whose members behind it match
    grep -o "\"step_s\":[0-9.e-]*,[^{}]*$1" "$2" | sed 's/"step_s":\([0-9.e-]*\),.*/\1/'
}
gpus=$("$ASTRA" search "$@" --format csv | column gpus)
for value in tp=2 tp=4 pp=2 micro_batch=2 recompute=full seq_parallel=off dist_opt=off; do
    said=$(step_of "\"param\":\"${value%=*}\",[^{}]*\"value\":\"${value#*=}\"" "$page")
    found=$("$ASTRA" search "$@" --gpus "$gpus" --set "$value" --format csv | column step_s)
    if [ -z "$said" ] || [ "$said" != "$found" ]; then
        fault "$value: the page says '$said', a search '$found'"
    fi
done

# With factors of own runs too.
profile=tests/golden/files/profile.json
set -- --model llama3-8b --cluster 1x8:H200 --profile $profile --stack torch
"$ASTRA" search "$@" --report "$SCRATCH/own.html" >"$SCRATCH/out"
said=$(step_of '"param":"tp",[^{}]*"value":"4"' "$SCRATCH/own.html")
found=$("$ASTRA" search "$@" --gpus 8 --set tp=4 --format csv | column step_s)
if [ -z "$said" ] || [ "$said" != "$found" ]; then
    fault "with a profile: the page says '$said', a search '$found'"
fi

# With experts too: every parameter has its share of searches, and what is called impossible is
# what a search refuses.
set -- --model mixtral-8x7b --cluster 8x8:H100
"$ASTRA" search "$@" --report "$SCRATCH/moe.html" >"$SCRATCH/out"
for value in tp=4 ep=2 etp=2 micro_batch=4 dist_opt=off seq_parallel=on; do
    said=$(step_of "\"param\":\"${value%=*}\",[^{}]*\"value\":\"${value#*=}\"" \
        "$SCRATCH/moe.html")
    found=$("$ASTRA" search "$@" --gpus 64 --set "$value" --format csv | column step_s)
    if [ -z "$said" ] || [ "$said" != "$found" ]; then
        fault "mixtral, $value: the page says '$said', a search '$found'"
    fi
done
grep -o '{"param":"[^"]*",[^{}]*"best":true,"reason":"' "$SCRATCH/moe.html" |
    sed 's/.*"param":"\([^"]*\)".*"value":"\([^"]*\)".*/\1=\2/' >"$SCRATCH/impossible"
[ -s "$SCRATCH/impossible" ] || fault "mixtral: nothing is impossible"
while read -r value; do
    code=0
    "$ASTRA" search "$@" --gpus 64 --set "$value" >"$SCRATCH/out" 2>&1 || code=$?
    [ $code -eq 1 ] || fault "mixtral, $value: the page calls it impossible, a search does not"
done <"$SCRATCH/impossible"

# What stages have of their own is not changed for all of them.
"$ASTRA" search --model llama3-70b --cluster 4x8:H100,8x8:A100 --engine flagscale --top 1 --resolution 0 \
    --report "$SCRATCH/meshes.html" >"$SCRATCH/out"
grep -q '"param":"tp_overlap"' "$SCRATCH/meshes.html" || fault "meshes: no other values"
grep -q '"param":"\(tp\|dp\|micro_batch\|recompute\)"' "$SCRATCH/meshes.html" &&
    fault "meshes: a value of one stage is that of all"

# Of another input it has what an estimate of the same flags on such nodes has.
"$ASTRA" search --model llama3-8b --cluster 4x8:H100 --format json --report "$SCRATCH/four.html" \
    >"$SCRATCH/four.json"
"$ASTRA" export "$SCRATCH/four.json" --to megatron >"$SCRATCH/flags.sh"
estimate() { # POOL
    bash -c '. "$1" && "$2" estimate --cluster "$3" --format csv -- "${MEGATRON_ARGS[@]}"' \
        - "$SCRATCH/flags.sh" "$ASTRA" "$1" | column step_s
}
while IFS='|' read -r pool input change; do
    said=$(step_of "\"input\":\"$input\",\"change\":\"$change\"" "$SCRATCH/four.html")
    found=$(estimate "$pool")
    if [ -z "$said" ] || [ "$said" != "$found" ]; then
        fault "$input, $change: the page says '$said', an estimate '$found'"
    fi
done <<END
4x8:H100@200|network between nodes|half as fast
4x8:H100@800|network between nodes|twice as fast
8x8:H100|GPUs (data-parallel ways)|twice
2x8:H100|GPUs (data-parallel ways)|half
END

# Many plans stay small.
"$ASTRA" search --model llama3-8b --cluster 64x8:H100 --tokens 1T --mtbf 50000h --top 6000 --variants \
    --set recompute=none --set cuda_graph=none --set fsdp=none --set tp_overlap=off \
    --report "$SCRATCH/many.html" >"$SCRATCH/out"
size=$(wc -c <"$SCRATCH/many.html")
[ "$size" -lt 1000000 ] || fault "5,000 plans are $size bytes"
grep -q '"listed":5000,' "$SCRATCH/many.html" || fault "not 5,000 plans are listed"
grep -q '"unlisted":1000,' "$SCRATCH/many.html" || fault "not said how many are not"

# Names of files and words of rules are no markup.
odd="$SCRATCH/a<img src=x onerror=y>&\"'{{script}}.json"
cp data/models/llama3-8b.json "$odd"
printf 'reject tp == 8 "</script><script>y()</script>"\n' >"$SCRATCH/x.rules"
"$ASTRA" search --model "$odd" --cluster 1x8:H100 --rules "$SCRATCH/x.rules" \
    --report "$SCRATCH/odd.html" >"$SCRATCH/out"
[ "$(grep -o '<script' "$SCRATCH/odd.html" | wc -l)" -eq 2 ] || fault "a rule brings a script"
grep -q '<img' "$SCRATCH/odd.html" && fault "a name brings an element"
grep -q 'u003c/script' "$SCRATCH/odd.html" || fault "the rule's words are not there"

# Plans have pages, those that do not fit too; what has no answer leaves the old one alone.
"$ASTRA" estimate --model llama3-8b --cluster 1x8:H100 --set tp=2 --set dist_opt=on \
    --report "$SCRATCH/plan.html" >"$SCRATCH/out"
grep -q '"search":false' "$SCRATCH/plan.html" || fault "no page of an estimate"
code=0
"$ASTRA" explain --model llama3-70b --cluster 1x8:H100 --set tp=2 \
    --report "$SCRATCH/big.html" >"$SCRATCH/out" 2>&1 || code=$?
[ $code -eq 1 ] || fault "does not fit: exit code $code"
grep -q '"feasible":false,"reasons":\["' "$SCRATCH/big.html" || fault "no page of what does not fit"
code=0
"$ASTRA" search --model llama3-70b --cluster 1x1:RTX4090 \
    --report "$page" >"$SCRATCH/out" 2>&1 || code=$?
[ $code -eq 1 ] || fault "does not fit: exit code $code"
cmp "$page" "$SCRATCH/again.html"

# A page that cannot be written is known before the search, and so are two outputs of one name.
refused() { # CODE WORDS OPTION...: of a search for which nothing fits
    code=$1 words=$2
    shift 2
    is=0
    "$ASTRA" search --model llama3-70b --cluster 1x1:RTX4090 "$@" >"$SCRATCH/out" 2>&1 || is=$?
    [ $is -eq "$code" ] || fault "$*: exit code $is"
    grep -q "$words" "$SCRATCH/out" || fault "$*: $(cat "$SCRATCH/out")"
}
refused 3 'nowhere/x.html: No such' --report "$SCRATCH/nowhere/x.html"
refused 3 'nowhere/x.svg: No such' --plot "$SCRATCH/nowhere/x.svg" --report "$SCRATCH/x.html"
refused 3 'is no plain file' --report "$SCRATCH"
refused 2 '^astra: --plot .*/x and --report .*/x are one' --plot "$SCRATCH/x" \
    --report "$SCRATCH/./x"
refused 2 '^astra: --report .*/x and --output .*/x are one' --report "$SCRATCH/x" -o "$SCRATCH/x"
ln -s "$page" "$SCRATCH/link.html"
refused 2 'are one file' --report "$page" -o "$SCRATCH/link.html"
code=0
"$ASTRA" explain --model llama3-8b --cluster 1x8:H100 --trace "$SCRATCH/x" -o "$SCRATCH/x" \
    >"$SCRATCH/out" 2>&1 || code=$?
[ $code -eq 2 ] || fault "trace and answer in one file: exit code $code"
[ ! -e "$SCRATCH/x" ] || fault "a refused output is written"
cmp "$page" "$SCRATCH/again.html"
[ -z "$(find "$SCRATCH" -name '*.new')" ] || fault "a temporary file was left behind"

# The page of an estimate says what its text says: what makes it fit, hints, what Astra would run.
flags='--tensor-model-parallel-size 1 --micro-batch-size 4 --global-batch-size 64 --seq-length 8192 --bf16'
set -- estimate --model llama3-8b --cluster 1x8:H100 --report "$SCRATCH/plan.html" -- $flags
COLUMNS=100000 "$ASTRA" "$@" >"$SCRATCH/text" || [ $? -eq 1 ]
sed -n 's/^  - //p' "$SCRATCH/text" >"$SCRATCH/items"
grep -q 'makes it fit' "$SCRATCH/items" || fault "no fix in the text"
grep -q '^What Astra would run' "$SCRATCH/text" || fault "no better plan in the text"
while read -r item; do
    json=$(printf '%s' "$item" | sed 's/\\/\\\\/g; s/"/\\"/g; s,/,\\/,g')
    grep -qF "$item" "$SCRATCH/plan.html" || grep -qF "$json" "$SCRATCH/plan.html" ||
        fault "the page lacks: $item"
done <"$SCRATCH/items"
"$ASTRA" estimate --model llama3-8b --cluster 1x8:H100 --format csv -- $flags >"$SCRATCH/csv" ||
    [ $? -eq 1 ]
grep -q 'instead_add' "$SCRATCH/csv" || fault "CSV lacks what Astra would run"
grep -q 'sequence 8192, global batch 64 (' "$SCRATCH/plan.html" || fault "what flags say is no default"

# Dollars of page and text are the same ones: cents below a thousand, a price that ends on a half.
set -- --model llama3-8b --cluster 1x8:H100 --set tp=2 --set dist_opt=on --global-batch 64
for tokens in 100M 100B; do
    "$ASTRA" estimate "$@" --tokens $tokens --price H100=4.515625 --report "$SCRATCH/money.html" |
        tr -d , >"$SCRATCH/text"
    hour=$(sed -n 's/^  money *\$\([0-9.]*\) per hour.*/\1/p' "$SCRATCH/text")
    total=$(sed -n 's/^  run .*\$\([0-9.]*\)$/\1/p' "$SCRATCH/text")
    [ "$hour" = 36.12 ] || fault "a half is rounded to even: $hour"
    grep -q "\"usd_per_hour\":$hour[,}]" "$SCRATCH/money.html" || fault "an hour is not $hour"
    grep -q "\"usd_total\":$total\(\.0\)\{0,1\}[,}]" "$SCRATCH/money.html" ||
        fault "a run is not $total"
done

# What does not fit has no speed, in text and page; JSON keeps it.
set -- estimate --model llama3-70b --cluster 4x8:H100 --set tp=4 --set pp=4 --global-batch 64
"$ASTRA" "$@" --report "$SCRATCH/big.html" >"$SCRATCH/text" 2>&1 || [ $? -eq 1 ]
grep -q 'needs 158.5 GiB' "$SCRATCH/text" || fault "what it needs is not said"
grep -q '^  step \|^  speed \|tokens/s\|Where the step' "$SCRATCH/text" && fault "a speed in the text"
grep -q '"step_s":null' "$SCRATCH/big.html" || fault "a speed in the page"
"$ASTRA" "$@" --format json 2>&1 | grep -q '"step_s": [0-9]' || fault "no step in JSON"
