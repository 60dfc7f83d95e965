#!/usr/bin/env python3
"""Asks Megatron-LM's own validator about every script that `astra export` writes.

For each preset, number of GPUs and type the best plans are searched, and plans on half A100 and
half H100 beside them. Each is exported with --to torchrun for each release; the script runs with a
torchrun that only prints its words, so that quoting and the run's own flags are checked too. The
words go to the validator, a program that reads lines "WORLD_SIZE flag flag ..." and answers each
with "OK ..." or "FAIL message"; it gets the checkout in MEGATRON and the GPU's compute capability in
ARCH.

  tools/export_check.py --validator 'python3 validate.py' --plans FOLDER \\
      HEAD=CHECKOUT 0.19=CHECKOUT 0.18=CHECKOUT 0.17=CHECKOUT

Plans that are in FOLDER already are not searched again. A release that lacks a flag of a plan is no
fault where export says so. Exit status 1 where the validator refuses anything. How it was last run,
and what came out: doc/evidence/export.md.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import shlex
import stat
import subprocess
import sys
import tempfile

ARCH = {"A100": "8", "H100": "9", "B200": "10", "mixed": "8"}
STUB = "#!/bin/sh\nprintf '%s\\0' \"${CUDA_DEVICE_MAX_CONNECTIONS-8}\" \"$@\"\n" # unset is 8


def pool(kind, gpus):
    if kind != "mixed":
        return "1x1:" + kind if gpus == 1 else "%dx8:%s" % (gpus // 8, kind)
    if gpus < 8:
        return None
    half = "1x4" if gpus == 8 else "%dx8" % (gpus // 16)
    return "%s:A100,%s:H100" % (half, half)


def search(options, model, gpus, kind):
    """The file with the plans; made where it is not there yet."""
    path = os.path.join(options.plans, "%s.%d.%s.json" % (model, gpus, kind))
    if not os.path.exists(path):
        command = [options.astra, "search", "--model", model, "--cluster", pool(kind, gpus),
                   "--gpus", str(gpus), "--top", str(options.top), "--threads", "1",
                   "--format", "json"]
        if kind == "mixed":
            command += ["--mix", "2"]
        answer = subprocess.run(command, capture_output=True, text=True)
        with open(path + ".new", "w") as out:
            out.write(answer.stdout if answer.returncode == 0 else '{"best": []}')
        os.rename(path + ".new", path)
    return path


def words_of(options, stub, path, number, release):
    """CUDA_DEVICE_MAX_CONNECTIONS and flags that the script sets, or the message of a refusal."""
    command = [options.astra, "export", path, "--plan", str(number), "--to", "torchrun"]
    command += ["--megatron-version", release]
    script = subprocess.run(command, capture_output=True, text=True)
    if script.returncode != 0:
        return None, None, script.stderr.strip()
    env = {"PATH": stub + ":/usr/bin:/bin", "MEGATRON": "/megatron", "NODE_RANK": "0",
           "MASTER_ADDR": "host"}
    started = subprocess.run(["bash"], input=script.stdout, capture_output=True, text=True, env=env)
    words = started.stdout.split("\0")[:-1]
    if started.returncode != 0 or "/megatron/pretrain_gpt.py" not in words:
        return None, None, "the script fails: " + started.stderr.strip()
    return words[0], words[words.index("/megatron/pretrain_gpt.py") + 1:], None


def validate(options, checkout, arch, connections, cases):
    lines = "".join("%d %s\n" % (world, shlex.join(words)) for world, words, _ in cases)
    env = dict(os.environ, MEGATRON=checkout, ARCH=arch, CUDA_DEVICE_MAX_CONNECTIONS=connections)
    answer = subprocess.run(shlex.split(options.validator), input=lines, capture_output=True,
                            text=True, env=env)
    answers = answer.stdout.splitlines()
    if len(answers) != len(cases):
        sys.exit("the validator gave %d answers to %d plans: %s"
                 % (len(answers), len(cases), answer.stderr[-500:]))
    return answers


def gather(options, stub, question):
    """What the scripts of one question start, by what the validator must know beside it."""
    model, gpus, kind = question
    path = search(options, model, gpus, kind)
    plans = json.load(open(path))["best"][:options.top]
    cases = collections.defaultdict(list)
    counts = collections.Counter()
    faults = []
    for release, _ in options.releases:
        for number, plan in enumerate(plans, 1):
            place = "%s %d, %s" % (path, number, release)
            connections, words, message = words_of(options, stub, path, number, release)
            if words:
                cases[release, ARCH[kind], connections].append((plan["gpus"], words, place))
                continue
            lacks = "which Megatron core has since" in message
            counts[release, "lacks a flag" if lacks else "not exported"] += 1
            if not lacks:
                faults.append("%s: %s" % (place, message))
    return cases, counts, faults


def judge(options, key, cases):
    """The validator's word on them."""
    release, arch, connections = key
    checkout = dict(options.releases)[release]
    counts = collections.Counter()
    faults = []
    for (world, words, place), text in zip(cases, validate(options, checkout, arch, connections,
                                                           cases)):
        counts[release, "accepted" if text.startswith("OK") else "refused"] += 1
        if not text.startswith("OK"):
            faults.append("%s: %s\n  %d %s" % (place, text, world, shlex.join(words)))
    return counts, faults


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("releases", nargs="+", metavar="RELEASE=CHECKOUT")
    parser.add_argument("--validator", required=True, help="command line of the validator")
    parser.add_argument("--plans", required=True, help="folder that keeps what was searched")
    parser.add_argument("--astra", default="build/astra")
    parser.add_argument("--models", default="", help="comma-separated (all presets)")
    parser.add_argument("--gpus", default="1,8,64,512,4096")
    parser.add_argument("--types", default="H100,A100,B200,mixed")
    parser.add_argument("--top", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    options.releases = [pair.split("=", 1) for pair in options.releases]
    return options


def questions(options):
    presets = json.loads(subprocess.run([options.astra, "models", "--format", "json"], check=True,
                                        capture_output=True, text=True).stdout)["models"]
    names = options.models.split(",") if options.models else [m["name"] for m in presets]
    return [(model, int(gpus), kind) for gpus in options.gpus.split(",") for model in names
            for kind in options.types.split(",") if pool(kind, int(gpus))]


def run(options, stub):
    total = collections.Counter()
    faults = []
    cases = collections.defaultdict(list)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as threads:
        for found, counts, wrong in threads.map(lambda q: gather(options, stub, q),
                                                questions(options)):
            for key, some in found.items():
                cases[key] += some
            total.update(counts)
            faults += wrong
        for counts, wrong in threads.map(lambda item: judge(options, *item), cases.items()):
            total.update(counts)
            faults += wrong
    return total, faults


def main():
    options = parse()
    os.makedirs(options.plans, exist_ok=True)
    with tempfile.TemporaryDirectory() as stub:
        torchrun = os.path.join(stub, "torchrun")
        with open(torchrun, "w") as out:
            out.write(STUB)
        os.chmod(torchrun, os.stat(torchrun).st_mode | stat.S_IXUSR)
        total, faults = run(options, stub)
    for fault in faults:
        print(fault)
    for (release, outcome), count in sorted(total.items()):
        print("%-6s %-13s %6d" % (release, outcome, count))
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
