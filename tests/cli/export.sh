# Every format of export says the plan: its words, put together by who would read them (bash, and
# here a stand-in for torchrun), are those of the plan's JSON. Shell scripts hold before shellcheck.
set -eu
fault() { echo "$*"; exit 1; }

mkdir "$SCRATCH/bin"
cat >"$SCRATCH/bin/torchrun" <<'END'
#!/bin/sh
while [ $# -gt 0 ] && [ "${1%.py}" = "$1" ]; do shift; done
shift
printf '%s\n' "$@"
END
# Starts every task, node by node, and shows its rank: tasks find their place by the node's name.
cat >"$SCRATCH/bin/srun" <<'END'
#!/bin/sh
while [ "${1#-}" != "$1" ]; do shift; done
for node in $HOSTS; do
    task=0
    while [ $task -lt "${TASKS:-1}" ]; do
        SLURMD_NODENAME=$node SLURM_LOCALID=$task "$@"
        task=$((task + 1))
    done
done
END
printf '#!/bin/sh\necho "$3" | tr , "\\n"\n' >"$SCRATCH/bin/scontrol"
printf '#!/bin/sh\necho "$RANK $LOCAL_RANK $WORLD_SIZE $SLURMD_NODENAME"\n' >"$SCRATCH/bin/python3"
chmod +x "$SCRATCH/bin/"*

words_of() { sed -n '/"flags": \[/,/^ *\]$/s/^ *"\(.*\)",*$/\1/p' "$1"; }

# Runs a script with the stand-ins: the words of its first node, without what the run itself adds.
start() { # SCRIPT
    env PATH="$SCRATCH/bin:$PATH" MEGATRON=/m FLAGSCALE=/f NODE_RANK=0 MASTER_ADDR=h \
        SLURM_JOB_NODELIST="$nodes" SLURM_JOB_NODELIST_HET_GROUP_0="$nodes" \
        SLURM_JOB_NODELIST_HET_GROUP_1=z1 SKYPILOT_NODE_IPS=1.2.3.4 SKYPILOT_NODE_RANK=0 \
        DATA_PATH= TOKENIZER_TYPE= TOKENIZER_MODEL= CHECKPOINT= SAVE_INTERVAL=1 TRAIN_ITERS=1 \
        WARMUP_ITERS=0 LR=1 MIN_LR=1 EVAL_ITERS=0 EVAL_INTERVAL=1 bash "$1" | sed '/^--train-iters$/,$d'
}

# Words of a YAML list of arguments, and of FlagScale's keys.
arguments() { sed -n '/^      *args:$/,/^      *resources:$/s/^ *- "\(.*\)"$/\1/p' "$1" |
    awk '/pretrain_gpt.py$/ { n++; next } n == 1' | sed '/^--train-iters$/,$d'; }
keys() {
    awk '/^train:/ { on = 1 } /^    (logging|run):|^  data:/ { on = 0; next } /^  model:/ { on = 1 }
        on && /^      [a-z]/ { key = $1; sub(/:$/, "", key); gsub(/_/, "-", key); print "--" key
            $1 = ""; gsub(/^ \[|\]$|"/, ""); sub(/^ /, "")
            count = $0 == "true" ? 0 : split($0, value, ", ")
            for (i = 1; i <= count; i++) print value[i] }' "$1"
}

same() { # FORMAT, words on standard input
    sort >"$SCRATCH/got"
    diff "$SCRATCH/want" "$SCRATCH/got" || fault "$1 of $plan: not the flags of the plan"
}

write() { "$ASTRA" export "$plan" --to "$@" -o "$SCRATCH/out" || fault "$* of $plan"; }
checked() { shellcheck -s bash "$SCRATCH/out" || fault "shellcheck: $* of $plan"; }

all_formats() { # PLAN NODES
    plan=$1 nodes=$2
    words_of "$plan" | sort >"$SCRATCH/want"
    write megatron
    checked megatron
    { cat "$SCRATCH/out"; echo 'printf "%s\n" "${MEGATRON_ARGS[@]}"'; } >"$SCRATCH/all"
    bash "$SCRATCH/all" | same megatron
    for format in torchrun slurm; do
        write $format
        checked $format
        start "$SCRATCH/out" | same $format
    done
    write bridge
    checked bridge
    write flagscale
    keys "$SCRATCH/out" | same flagscale
}

one_type() { # PLAN NODES
    all_formats "$@"
    write k8s
    arguments "$SCRATCH/out" | same k8s
    write skypilot
    sed -n '/^run: |$/,$s/^  //p' "$SCRATCH/out" >"$SCRATCH/run"
    shellcheck -s bash -e SC2154 "$SCRATCH/run" || fault "shellcheck: run of skypilot"
    start "$SCRATCH/run" | same skypilot
}

estimate() { # FILE ARGUMENTS...
    file=$SCRATCH/$1
    shift
    "$ASTRA" estimate "$@" >"$file" || fault "no plan: $*"
}

estimate one.json --model llama3-8b --cluster 1x8:H100 --format json --set tp=2 --set dist_opt=on
one_type "$SCRATCH/one.json" n1
estimate moe.json --model deepseek-v3 --cluster 128x8:H100 --format json --set pp=16 \
    --set split=uneven --set ep=64 --set dispatcher=alltoall --set grouped_gemm=on --set dist_opt=on \
    --set recompute=selective --set recompute_modules=layernorm+mla_up_proj
one_type "$SCRATCH/moe.json" n1
estimate mixed.json --model llama3-8b --cluster 1x8:A100,1x8:H100 --format json -- --bf16 \
    --pipeline-model-parallel-size 2 --pipeline-model-parallel-layout 'Et*8|t*24L' \
    --global-batch-size 64 --use-distributed-optimizer --recompute-granularity selective \
    --recompute-modules layernorm mlp
all_formats "$SCRATCH/mixed.json" a1
estimate hetero.json --model llama3-8b --cluster 1x8:A100,1x8:H100 --format json -- --bf16 \
    --enable-hetero --sequence-parallel --use-distributed-optimizer \
    --pipeline-model-parallel-size 2 --global-batch-size 32 --hetero-device-types A100 H100 \
    --hetero-process-meshes 1 1 1 8 1 4 1 1 2 1 --hetero-pipeline-layer-split 10 22
plan=$SCRATCH/hetero.json
write torchrun
checked torchrun
grep -q -e '--hetero-current-device-type "$DEVICE_TYPE"' "$SCRATCH/out" || fault "no device type"
printf 'a1\nh1\n' >"$SCRATCH/hosts"
write flagscale --hosts "$SCRATCH/hosts" --hostfile "$SCRATCH/file of hosts"
printf 'a1 slots=8 type=A100\nh1 slots=8 type=H100\n' | diff - "$SCRATCH/file of hosts"
grep -qF "hostfile: \"$SCRATCH/file of hosts\"" "$SCRATCH/out" || fault "the hostfile's name"

# Ranks of a task each, in the order of the components whatever the order of their start.
plan=$SCRATCH/mixed.json nodes=a1
write slurm --launcher srun
checked slurm
TASKS=8 start "$SCRATCH/out" >"$SCRATCH/ranks"
{ for i in 0 1 2 3 4 5 6 7; do echo "$i $i 16 a1"; done
  for i in 0 1 2 3 4 5 6 7; do echo "$((i + 8)) $i 16 z1"; done; } | diff - "$SCRATCH/ranks" ||
    fault "ranks"

# One node of several is less full: its tasks are counted by node.
estimate part.json --model llama3-8b --cluster 2x8:H100 --gpus 12 --format json --set dist_opt=on \
    --set pp=2 --set global_batch=48
plan=$SCRATCH/part.json
write torchrun
sed 's/exec torchrun/echo/' "$SCRATCH/out" >"$SCRATCH/echo"
env MEGATRON=/m MASTER_ADDR=h NODE_RANK=1 bash "$SCRATCH/echo" | grep -q -e '--nproc-per-node 4 ' ||
    fault "GPUs of the last node"

# A plan that does not fit gets no script.
"$ASTRA" estimate --model llama3-70b --cluster 1x8:H100 --format json >"$SCRATCH/big.json" 2>"$SCRATCH/err" ||
    true
code=0
"$ASTRA" export "$SCRATCH/big.json" --to slurm -o "$SCRATCH/none" 2>"$SCRATCH/err" || code=$?
[ $code -eq 1 ] && [ ! -e "$SCRATCH/none" ] && grep -q 'the plan is not feasible: ' "$SCRATCH/err" ||
    fault "a script of a plan that does not fit: exit code $code"

# A search writes its best plan in one go: the script to -o, the answer to standard output.
"$ASTRA" search --model llama3-8b --cluster 1x8:H100 --top 1 --export slurm -o "$SCRATCH/job" \
    >"$SCRATCH/text"
grep -q '^#SBATCH --nodes=1$' "$SCRATCH/job" || fault "no script of the search"
grep -q '^Best plans' "$SCRATCH/text" || fault "no answer beside the script"
"$ASTRA" search --model llama3-8b --cluster 1x8:H100 --top 1 --export slurm | diff - "$SCRATCH/job"
