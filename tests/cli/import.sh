# Files of users: nothing in them is run, logs may be large, what was read is added to, and a plan that is
# written as a script says the same when it is read back.
set -eu
base='--num-layers 2 --hidden-size 64 --num-attention-heads 4 --seq-length 64
      --max-position-embeddings 64 --vocab-size 256 --bf16'
base=$(echo $base)

# Every way to have something executed, before and in the flags.
touched=$SCRATCH/touched
cat >"$SCRATCH/hostile.sh" <<END
touch "$touched"
A=\$(touch "$touched")
B=\`touch "$touched"\`
eval "touch '$touched'"
bash -c "touch '$touched'"
C=(\$(touch "$touched") <(touch "$touched"))
[ -n "\$(touch "$touched")" ] && D=\$((\$(touch "$touched"; echo 1)))
trap 'touch "$touched"' EXIT
f() { touch "$touched"; }
f
cat <<X
\$(touch "$touched")
X
torchrun pretrain_gpt.py $base --save "\$(touch "$touched")" "\${C[@]}" > "$touched"
END
"$ASTRA" estimate "$SCRATCH/hostile.sh" --cluster 1x8:H100 >"$SCRATCH/out"
grep -q '^Read from .*: launch script, 8 flags of pretrain_gpt.py' "$SCRATCH/out"
[ ! -e "$touched" ] || { echo "something was executed"; exit 1; }

# Commands that begin like JSON, and flags that are there in one of two ways.
for first in '[ -f /etc/profile ] && A=1' '[[ -n $A ]] && A=1' '{ A=1; }'; do
    printf '%s\ntorchrun pretrain_gpt.py %s\n' "$first" "$base" >"$SCRATCH/first.sh"
    "$ASTRA" estimate "$SCRATCH/first.sh" --cluster 1x8:H100 >"$SCRATCH/out"
done
printf '[ -f x ] && F="--tensor-model-parallel-size 2"\ntorchrun pretrain_gpt.py %s $F\n' \
    "--tensor-model-parallel-size 1 $base" >"$SCRATCH/either.sh"
code=0
"$ASTRA" estimate "$SCRATCH/either.sh" --cluster 1x8:H100 2>"$SCRATCH/err" || code=$?
[ $code -eq 2 ] && grep -q 'either.sh:1: --tensor-model-parallel-size may be in' "$SCRATCH/err"
"$ASTRA" estimate "$SCRATCH/either.sh" --cluster 1x8:H100 --env F= >"$SCRATCH/out"

# A call in the README beside the script answers what it asks; one elsewhere, or with too few words, does not.
"$ASTRA" estimate tests/import/readme/train.sh --cluster 1x8:H100 >"$SCRATCH/out"
grep -q 'assumed: arguments 4 2, because line 6 of README.md beside it calls it so' "$SCRATCH/out"
mkdir "$SCRATCH/readme"
cp tests/import/readme/train.sh "$SCRATCH/readme"
ln -s "$PWD/tests/import/readme/README.md" "$SCRATCH/readme/README.md"
code=0
"$ASTRA" estimate "$SCRATCH/readme/train.sh" --cluster 1x8:H100 2>"$SCRATCH/err" || code=$?
[ $code -eq 2 ] && grep -q 'give the arguments of the script' "$SCRATCH/err"
rm "$SCRATCH/readme/README.md"
echo 'bash train.sh 4' >"$SCRATCH/readme/README.md"
"$ASTRA" estimate "$SCRATCH/readme/train.sh" --cluster 1x8:H100 2>"$SCRATCH/err" && exit 1

# Lines of 10 MB, in a comment and as a value.
{
    printf '# '
    head -c 10000000 /dev/zero | tr '\0' x
    printf '\nA='
    head -c 10000000 /dev/zero | tr '\0' y
    printf '\ntorchrun pretrain_gpt.py %s --load $A\n' "$base"
} >"$SCRATCH/long.sh"
code=0
"$ASTRA" estimate "$SCRATCH/long.sh" --cluster 1x8:H100 >"$SCRATCH/out" 2>"$SCRATCH/err" || code=$?
[ $code -eq 2 ] || [ $code -eq 0 ]
[ $code -eq 0 ] || grep -q 'long.sh: is larger than 16 MiB' "$SCRATCH/err"

# A log of 64 MB with the block behind half of it, from standard input, in little memory.
{
    head -c 32000000 /dev/zero | tr '\0' '\n'
    cat tests/import/16_log.txt
    head -c 32000000 /dev/zero
} | "$ASTRA" estimate - --gpu H100 --format csv >"$SCRATCH/log.csv"
"$ASTRA" estimate tests/import/16_log.txt --gpu H100 --format csv | diff - "$SCRATCH/log.csv"

# Flags behind the file win over its own.
"$ASTRA" estimate tests/import/01_arrays.sh --cluster 1x8:H100 --format csv \
    -- --tensor-model-parallel-size 4 >"$SCRATCH/four.csv"
sed 's/--tensor-model-parallel-size 2/--tensor-model-parallel-size 4/' tests/import/01_arrays.sh |
    "$ASTRA" estimate - --cluster 1x8:H100 --format csv | diff - "$SCRATCH/four.csv"

# A plan, its flags in a script, and the same as overrides of the shell's own making.
"$ASTRA" search --model mixtral-8x7b --cluster 4x8:H100 --top 1 --format json >"$SCRATCH/plan.json"
"$ASTRA" estimate "$SCRATCH/plan.json" --format csv >"$SCRATCH/plan.csv"
awk '/"flags": \[/ { inside = !done; next } /\]/ && inside { inside = 0; done = 1 }
    inside { gsub(/^ *"|",?$/, ""); printf "    %s\n", "\047" $0 "\047" }' "$SCRATCH/plan.json" \
    >"$SCRATCH/words"
{
    echo 'ARGS=('
    cat "$SCRATCH/words"
    echo ')'
    echo 'torchrun --nnodes ${NODES:-4} --nproc-per-node 8 pretrain_gpt.py "${ARGS[@]}"'
} >"$SCRATCH/again.sh"
unnamed() { sed 's/^[^,]*,//' "$@"; } # flags do not say what the model is called
unnamed "$SCRATCH/plan.csv" >"$SCRATCH/plain.csv"
"$ASTRA" estimate "$SCRATCH/again.sh" --gpu H100 --format csv | unnamed | diff "$SCRATCH/plain.csv" -

# What we export says the same when it is read back.
for format in megatron torchrun slurm bridge; do
    "$ASTRA" export "$SCRATCH/plan.json" --to $format -o "$SCRATCH/export.$format"
    "$ASTRA" estimate "$SCRATCH/export.$format" --cluster 4x8:H100 --format csv | unnamed |
        diff "$SCRATCH/plain.csv" - || { echo "$format is not read back"; exit 1; }
done
"$ASTRA" export "$SCRATCH/plan.json" --to slurm --launcher srun -o "$SCRATCH/export.srun"
"$ASTRA" estimate "$SCRATCH/export.srun" --gpu H100 --format csv | unnamed | diff "$SCRATCH/plain.csv" -

# What a file does not say is assumed, widens the error, and can be stated behind it or beside it.
error_of() { sed -n 's/^ *"expected_error": \([0-9.]*\).*/\1/p' "$1" | head -n 1; }
"$ASTRA" estimate tests/import/20_assumed.sh --cluster 1x8:H100 --format json >"$SCRATCH/guess.json"
"$ASTRA" estimate tests/import/20_assumed.sh --cluster 1x8:H100 --format json -- --bf16 --vocab-size 128256 \
    >"$SCRATCH/said.json"
"$ASTRA" estimate tests/import/20_assumed.sh --cluster 1x8:H100 --precision fp16 --format json >"$SCRATCH/fp16.json"
grep -q '"option": "--precision"' "$SCRATCH/guess.json"
grep -q '"option": "-- --vocab-size"' "$SCRATCH/guess.json"
grep -q '"assumed": \[\]' "$SCRATCH/said.json"
grep -q '"precision": "fp16"' "$SCRATCH/fp16.json"
[ "$(grep -c '"option": "--precision"' "$SCRATCH/fp16.json")" -eq 0 ]
awk -v a="$(error_of "$SCRATCH/guess.json")" -v b="$(error_of "$SCRATCH/said.json")" 'BEGIN {
    wide = sqrt(b * b + 0.1 * 0.1 + 0.01 * 0.01)
    exit !(b > 0 && a > wide - 0.0001 && a < wide + 0.0001) }'

# Files that are sourced: not through a link that leads out, not without end, and never run.
mkdir -p "$SCRATCH/own" "$SCRATCH/other"
echo 'TP=4' >"$SCRATCH/other/out.sh"
ln -sf ../other/out.sh "$SCRATCH/own/link.sh"
printf 'touch "%s"\nTP=2\n. ./again.sh\n. ./again.sh\n' "$touched" >"$SCRATCH/own/again.sh"
for name in link.sh ../other/out.sh "$SCRATCH/other/out.sh"; do
    printf '. %s\npretrain_gpt.py %s --tensor-model-parallel-size $TP\n' "$name" "$base" >"$SCRATCH/own/run.sh"
    code=0
    "$ASTRA" estimate "$SCRATCH/own/run.sh" --cluster 1x8:H100 >"$SCRATCH/out" 2>"$SCRATCH/err" || code=$?
    [ $code -eq 2 ] && grep -q 'give --env TP=VALUE' "$SCRATCH/err"
done
printf '. ./again.sh\npretrain_gpt.py %s --tensor-model-parallel-size $TP\n' "$base" >"$SCRATCH/own/run.sh"
"$ASTRA" estimate "$SCRATCH/own/run.sh" --cluster 1x8:H100 >"$SCRATCH/out"
grep -q '^tp=2 ' "$SCRATCH/out"
[ ! -e "$touched" ] || { echo "something was executed"; exit 1; }

# Nodes of the headers, and as many GPUs to each as the type has; an own number that goes where the cluster does not.
printf '#!/bin/sh\n#SBATCH --nodes=2\ndeepspeed pretrain_gpt.py %s\n' "$base" >"$SCRATCH/nodes.sh"
"$ASTRA" estimate "$SCRATCH/nodes.sh" --gpu GB200 >"$SCRATCH/out"
grep -q 'assumed: cluster 2x4:GB200' "$SCRATCH/out"
printf 'torchrun --nproc_per_node 8 pretrain_gpt.py %s --global-batch-size 8\n' "$base" >"$SCRATCH/few.sh"
"$ASTRA" estimate "$SCRATCH/few.sh" --cluster 8x8:H100 >"$SCRATCH/out"
grep -q 'planned on the 8 GPUs that the file names' "$SCRATCH/out"

# A model by its name; one that only looks like it is asked for.
"$ASTRA" estimate tests/import/27_swift.sh --cluster 1x8:H100 >"$SCRATCH/out"
grep -q 'assumed: model qwen2.5-7b, because the file names Qwen/Qwen2.5-7B-Instruct' "$SCRATCH/out"
grep -q '^tp=2 pp=1 dp=4 micro_batch=1 seq_parallel .*recompute=full .*dist_opt' "$SCRATCH/out"
code=0
sed 's/Qwen2.5-7B/Qwen2.5-VL-7B/' tests/import/27_swift.sh |
    "$ASTRA" estimate - --cluster 1x8:H100 >"$SCRATCH/out" 2>"$SCRATCH/err" || code=$?
[ $code -eq 2 ] && grep -q 'which is a vision-language model, .*: give --model NAME' "$SCRATCH/err"

# What is read beside the script is a plain file of its folder: a pipe there is not waited for, and DeepSpeed's
# configuration is not looked for elsewhere.
mkdir "$SCRATCH/beside" "$SCRATCH/elsewhere"
echo '{"zero_optimization": {"stage": 3}}' >"$SCRATCH/elsewhere/ds.json"
ln -s ../elsewhere/ds.json "$SCRATCH/beside/link.json"
mkfifo "$SCRATCH/beside/pipe"
for name in pipe link.json ../elsewhere/ds.json "$SCRATCH/elsewhere/ds.json" .; do
    printf 'source pipe\ntorchrun pretrain_gpt.py %s --deepspeed --deepspeed_config %s\n' \
        "$base" "$name" >"$SCRATCH/beside/train.sh"
    "$ASTRA" estimate "$SCRATCH/beside/train.sh" --cluster 1x8:H100 >"$SCRATCH/out"
    grep -q "DeepSpeed's settings are not read" "$SCRATCH/out" || { cat "$SCRATCH/out"; exit 1; }
done

# Very many names take no longer each than a few.
{
    awk 'BEGIN { for (i = 0; i < 400000; i++) print "V" i "=" i }'
    printf 'torchrun pretrain_gpt.py %s --tensor-model-parallel-size $V2\n' "$base"
} >"$SCRATCH/names.sh"
(ulimit -t 8 && "$ASTRA" estimate "$SCRATCH/names.sh" --cluster 1x8:H100 >"$SCRATCH/out")
grep -q '^tp=2 ' "$SCRATCH/out"

# The call in a comment stands for arguments that are not given, and is said; those that are given count.
cat >"$SCRATCH/called.sh" <<END
# bash called.sh 2 8
TP=\$1
GBS=\${2}
torchrun --nproc_per_node 8 pretrain_gpt.py $base --tensor-model-parallel-size \$TP --global-batch-size \$GBS
END
"$ASTRA" estimate "$SCRATCH/called.sh" --cluster 1x8:H100 >"$SCRATCH/out"
grep -q 'assumed: arguments 2 8, because the comment in line 1 calls it so' "$SCRATCH/out"
grep -q '^tp=2 pp=1 dp=4' "$SCRATCH/out"
"$ASTRA" estimate "$SCRATCH/called.sh" --cluster 1x8:H100 --args '4 16' >"$SCRATCH/out"
grep -q '^tp=4 pp=1 dp=2' "$SCRATCH/out" && ! grep -q 'calls it so' "$SCRATCH/out"

# What is printed into files and other commands is neither written nor run.
cat >"$SCRATCH/piped.sh" <<END
echo x > "$touched"
echo 'touch "$touched"' | sh
cat <<X | tee "$touched" | bash -s
touch "$touched"
X
sed -i 's/x/y/' "$touched"
torchrun pretrain_gpt.py $base
END
"$ASTRA" estimate "$SCRATCH/piped.sh" --cluster 1x8:H100 >"$SCRATCH/out"
[ ! -e "$touched" ] || { echo "something was written"; exit 1; }

# nvidia-smi is answered with the GPUs of a node of the cluster, as lines that can be counted and not read.
cat >"$SCRATCH/smi.sh" <<END
N=\$(nvidia-smi --query-gpu=name --format=csv,noheader | wc -l)
NAME=\$(nvidia-smi --query-gpu=name --format=csv,noheader | head -n 1)
torchrun --nproc-per-node \$(nvidia-smi -L | wc -l) pretrain_gpt.py $base --tensor-model-parallel-size \$N
END
"$ASTRA" estimate "$SCRATCH/smi.sh" --cluster 2x4:H100 >"$SCRATCH/out"
grep -q '^tp=4 ' "$SCRATCH/out" && grep -q 'nvidia-smi is answered with the 4 GPUs of a node' "$SCRATCH/out"
sed 's/size \$N/size $NAME/' "$SCRATCH/smi.sh" >"$SCRATCH/named.sh"
code=0
"$ASTRA" estimate "$SCRATCH/named.sh" --cluster 2x4:H100 >"$SCRATCH/out" 2>"$SCRATCH/err" || code=$?
[ $code -eq 2 ] && grep -q 'and no command is run: give --env NAME=VALUE' "$SCRATCH/err"

# How many GPUs each launcher starts.
while IFS='|' read -r gpus launcher; do
    printf '%s pretrain_gpt.py %s\n' "$launcher" "$base" >"$SCRATCH/started.sh"
    "$ASTRA" estimate "$SCRATCH/started.sh" --cluster 8x8:H100 >"$SCRATCH/out"
    grep -q "line 1: runs on $gpus GPUs" "$SCRATCH/out" || { echo "$launcher"; exit 1; }
done <<'END'
8|deepspeed --num_gpus 4 --num_nodes=2
16|mpirun -np 16 -npernode 8 python
24|mpiexec -n 24 python
32|msrun --worker_num=32 --local_worker_num=8
END

# What a fine-tuning does with its samples is the script's, unless it is asked otherwise; how long they are is asked for.
swift=tests/golden/files/swift_lora.sh
sed 's/num_train_epochs 1/num_train_epochs 3/' "$swift" >"$SCRATCH/swift.sh"
samples_of() { "$ASTRA" estimate "$SCRATCH/swift.sh" --gpu H100 "$@" >"$SCRATCH/out"; }
samples_of
grep -q -e '- samples are packed: sequences are planned full' "$SCRATCH/out"
samples_of --lengths uniform:512..4096 --samples 50K
grep -q 'sequence 4096, .* (uniform:512..4096) packed by 1.7' "$SCRATCH/out"
[ "$(grep -c 'sequences are planned full' "$SCRATCH/out")" -eq 0 ]
cp "$SCRATCH/out" "$SCRATCH/three"
samples_of --lengths uniform:512..4096 --samples 50K --packing on --epochs 3
cmp -s "$SCRATCH/three" "$SCRATCH/out"
samples_of --lengths uniform:512..4096 --samples 50K --epochs 1
! cmp -s "$SCRATCH/three" "$SCRATCH/out" || { echo "--epochs does not win over the script"; exit 1; }
samples_of --lengths uniform:512..4096 --packing off
grep -q 'padded to the longest of a micro-batch' "$SCRATCH/out"
samples_of --lengths uniform:512..4096 --padding seq-len
grep -q 'padded to the sequence' "$SCRATCH/out"
sed '/--packing true/d' "$SCRATCH/swift.sh" >"$SCRATCH/padded.sh"
"$ASTRA" estimate "$SCRATCH/padded.sh" --gpu H100 >"$SCRATCH/out"
grep -q -e '- every sample is planned as long as the sequence' "$SCRATCH/out"
{ cat tests/bad/files/hf/llama_factory.yaml; echo 'num_train_epochs: 3.0'; } >"$SCRATCH/factory.yaml"
"$ASTRA" estimate "$SCRATCH/factory.yaml" --cluster 1x8:H100 --lengths 800 --samples 10K >"$SCRATCH/three"
grep -q 'sequence 2048, .* (800) packed by 2 ' "$SCRATCH/three"
"$ASTRA" estimate "$SCRATCH/factory.yaml" --cluster 1x8:H100 --lengths 800 --samples 10K --packing on --epochs 3 >"$SCRATCH/out"
cmp -s "$SCRATCH/three" "$SCRATCH/out"
