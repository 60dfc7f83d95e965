#!/bin/sh
# Exported job scripts on a real Slurm (`make slurm`). Several nodes of three types of GPU run on
# this machine (cluster.sh); the training program is a stand-in that writes down what each rank gets
# (stand_in.sh), and judge.jq compares that with the plan. ASTRA names the program under test.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
: "${ASTRA:=$here/../../build/astra}"
cd "$here"
. ./cluster.sh
work=$(mktemp -d)
trap 'cluster_down; rm -rf "$work"' EXIT
trap 'exit 3' INT TERM
failed=0

fault() { # WHAT: the test goes on with the next job
    echo "FAIL $name: $*"
    failed=$((failed + 1))
}

prepare() {
    mkdir "$work/cluster" "$work/bin" "$work/megatron"
    for program in torchrun python python3 nvidia-smi; do
        install -m 755 stand_in.sh "$work/bin/$program"
    done
    : >"$work/megatron/pretrain_gpt.py"
    mkdir -p "$work/flagscale/flagscale/train"
    : >"$work/flagscale/flagscale/train/train_gpt.py"
    cluster_up "$work/cluster"
}

# The plan as JSON, and the environment that the text of the same answer asks for.
plan() { # ARGUMENTS of search
    "$ASTRA" search "$@" --top 1 --format json >"$work/plan.json"
    "$ASTRA" search "$@" --top 1 | sed -n 's/^ *export //p' | jq -Rn '[inputs]' >"$work/exports"
}

export_plan() { # LAUNCHER, OPTIONS of export
    launcher=$1
    shift
    "$ASTRA" export "$work/plan.json" --to slurm --launcher "$launcher" "$@" -o "$work/job.sbatch"
}

# What the script asks its user for: the partition of each type of GPU.
fill_in() {
    sed -i -E 's/^##(SBATCH --partition=)PARTITION( # of nodes with )([A-Z0-9]+)/#\1\L\3\E\2\3/' \
        "$work/job.sbatch"
}

# Nothing of this shell's environment but what a user has to set, and what an earlier job may have
# left there.
submit() { # OPTIONS of sbatch, SCRIPT
    env -i PATH="$work/bin:$PATH" HOME="$work" SLURM_CONF="$SLURM_CONF" RANKS="$work/ranks" \
        MEGATRON="$work/megatron" FLAGSCALE="$work/flagscale" DYING="${dying-}" \
        MASTER_ADDR=stale RANK=97 WORLD_SIZE=98 LOCAL_RANK=99 NODE_RANK=96 \
        timeout 120 sbatch "$@"
}

accepted() {
    bash -n "$work/job.sbatch" || fault "bash does not read it"
    shellcheck "$work/job.sbatch" || fault "shellcheck finds something"
    submit --test-only "$work/job.sbatch" >"$work/sbatch.out" 2>&1 ||
        fault "sbatch does not take it: $(cat "$work/sbatch.out")"
}

judge() {
    jq -r -L . --slurpfile plan "$work/plan.json" --slurpfile exports "$work/exports" -f judge.jq
}

# Runs the job in an empty folder. Leaves its output in $work/log, what the ranks wrote in
# $work/ranks.json and what is wrong with that in $work/wrong; false when the job fails.
run() {
    status=0
    rm -rf "$work/job" "$work/ranks"
    mkdir "$work/job" "$work/ranks"
    cd "$work/job"
    submit --wait "$work/job.sbatch" >"$work/log" 2>&1 || status=$?
    cd "$here"
    find "$work/job" -type f -exec cat {} + >>"$work/log"
    find "$work/ranks" -name 'rank.*' -exec cat {} + | jq -s 'sort_by(.rank)' >"$work/ranks.json"
    judge <"$work/ranks.json" >"$work/wrong"
    return $status
}

write_job() { # LAUNCHER, ARGUMENTS of search
    name="$*"
    launcher=$1
    shift
    plan "$@"
    export_plan "$launcher"
}

# As a user goes about it: search, export, fill in, submit. Slurm also takes the script as it is.
try() { # LAUNCHER, ARGUMENTS of search
    write_job "$@"
    accepted
    fill_in
    accepted
    run || fault "the job fails: $(cat "$work/log")"
    [ ! -s "$work/wrong" ] || fault "$(head -n 20 "$work/wrong")"
    echo "$name"
    jq -r -L . -f summary.jq "$work/ranks.json"
}

# Given hosts are used, in their order: here the last node of each type first.
try_hosts() { # LAUNCHER
    write_job "$1" --model llama3-8b --cluster 2x8:A100,2x8:H100
    name="$1 with --hosts"
    jq -r '.best[0].node_groups[] | (.gpu | split("-")[0] | ascii_downcase) as $type
        | range(.nodes - 1; -1; -1) | "\($type)-\(.)"' "$work/plan.json" >"$work/hosts"
    export_plan "$1" --hosts "$work/hosts"
    accepted
    run || fault "the job fails: $(cat "$work/log")"
    [ ! -s "$work/wrong" ] || fault "$(head -n 20 "$work/wrong")"
    jq -r '.[] | select(.local_rank == 0) | .node' "$work/ranks.json" | diff "$work/hosts" - ||
        fault "ranks are not in the order of the hosts"
    echo "$name: $(tr '\n' ' ' <"$work/hosts")"
}

