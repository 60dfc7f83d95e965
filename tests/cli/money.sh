# Limits of a run, by what the program prints.
set -eu
pool=1..8x8:H100,1..8x8:A100
ask() { "$ASTRA" search --model llama3-8b --cluster $pool --global-batch 256 --top 1 "$@"; }
value() { # FIELD FILE: the first of its name
    sed -n "s/.*\"$1\": \([-0-9.e+null]*\).*/\1/p" "$2" | head -n 1
}
less() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a < b) }'; }

# Without a limit the fastest; its cost as a budget is kept, a cent less is not.
ask --tokens 100B --format json >"$SCRATCH/free"
hours=$(value hours "$SCRATCH/free")
usd=$(value usd_total "$SCRATCH/free")
ask --tokens 100B --budget "$usd" --format json >"$SCRATCH/kept"
[ "$(value hours "$SCRATCH/kept")" = "$hours" ] || { echo "its own cost is too little"; exit 1; }
ask --tokens 100B --budget "$(awk -v u="$usd" 'BEGIN { printf "%.2f", u - 0.02 }')" --format json >"$SCRATCH/tight"
less "$hours" "$(value hours "$SCRATCH/tight")" || { echo "a tighter budget is as fast"; exit 1; }
grep -q '"binds": "budget"' "$SCRATCH/tight"

# A deadline asks for the cheapest that meets it.
ask --tokens 100B --deadline 20d --format json >"$SCRATCH/late"
ask --tokens 100B --deadline 4d --format json >"$SCRATCH/soon"
less "$(value usd_total "$SCRATCH/late")" "$(value usd_total "$SCRATCH/soon")" ||
    { echo "more time is not cheaper"; exit 1; }
less "$(value hours "$SCRATCH/soon")" 96 || { echo "the deadline is not met"; exit 1; }

# A price decides where the cheapest is asked for, and --what-if says so.
ask --objective cost --what-if price:a100=-60% >"$SCRATCH/cost"
grep -q 'A100' "$SCRATCH/cost"
awk '/^What if/ { on = 1 } on' "$SCRATCH/cost" | grep -q 'A100' ||
    { echo "a cheap A100 is not chosen"; cat "$SCRATCH/cost"; exit 1; }
ask --objective cost --price a100=1.37 --format json >"$SCRATCH/direct"
grep -q '"gpu": "A100-SXM4-80GB"' "$SCRATCH/direct"

# What cannot be kept is said with the nearest that can, exit code 1.
code=0
ask --tokens 100B --budget 10 2>"$SCRATCH/err" || code=$?
[ $code -eq 1 ] && grep -q 'no plan stays within the budget of \$10.00: the cheapest is' "$SCRATCH/err"
code=0
ask --tokens 100B --deadline 1h 2>"$SCRATCH/err" || code=$?
[ $code -eq 1 ] && grep -q 'no plan meets the deadline of 60.0 min: the fastest is' "$SCRATCH/err"

# On a front each price is another one, as it is printed too.
"$ASTRA" search --model llama3-8b --cluster 1..4x8:H100 --top 1 |
    sed -n '/^Pareto/,/^$/s/^ *[0-9][0-9]* *[0-9.]*[KM] *\([0-9.]*\)  tp .*/\1/p' >"$SCRATCH/prices"
[ "$(wc -l <"$SCRATCH/prices")" -ge 3 ] || { echo "no front"; exit 1; }
[ -z "$(uniq -d "$SCRATCH/prices")" ] || { echo "two of one price"; exit 1; }
# What makes an interval the best is in the manual.
"$ASTRA" search --model llama3-8b --cluster 2x8:H100 --tokens 10B --market spot \
    --interruptions H100=0.05 --top 1 >"$SCRATCH/out"
grep -q 'a checkpoint every .* (which loses least)' "$SCRATCH/out" || { echo "no interval"; exit 1; }
grep -q 'W(' "$SCRATCH/out" && { echo "a formula"; exit 1; }
true
# Every type asked about has a row: plan 1 first, then what loses and why.
"$ASTRA" search --model llama3-8b --cluster any:A100,B200,T4 --tokens 1T --deadline 30d --top 1 >"$SCRATCH/rent"
sed -n '/^What to rent/,/^$/p' "$SCRATCH/rent" >"$SCRATCH/rows"
sed -n 3p "$SCRATCH/rows" | grep -q '^  B200-SXM .* plan 1 ' || { echo "plan 1 is not first"; exit 1; }
grep -q '^  A100-SXM4-80GB .* costs 2\.[0-9] times as much ' "$SCRATCH/rows" || { echo "A100: no reason"; exit 1; }
grep -q '^  T4 .* no plan is valid and fits' "$SCRATCH/rows" || { echo "T4: no reason"; exit 1; }
# A row is what a search on that type alone answers.
alone=$("$ASTRA" search --model llama3-8b --cluster 1..128x8:A100 --tokens 1T --deadline 30d --top 1 --format json |
    sed -n 's/.*"usd_total": \([0-9]*\).*/\1/p' | head -n 1)
grep A100 "$SCRATCH/rows" | tr -d ',' | grep -q "\$$alone " || { echo "A100 alone costs $alone"; exit 1; }
# A budget that only other prices keep: the type that wins then is said.
"$ASTRA" search --model llama3-8b --cluster any:A100,B200 --price B200=11 --tokens 1T --objective cost --top 1 >"$SCRATCH/rent"
grep -q 'with --offer cheapest A100-SXM4-80GB wins: ' "$SCRATCH/rent" || { echo "another offer is not said"; exit 1; }
ask --tokens 100B --format json | grep -q '"within_limits": true' || { echo "JSON has no offers"; exit 1; }
# Types without a price in the market that is asked are left out of any.
"$ASTRA" search --model llama3-8b --cluster any --market reserved --tokens 1T --top 1 >"$SCRATCH/rent"
sed -n '/^What to rent/,/^$/p' "$SCRATCH/rent" | grep -q 'no price' && { echo "a type without a price"; exit 1; }
code=0
"$ASTRA" search --model llama3-8b --cluster any:H100,B2000 2>"$SCRATCH/err" || code=$?
[ $code -eq 2 ] && grep -q 'did you mean B200' "$SCRATCH/err" || { echo "any:B2000 is taken"; exit 1; }

# A missing price is said where its column would be; a limit that does not bind where the pool ends.
"$ASTRA" search --model llama3-8b --cluster 1x8:H800 --top 1 >"$SCRATCH/none"
grep -A2 '^  1 ' "$SCRATCH/none" | grep -q '^  no price of H800-SXM5-80GB is known: --price H800-SXM5-80GB=USD' ||
    { echo "a missing price is not said: $(cat "$SCRATCH/none")"; exit 1; }
"$ASTRA" search --model llama3-8b --cluster 1x8:H800 --price H800=2 --top 1 >"$SCRATCH/priced"
grep -q 'no price' "$SCRATCH/priced" && { echo 'a price is missing that was given'; exit 1; }
"$ASTRA" search --model llama3-8b --cluster 1..2x8:H100 --tokens 1B --budget 1M --top 1 |
    grep -q 'no limit binds: plan 1 has all 16 GPUs of its type$' || { echo 'the end of the pool is not said'; exit 1; }
