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

words_of() { sed -n '/"flags": \[/,/^ *\],*$/s/^ *"\(.*\)",*$/\1/p' "$1"; }

# Runs a script with the stand-ins: the words of its first node, without what the run itself adds.
start() { # SCRIPT
    env PATH="$SCRATCH/bin:$PATH" MEGATRON=/m FLAGSCALE=/f NODE_RANK=0 MASTER_ADDR=h \
        SLURM_JOB_NODELIST="$nodes" SLURM_JOB_NODELIST_HET_GROUP_0="$nodes" \
        SLURM_JOB_NODELIST_HET_GROUP_1=z1 SKYPILOT_NODE_IPS=1.2.3.4 SKYPILOT_NODE_RANK=0 \
        DATA_PATH= TOKENIZER_TYPE= TOKENIZER_MODEL= CHECKPOINT= SAVE_INTERVAL=1 TRAIN_ITERS=1 \
        WARMUP_ITERS=0 LR=1 MIN_LR=1 EVAL_ITERS=0 EVAL_INTERVAL=1 bash "$1" | sed '/^--train-iters$/,$d'
}

# The script in a ConfigMap, and the words of FlagScale's keys.
mounted() { sed -e '1,/^  train.sh: |$/d' -e '/^---$/,$d' -e 's/^    //' "$1"; }
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
    for format in k8s pytorchjob; do
        write $format
        mounted "$SCRATCH/out" >"$SCRATCH/run"
        shellcheck "$SCRATCH/run" || fault "shellcheck: script of $format"
        start "$SCRATCH/run" | same $format
    done
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
estimate local.json --model llama3-8b --cluster 1x8:H100 --format json --stack local --set tp=2 \
    --set dist_opt=on --seq-len 2048
one_type "$SCRATCH/local.json" n1
# What no flag says is named, also of a model that the plan's file does not have.
cat >"$SCRATCH/gemma.json" <<EOF
{"model_type": "gemma", "num_hidden_layers": 4, "hidden_size": 64, "intermediate_size": 128,
 "num_attention_heads": 4, "num_key_value_heads": 4, "vocab_size": 100}
EOF
estimate untold.json --model "$SCRATCH/gemma.json" --cluster 1x8:H100 --format json
plan=$SCRATCH/untold.json
for format in megatron torchrun slurm k8s pytorchjob skypilot bridge flagscale; do
    write $format
    grep -q '^# Not for training.*embed_scale is 8: .*activation is gelu: ' "$SCRATCH/out" ||
        fault "$format does not name what it leaves out"
done
sed 's/"embed_scale is 8: /"a\\nreboot /' "$plan" >"$SCRATCH/hostile.json"
plan=$SCRATCH/hostile.json
write torchrun
! grep -q '^reboot' "$SCRATCH/out" || fault "a comment of the plan's file became a command"
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

# Part of a node: its share of CPUs and memory is asked for, and the port is the job's own.
"$ASTRA" search --model llama3-8b --cluster 1x8:H100 --gpus 4 --top 1 --export slurm -o "$SCRATCH/out" \
    >"$SCRATCH/text"
grep -qx '#SBATCH --cpus-per-task=32' "$SCRATCH/out" && grep -qx '#SBATCH --mem=256G' "$SCRATCH/out" ||
    fault "no share of the node"
! grep -q -e --exclusive "$SCRATCH/out" || fault "the whole node for half of it"
shellcheck "$SCRATCH/out"
port() { # JOB
    sed -n -e '1,/MASTER_PORT:=/p' "$SCRATCH/out" >"$SCRATCH/head"
    echo 'echo "$MASTER_PORT"' >>"$SCRATCH/head"
    env -u MASTER_PORT MEGATRON=/m SLURM_JOB_ID="$1" bash "$SCRATCH/head"
}
[ "$(port 7)" != "$(port 8)" ] || fault "two jobs, one port: $(port 7)"

# The variable that Megatron demands or forbids, whatever it was before.
connections() { # FORMAT: of a file to be sourced
    write "$1"
    checked "$1"
    echo 'echo "${CUDA_DEVICE_MAX_CONNECTIONS-unset}"' >>"$SCRATCH/out"
    CUDA_DEVICE_MAX_CONNECTIONS=1 bash "$SCRATCH/out"
}
estimate sharded.json --model llama3-8b --cluster 1x8:H100 --format json --set dist_opt=on \
    --set fsdp=optim_grads_params
for format in megatron bridge; do
    plan=$SCRATCH/one.json
    [ "$(connections $format)" = 1 ] || fault "$format with tp 2: not 1"
    plan=$SCRATCH/sharded.json
    [ "$(connections $format)" = unset ] || fault "$format with FSDP: set"
done
write flagscale
grep -qx '    CUDA_DEVICE_MAX_CONNECTIONS: 8' "$SCRATCH/out" || fault "flagscale with FSDP"

# Data without a tokenizer.
plan=$SCRATCH/one.json
write torchrun
if env PATH="$SCRATCH/bin:$PATH" MEGATRON=/m DATA_PATH=/d bash "$SCRATCH/out" 2>"$SCRATCH/err"; then
    fault "data without a tokenizer"
