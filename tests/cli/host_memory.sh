# Host memory: printed where ranks offload, checked where the cluster file says what a node has.
set -eu
cd "$SCRATCH"
cat >pool.yaml <<END
groups:
  - gpu: H100
    nodes: 2
    host_gib: 1000
END
sed 's/1000/300/' pool.yaml >small.yaml
sed 's/1000/20/' pool.yaml >tiny.yaml
plan="estimate --model llama3-70b --global-batch 16 --set tp=8 --set pp=2 --set dist_opt=on
    --set precision_aware=on --set optimizer_offload=100 --set recompute=full
    --set recompute_method=uniform --set recompute_layers=1"

$ASTRA $plan --cluster 2x8:H100 >out
grep -q "needs [0-9.]* GiB of a node's host memory" out
$ASTRA $plan --cluster pool.yaml >out
grep -q "needs [0-9.]* of 1000.0 GiB of a node's host memory" out

# Too little: exit 1 with the reason, and no stage fits.
if $ASTRA $plan --cluster small.yaml --format json >out 2>err; then
    echo "300 GiB were enough"
    exit 1
elif [ $? -ne 1 ]; then
    exit 1
fi
grep -q '"a node of H100-SXM5-80GB needs [0-9.]* GiB of host memory, it has 300.0 GiB"' out
grep -q '"fits": false' out
grep -q '"host_gib": 300' out

# The plan in JSON knows its nodes.
if $ASTRA explain out >again 2>err; then exit 1; fi
grep -q 'GiB of host memory, it has 300.0 GiB' again

# A search drops what needs more, and says so.
search="search --model llama3-70b --top 1 --set tp=8 --set optimizer_offload=25,100 --set fsdp=none --stats"
$ASTRA $search --cluster pool.yaml >out
! grep -q 'needs more host memory than a node has' out
$ASTRA $search --cluster small.yaml >out
grep -q 'dropped: needs more host memory than a node has' out
grep -q "plan 1 needs [0-9.]* of 300.0 GiB of a node's host memory" out
if $ASTRA $search --cluster tiny.yaml >out 2>&1; then
    echo "20 GiB hold eight processes"
    exit 1
fi
grep -q 'times what GPU or host has' out
