# --numerics: production tries what trains other numbers, safe never does and says what it leaves.
set -e
ask="--model llama3-8b --cluster 2x8:H100 --threads 1 --top 3"
"$ASTRA" search $ask >"$SCRATCH/safe" 2>&1
"$ASTRA" search $ask --numerics production >"$SCRATCH/production" 2>&1
"$ASTRA" search $ask --numerics safe >"$SCRATCH/said" 2>&1

fail() {
    echo "numerics: $1"
    exit 1
}
grep -q 'grad_bf16\|moments_bytes' "$SCRATCH/safe" && fail "safe numerics train other numbers"
grep -q 'production numerics (--numerics production: gradients and moments in 16 bits) would' \
    "$SCRATCH/safe" || fail "safe says nothing of production"
grep -q 'grad_bf16' "$SCRATCH/production" || fail "production does not try 16-bit gradients"
head -1 "$SCRATCH/production" | grep -q ', production numerics' || fail "production is not said"
grep -q 'production numerics (' "$SCRATCH/production" && fail "production says what it would gain"
sed 's/elapsed.*//' "$SCRATCH/safe" >"$SCRATCH/a"
sed 's/elapsed.*//' "$SCRATCH/said" >"$SCRATCH/b"
cmp "$SCRATCH/a" "$SCRATCH/b" || fail "safe is not the default"

# what the line says is what a search of that layout finds
of() { # NAME FILE: its first value behind "best"
    sed -n '/"best"/,$p' "$2" | sed -n "s/^ *\"$1\": \([0-9.e+-]*\),*\$/\1/p" | head -1
}
"$ASTRA" search $ask --format json >"$SCRATCH/safe.json"
layout="--gpus $(of gpus "$SCRATCH/safe.json")"
for way in tp cp pp dp ep etp; do
    layout="$layout --set $way=$(of $way "$SCRATCH/safe.json")"
done
"$ASTRA" search $ask --numerics production $layout --resolution 0 --top 1 --format json \
    >"$SCRATCH/layout.json"
said=$(of production_step_s "$SCRATCH/safe.json")
found=$(of step_s "$SCRATCH/layout.json")
awk -v said="$said" -v found="$found" 'BEGIN { exit !(said > 0 && said / found - 1 < 1e-9 && found / said - 1 < 1e-9) }' ||
    fail "$said s are said of $layout, found are $found s"

# fp8 weights where the products are in fp8; --set wins over both
"$ASTRA" search $ask --precision fp8 --numerics production >"$SCRATCH/fp8"
grep -q 'fp8_params' "$SCRATCH/fp8" || fail "no fp8 weights are tried"
"$ASTRA" search $ask --numerics production --set grad_bf16=off >"$SCRATCH/off"
grep -q 'grad_bf16\|moments_bytes=2 ' "$SCRATCH/off" && fail "--set grad_bf16=off is not heard"
"$ASTRA" search $ask --set grad_bf16=on --set optimizer_offload=0,50 >"$SCRATCH/on"
grep -q 'all:.*grad_bf16' "$SCRATCH/on" || fail "--set grad_bf16=on is not heard"
exit 0
