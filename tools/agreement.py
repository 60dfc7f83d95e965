#!/usr/bin/env python3
"""Compares Astra's verdict on Megatron flags with that of Megatron-LM's own validator.

Flag lists come from two sources. `random` draws plans over every parameter: a third at will, the
others built to be valid and then broken in none, one or two places. `search` takes the plans that
`astra search` prints. Each list goes to `astra estimate` (reasons other than memory and engine.rules are refusals)
and to the validator, a program that reads lines "WORLD_SIZE flag flag ..." and answers each with
"OK key=value ..." or "FAIL message"; it gets the checkout in MEGATRON and the GPU's compute
capability in ARCH. Where both accept, they must also read the same dp, vpp, sequence parallelism
and number of micro-batches. A list without micro-batch or sequence length is completed for the
validator with what Astra takes instead.

Differences are listed by reason. Those in EXPLAINED are known; any other makes the exit status 1.
How it was last run, and what came out: doc/evidence/agreement.md.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import random
import re
import shlex
import subprocess
import sys

ARCH = {"A100": "8", "H100": "9", "B200": "10"}

# We refuse and the validator accepts: how our reason, with the flags behind it, begins, and why.
# Places are in Megatron-LM's megatron/core.
EXPLAINED = [
    (r"astra: neither --bf16 nor --fp16", "training in fp32 is not planned"),
    (r"astra: --cp-comm-type is", "a word that TransformerEngine's attention does not know"),
    (r"astra: --optimizer-offload-fraction is", "a share of the optimizer above 1"),
    (r"fp8 needs GPUs", "first step: TransformerEngine refuses fp8 on this GPU"),
    (r"fp8 needs (tokens|widths)", "first step: TransformerEngine refuses these shapes in fp8"),
    (r"fp8 needs TransformerEngine", "model: fp8 layers are TransformerEngine's"),
    (r"overlap of tensor-parallel communication needs Transf",
     "start: the buffers of --tp-comm-overlap are TransformerEngine's"),
    (r"context parallelism needs TransformerEngine",
     "model: transformer/dot_product_attention.py:58"),
    (r"unfused attention knows no context", "first step: no such kernel in TransformerEngine"),
    (r"sliding-window attention under context", "first step: no such kernel in TransformerEngine"),
    (r"cp_comm a2a needs cp", "first step: TransformerEngine deals whole heads to the ranks"),
    (r"experts with tp > 1 need", "first step: transformer/moe/moe_layer.py:636"),
    (r"dispatcher flex needs etp", "model: transformer/moe/token_dispatcher.py:1836"),
    (r"Adam moments of|bf16 main gradients need|--main-params-dtype fp16|--exp-avg-dtype and ",
     "optimizer: optimizer/optimizer_config.py:470"),
    (r"the precision-aware optimizer needs Tr|--use-precision-aware-optimizer needs --optimizer",
     "optimizer: optimizer/optimizer_config.py:433"),
    (r"the precision-aware optimizer needs the d", "optimizer: optimizer/__init__.py:1057"),
    (r"optimizer instances must divide the data", "groups: parallel_state.py:1448"),
    (r"full recompute needs at least one layer", "first step: groups of no layers never end"),
    (r"first_layers \d+ and last_layers \d+ leave -|first_layers and last_layers are more|"
     r"layers between the ends need stages", "stages of less than no layers: a wrong model"),
    (r"tp must divide the (MLP width|width)|etp must divide", "model: utils.py:595"),
    (r"attention local is what", "model: --spec local is no pair, transformer/spec_utils.py:47"),
    (r"CUDA graphs of the whole step with", "first step: counts of tokens go to the host"),
    (r"CUDA graphs are planned with Tr", "local graphs of local layers are not planned"),
    (r"recompute of .* --moe-layer-recompute", "--moe-layer-recompute comes behind the checks"),
]

# Flags that Megatron demands and for which Astra has a default: the validator gets them too.
DEFAULTS = {"--micro-batch-size": "micro_batch", "--seq-length": "seq_len"}

MODULES = "core_attn layernorm mlp moe moe_act mla_up_proj shared_experts".split()


# Drawing plans ------------------------------------------------------------------------------------

def divisors(n, most):
    return [d for d in range(1, most + 1) if n % d == 0]


def draw_layout(rng, model, pp):
    """A layout string for pp ranks, mostly a right one."""
    stages = pp * rng.choice([1, 1, 2, 3])
    layers = max(0, model["layers"] + rng.choice([0, 0, 0, 0, 1, -1]))
    cuts = sorted(rng.randint(0, layers) for _ in range(stages - 1))
    counts = [b - a for a, b in zip([0] + cuts, cuts + [layers])]
    if rng.random() < 0.7:
        counts = [layers // stages + (i < layers % stages) for i in range(stages)]
    texts = ["t*%d" % n if n > 1 else "t" * n for n in counts]
    texts[0] = "E" + texts[0] if rng.random() < 0.96 else texts[0]
    texts[-1] += "m" * (model["mtp"] if rng.random() < 0.96 else 1) + "L"
    return "|".join(texts)


def draw_modules(rng, model):
    some = rng.sample(MODULES, rng.choice([1, 1, 2, 3]))
    if rng.random() < 0.5:
        some = [m for m in some if m in ("core_attn", "layernorm", "mlp")] or ["core_attn"]
    return some


def degrees(rng, model):
    """The sizes of a plan that holds: no axis of it breaks a rule."""
    tp = rng.choice([d for d in divisors(model["heads"], 16)
                     if model["ffn"] % d == 0 and (model["kv"] % d == 0 or d % model["kv"] == 0)])
    pp = rng.choice([p for p in divisors(model["layers"], 32)])
    cp = rng.choice([1, 1, 1, 2, 4, 8])
    while tp * pp * cp > 4096:
        tp, pp, cp = 1, pp, cp // 2 or 1
    dp = rng.randint(1, max(1, 4096 // (tp * pp * cp)))
    if rng.random() < 0.6:
        dp = min(2 ** rng.randint(0, 9), 4096 // (tp * pp * cp) or 1)
    return tp, pp, cp, dp


def draw_experts(rng, model, flags, ranks, tp):
    pairs = [(ep, etp) for ep in divisors(model["experts"], 256) for etp in {1, tp}
             if ranks % (ep * etp) == 0]
    ep, etp = rng.choice(pairs)
    if model["linear_bias"]:
        ep, etp = rng.choice([p for p in pairs if p[1] == 1])
    if ep > 1:
        flags["--expert-model-parallel-size"] = [ep]
    flags["--expert-tensor-parallel-size"] = [etp]
    flags["--moe-token-dispatcher-type"] = [rng.choice(["alltoall", "alltoall", "allgather"])]
    if rng.random() < 0.7:
        flags["--moe-grouped-gemm"] = []


def draw_expert_overlap(rng, model, flags, pp):
    virtual = any("virtual" in flag for flag in flags)
    full = flags.get("--recompute-granularity") == ["full"]
    if flags.get("--moe-token-dispatcher-type") != ["alltoall"]:
        return
    if "--expert-model-parallel-size" in flags and (pp == 1 or virtual) and not full:
        if rng.random() < 0.5 and "moe" not in flags.get("--recompute-modules", []):
            flags["--overlap-moe-expert-parallel-comm"] = []
            return
    if model["shared_ffn"] and rng.random() < 0.4:
        flags["--moe-shared-expert-overlap"] = []


def draw_state(rng, flags):
    """Optimizer and data parallelism."""
    if rng.random() < 0.7:
        flags["--use-distributed-optimizer"] = []
    if rng.random() < 0.6:
        flags["--overlap-grad-reduce"] = []
        if "--use-distributed-optimizer" in flags and rng.random() < 0.6:
            flags["--overlap-param-gather"] = []
    if "--use-distributed-optimizer" in flags and rng.random() < 0.2:
        flags["--use-precision-aware-optimizer"] = []
        if rng.random() < 0.5:
            flags["--exp-avg-dtype"] = flags["--exp-avg-sq-dtype"] = [rng.choice(["bf16", "fp8"])]
        if rng.random() < 0.3:
            flags["--main-grads-dtype"] = ["bf16"]
        if rng.random() < 0.3:
            flags["--optimizer-cpu-offload"] = []
    if rng.random() < 0.1:
        flags["--use-megatron-fsdp"] = []
        flags["--ckpt-format"] = ["fsdp_dtensor"]
        flags["--data-parallel-sharding-strategy"] = [rng.choice(
            ["no_shard", "optim", "optim_grads", "optim_grads_params"])]


def draw_recompute(rng, model, flags):
    kind = rng.choice(["none", "none", "selective", "selective", "full"])
    if kind == "full":
        flags["--recompute-granularity"] = ["full"]
        flags["--recompute-method"] = [rng.choice(["uniform", "block"])]
        flags["--recompute-num-layers"] = [rng.randint(1, 4)]
    elif kind == "selective":
        flags["--recompute-granularity"] = ["selective"]
        if rng.random() < 0.5:
            flags["--recompute-modules"] = draw_modules(rng, model)


def draw_split(rng, model, flags, pp):
    """Virtual stages or a layout; returns what the micro-batches must be a multiple of."""
    per_rank = model["layers"] // pp
    if pp > 1 and rng.random() < 0.15:
        flags["--pipeline-model-parallel-layout"] = [draw_layout(rng, model, pp)]
        return pp
    vpp = rng.choice(divisors(per_rank, 8))
    if pp == 1 or vpp == 1 or rng.random() < 0.5:
        return 1
    if rng.random() < 0.5:
        flags["--num-layers-per-virtual-pipeline-stage"] = [per_rank // vpp]
    else:
        flags["--num-virtual-stages-per-pipeline-rank"] = [vpp]
    return pp


def draw_valid(rng, model):
    tp, pp, cp, dp = degrees(rng, model)
    flags = {"--tensor-model-parallel-size": [tp], "--pipeline-model-parallel-size": [pp]}
    if cp > 1:
        flags["--context-parallel-size"] = [cp]
        if model["window"]:
            flags["--cp-comm-type"] = ["allgather"]
    if tp > 1 and (model["experts"] or rng.random() < 0.7):
        flags["--sequence-parallel"] = []
        if rng.random() < 0.3:
            flags["--tp-comm-overlap"] = []
    if model["experts"]:
        draw_experts(rng, model, flags, tp * cp * dp, tp)
    group = draw_split(rng, model, flags, pp)
    draw_recompute(rng, model, flags)
    draw_expert_overlap(rng, model, flags, pp)
    draw_state(rng, flags)
    draw_batch(rng, model, flags, tp * cp, dp, group)
    return tp * pp * cp * dp, flags


def draw_batch(rng, model, flags, ranks, dp, group):
    unit = 16 * ranks  # what context, sequence parallelism and fp8 divide
    longest = max(1, min(model["max_seq"], 32768) // unit)
    micro = rng.choice([1, 1, 1, 2, 4])
    flags["--seq-length"] = [unit * (rng.randint(1, longest) if rng.random() < 0.3 else longest)]
    flags["--max-position-embeddings"] = [max(model["max_seq"], unit)]
    flags["--micro-batch-size"] = [micro]
    flags["--global-batch-size"] = [micro * dp * group * rng.randint(1, 16)]
    if rng.random() < 0.1:
        flags["--fp16"] = []
    else:
        flags["--bf16"] = []
        if rng.random() < 0.15:
            flags["--fp8-format"] = [rng.choice(["hybrid", "e4m3"])]
    if rng.random() < 0.5:
        flags["--cross-entropy-loss-fusion"] = []


def small(rng):
    return rng.choice([1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 24, 32, 64])


def wild_flags(rng, model):
    """Every flag of a strategy, and some that go with it, with values drawn at will."""
    pp = rng.choice([1, 2, 4, 8])
    return {
        "--tensor-model-parallel-size": [small(rng)],
        "--pipeline-model-parallel-size": [small(rng)],
        "--context-parallel-size": [small(rng)],
        "--expert-model-parallel-size": [small(rng)],
        "--expert-tensor-parallel-size": [small(rng)],
        "--sequence-parallel": [],
        "--cp-comm-type": [rng.choice(["p2p", "a2a", "allgather", "a2a+p2p", "ring"])],
        "--seq-length": [rng.choice([1, 100, 1000, 1024, 2048, 4096, 8192, 12288, 200000])],
        "--micro-batch-size": [small(rng)],
        "--global-batch-size": [small(rng) * rng.choice([1, 8, 64])],
        "--num-layers-per-virtual-pipeline-stage": [small(rng)],
        "--num-virtual-stages-per-pipeline-rank": [small(rng)],
        "--pipeline-model-parallel-layout": [draw_layout(rng, model, pp)],
        "--decoder-first-pipeline-num-layers": [small(rng)],
        "--decoder-last-pipeline-num-layers": [small(rng)],
        "--account-for-embedding-in-pipeline-split": [],
        "--account-for-loss-in-pipeline-split": [],
        "--microbatch-group-size-per-virtual-pipeline-stage": [small(rng)],
        "--no-overlap-p2p-communication": [],
        "--tp-comm-overlap": [],
        "--moe-token-dispatcher-type": [rng.choice(["allgather", "alltoall", "flex"])],
        "--moe-enable-deepep": [],
        "--overlap-moe-expert-parallel-comm": [],
        "--moe-shared-expert-overlap": [],
        "--moe-grouped-gemm": [],
        "--moe-layer-recompute": [],
        "--attention-backend": [rng.choice(["flash", "fused", "unfused", "local", "auto"])],
        "--transformer-impl": [rng.choice(["local", "transformer_engine"])],
        "--cross-entropy-loss-fusion": [],
        "--cross-entropy-fusion-impl": [rng.choice(["native", "te"])],
        "--recompute-activations": [],
        "--recompute-granularity": [rng.choice(["full", "selective"])],
        "--recompute-method": [rng.choice(["uniform", "block"])],
        "--recompute-num-layers": [rng.choice([0, 1, 2, 8, 200])],
        "--recompute-modules": rng.sample(MODULES, rng.choice([1, 1, 2, 3])),
        "--use-distributed-optimizer": [],
        "--num-distributed-optimizer-instances": [rng.choice([1, 2, 3, 4, 8])],
        "--overlap-grad-reduce": [],
        "--overlap-param-gather": [],
        "--grad-reduce-in-bf16": [],
        "--accumulate-allreduce-grads-in-fp32": [],
        "--use-precision-aware-optimizer": [],
        "--main-grads-dtype": [rng.choice(["fp32", "bf16"])],
        "--exp-avg-dtype": [rng.choice(["fp32", "fp16", "bf16", "fp8"])],
        "--exp-avg-sq-dtype": [rng.choice(["fp32", "fp16", "bf16", "fp8"])],
        "--optimizer-cpu-offload": [],
        "--optimizer-offload-fraction": [rng.choice([0, 0.5, 1.0, 1.5])],
        "--use-megatron-fsdp": [],
        "--use-torch-fsdp2": [],
        "--ckpt-format": [rng.choice(["torch", "torch_dist", "fsdp_dtensor"])],
        "--data-parallel-sharding-strategy": [rng.choice(
            ["no_shard", "optim", "optim_grads", "optim_grads_params"])],
        "--bf16": [],
        "--fp16": [],
        "--fp8-format": [rng.choice(["hybrid", "e4m3"])],
        "--fp8-recipe": [rng.choice(["tensorwise", "delayed", "mxfp8", "blockwise"])],
        "--rampup-batch-size": [8, 8, 1000],
        "--use-tp-pp-dp-mapping": [],
        "--megatron-fsdp-version": [rng.choice([1, 2])],
        "--no-gradient-accumulation-fusion": [],
        "--main-params-dtype": [rng.choice(["fp32", "fp16"])],
        "--distribute-saved-activations": [],
        "--overlap-param-gather-with-optimizer-step": [],
        "--fp8-param-gather": [],
        "--fp4-format": ["e2m1"],
        "--optimizer": [rng.choice(["adam", "sgd"])],
        "--spec": ["local"],
        "--delay-wgrad-compute": [],
        "--cuda-graph-impl": [rng.choice(["local", "transformer_engine", "full_iteration"])],
        "--no-check-for-nan-in-loss-and-grad": [],
        "--defer-embedding-wgrad-compute": [],
        "--cpu-offloading-num-layers": [rng.choice([0, 1, 8])],
        "--decrease-batch-size-if-needed": [],
        "--train-iters": [100],
    }


def break_plan(rng, model, world, flags):
    """One change: a flag taken away, set at will, or another number of GPUs."""
    kind = rng.random()
    flags = dict(flags)
    if kind < 0.2:
        flags.pop(rng.choice(sorted(flags)))
    elif kind < 0.9:
        flag, values = rng.choice(sorted(wild_flags(rng, model).items()))
        flags[flag] = values
    else:
        world = rng.randint(1, 4096)
    return world, flags


def draw_wild(rng, model):
    world, flags = draw_valid(rng, model)
    if rng.random() < 0.3:
        world = rng.randint(1, 4096)
    for flag, values in sorted(wild_flags(rng, model).items()):
        if rng.random() < 0.08:
            flags[flag] = values
    return world, flags


def draw_plan(rng, model):
    if rng.random() < 1 / 3:
        return ("wild",) + draw_wild(rng, model)
    world, flags = draw_valid(rng, model)
    breaks = rng.choice([0, 0, 1, 1, 1, 2])
    for _ in range(breaks):
        world, flags = break_plan(rng, model, world, flags)
    return ("valid" if breaks == 0 else "near",) + (world, flags)


# Asking ------------------------------------------------------------------------------------------

def call(arguments, **more):
    return subprocess.run(arguments, capture_output=True, text=True, check=False, **more)


def pool(world, gpu):
    per_node = max(d for d in range(1, 9) if world % d == 0)
    return "%dx%d:%s" % (world // per_node, per_node, gpu)


def presets(astra):
    """Each preset's fields, with the Megatron flags that describe it."""
    models = json.loads(call([astra, "models", "--format", "json"]).stdout)["models"]
    for model in models:
        plan = json.loads(call([astra, "estimate", "--model", model["name"], "--seq-len", "2048",
                                "--cluster", "1x1:H100", "--global-batch", "1",
                                "--format", "json"]).stdout)
        flags = plan["engine"]["flags"]
        model["flags"] = flags[:flags.index("--global-batch-size")]
    return models


