"""One rank of a Megatron-LM run on the GPU of this machine, without the other ranks.

    MEGATRON=checkout python3 rank.py --world 64 --rank 8 [OPTIONS] -- FLAGS
    MEGATRON=checkout python3 rank.py --check

FLAGS are Megatron's own. The process group is fake: kernels and memory are real, nothing is
sent, and what would have been received is filled with finite numbers. Prints one line
`RANK {json}`. Needs PyTorch alone: layers are Megatron's local ones with astra_sdpa.py (stack
`torch`), or as they come (`--stack local`); with `--stack te` Megatron runs on TransformerEngine as
it is. Exit status 0 also when the rank ran out of memory: that is a result; 1
when Megatron failed, 2 on bad usage. doc/evidence/ranks.md has options and fields.
"""
import argparse
import importlib
import importlib.util
import json
import math
import os
import platform
import re
import runpy
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

RUN_FLAGS = """--fake-process-group --mock-data --tokenizer-type NullTokenizer --split 99,1,0
    --no-create-attention-mask-in-dataloader --num-workers 0 --eval-iters 0 --eval-interval 100000
    --log-interval 1 --lr 1e-4 --min-lr 1e-5 --lr-decay-style constant --clip-grad 1.0
    --weight-decay 0.1 --no-check-for-nan-in-loss-and-grad --distributed-timeout-minutes 10""".split()
MORE_ITERATIONS = 200  # at most, where those asked for are shorter than --seconds


def refuse(why):
    print("rank.py: " + why, file=sys.stderr)
    sys.exit(2)


def arguments():
    p = argparse.ArgumentParser(usage=__doc__)
    p.add_argument("--check", action="store_true", help="only say what is there")
    p.add_argument("--world", type=int, default=1)
    p.add_argument("--rank", type=int, default=0)
    p.add_argument("--iterations", type=int, default=3, help="steps, at least")
    p.add_argument("--seconds", type=float, default=0, help="of steps behind the warm-up, at least")
    p.add_argument("--stack", choices=("torch", "te", "local"), default="torch")
    p.add_argument("--lock", help="a file: whoever holds it may use the GPU")
    p.add_argument("--trace", help="write what is alive at the peak of the last iteration")
    p.add_argument("flags", nargs=argparse.REMAINDER)
    a = p.parse_args()
    a.flags = a.flags[1:] if a.flags[:1] == ["--"] else a.flags
    if not a.flags and not a.check:
        refuse("Megatron's flags are missing: they follow --")
    if a.stack == "torch" and "--spec" not in a.flags:
        a.flags += ["--spec", "astra_sdpa", "layer_spec"]
    if not 0 <= a.rank < a.world:
        refuse(f"--rank is {a.rank}, of a world of {a.world} it is 0 to {a.world - 1}")
    if a.iterations < 1:
        refuse(f"--iterations is {a.iterations}, at least 1 is needed")
    if not 0 <= a.seconds <= 3600:
        refuse(f"--seconds is {a.seconds}, 0 to 3600 can be")
    for option, path in (("--trace", a.trace), ("--lock", a.lock)):
        if path and not os.path.isdir(os.path.dirname(path) or "."):
            refuse(f"{option} {path}: there is no such folder")
    return a


def text_of(*path):
    try:
        with open(os.path.join(*path), errors="replace") as f:
            return f.read()
    except OSError:
        return ""


def version_of(module):
    """None when it is not there or cannot be loaded."""
    try:
        found = importlib.import_module(module)
    except Exception:
        return None
    return str(getattr(found, "__version__", "unknown"))


