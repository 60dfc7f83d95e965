# Answers in files are whole or not there, are the same as on standard output, and lead back: what search
# writes, explain reads. A plan that does not fit is an answer and a message, exit code 1.
set -eu
fault() { echo "$*"; exit 1; }
code_of() { code=0; "$@" >"$SCRATCH/out" 2>"$SCRATCH/err" || code=$?; }

"$ASTRA" models --format csv >"$SCRATCH/direct"
"$ASTRA" models --format=csv --output "$SCRATCH/file"
cmp "$SCRATCH/direct" "$SCRATCH/file"
"$ASTRA" models --format csv -o - | cmp "$SCRATCH/direct" -

# A wrong question leaves the old file alone; a replaced one keeps its permissions and its link.
chmod 640 "$SCRATCH/file"
ln -s file "$SCRATCH/link"
code_of "$ASTRA" search --model nonsense --cluster 1x8:H100 -o "$SCRATCH/file"
[ $code -eq 2 ] || fault "wrong model: exit code $code"
cmp "$SCRATCH/direct" "$SCRATCH/file"
"$ASTRA" gpus -o "$SCRATCH/link"
[ -L "$SCRATCH/link" ] || fault "the link was replaced by a file"
grep -q H100-SXM5-80GB "$SCRATCH/file"
[ "$(stat -c %a "$SCRATCH/file")" = 640 ] || fault "permissions were not kept"
code_of "$ASTRA" gpus -o "$SCRATCH/none/file"
[ $code -eq 3 ] || fault "no folder: exit code $code"
code_of "$ASTRA" gpus -o /dev/full
[ $code -eq 3 ] || fault "full device: exit code $code"
[ -z "$(find "$SCRATCH" -name '*.tmp')" ] || fault "a temporary file was left behind"

"$ASTRA" search --model llama3-8b --cluster 2x8:H100 --format json -o "$SCRATCH/plan.json"
"$ASTRA" explain "$SCRATCH/plan.json" >"$SCRATCH/explained"
grep -q '^Fits' "$SCRATCH/explained" || fault "the best plan does not fit"
"$ASTRA" explain "$SCRATCH/plan.json" --format json >"$SCRATCH/again.json"
for field in step_s tokens_per_s mfu; do # the first plan of the search is what explain reads
    [ "$(grep -m 1 "\"$field\"" "$SCRATCH/plan.json" | tr -d ' ,')" = \
        "$(grep -m 1 "\"$field\"" "$SCRATCH/again.json" | tr -d ' ,')" ] || fault "$field differs"
done

code_of "$ASTRA" estimate --model llama3-70b --cluster 1x8:H100
[ $code -eq 1 ] || fault "does not fit: exit code $code"
grep -q '^Does not fit' "$SCRATCH/out" || fault "does not fit: no answer"
grep -q '^astra: ' "$SCRATCH/err" || fault "does not fit: no message"
if grep -q "$(printf '\033')" "$SCRATCH/out"; then fault "colours outside a terminal"; fi

# Parameters in one list or in several options are one query.
W='search --model llama3-8b --cluster 1x8:H100 --format csv'
"$ASTRA" $W --set tp=2,4 --set pp=2 >"$SCRATCH/several"
"$ASTRA" $W --set tp=2,4,pp=2 | cmp "$SCRATCH/several" -

# The name of a file says its format, unless --format does.
"$ASTRA" models --format csv >"$SCRATCH/table"
"$ASTRA" models -o "$SCRATCH/models.csv"
cmp "$SCRATCH/table" "$SCRATCH/models.csv"
"$ASTRA" models --format text -o "$SCRATCH/models.csv"
"$ASTRA" models | cmp - "$SCRATCH/models.csv"
"$ASTRA" search --model llama3-8b --cluster 1x8:H100 -o "$SCRATCH/best.json"
"$ASTRA" explain "$SCRATCH/best.json" | grep -q '^Fits'
