"""One rank of a Megatron-LM run on the GPU of this machine, without the other ranks.

    MEGATRON=checkout python3 rank.py --world 64 --rank 8 [--iterations 3] [--trace FILE] -- FLAGS

FLAGS are Megatron's own. The process group is fake: kernels and memory are real, nothing is
sent. Prints one line `RANK {json}`. Needs PyTorch alone: attention of Megatron's local layers is
torch's SDPA and norms are torch's, sequence parallelism included (stack `torch`). Exit status 0
also when the rank ran out of memory: that is a result; 1 when Megatron failed, 2 on bad usage.
doc/rank.md has the fields of the line and of the trace.
"""
import argparse
import contextlib
import importlib
import json
import os
import runpy
import sys
import types

RUN_FLAGS = """--fake-process-group --mock-data --tokenizer-type NullTokenizer --split 99,1,0
    --no-create-attention-mask-in-dataloader --num-workers 0 --eval-iters 0 --eval-interval 100000
    --log-interval 1 --lr 1e-4 --min-lr 1e-5 --lr-decay-style constant --clip-grad 1.0
    --weight-decay 0.1 --no-check-for-nan-in-loss-and-grad --distributed-timeout-minutes 10""".split()


def refuse(why):
    print("rank.py: " + why, file=sys.stderr)
    sys.exit(2)


def arguments():
    p = argparse.ArgumentParser(usage=__doc__)
    p.add_argument("--world", type=int, required=True)
    p.add_argument("--rank", type=int, default=0)
    p.add_argument("--iterations", type=int, default=3)
    p.add_argument("--trace", help="write what is alive at the peak of the last iteration")
    p.add_argument("flags", nargs=argparse.REMAINDER)
    a = p.parse_args()
    a.flags = a.flags[1:] if a.flags[:1] == ["--"] else a.flags
    if not 0 <= a.rank < a.world:
        refuse(f"--rank is {a.rank}, of a world of {a.world} it is 0 to {a.world - 1}")
    if a.iterations < 1:
        refuse(f"--iterations is {a.iterations}, at least 1 is needed")
    if not a.flags:
        refuse("Megatron's flags are missing: they follow --")
    if a.trace and not os.path.isdir(os.path.dirname(a.trace) or "."):
        refuse(f"--trace {a.trace}: there is no such folder")
    return a


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


def without_compiled_helpers():
    """Megatron builds a C++ module for its data sets; the one function that mock data needs."""
    import numpy

    def sample_index(dtype):
        def build(sizes, documents, length, epochs, tokens, drop_last=True, extra=1):
            total = epochs * tokens - extra
            count = total // length if drop_last else -(-total // length)
            starts = numpy.cumsum([0] + [int(sizes[d]) for d in documents])
            at = numpy.arange(count + 1, dtype=numpy.int64) * length
            which = numpy.searchsorted(starts, at, side="right") - 1
            return numpy.stack([which, at - starts[which]], axis=1).astype(dtype)
        return build

    helpers = types.ModuleType("megatron.core.datasets.helpers_cpp")
    helpers.build_sample_idx_int32 = sample_index(numpy.int32)
    helpers.build_sample_idx_int64 = sample_index(numpy.int64)
    sys.modules[helpers.__name__] = helpers
    import megatron.core.datasets.utils as utils
    utils.compile_helpers = lambda: None


def without_transformer_engine():
    """Attention and norms of the torch stack, put where Megatron's local layers look for them."""
    import torch
    import torch.nn.functional as F
    import megatron.core.transformer.torch_norm as torch_norm
    import megatron.core.transformer.dot_product_attention as attention
    from megatron.core.transformer.module import MegatronModule

    class Norm(torch.nn.Module):
        returns_residual = False

        def __init__(self, config, hidden_size, eps=1e-5, **_):
            super().__init__()
            self.eps, self.width = eps, (hidden_size,)
            self.weight = torch.nn.Parameter(torch.ones(hidden_size))
            self.bias = None
            if config.normalization == "LayerNorm":
                self.bias = torch.nn.Parameter(torch.zeros(hidden_size))
            for x in self.parameters():
                x.sequence_parallel = config.sequence_parallel

        def forward(self, x):
            if self.bias is None:
                return F.rms_norm(x, self.width, self.weight, self.eps)
            return F.layer_norm(x, self.width, self.weight, self.bias, self.eps)

    class Attention(MegatronModule):
        def __init__(self, config, layer_number, attn_mask_type, attention_type,
                     attention_dropout=None, softmax_scale=None, **_):
            super().__init__(config=config)
            self.scale = softmax_scale

        def forward(self, query, key, value, *_, **__):
            q, k, v = (x.permute(1, 2, 0, 3) for x in (query, key, value))
            o = F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=self.scale,
                                               enable_gqa=q.size(1) != k.size(1))
            o = o.permute(2, 0, 1, 3)
            return o.reshape(o.size(0), o.size(1), -1)

    class AdamW(torch.optim.AdamW):  # one kernel, as the fused optimizers of other stacks
        def __init__(self, *args, **words):
            words.setdefault("fused", True)
            super().__init__(*args, **words)

    # Recompute of single modules and multi-token prediction ask TransformerEngine without a guard.
    recompute = importlib.import_module("megatron.core.tensor_parallel.random")
    if not hasattr(recompute, "FP8GlobalStateManager"):
        recompute.FP8GlobalStateManager = types.SimpleNamespace(is_fp8_enabled=lambda: False)
        recompute.activation_recompute_forward = lambda **_: contextlib.nullcontext()
        recompute.fp8_autocast = lambda **_: contextlib.nullcontext()
    torch_norm.WrappedTorchNorm = Norm
    attention.DotProductAttention = Attention
    torch.optim.AdamW = AdamW
    import megatron.core.transformer.multi_token_prediction as prediction
    prediction.is_inference_column_parallel_linear = lambda _: False


