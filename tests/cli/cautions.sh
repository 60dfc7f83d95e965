# Cautions are said of the plans that they hold for, in every format; they drop nothing, and
# --no-cautions leaves out those that Astra brings, not the user's.
set -eu
fault() { echo "$*"; exit 1; }
has() { grep -q -- "$2" "$SCRATCH/$1" || fault "$1 does not say '$2'"; }
lacks() { ! grep -q -- "$2" "$SCRATCH/$1" || fault "$1 says '$2'"; }
pool="--model llama3-8b --cluster 2x8:H100"
offload="--set fsdp=none --set vpp=1 --set tp_overlap=off --set optimizer_offload=50 --set precision_aware=on --set dist_opt=on"

"$ASTRA" search $pool $offload --top 2 >"$SCRATCH/text"
has text '^  ! 1 '
has text '! mind, plans 1, 2: .*behind PCIe.* (Megatron-Bridge '
"$ASTRA" search $pool $offload --top 2 --format json >"$SCRATCH/json"
has json '"cautions": \['
has json '"source": "Megatron-Bridge '
"$ASTRA" search $pool $offload --top 2 --format csv >"$SCRATCH/csv"
has csv ',reasons,cautions$'
has csv '^best,1,.*,yes,,1$'
"$ASTRA" search $pool $offload --top 2 --report "$SCRATCH/page.html" >"$SCRATCH/text"
has page.html 'behind PCIe made measured steps'
for format in text json csv; do
    "$ASTRA" search $pool $offload --top 2 --no-cautions --format $format >"$SCRATCH/calm"
    lacks calm PCIe
done
has calm '^best,1,.*,yes,,0$'
lacks calm '^best,1,.*,yes,,1$'

# The user's own, beside rules that drop; a search finds the same plans with them.
cat >"$SCRATCH/own.rules" <<'END'
avoid dp == 16 "too many, a friend, and another"
reject tp > 2 "not here"
END
"$ASTRA" search $pool --top 3 --resolution 0 --no-cautions --rules "$SCRATCH/own.rules" >"$SCRATCH/own"
has own '! mind, plan.*: too many, a friend (and another)'
lacks own 'own.rules:1: this rule' # it is no rule that dropped nothing
echo 'reject tp > 2 "not here"' >"$SCRATCH/own.rules"
"$ASTRA" search $pool --top 3 --resolution 0 --no-cautions --rules "$SCRATCH/own.rules" >"$SCRATCH/without"
sed -n 's/  *[!]* *[0-9]*  *\(16 .*GiB\).*/\1/p' "$SCRATCH/own" >"$SCRATCH/plans"
sed -n 's/  *[!]* *[0-9]*  *\(16 .*GiB\).*/\1/p' "$SCRATCH/without" | cmp - "$SCRATCH/plans" ||
    fault "a caution drops plans"

# One plan, and what would make it faster.
"$ASTRA" estimate $pool $offload --seq-len 2048 >"$SCRATCH/estimate"
has estimate '^  - mind: .*behind PCIe'
echo 'avoid loss_fusion "new, the press"' >"$SCRATCH/own.rules"
"$ASTRA" explain $pool --set dist_opt=on --set fsdp=optim_grads_params --set overlap_grad_reduce=on \
    --set overlap_param_gather=on --rules "$SCRATCH/own.rules" >"$SCRATCH/explain"
has explain 'loss_fusion=on.*; but mind: new (the press)'
lacks explain '^  - mind: new'

# A mixed job has the cautions of any of its groups, once.
echo 'avoid cluster.compute_capability < 9 "old, the maker"' >"$SCRATCH/own.rules"
"$ASTRA" estimate --model llama3-8b --cluster 1x8:A100,1x8:H100,1x8:A100 --set pp=3 --set tp=8 \
    --set split=uneven --rules "$SCRATCH/own.rules" >"$SCRATCH/mixed" || true
test "$(grep -c 'mind: old (the maker)' "$SCRATCH/mixed")" = 1 || fault "a mixed job: $(cat "$SCRATCH/mixed")"
"$ASTRA" estimate --model llama3-8b --cluster 1x8:H100,1x8:H200 --set pp=2 --set tp=8 \
    --rules "$SCRATCH/own.rules" >"$SCRATCH/mixed" || true
lacks mixed 'mind: old'
