# A job on several groups of nodes, from flags to JSON and back: the same figures to the last digit,
# links included, and a trace that names the GPU of every stage.
set -eu
fault() { echo "$*"; exit 1; }
layout='Et*5|t*5|t*11|t*11L'
cat >"$SCRATCH/pool.yaml" <<END
groups:
  - {gpu: A100, nodes: 2, nic_gbit: 100, nics_per_node: 4, price: 1.5}
  - {gpu: H100, nodes: 4, gpus_per_node: 4, usable_gib: 70}
links:
  - {between: [2, 1], nic_gbit: 10}
END

ask() { # POOL
    "$ASTRA" estimate --model llama3-8b --cluster "$1" --format json --trace "$SCRATCH/trace.json" \
        -- --tensor-model-parallel-size 2 --pipeline-model-parallel-size 4 --micro-batch-size 1 \
        --pipeline-model-parallel-layout "$layout" --global-batch-size 64 --sequence-parallel \
        --use-distributed-optimizer --overlap-grad-reduce --bf16 >"$SCRATCH/plan.json"
    "$ASTRA" explain "$SCRATCH/plan.json" --format json >"$SCRATCH/again.json"
    # What explain adds stands at the end; the model's name is not among the flags.
    sed -e '/^  "assumed": /,$d' -e '$d' "$SCRATCH/plan.json" | grep -v '"name"' | tr -d , >"$SCRATCH/first"
    sed '/^  "gains": \[/,$d' "$SCRATCH/again.json" | grep -v '"name"' | tr -d , |
        diff "$SCRATCH/first" - || fault "explain differs for $1"
    grep -q '"alone"' "$SCRATCH/again.json" || fault "no comparison with each type alone"
    grep -qF "\"$layout\"" "$SCRATCH/plan.json" || fault "no layout among the flags"
}

ask 2x8:A100,2x8:H100
step=$(sed -n 's/^  "step_s": \(.*\),$/\1/p' "$SCRATCH/plan.json")
[ "$(grep -c 'stage [01]: A100-SXM4-80GB, 5 layers' "$SCRATCH/trace.json")" -eq 2 ] || fault "A100"
[ "$(grep -c 'stage [23]: H100-SXM5-80GB, 11 layers' "$SCRATCH/trace.json")" -eq 2 ] || fault "H100"
ask "$SCRATCH/pool.yaml"
grep -q '"nic_gbit": 10.0' "$SCRATCH/plan.json" || fault "the link is lost"
sed -n 's/^  "step_s": \(.*\),$/\1/p' "$SCRATCH/plan.json" |
    awk -v fast="$step" '{ exit !($1 > fast) }' || fault "a slow link costs nothing"

# The order of the list is the order of the ranks.
ask 2x8:H100,2x8:A100
grep -q 'stage 0: H100-SXM5-80GB' "$SCRATCH/trace.json" || fault "the ranks begin elsewhere"

# Two groups of alike nodes are one.
layout='Et*8|t*8|t*8|t*8L'
ask 4x8:H100,4x8:H100
grep '"step_s"\|_bytes"' "$SCRATCH/plan.json" | grep -v limit >"$SCRATCH/two"
"$ASTRA" explain "$SCRATCH/plan.json" --cluster 8x8:H100 --format json |
    sed '/^  "gains": \[/,$d' | grep '"step_s"\|_bytes"' | grep -v limit | diff "$SCRATCH/two" - ||
    fault "two alike groups are not one"

# A rule that acts on jobs of several types alone is not called idle.
cat >"$SCRATCH/my.rules" <<END
reject pp == 3 && micro_batch == 2
reject pp == 3 && micro_batch == 5
END
"$ASTRA" search --model layers=9,hidden=2048,ffn=5632,heads=16,vocab=32000 --cluster 1x2:A100,1x1:H100 \
    --global-batch 12 --seq-len 2048 --set tp=1 --rules "$SCRATCH/my.rules" --format json >"$SCRATCH/ruled.json"
grep -q 'my.rules:2: this rule dropped nothing' "$SCRATCH/ruled.json" || fault "an idle rule is not noted"
! grep -q 'my.rules:1: this rule' "$SCRATCH/ruled.json" || fault "a rule that dropped mixed plans is called idle"

# Block recompute of more layers than a stage has is left to uniform, but where rules refuse that.
cat >"$SCRATCH/uniform.rules" <<END
reject recompute_method == uniform && pp == 3
reject recompute_method == block && recompute_layers == 1
reject pp == 1
END
"$ASTRA" search --model layers=12,hidden=2048,ffn=5632,heads=16,vocab=1024 --cluster 1x1:A100,2x1:H100 \
    --global-batch 24 --seq-len 2048 --set tp=1,vpp=1 --set recompute=full --set recompute_layers=1,11 \
    --rules "$SCRATCH/uniform.rules" --resolution 0 --top 1 | grep -q '^Run tp 1, pp 3' || fault "the best is lost"
