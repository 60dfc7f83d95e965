# Rates of outages stay with a plan: read back, it has those that it was written with, unless an
# option says otherwise.
set -eu
expect() { # RATES FILE
    sed -nE 's/^ *"(mtbf_h|interruptions_per_h)": ([0-9.]+),?$/\2/p' "$2" >"$SCRATCH/rates"
    printf '%s\n' $1 | diff - "$SCRATCH/rates" || { echo "rates of $2 differ"; exit 1; }
}

"$ASTRA" estimate --model llama3-8b --cluster 2x8:H100 --set tp=2 --set dist_opt=on --mtbf 2000d \
    --interruptions H100=2% --format json >"$SCRATCH/plan.json"
expect '48000.0 0.02' "$SCRATCH/plan.json"
"$ASTRA" explain "$SCRATCH/plan.json" --format json >"$SCRATCH/again.json"
expect '48000.0 0.02' "$SCRATCH/again.json"
"$ASTRA" explain "$SCRATCH/plan.json" --format json --mtbf 50000h --interruptions 0 \
    >"$SCRATCH/other.json"
expect '50000.0' "$SCRATCH/other.json"
