# A GPU is added to the models: a profile of an L4 changes its plans, and those of no other GPU.
set -eu
profile=$SCRATCH/l4.csv models=$SCRATCH/models
head -1 data/measured/h200_operators.csv >"$profile"
# Times of large H200 products, as if an L4 with an eighth of the peak had taken 12 times as long.
awk -F, -v OFS=, '$1 == "gemm" && $5 >= 1024 && $6 >= 1024 && $7 >= 1024 {
    $18 *= 12; $20 = ""; $21 = ""; $24 = "NVIDIA L4"; print }' data/measured/h200_operators.csv >>"$profile"
"$ASTRA" fit "$profile" --into "$models" >"$SCRATCH/said"
grep -q '^  gemm  *L4.* [0-9.]* %  *[0-9.]* %$' "$SCRATCH/said"
if grep -q 'collectives were not added' "$SCRATCH/said"; then exit 1; fi # there are none
for file in gemm grouped attention memory collectives; do
    cmp "data/efficiency/$file.ubj" "$models/$file.ubj"
done
"$ASTRA" gpus --format csv --efficiency "$models" >"$SCRATCH/gpus"
grep -q '^L4,.*,measured,' "$SCRATCH/gpus"
step() { # GPU [OPTIONS]
    gpu=$1
    shift
    "$ASTRA" estimate --model llama3.2-1b --cluster "1x8:$gpu" --set tp=8 --set seq_parallel=on \
        --format json "$@" | sed -n 's/^ *"step_s": \([0-9.]*\),*$/\1/p'
}
[ "$(step H100)" = "$(step H100 --efficiency "$models")" ]
[ "$(step L4)" != "$(step L4 --efficiency "$models")" ]
# Truncated trees are refused.
head -c 1000 "$models/gemm.ubj" >"$SCRATCH/cut"
mv "$SCRATCH/cut" "$models/gemm.ubj"
if "$ASTRA" gpus --efficiency "$models" >/dev/null 2>"$SCRATCH/said"; then exit 1; fi
grep -q 'gemm.ubj has 1000 bytes, models.json says' "$SCRATCH/said"