def check():
    megatron = os.environ.get("MEGATRON", "")
    info = text_of(megatron, "megatron", "core", "package_info.py")
    parts = re.findall(r"^(?:MAJOR|MINOR|PATCH) = (\d+)", info, re.M)
    has_script = os.path.isfile(os.path.join(megatron, "pretrain_gpt.py"))
    out = dict(python=platform.python_version(), torch=version_of("torch"), cuda=False, gpu=None,
               te=None, megatron=".".join(parts) if has_script and parts else None,
               fake_process_group="'--fake-process-group'" in text_of(megatron, "megatron",
                                                                      "training", "arguments.py"))
    if out["torch"]:
        import torch
        out["cuda"] = torch.cuda.is_available()
    if out["cuda"]:
        free, total = torch.cuda.mem_get_info()
        out.update(gpu=torch.cuda.get_device_name(), total_mib=round(total / 2**20, 1),
                   free_mib=round(free / 2**20, 1), te=version_of("transformer_engine"))
    print("RANK " + json.dumps(out), flush=True)


def environment(a):
    megatron = os.environ.get("MEGATRON")
    if not megatron or not os.path.isfile(os.path.join(megatron, "pretrain_gpt.py")):
        refuse("MEGATRON must name a Megatron-LM checkout (a folder with pretrain_gpt.py)")
    os.environ.update(RANK=str(a.rank), WORLD_SIZE=str(a.world), LOCAL_RANK="0",
                      MASTER_ADDR="127.0.0.1")
    connections = "8" if "--use-megatron-fsdp" in a.flags else "1"  # what Megatron demands
    for key, value in (("MASTER_PORT", "29511"), ("CUDA_DEVICE_MAX_CONNECTIONS", connections),
                       ("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True"),
                       ("TOKENIZERS_PARALLELISM", "false")):
        os.environ.setdefault(key, value)
    sys.path.insert(0, megatron)
    return megatron


def prepare(a):
    """Everything that needs no GPU; who waits for its turn has done it."""
    from fill import Fill
    from stack import without_compiled_helpers
    from watch import Watch
    fill = Fill()
    fill.install()
    without_compiled_helpers()
    watch = Watch(a.iterations, a.seconds, a.trace, fill)
    watch.install()
    importlib.import_module("pretrain_gpt")
    return watch


def wait_for_turn(path):
    """The lock is held until the process ends."""
    import fcntl
    lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)


def train(a, megatron):
    """How it ended, in words."""
    import torch
    from watch import Enough
    iterations = a.iterations + (MORE_ITERATIONS if a.seconds else 0)
    sys.argv = ["pretrain_gpt.py"] + RUN_FLAGS + ["--train-iters", str(iterations)] + a.flags
    try:
        runpy.run_path(os.path.join(megatron, "pretrain_gpt.py"), run_name="__main__")
    except Enough:
        return "ok"
    except torch.cuda.OutOfMemoryError:
        return "out of memory"
    except SystemExit as e:
        return "ok" if e.code in (0, None) else f"exit {e.code}"
    except Exception as e:
        import traceback
        traceback.print_exc()
        return f"{type(e).__name__}: {str(e)[:200]}"
    return "ok"


def result(a, watch, status):
    import torch
    out = dict(status=status, stack=a.stack, **watch.result())
    out["loss"] = [x if math.isfinite(x) else None for x in out["loss"]]
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        free, total = torch.cuda.mem_get_info()
        stats = torch.cuda.memory_stats()
        seen = [stats["allocated_bytes.all.peak"], watch.setup or 0] + watch.peaks
        out.update(peak_mib=round(max(seen) / 2**20, 1),
                   reserved_mib=round(stats["reserved_bytes.all.peak"] / 2**20, 1),
                   used_mib=round((total - free) / 2**20, 1), total_mib=round(total / 2**20, 1),
                   retries=stats["num_alloc_retries"], gpu=torch.cuda.get_device_name(),
                   torch=torch.__version__)
    return out


def main():
    a = arguments()
    if a.check:
        return check()
    megatron = environment(a)
    watch = prepare(a)
    if a.lock:
        wait_for_turn(a.lock)
    status = train(a, megatron)
    print("RANK " + json.dumps(result(a, watch, status)), flush=True)
    if watch.alive:
        with open(a.trace, "w") as f:
            json.dump(watch.alive, f)
    os._exit(0 if status in ("ok", "out of memory") else 1)


if __name__ == "__main__":
    main()
