# The user's own script with the better plan put in: just the flags that change, read back before it
# counts; left alone where that is not safe. New scripts hold before bash and shellcheck, and the
# printed change is what makes the new one of the old one.
set -eu
fault() { echo "$*"; exit 1; }
cd "$SCRATCH"

model='--num-layers 16 --hidden-size 2048 --ffn-hidden-size 8192 --num-attention-heads 32
    --group-query-attention --num-query-groups 8 --vocab-size 128256 --max-position-embeddings 4096
    --swiglu --normalization RMSNorm --position-embedding-type rope --disable-bias-linear
    --attention-dropout 0 --hidden-dropout 0'
cat >array.sh <<END
#!/bin/bash
# Our training: it's the small one.
export CUDA_DEVICE_MAX_CONNECTIONS=1
MODEL_ARGS=(
    $model # as in the paper
)
PARALLEL_ARGS=(
    # all of a node
    --tensor-model-parallel-size 8 # --tensor-model-parallel-size 4 was slower
    --pipeline-model-parallel-size=1
    --sequence-parallel
)
TRAINING_ARGS=(
    --seq-length 4096
    --micro-batch-size 1
    --global-batch-size 64
    --bf16
    --lr 3e-4 # don't touch
    --recompute-granularity full
    --recompute-method uniform
    --recompute-num-layers 1
)
torchrun --nnodes 1 --nproc-per-node 8 pretrain_gpt.py \\
    "\${MODEL_ARGS[@]}" "\${PARALLEL_ARGS[@]}" "\${TRAINING_ARGS[@]}" --mock-data
END
cat >variables.sh <<END
#!/bin/bash
TP=8
: "\${MBS:=1}"
NAME="small-tp\${TP}"
echo "TP=\$TP"

torchrun --nnodes 1 --nproc-per-node 8 pretrain_gpt.py \\
    $(echo $model) \\
    --tensor-model-parallel-size \${TP} \\
    --sequence-parallel \\
    --seq-length 4096 \\
    --micro-batch-size "\$MBS" \\
    --global-batch-size 64 \\
    --bf16 \\
    --save "checkpoints/\$NAME" \\
    --recompute-activations
echo "done"
END
cat >strings.sh <<END
#!/bin/bash
GPT_ARGS="
    $model
    --tensor-model-parallel-size 8 --seq-length 4096 --micro-batch-size 1 \\
    --global-batch-size 64 --bf16 \\
    --recompute-granularity full --recompute-method uniform --recompute-num-layers 1"
torchrun --nnodes 1 --nproc-per-node 8 pretrain_gpt.py \$GPT_ARGS --data-path "\$DATA"
END
{
    printf '#!/bin/bash\n#SBATCH --nodes=1\n#SBATCH --ntasks-per-node=8\nset -euo pipefail\n'
    sed -n '/^[A-Z]*_ARGS=(/,/^)$/p' array.sh
    echo 'srun python pretrain_gpt.py "${MODEL_ARGS[@]}" "${PARALLEL_ARGS[@]}" "${TRAINING_ARGS[@]}"'
} >job.sbatch

found() { shellcheck -s bash -f gcc "$1" | sed 's/.*\[SC/SC/' | sort -u; }
improve() { # SCRIPT: the new one is SCRIPT.new, the answer in `text`
    "$ASTRA" improve "$@" --gpu H100 -o "$1.new" >text || fault "$1 is not improved"
    bash -n "$1.new" || fault "$1: bash does not take the new one"
    found "$1" >before || true
    found "$1.new" >after || true
    [ -z "$(comm -13 before after)" ] || fault "shellcheck: $1: $(comm -13 before after)"
    "$ASTRA" improve "$@" --gpu H100 >printed
    diff -u "$1" "$1.new" | sed 1,2d >want || true
    sed '1,/^+++ /d' printed | diff want - || fault "$1: the diff says something else"
    grep -q '^now: ' text && grep -q '^then: ' text || fault "$1: no predictions: $(cat text)"
    code=0 # nothing is left to improve, and the prediction is that of the script
    "$ASTRA" improve "$1.new" --gpu H100 -o none >again 2>err || code=$?
    [ $code -eq 1 ] && [ ! -e none ] || fault "$1: exit code $code of the new one"
    step=$(sed -n 's/^then: .*: \([0-9.]* m\{0,1\}s\) a step.*/\1/p' text)
    grep -q "^now: .*: $step a step" again || fault "$1: not $step: $(head -n 1 again)"
}

