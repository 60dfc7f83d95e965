#!/bin/sh
# A hybrid's plan as flags, with its stages cut by '|', comes back as the same step; its script starts the program that
# builds hybrids; verify, which builds GPT models, says that it cannot.
set -eu
plan=$SCRATCH/plan.json

"$ASTRA" estimate --model nemotron-h-8b --cluster 2x8:H100 --set pp=2,dist_opt=on,recompute=full,recompute_method=uniform,recompute_layers=1 \
    --global-batch 64 --seq-len 4096 --format json >"$plan"
"$ASTRA" export "$plan" --to megatron >"$SCRATCH/args"
grep -q "M-|M-M" "$SCRATCH/args" || { echo "no stages in the pattern"; cat "$SCRATCH/args"; exit 1; }
"$ASTRA" export "$plan" --to torchrun | grep -q 'pretrain_mamba.py' || { echo "another program"; exit 1; }
"$ASTRA" export "$plan" --to bridge | grep -q 'model.hybrid_layer_pattern=' || { echo "not for Bridge"; exit 1; }
"$ASTRA" estimate "$SCRATCH/args" --cluster 2x8:H100 --format json >"$SCRATCH/again"
for f in "$plan" "$SCRATCH/again"; do
    grep -m1 '"step_s"' "$f" >"$f.step"
done
cmp "$plan.step" "$SCRATCH/again.step"
if "$ASTRA" verify "$plan" --dry-run 2>"$SCRATCH/said"; then
    echo "verify takes a hybrid"
    exit 1
fi
grep -q 'the plan is of a hybrid' "$SCRATCH/said" || { cat "$SCRATCH/said"; exit 1; }