class Watch:
    """Peaks of each iteration; of the last one also what was alive then."""

    def __init__(self, a):
        self.a, self.peaks, self.alive, self.setup = a, [], None, None

    def wrap(self, step):
        import torch

        def train_step(*args, **words):
            last = len(self.peaks) + 1 == self.a.iterations
            if not self.peaks:
                self.setup = torch.cuda.max_memory_allocated()
            torch.cuda.reset_peak_memory_stats()
            before = torch.cuda.memory_allocated()
            if last and self.a.trace:
                torch.cuda.memory._record_memory_history(max_entries=4000000, stacks="python")
            out = step(*args, **words)
            self.peaks.append(torch.cuda.max_memory_allocated())
            if last and self.a.trace:
                self.alive = at_peak(torch.cuda.memory._snapshot()["device_traces"][0], before)
            return out
        return train_step

    def install(self):
        import megatron.training.training as training
        training.train_step = self.wrap(training.train_step)
        loaders = training.build_train_valid_test_data_loaders

        def build(*args, **words):  # rank 0 would tell middle stages, which have no data, to train
            out = loaders(*args, **words)
            training.get_args().do_train = True
            return out
        training.build_train_valid_test_data_loaders = build


def place(frames):
    """The innermost lines of Megatron that led to an allocation, three at most."""
    lines = [f"{os.path.basename(f['filename'])}:{f['line']} {f['name']}" for f in frames
             if "/megatron/" in f["filename"] or f["filename"].endswith("rank.py")]
    return " < ".join(lines[:3])


def at_peak(events, before):
    """Bytes and number of allocations alive at the fullest moment, by size and place."""
    size, most, when = before, 0, 0
    for i, e in enumerate(events):
        if e["action"] == "alloc":
            size += e["size"]
        elif e["action"] == "free_requested":
            size -= e["size"]
        if size > most:
            most, when = size, i
    alive, older = {}, before
    for e in events[:when + 1]:
        if e["action"] == "alloc":
            alive[e["addr"]] = e
        elif e["action"] == "free_requested" and alive.pop(e["addr"], None) is None:
            older -= e["size"]
    groups = {}
    for e in alive.values():
        g = groups.setdefault((e["size"], place(e["frames"])), [0, 0])
        g[0] += 1
    rows = [dict(mib=round(s * n[0] / 2**20, 2), count=n[0], each=s, place=p)
            for (s, p), n in groups.items()]
    rows.sort(key=lambda r: -r["mib"])
    return dict(peak_mib=round(most / 2**20, 1), older_mib=round(older / 2**20, 1),
                before_mib=round(before / 2**20, 1), at=when / max(1, len(events)),
                last=[dict(mib=round(e["size"] / 2**20, 2), act=e["action"], place=place(e["frames"]))
                      for e in events[max(0, when - 25):when + 5]], alive=rows[:150])


def result(watch, status):
    import torch
    out = dict(status=status, iterations=len(watch.peaks),
               iteration_mib=[round(x / 2**20, 1) for x in watch.peaks])
    if watch.setup is not None:  # the most that was allocated before the first step
        out.update(setup_mib=round(watch.setup / 2**20, 1))
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        free, total = torch.cuda.mem_get_info()
        stats = torch.cuda.memory_stats()
        out.update(peak_mib=round(max([stats["allocated_bytes.all.peak"]] + watch.peaks) / 2**20, 1),
                   reserved_mib=round(stats["reserved_bytes.all.peak"] / 2**20, 1),
                   used_mib=round((total - free) / 2**20, 1), total_mib=round(total / 2**20, 1),
                   retries=stats["num_alloc_retries"], gpu=torch.cuda.get_device_name(),
                   torch=torch.__version__)
    return out


def main():
    a = arguments()
    megatron = environment(a)
    without_compiled_helpers()
    without_transformer_engine()
    import torch
    watch = Watch(a)
    watch.install()
    sys.argv = ["pretrain_gpt.py"] + RUN_FLAGS + ["--train-iters", str(a.iterations)] + a.flags
    status = "ok"
    try:
        runpy.run_path(os.path.join(megatron, "pretrain_gpt.py"), run_name="__main__")
    except torch.cuda.OutOfMemoryError:
        status = "out of memory"
    except SystemExit as e:
        status = "ok" if e.code in (0, None) else f"exit {e.code}"
    except Exception as e:
        import traceback
        traceback.print_exc()
        status = f"{type(e).__name__}: {str(e)[:200]}"
    print("RANK " + json.dumps(result(watch, status)), flush=True)
    if watch.alive:
        with open(a.trace, "w") as f:
            json.dump(watch.alive, f)
    os._exit(0 if status in ("ok", "out of memory") else 1)


if __name__ == "__main__":
    main()