improve array.sh
for kept in '# Our training' '# all of a node' '--lr 3e-4 # don' '# --tensor-model-parallel-size 4 was'; do
    grep -qF -e "$kept" array.sh.new || fault "lost: $kept"
done
grep -q -e '^    --tensor-model-parallel-size [124] #' array.sh.new || fault "$(cat array.sh.new)"
improve variables.sh
grep -q '^TP=[124]$' variables.sh.new || fault "the variable is not set: $(cat variables.sh.new)"
grep -q '^also changed: --save checkpoints/small-tp[124]$' text || fault "$(cat text)"
! grep -q -e --recompute variables.sh.new || fault "recompute is left"
tail -n 1 variables.sh.new | grep -qx 'echo "done"' || fault "the last command"
improve strings.sh
improve job.sbatch

# What other words mean stays as it is: here all of the recomputation.
sed 's|--recompute-activations|--activations-checkpoint-granularity selective|' variables.sh >earlier.sh
improve earlier.sh
grep -q '^mind: flags of a fork or an earlier release are kept as they are; a plan that' text || fault "$(cat text)"
grep -q -e '--activations-checkpoint-granularity selective$' earlier.sh.new || fault "$(cat earlier.sh.new)"

# Blanks are kept, the last line needs no end, a default is changed where it stands.
{ sed 's|^    |\t|; s|^TP=8|TP=${TP:-8}|; $d' variables.sh; printf 'echo "done"'; } >tabs.sh
improve tabs.sh
grep -q '^TP=${TP:-[124]}$' tabs.sh.new || fault "the default: $(cat tabs.sh.new)"
[ "$(tail -c 1 tabs.sh.new)" = '"' ] || fault "the last line has an end now"

# A line that loses all of its flags is gone.
awk '/--recompute-granularity/ { printf "%s", $0; next } /--recompute-method/ { printf " %s %s", $1, $2; next }
    /--recompute-num/ { print " " $1, $2; next } { print }' array.sh >one_line.sh
improve one_line.sh
! grep -q '^ *$' one_line.sh.new || fault "an empty line: $(cat one_line.sh.new)"

# So is a variable that only they used; one that is used elsewhere stays.
sed 's|^TP=8|TP=8\nMETHOD=uniform\nLAYERS=1\necho $LAYERS|
    s|--recompute-activations|--recompute-granularity full --recompute-method $METHOD --recompute-num-layers $LAYERS|' \
    variables.sh >unused.sh
improve unused.sh
! grep -q METHOD unused.sh.new && grep -q '^LAYERS=1$' unused.sh.new || fault "$(cat unused.sh.new)"

# New flags are the newest unless a release is named.
"$ASTRA" improve array.sh --gpu H100 | grep -q '^mind: new flags are those of .* HEAD' || fault "HEAD"
"$ASTRA" improve array.sh --gpu H100 --megatron-version 0.19 >text
! grep -q HEAD text || fault "HEAD, whatever the release: $(cat text)"

# The old file itself: its permissions stay.
cp array.sh own.sh
chmod 750 own.sh
"$ASTRA" improve own.sh --gpu H100 -o own.sh >text
cmp own.sh array.sh.new
[ -x own.sh ] || fault "no longer executable"

# What is read-only stays, but for who may write anything.
cp array.sh fixed.sh
chmod 444 fixed.sh
if [ ! -w fixed.sh ]; then
    code=0
    "$ASTRA" improve fixed.sh --gpu H100 -o fixed.sh >text 2>err || code=$?
    [ $code -eq 3 ] && cmp fixed.sh array.sh || fault "read-only: $code"
fi

