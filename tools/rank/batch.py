"""Many ranks on one GPU: several at once while what they are expected to need fits beside each
other, those near the GPU's limit alone. With --timed one after the other: the next ones only load
their modules meanwhile.

    MEGATRON=checkout python3 batch.py LIST -o FOLDER [--jobs 8] [--minutes 9] [--timed] [--trace]

A line of LIST: name, world size, pipeline stage, MiB expected, Megatron's flags, with tabs
between them; lines that begin with # are left out. Writes FOLDER/NAME.json (and NAME.trace.json,
NAME.log). doc/evidence/ranks.md has the fields.
"""
import argparse
import json
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
CONTEXT_MIB = 1024  # of every process beside what its allocator holds
ALONE = 0.8         # of the GPU: above it nothing else may run


def refuse(why, code=2):
    print("batch.py: " + why, file=sys.stderr)
    sys.exit(code)


def flag(flags, name, default):
    return int(flags[flags.index(name) + 1]) if name in flags else default


class Rank:
    def __init__(self, line):
        self.name, world, stage, expected, flags = line.rstrip("\n").split("\t")
        self.world, self.stage, self.flags = int(world), int(stage), flags.split()
        self.mib = float(expected) * 1.08 + CONTEXT_MIB
        pp = flag(self.flags, "--pipeline-model-parallel-size", 1)
        if not 0 <= self.stage < pp or self.world % pp:
            raise ValueError(f"stage {self.stage} of {pp}, world size {self.world}")
        self.rank = self.stage * (self.world // pp)
        self.process = None

    def start(self, a, port):
        path = os.path.join(a.output, self.name)
        command = [sys.executable, os.path.join(HERE, "rank.py"), "--world", str(self.world),
                   "--rank", str(self.rank), "--iterations", str(a.iterations)]
        if a.timed:
            command += ["--lock", os.path.join(a.output, "lock"), "--seconds", str(a.seconds)]
        if a.trace:
            command += ["--trace", path + ".trace.json"]
        self.log = open(path + ".log", "w")
        env = dict(os.environ, MASTER_PORT=str(port), OMP_NUM_THREADS="1")
        self.process = subprocess.Popen(command + ["--"] + self.flags, stdout=self.log,
                                        stderr=subprocess.STDOUT, env=env)
        self.began = time.time()

    def finish(self, a, alone):
        self.log.close()
        path = os.path.join(a.output, self.name)
        lines = [x for x in open(path + ".log", errors="replace") if x.startswith("RANK {")]
        out = json.loads(lines[-1][5:]) if lines else dict(status="no result")
        out.update(name=self.name, stage=self.stage, world=self.world, alone=alone,
                   seconds=round(time.time() - self.began, 1), flags=" ".join(self.flags))
        with open(path + ".json", "w") as f:
            json.dump(out, f)
        print(self.name, out["status"], out.get("peak_mib"), out.get("reserved_mib"),
              out.get("compute_ms"), out.get("sm_mhz"), out["seconds"], flush=True)


def total_mib():
    try:
        text = subprocess.check_output(["nvidia-smi", "--query-gpu=memory.total",
                                        "--format=csv,noheader,nounits"], text=True)
        return float(text.split()[0])
    except (OSError, subprocess.CalledProcessError, IndexError, ValueError) as e:
        refuse(f"nvidia-smi does not tell the GPU's memory: {e}", 3)


def read_list(path):
    """All ranks of the list, or a message that names the line which is none."""
    try:
        lines = open(path).readlines()
    except OSError as e:
        refuse(f"{path}: {e.strerror}")
    ranks, names = [], set()
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            ranks.append(Rank(line))
        except (ValueError, IndexError) as e:
            refuse(f"{path}:{number}: expected name, world size, stage, MiB, flags with tabs: {e}")
        if ranks[-1].name in names:
            refuse(f"{path}:{number}: {ranks[-1].name} is there twice, its results would be one file")
        names.add(ranks[-1].name)
    return ranks


def may_start(rank, running, total, jobs, timed):
    if not running:
        return True
    if timed:  # they wait for each other themselves
        return len(running) < jobs
    if len(running) >= jobs or rank.mib > ALONE * total or any(r.mib > ALONE * total for r in running):
        return False
    return sum(r.mib for r in running) + rank.mib < 0.97 * total


def main():
    p = argparse.ArgumentParser(usage=__doc__)
    p.add_argument("list")
    p.add_argument("-o", dest="output", required=True)
    p.add_argument("--jobs", type=int, default=8)
    p.add_argument("--minutes", type=float, default=9)
    p.add_argument("--iterations", type=int, default=3)
    p.add_argument("--timed", action="store_true")
    p.add_argument("--seconds", type=float, default=3, help="of timed steps of each")
    p.add_argument("--trace", action="store_true")
    a = p.parse_args()
    if not os.path.isfile(os.path.join(os.environ.get("MEGATRON", ""), "pretrain_gpt.py")):
        refuse("MEGATRON must name a Megatron-LM checkout (a folder with pretrain_gpt.py)")
    waiting = read_list(a.list)
    os.makedirs(a.output, exist_ok=True)
    total, running, port, end = total_mib(), [], 21000, time.time() + 60 * a.minutes
    while (waiting or running) and time.time() < end:
        for r in [r for r in running if r.process.poll() is not None]:
            running.remove(r)
            r.finish(a, a.timed or r.mib > ALONE * total)
        for r in list(waiting):
            if may_start(r, running, total, a.jobs, a.timed):
                waiting.remove(r)
                running.append(r)
                port += 1
                r.start(a, port)
        time.sleep(0.2)
    for r in running:
        r.process.kill()
    print("not run:", " ".join(r.name for r in waiting + running) or "none")


if __name__ == "__main__":
    main()
