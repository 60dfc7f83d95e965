#!/bin/sh
# A Slurm cluster on this machine: one slurmctld, one slurmd for each line of $nodes, one munged,
# all of the current user, on loopback, with keys, ports and logs in one folder. For sourcing:
# cluster_up FOLDER and cluster_down; SLURM_CONF is then set for sbatch and the others. Each type of
# GPU is a partition, and the default partition has all nodes.

# Daemons lie in sbin, where a user's PATH need not lead.
PATH=$PATH:/usr/sbin:/sbin
cluster=

# name     type (partition)          GPUs
nodes='
h100-0     h100                      8
h100-1     h100                      8
h100-2     h100                      8
h100-3     h100                      8
a100-0     a100                      8
a100-1     a100                      8
l40s-0     l40s                      4
l40s-1     l40s                      4
'

each_node() { # FUNCTION: called with index, name, type and number of GPUs
    index=0
    while read -r name type gpus; do
        [ -n "$name" ] || continue
        "$1" "$index" "$name" "$type" "$gpus"
        index=$((index + 1))
    done <<END
$nodes
END
}

node_line() {
    echo "NodeName=$2 NodeHostname=localhost NodeAddr=127.0.0.1 Port=$((port + 1 + $1))" \
        "CPUs=64 RealMemory=1000000 Gres=gpu:$3:$4 Feature=$3"
}

type_of_node() { echo "$3"; }

# A GPU has to be a device; links to /dev/null are, and give CUDA_VISIBLE_DEVICES its numbers.
gres_line() { echo "NodeName=$2 Name=gpu Type=$3 File=$cluster/dev/gpu[0-$(($4 - 1))]"; }

# Processes are followed without cgroups, so that neither root nor systemd is needed. Until 22.05
# a plugin has to be named all the same.
cgroup_plugin() {
    case $(slurmd -V) in
    *[!0-9]2[0-2].*) echo cgroup/v1 ;;
    *) echo disabled ;;
    esac
}

write_configuration() {
    user=$(id -un)
    cat <<END
ClusterName=astra
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort=$port
SlurmUser=$user
SlurmdUser=$user
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket=$cluster/munge.socket
StateSaveLocation=$cluster/state
SlurmdSpoolDir=$cluster/spool-%n
SlurmctldPidFile=$cluster/slurmctld.pid
SlurmdPidFile=$cluster/slurmd-%n.pid
SlurmctldLogFile=$cluster/slurmctld.log
SlurmdLogFile=$cluster/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
SchedulerParameters=bf_interval=1,sched_interval=1,batch_sched_delay=0
GresTypes=gpu
ReturnToService=2
PartitionName=any Nodes=ALL Default=YES
END
    each_node node_line
    each_node type_of_node | sort -u | while read -r type; do
        echo "NodeSet=$type Feature=$type"
        echo "PartitionName=$type Nodes=$type"
    done
}

start_munge() {
    dd if=/dev/urandom of="$cluster/munge.key" bs=128 count=1 2>/dev/null
    chmod 400 "$cluster/munge.key"
    munged --force --socket="$cluster/munge.socket" --key-file="$cluster/munge.key" \
        --pid-file="$cluster/munged.pid" --log-file="$cluster/munged.log" \
        --seed-file="$cluster/munge.seed"
}

start_node() {
    mkdir "$cluster/spool-$2"
    slurmd -N "$2"
}

wait_until_idle() {
    want=$(each_node type_of_node | wc -l)
    for _ in $(seq 100); do
        idle=$(sinfo -h -N -p any -t idle 2>/dev/null | grep -vc '[*]$')
        [ "$idle" -ne "$want" ] || return 0
        sleep 0.2
    done
    echo "after 20 s $idle of $want nodes are ready; logs:"
    tail -n 4 "$cluster"/*.log
    return 1
}

cluster_up() { # FOLDER, absolute and empty
    cluster=$1
    port=$((20000 + $$ % 600 * 20))
    mkdir "$cluster/state" "$cluster/dev"
    for i in 0 1 2 3 4 5 6 7; do ln -s /dev/null "$cluster/dev/gpu$i"; done
    write_configuration >"$cluster/slurm.conf"
    each_node gres_line >"$cluster/gres.conf"
    {
        echo "CgroupPlugin=$(cgroup_plugin)"
        echo "CgroupMountpoint=$cluster/cgroup"
    } >"$cluster/cgroup.conf"
    export SLURM_CONF="$cluster/slurm.conf"
    start_munge && slurmctld && each_node start_node && wait_until_idle
}

no_jobs_left() {
    for _ in $(seq 50); do
        [ -n "$(squeue -h 2>/dev/null)" ] || return 0
        sleep 0.2
    done
    return 1
}

# Ends what cluster_up started, jobs and daemons, and waits for it: the folder can go afterwards.
cluster_down() {
    [ -n "$cluster" ] || return 0
    scancel -u "$(id -un)" 2>/dev/null && no_jobs_left
    pids=$(cat "$cluster"/slurmd-*.pid "$cluster"/slurmctld.pid "$cluster"/munged.pid 2>/dev/null)
    for pid in $pids; do kill "$pid" 2>/dev/null; done
    for pid in $pids; do
        for _ in $(seq 50); do
            kill -0 "$pid" 2>/dev/null || break
            sleep 0.1
        done
    done
}