# Partitions filled in the wrong way round: nodes see that they are of the wrong type. Where they
# cannot, this test does: that it finds nothing elsewhere means something.
try_wrong_types() { # LAUNCHER
    write_job "$1" --model llama3-8b --cluster 2x8:A100,2x8:H100
    name="$1 with exchanged partitions"
    fill_in
    sed -i -e 's/=a100 /=A /' -e 's/=h100 /=a100 /' -e 's/=A /=h100 /' "$work/job.sbatch"
    ! run || fault "the job runs on the wrong GPUs"
    grep -q 'should have [AH]100, it has: NVIDIA [AH]100' "$work/log" || fault "$(cat "$work/log")"
    echo "$name: $(grep -m 1 'should have' "$work/log")"
    mv "$work/bin/nvidia-smi" "$work/"
    run || fault "the job fails: $(cat "$work/log")"
    [ "$(grep -c 'is planned on' "$work/wrong")" -eq 32 ] ||
        fault "expected every rank to be misplaced: $(cat "$work/wrong")"
    mv "$work/nvidia-smi" "$work/bin/"
}

# One rank that dies ends the job, though the others would wait for minutes.
try_dying() { # LAUNCHER
    write_job "$1" --model llama3-8b --cluster 2x8:A100,2x8:H100
    name="$1 with a dying rank"
    fill_in
    dying=a100-1
    ! run || fault "the job succeeds"
    dying=
    grep -q 'stand-in: rank [0-9]* dies' "$work/log" || fault "it fails at: $(cat "$work/log")"
    no_jobs_left || fault "it still runs"
    echo "$name: the job fails"
}

# Half of a node's GPUs: the job has more than one CPU, and its port is not that of the next one.
try_shared() { # LAUNCHER
    write_job "$1" --model llama3-8b --cluster 1x8:H100 --gpus 4
    name="$1 on half a node"
    fill_in
    sed -i 's/^set -euo pipefail$/&\necho "CPUs: $SLURM_CPUS_ON_NODE"/' "$work/job.sbatch"
    ports=
    for _ in 1 2; do
        run || fault "the job fails: $(cat "$work/log")"
        [ ! -s "$work/wrong" ] || fault "$(head -n 20 "$work/wrong")"
        grep -qx 'CPUs: 32' "$work/log" || fault "$(cat "$work/log")"
        ports="$ports $(jq -r '.[0].port' "$work/ranks.json")"
    done
    [ "${ports% *}" != " ${ports##* }" ] || fault "ports of two jobs are $ports"
    echo "$name: ports$ports"
}

# Names that would mean something to the shell or to sbatch are refused, and nothing is written.
try_names() {
    name='names'
    plan --model llama3-8b --cluster 2x8:H100
    for word in 'a b' 'a"b' "a'b" "a\$(touch $work/out)" "a\`touch $work/out\`" 'a;b' '-n' '%j' \
        "a$(printf '\nb;c')"; do
        rm -f "$work/job.sbatch"
        code=0
        export_plan torchrun --job-name "$word" 2>"$work/log" || code=$?
        [ $code -eq 2 ] || fault "--job-name '$word': exit code $code"
        printf '%s\n' "$word" h100-1 >"$work/hosts"
        export_plan torchrun --hosts "$work/hosts" 2>"$work/log" && fault "host '$word' is taken"
        [ ! -e "$work/job.sbatch" ] || fault "'$word' is refused, but there is a job"
    done
    export_plan srun --job-name 'Llama_3-8b.2'
    accepted
    run || fault "the job fails: $(cat "$work/log")"
    [ -n "$(find "$work/job" -name 'Llama_3-8b.2-*')" ] || fault "the job has another name"
    [ ! -e "$work/out" ] || fault "a name was run as a command"
    echo "$name: refused, or as given"
}

# What the last job did right, spoilt in one place, is found.
try_spoilt() {
    name='spoilt ranks'
    while read -r change; do
        [ -z "$change" ] || [ -n "$(jq "$change" "$work/ranks.json" | judge)" ] ||
            fault "nothing is found after $change"
    done <<'END'
del(.[3])
. + [.[3]]
.[3].rank = 4
.[3].local_rank = 4
.[3].world = 7
.[3].address = "h100-3"
.[].address = "h100-3"
.[3].port = "1"
.[3].gpus = "0,1"
.[3].node = "a100-1"
.[3].arguments += ["--fp16"]
.[].arguments += ["--fp16"]
.[].arguments |= map(select(. != "--bf16"))
.[].arguments |= map(if . == "8192" then "4096" else . end)
.[3].environment.PYTORCH_CUDA_ALLOC_CONF = ""
END
    echo "$name: found"
}

prepare
for launcher in torchrun srun; do
    try "$launcher" --model llama3-70b --cluster 4x8:H100
    try "$launcher" --model llama3-8b --cluster 2x8:A100,4x8:H100
    try "$launcher" --model mixtral-8x7b --cluster 2x8:A100,4x8:H100
    try "$launcher" --model llama3-8b --cluster 2x4:L40S,2x8:A100,4x8:H100
    try "$launcher" --model llama3-8b --cluster 2x4:L40S,4x8:H100 --engine flagscale
    try_hosts "$launcher"
    try_wrong_types "$launcher"
    try_dying "$launcher"
    try_shared "$launcher"
done
try torchrun --model llama3-8b --cluster 2x8:H100 --gpus 12
try_spoilt
try_names
[ $failed -eq 0 ] || echo "$failed faults"
[ $failed -eq 0 ]
