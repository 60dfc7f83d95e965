#!/bin/sh
# Stands in for torchrun, python and nvidia-smi on the nodes of the test cluster, under these
# names. A rank of the training program writes what it knows of itself into a file of $RANKS:
# node, ranks, address of the first rank, environment and arguments. Slurm itself is real. With
# DYING=NODE the first rank of that node fails and ranks of other nodes wait for it, as in a
# collective.
set -eu
here=$(dirname "$0")

give_up() {
    echo "stand-in: $*" >&2
    exit 2
}

# Agents of one job meet as torchrun's do: a rank's number is the sum of the processes on the nodes
# before, and nobody starts before all are there. Two agents of one number are an error.
meet() { # sets $first and $world
    (set -C; echo "$nproc" >"$RANKS/agent.$node_rank") 2>/dev/null ||
        give_up "two nodes have rank $node_rank"
    for _ in $(seq 150); do
        [ "$(find "$RANKS" -name 'agent.*' -size +0 | wc -l)" -lt "$nnodes" ] || break
        sleep 0.2
    done
    first=0 world=0 i=0
    while [ $i -lt "$nnodes" ]; do
        [ "$i" -ne "$node_rank" ] || first=$world
        [ -f "$RANKS/agent.$i" ] || give_up "node $i of $nnodes did not come"
        world=$((world + $(cat "$RANKS/agent.$i")))
        i=$((i + 1))
    done
}

torchrun() { # OPTIONS SCRIPT ARGUMENTS
    nnodes='' nproc='' node_rank='' address='' port=''
    while [ $# -gt 0 ]; do
        case $1 in
        --*=*) option=${1%%=*} value=${1#*=} used=1 ;;
        --*) option=$1 value=${2-} used=2 ;;
        *) break ;;
        esac
        case $(echo "$option" | tr _ -) in
        --nnodes) nnodes=$value ;;
        --nproc-per-node) nproc=$value ;;
        --node-rank) node_rank=$value ;;
        --master-addr) address=$value ;;
        --master-port) port=$value ;;
        *) give_up "torchrun: unexpected option $1" ;;
        esac
        shift "$used"
    done
    for value in "$nnodes" "$nproc" "$node_rank" "$address" "$port" "${1-}"; do
        [ -n "$value" ] || give_up "torchrun: needs nodes, processes, rank, address, port, script"
    done
    meet
    pids=
    for local in $(seq 0 $((nproc - 1))); do
        RANK=$((first + local)) LOCAL_RANK=$local WORLD_SIZE=$world MASTER_ADDR=$address \
            MASTER_PORT=$port "$here/python" "$@" &
        pids="$pids $!"
    done
    for pid in $pids; do wait "$pid" || give_up "torchrun: a rank of node $node_rank failed"; done
}

train() { # SCRIPT ARGUMENTS
    [ -f "$1" ] || give_up "python: no file $1"
    shift
    printf '%s\036' "$@" | jq -cRs '{
        node: env.SLURMD_NODENAME, rank: (env.RANK | tonumber),
        local_rank: (env.LOCAL_RANK | tonumber), world: (env.WORLD_SIZE | tonumber),
        address: env.MASTER_ADDR, port: env.MASTER_PORT, gpus: env.CUDA_VISIBLE_DEVICES,
        environment: env, arguments: split("\u001e")[:-1]}' >"$RANKS/rank.$SLURMD_NODENAME.$$"
    echo "rank $RANK of $WORLD_SIZE: $SLURMD_NODENAME GPU $LOCAL_RANK, $MASTER_ADDR:$MASTER_PORT," \
        "$# words"
    case ${DYING-} in
    '') ;;
    "$SLURMD_NODENAME") [ "$LOCAL_RANK" -ne 0 ] || give_up "rank $RANK dies" ;;
    *) exec sleep 300 ;;
    esac
}

name_of_gpu() {
    case $SLURMD_NODENAME in
    h100-*) echo 'NVIDIA H100 80GB HBM3' ;;
    a100-*) echo 'NVIDIA A100-SXM4-80GB' ;;
    l40s-*) echo 'NVIDIA L40S' ;;
    esac
}

case ${0##*/} in
nvidia-smi) for _ in $(echo "$CUDA_VISIBLE_DEVICES" | tr , ' '); do name_of_gpu; done ;;
torchrun) torchrun "$@" ;;
python*)
    [ "${1-}" != -u ] || shift
    case "${1-} ${2-}" in
    '-m torch.distributed.run') shift 2 && torchrun "$@" ;;
    *) train "$@" ;;
    esac
    ;;
*) give_up "called as $0" ;;
esac
