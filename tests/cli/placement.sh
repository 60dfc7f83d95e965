# Where ranks lie: groups that straddle nodes are named; a job on parts of racks asks Slurm for them, and
# its plan and its script are read back with the same step.
set -eu

step_of() { sed -n '0,/"step_s"/s/^ *"step_s": \([0-9.]*\),$/\1/p' "$1"; }

"$ASTRA" search --model llama3-8b --cluster 4x6:H100 --global-batch 240 --set tp=4 --top 1 >"$SCRATCH/six"
grep -q 'plan 1: tensor-parallel groups of 4 straddle nodes of 6 GPUs: ranks 4 to 7 lie on 2$' "$SCRATCH/six"
"$ASTRA" search --model llama3-8b --cluster 4x6:H100 --global-batch 240 --set tp=6,3,2 --set cp=1 --top 3 |
    { ! grep straddle; }

# More racks than its nodes fill: 128 GPUs on 64 of each.
ask() { "$ASTRA" search --model mixtral-8x22b --global-batch 1024 --set ep=8 --set etp=8 --top 1 --format json "$@"; }
ask --cluster 36x4:GB200 --gpus 128 >"$SCRATCH/rack.json"
grep -q '"segment": 16$' "$SCRATCH/rack.json"
grep -q '"sits on 16 of the 18 nodes of each rack (Slurm: --segment=16)"' "$SCRATCH/rack.json"
"$ASTRA" explain "$SCRATCH/rack.json" --format json >"$SCRATCH/again.json"
[ "$(step_of "$SCRATCH/rack.json")" = "$(step_of "$SCRATCH/again.json")" ]
"$ASTRA" export "$SCRATCH/rack.json" --to slurm >"$SCRATCH/rack.sbatch"
grep -q '^#SBATCH --segment=16$' "$SCRATCH/rack.sbatch"
"$ASTRA" estimate "$SCRATCH/rack.sbatch" --gpu GB200 --format json >"$SCRATCH/script.json"
[ "$(step_of "$SCRATCH/rack.json")" = "$(step_of "$SCRATCH/script.json")" ]

# In one rack all nodes together; where all nodes of full racks are used, groups of 64 straddle them.
ask --cluster 36x4:GB200 --gpus 64 >"$SCRATCH/one.json"
"$ASTRA" export "$SCRATCH/one.json" --to slurm | grep -q '^#SBATCH --segment=16$'
ask --cluster 144x4:GB200 --gpus 576 --global-batch 1152 --set tp=8 >"$SCRATCH/all.json"
grep -q "expert-parallel groups of 8 straddle racks of 72 GPUs: ranks 64 to 120 in steps of 8 lie on 2" "$SCRATCH/all.json"
"$ASTRA" search --model deepseek-v3 --cluster 36x4:GB200 --gpus 144 --global-batch 576 --set ep=16 --top 1 \
    --export slurm >"$SCRATCH/two.sbatch" 2>"$SCRATCH/two"
! grep -q -e --segment "$SCRATCH/two.sbatch"
# The page says it too.
"$ASTRA" search --model llama3-8b --cluster 4x6:H100 --set tp=4 --top 2 --report "$SCRATCH/page.html" \
    >"$SCRATCH/out"
grep -q '"plans 1, 2: tensor-parallel groups of 4 straddle' "$SCRATCH/page.html" ||
    { echo "the page does not say which plans straddle"; exit 1; }
