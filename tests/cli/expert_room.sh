# Room for uneven experts: reserved for routing that drops no token, said in the answer, set by an option.
set -eu
cd "$SCRATCH"
plan="estimate --model mixtral-8x7b --cluster 4x8:H100 --set pp=4 --set ep=8 --set dispatcher=alltoall
    --set grouped_gemm=on --set dist_opt=on --global-batch 64 --seq-len 4096"
field() { sed -n "s/^ *\"$1\": \([0-9.]*\),*$/\1/p" "$2" | head -n 1; }

$ASTRA $plan --format json >usual
$ASTRA $plan --format json --expert-imbalance 1 >balanced
[ "$(field expert_reserve usual)" -gt 4000000000 ]
[ "$(field expert_reserve balanced)" -eq 0 ]
[ "$(field peak_bytes usual)" = "$(field peak_bytes balanced)" ]
[ "$(field step_s usual)" = "$(field step_s balanced)" ]
[ "$(field fits_up_to usual)" = "$(field fits_up_to balanced)" ]

# It fits at what is said, and not above it.
room=$(field fits_up_to usual)
$ASTRA $plan --expert-imbalance "$room" >out
grep -q "fits up to an expert imbalance of $room" out
! $ASTRA $plan --expert-imbalance "$(awk "BEGIN { print $room + 0.01 }")" >out 2>&1
grep -q '^Does not fit' out

# Ranks that have all experts have nothing to hold back; nor has routing that is forced to balance.
$ASTRA $(echo "$plan" | sed 's/ep=8/ep=1/') --format json >out 2>err || true
grep -q '"expert_reserve": 0' out
! grep -q expert_imbalance out
flags="estimate --model mixtral-8x7b --cluster 4x8:H100 --format json -- --bf16 --seq-length 4096
    --pipeline-model-parallel-size 4 --expert-model-parallel-size 8 --moe-token-dispatcher-type alltoall
    --moe-grouped-gemm --use-distributed-optimizer --micro-batch-size 1 --global-batch-size 64"
$ASTRA $flags >out 2>err || true
[ "$(field expert_reserve out)" -gt 0 ]
for even in --moe-router-force-load-balancing '--moe-expert-capacity-factor 1.5'; do
    $ASTRA $flags $even >out 2>err || true
    [ "$(field expert_reserve out)" -eq 0 ]
done

# What only the reserve makes too much says so.
$ASTRA $plan --memory-margin 0.17 >out 2>&1 && exit 1
grep -q 'needs [0-9.]* GiB with experts 1.2 times as full as balanced ones; balanced [0-9.]*, each H100' out