def without(flags, name):
    at = flags.index(name) if name in flags else len(flags)
    return flags[:at] + flags[at + 2:]


def random_cases(astra, count, seed):
    rng = random.Random(seed)
    models = presets(astra)
    for i in range(count):
        model = models[i % len(models)]
        kind, world, flags = draw_plan(rng, model)
        described = model["flags"]
        if "--max-position-embeddings" in flags:
            described = without(described, "--max-position-embeddings")
        drawn = [w for f, values in flags.items() for w in [f] + [str(v) for v in values]]
        yield {"kind": kind, "model": model["name"], "world": world, "flags": described + drawn,
               "gpu": rng.choice(["H100", "H100", "A100", "B200"])}


# Questions that lead the search to plans it would not prefer by itself.
LEADS = ["--precision fp16", "--precision fp8", "--stack torch", "--set cp=2,4", "--set pp=2,4",
         "--set pp=4 --set vpp=2,4", "--set fsdp=optim_grads", "--set fsdp=optim_grads_params",
         "--set recompute=selective", "--set recompute=full", "--set precision_aware=on",
         "--set optimizer_offload=50", "--set moe_overlap=on", "--set tp=4 --set etp=1",
         "--set ep=8", "--set split=uneven", "--set tp_overlap=on",
         "--seq-len 2048 --global-batch 4096"]