fi
grep -q TOKENIZER_MODEL "$SCRATCH/err" || fault "$(cat "$SCRATCH/err")"
env PATH="$SCRATCH/bin:$PATH" MEGATRON=/m DATA_PATH='1 /d' TOKENIZER_MODEL=t bash "$SCRATCH/out" |
    tr '\n' ' ' | grep -q -e '--data-path 1 /d --tokenizer-type HuggingFaceTokenizer --tokenizer-model t ' ||
    fault "data with a tokenizer"

# Two types whose names share a word are told apart.
estimate alike.json --model llama3-8b --cluster 1x8:A100-40GB,1x8:A100-80GB --format json -- --bf16 \
    --pipeline-model-parallel-size 2 --pipeline-model-parallel-layout 'Et*16|t*16L' \
    --global-batch-size 64 --use-distributed-optimizer --recompute-granularity full \
    --recompute-method uniform --recompute-num-layers 1
plan=$SCRATCH/alike.json
write torchrun
checked torchrun
on_node() { # RANK NAME-OF-GPU
    printf '#!/bin/sh\necho "NVIDIA %s"\n' "$2" >"$SCRATCH/bin/nvidia-smi"
    chmod +x "$SCRATCH/bin/nvidia-smi"
    env PATH="$SCRATCH/bin:$PATH" MEGATRON=/m MASTER_ADDR=h NODE_RANK="$1" bash "$SCRATCH/out" \
        >"$SCRATCH/text" 2>&1
}
first=$(sed -n 's/^#   node 0: 8 \(A100-SXM4-[48]0GB\),.*/\1/p' "$SCRATCH/out")
for name in A100-SXM4-40GB A100-SXM4-80GB; do
    right=0
    [ "$name" = "$first" ] || right=1
    on_node $right "$name" || fault "node $right is refused: $(cat "$SCRATCH/text")"
    ! on_node $((1 - right)) "$name" || fault "node $((1 - right)) runs on $name"
done
rm "$SCRATCH/bin/nvidia-smi"

# Images are the user's; names of pods have room.
estimate amd.json --model llama3-8b --cluster 2x8:MI300X --format json --set dist_opt=on --set tp=2
plan=$SCRATCH/amd.json
for format in k8s pytorchjob skypilot; do
    write $format
    grep -q 'IMAGE" # set' "$SCRATCH/out" || fault "$format: image"
done
write k8s
grep -q ' amd.com/gpu.product-name: "AMD_Instinct_MI300X_OAM" ' "$SCRATCH/out" || fault "AMD's label"
pod() { # JOB-NAME NAME
    write k8s --job-name "$1"
    grep -qx "  name: $2" "$SCRATCH/out" || fault "pods of $1: $(grep '^  name' "$SCRATCH/out")"
}
pod a.. a
pod A_1.b a-1-b
pod 1 astra
long=$(printf 'a%.0s' $(seq 48))
pod "$long" "$long"
pod "${long}bcdefghij" "$long"

# What a script alone describes is named by its size.
write torchrun
cp "$SCRATCH/out" "$SCRATCH/own.sh"
estimate own.json "$SCRATCH/own.sh" --cluster 2x8:MI300X --format json
plan=$SCRATCH/own.json
write slurm
grep -qx '#SBATCH --job-name=gpt-8.03B' "$SCRATCH/out" || fault "$(grep job-name "$SCRATCH/out")"
plan=$SCRATCH/amd.json

# A patch release is the one that is cloned.
write skypilot --megatron-version 0.17.1
grep -q -e '--branch core_v0.17.1 ' "$SCRATCH/out" || fault "another release is cloned"

# All of it or nothing: the hostfile belongs to the script.
plan=$SCRATCH/hetero.json
if "$ASTRA" export "$plan" --to flagscale --hostfile "$SCRATCH/left" -o "$SCRATCH/no/x" 2>"$SCRATCH/err"; then
    fault "written into no folder"
fi
[ -z "$(find "$SCRATCH" -name 'left*')" ] || fault "a hostfile without a script"
if "$ASTRA" export "$plan" --to flagscale --hostfile "$SCRATCH" -o "$SCRATCH/none" 2>"$SCRATCH/err"; then
    fault "a folder is taken for a hostfile"
fi
[ ! -e "$SCRATCH/none" ] || fault "a script without its hostfile"

# Overrides of a plan without TransformerEngine are read back.
estimate local.json --model llama3-8b --cluster 1x8:H100 --format json --stack local --set tp=2 \
    --set dist_opt=on --seq-len 2048
plan=$SCRATCH/local.json
write bridge
"$ASTRA" estimate "$SCRATCH/out" --cluster 1x8:H100 >"$SCRATCH/text" || fault "bridge is not read back"

# A bias before a squared ReLU is not fused: Megatron refuses to (TransformerConfig).
"$ASTRA" search --model jais2-8b --cluster 8x8:H100 --top 1 -o "$SCRATCH/jais.json"
"$ASTRA" export "$SCRATCH/jais.json" --to megatron >"$SCRATCH/jais"
grep -q -e '--no-bias-gelu-fusion' "$SCRATCH/jais"
"$ASTRA" search --model nemotron4-15b --cluster 8x8:H100 --top 1 -o "$SCRATCH/nemotron.json"
"$ASTRA" export "$SCRATCH/nemotron.json" --to megatron >"$SCRATCH/nemotron"
[ "$(grep -c -e '--no-bias-gelu-fusion' "$SCRATCH/nemotron")" -eq 0 ]