# What is not safe is left alone; the flags are printed, and no file is written.
refused() { # SCRIPT REASON [WORDS...]
    script=$1 reason=$2 code=0
    shift 2
    "$ASTRA" improve "$script" --gpu H100 -o none "$@" >text 2>err || code=$?
    [ $code -eq 1 ] && grep -qF -e "$reason" err || fault "$script: exit code $code: $(cat err)"
    grep -q -e '- with --' text || fault "$script: no flags: $(cat text)"
    [ ! -e none ] || fault "$script: written"
}
printf 'require fsdp != none "sharded"\n' >sharded.rules
code=0 # what the release has no flags for is not looked at
"$ASTRA" improve array.sh --gpu H100 --megatron-version 0.12 --rules sharded.rules >text 2>err || code=$?
[ $code -eq 1 ] && grep -q 'no plan is better by' err || fault "sharded: $code: $(cat err)"
sed 's|^TP=8|TP=$((16 / 2))|' variables.sh >arithmetic.sh
refused arithmetic.sh '--tensor-model-parallel-size is computed: $((16 / 2))'
sed '/^PARALLEL_ARGS/,/^)/d; /--micro-batch-size/d' array.sh >model.sh
refused model.sh 'its flags do not describe the model and the batch'
sed 's|--bf16|--bf16 --deepspeed|' variables.sh >deepspeed.sh
sed 's|--recompute-activations|--checkpoint-activations|' variables.sh >release.sh
refused release.sh '--checkpoint-activations tells an earlier release, which may not have the'
sed 's|--recompute-activations|--recompute-method-per-stage 8 1|' variables.sh >unknown.sh
refused unknown.sh '--recompute-method-per-stage is not known, and may change memory and time'
sed 's|--bf16|--bf16 --load old --ckpt-format torch|' variables.sh >load.sh
refused load.sh '--load reads a checkpoint of one file a rank, which another --tensor-model-parallel-size cannot'
refused deepspeed.sh 'it runs with DeepSpeed'
sed 's|--bf16|--bf16 --use-fused-rmsnorm|' variables.sh >mindspeed.sh
refused mindspeed.sh 'it runs with MindSpeed'
"$ASTRA" improve mindspeed.sh --gpu H100 --megatron-version 0.12 >text || fault "MindSpeed of 0.12"
sed 's|--bf16|--bf16 --micro-batch-size 2|' variables.sh >mentioned.sh
refused mentioned.sh '--micro-batch-size stands there more than once'
sed 's|^TP=8|TP=4\nTP=8|' variables.sh >twice.sh
refused twice.sh 'in the variable TP, which is assigned 2 times'
sed 's|^TP=8||' variables.sh >given.sh
refused given.sh 'in the variable TP, which the script does not assign' --env TP=8
{ cat variables.sh; sed -n '/^torchrun/,/recompute/p' variables.sh | sed 's/--num-layers 16/--num-layers 8/'; } >several.sh
refused several.sh 'it starts several trainings'
sed 's/    --tensor-model-parallel-size 8.*//' array.sh >elsewhere.sh
refused elsewhere.sh '--tensor-model-parallel-size does not stand in the script' -- \
    --tensor-model-parallel-size 8
sed '/^torchrun/d' strings.sh >listed.sh
code=0
"$ASTRA" improve listed.sh --cluster 1x8:H100 -o none >text 2>err || code=$?
[ $code -eq 1 ] && grep -q 'it starts nothing' err && [ ! -e none ] || fault "listed: $code: $(cat err)"
sed 's/$/\r/' strings.sh >crlf.sh
code=0
"$ASTRA" improve crlf.sh --gpu H100 -o none >text 2>err || code=$?
[ $code -ne 0 ] && [ ! -e none ] || fault "carriage returns: $code"
refused - 'give the file' <array.sh
code=0
"$ASTRA" improve --cluster 1x8:H100 2>err || code=$?
[ $code -eq 2 ] && grep -q 'a launch script is missing' err || fault "without a script: $code"
code=0
"$ASTRA" improve array.sh --gpu H100 -o no/folder >text 2>err || code=$?
[ $code -eq 3 ] || fault "no folder: $code"

# Memory is what the GPU needs, reserve and context included: that of compare.
"$ASTRA" improve array.sh --cluster 1x8:H100 -o better.sh >said
"$ASTRA" compare array.sh better.sh --cluster 1x8:H100 >sides
for line in now:A then:B; do
    gib=$(sed -n "s|^${line%:*}: .*, \([0-9.]*\) GiB of .*|\1|p" said)
    grep -q "^  ${line#*:} .* $gib/[0-9.]* GiB" sides || fault "memory of ${line%:*} is '$gib' GiB: $(cat sides)"
done