def search_cases(astra, seed):
    """The best 20 plans of each preset, type and number of GPUs, once plain, once with a lead."""
    rng = random.Random(seed)
    asked = [(model, gpu, world) for model in presets(astra) for gpu in ("H100", "A100")
             for world in (1, 8, 64, 512, 4096)]
    leads = rng.sample(LEADS * (len(asked) // len(LEADS) + 1), len(asked))
    for (model, gpu, world), lead in [(a, lead) for a, l in zip(asked, leads) for lead in ("", l)]:
        out = call([astra, "search", "--model", model["name"], "--cluster", pool(world, gpu),
                    "--gpus", str(world), "--top", "20", "--format", "json"] + lead.split())
        plans = json.loads(out.stdout)["best"] if out.returncode == 0 else []
        for plan in plans:
            yield {"kind": "search", "model": model["name"], "gpu": gpu, "world": plan["gpus"],
                   "flags": plan["engine"]["flags"]}


def ask_astra(astra, case):
    out = call([astra, "estimate", "--cluster", pool(case["world"], case["gpu"]), "--memory-margin",
                "0", "--format", "json", "--"] + case["flags"])
    if out.returncode == 2:
        return {"reasons": [out.stderr.strip()]}
    plan = json.loads(out.stdout)
    s = plan["strategy"]
    memory = re.compile(r" needs [0-9.]+ [KMGTP]iB")
    return {"reasons": [r for r in plan["reasons"] if not memory.search(r) and "(engine.rules:" not in r],
            "read": {"dp": s["dp"], "vpp": s["vpp"], "sp": int(s["seq_parallel"]),
                     "microbatches": s["global_batch"] // (s["micro_batch"] * s["dp"])},
            "completion": [w for flag, name in DEFAULTS.items() if flag not in case["flags"]
                           for w in (flag, str(s[name]))]}


def connections(case):
    """CUDA_DEVICE_MAX_CONNECTIONS as Megatron wants it: 1, but not with FSDP or expert overlap."""
    several = {"--use-megatron-fsdp", "--use-torch-fsdp2", "--overlap-moe-expert-parallel-comm"}
    return "32" if several & set(case["flags"]) else "1"


def words(case):
    return case["flags"] + case["astra"].get("completion", [])


def ask_megatron(options, arch, conns, cases):
    env = dict(os.environ, MEGATRON=options.megatron, ARCH=arch, CUDA_DEVICE_MAX_CONNECTIONS=conns)
    lines = "".join("%d %s\n" % (c["world"], shlex.join(words(c))) for c in cases)
    out = call(options.python.split() + [options.validator], input=lines, env=env)
    answers = out.stdout.splitlines()
    if len(answers) != len(cases):
        sys.exit("%d answers to %d lines: %s" % (len(answers), len(cases), out.stderr))
    return answers


def ask_megatron_all(options, cases):
    """Cases grouped by the environment they need, in blocks, two at a time."""
    groups = collections.defaultdict(list)
    for case in cases:
        groups[ARCH[case["gpu"]], connections(case)].append(case)
    blocks = [(key, group[i:i + 300]) for key, group in sorted(groups.items())
              for i in range(0, len(group), 300)]
    with concurrent.futures.ThreadPoolExecutor(2) as workers:
        work = [workers.submit(ask_megatron, options, *key, block) for key, block in blocks]
        for (_, block), answers in zip(blocks, work):
            for case, answer in zip(block, answers.result()):
                case["megatron"] = answer


# Comparing ---------------------------------------------------------------------------------------

def readings(answer):
    pairs = dict(word.split("=") for word in answer.split()[1:])
    return {key: 1 if value == "None" else int(value) for key, value in pairs.items()}


def explanation(case):
    """Why we refuse what the validator accepts, when every reason is a known one."""
    texts = [reason + " -- " + " ".join(case["flags"]) for reason in case["astra"]["reasons"]]
    known = [next((why for pattern, why in EXPLAINED if re.match(pattern, t)), None) for t in texts]
    return known[0] if all(known) else None


def compare(case):
    """The kind of agreement or difference, and the reason to list it under."""
    ours, theirs = case["astra"]["reasons"], case["megatron"]
    if theirs.startswith("OK") and not ours:
        mine, other = case["astra"]["read"], readings(theirs)
        wrong = [k for k in mine if mine[k] != other[k]]
        if case["astra"]["completion"] and not wrong:
            return "explained", "a flag without which Megatron stops: Astra has a default"
        return ("read differently", " ".join(wrong)) if wrong else ("both accept", "")
    if theirs.startswith("OK"):
        why = explanation(case)
        return ("explained", why) if why else ("only Astra refuses", re.sub(r"\d+", "N", ours[0]))
    if not ours:
        return "only Megatron refuses", re.sub(r"\d+", "N", theirs)
    return "both refuse", ""


def report(cases):
    counts = collections.Counter((c["kind"], c["outcome"][0]) for c in cases)
    kinds = sorted({c["kind"] for c in cases})
    for outcome in sorted({o for _, o in counts}):
        print("%-22s %s" % (outcome, "  ".join("%s %d" % (k, counts[k, outcome]) for k in kinds)))
    reasons = collections.Counter(c["outcome"] for c in cases if c["outcome"][1])
    for (outcome, reason), n in sorted(reasons.items()):
        print("\n%s, %d: %s" % (outcome, n, reason))
        if outcome != "explained":
            c = next(c for c in cases if c["outcome"] == (outcome, reason))
            print("  %s on %s" % (c["model"], pool(c["world"], c["gpu"])))
            print("  %s\n  %s\n  %s" % (shlex.join(words(c)), c["astra"], c["megatron"]))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("source", choices=["random", "search"])
    p.add_argument("--astra", default="build/astra")
    p.add_argument("--megatron", default=os.environ.get("MEGATRON"), help="checkout of Megatron-LM")
    p.add_argument("--validator", default=os.environ.get("MEGATRON_VALIDATOR"),
                   help="the program that asks Megatron's validator")
    p.add_argument("--python", default=sys.executable, help="what runs it")
    p.add_argument("--count", type=int, default=2900, help="random plans")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--output", help="every case, as JSON")
    options = p.parse_args()
    if not options.megatron or not options.validator:
        p.error("--megatron and --validator are needed")
    source = (random_cases(options.astra, options.count, options.seed)
              if options.source == "random" else search_cases(options.astra, options.seed))
    cases = list(source)
    for case in cases:
        case["astra"] = ask_astra(options.astra, case)
    ask_megatron_all(options, cases)
    for case in cases:
        case["outcome"] = compare(case)
    if options.output:
        with open(options.output, "w", encoding="utf-8") as f:
            json.dump(cases, f, indent=1)
    report(cases)
    agree = {"both accept", "both refuse", "explained"}
    sys.exit(any(c["outcome"][0] not in agree for c in cases))


if __name__ == "__main__":
    main()
