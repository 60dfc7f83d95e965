"""What is measured: the list of points, the same on every machine and in every run.

Matrix products and attention come from the model presets in data/models, cut by tensor parallelism,
and from a low-discrepancy sample of the space around them; the passes over memory from the same
widths. Nothing here needs PyTorch.
"""
import dataclasses
import glob
import json
import math
import os
import random

SEED = 20240917
TP = (1, 2, 4, 8)
TOKENS = (1024, 2048, 4096, 8192, 16384, 32768, 1536, 3072, 6144, 12288, 24576)
EXPERT_TOKENS = (64, 128, 256, 512, 1024, 2048, 4096, 8192)

GEMM_FLOPS = 8e12       # a product of a preset: 11 ms at 700 TFLOP/s
SAMPLE_FLOPS = 4e12
OPERAND = 1.2e9         # elements of the largest matrix: 2.4 GB in bf16, 4.8 GB in fp32
ATTENTION_FLOPS = 5e12  # forward; backward takes 2.5 to 3 times as long
GEMM_SAMPLE = 500
GEMM_ROWS_PER_PAIR = 3
FAMILIES = ("gemm", "attention", "fp8_gemm", "grouped_gemm", "unfused_attention", "norm",
            "activation", "rope", "residual", "embedding", "cross_entropy", "adam", "grad_norm",
            "cast", "copy", "launch")


@dataclasses.dataclass(frozen=True)
class Point:
    """One measurement. A field that does not apply is None, an empty cell in the table."""
    family: str
    variant: str
    direction: str      # column "pass": forward, backward, dgrad, wgrad, step
    dtype: str = "bf16"
    m: int = None
    n: int = None
    k: int = None
    count: int = None
    seq: int = None
    heads: int = None
    kv_heads: int = None
    head_dim: int = None
    v_dim: int = None
    causal: int = None
    window: int = None

    def key(self):
        """How --resume knows a point again. How a wgrad is done depends on the PyTorch at hand."""
        cells = ["" if v is None else str(v) for v in dataclasses.astuple(self)]
        if self.family == "gemm":
            cells[1] = ""
        return tuple(cells)


KEY_COLUMNS = ("family", "variant", "pass", "dtype", "m", "n", "k", "count", "seq", "heads",
               "kv_heads", "head_dim", "v_dim", "causal", "window")


# ---------------------------------------------------------------- work of a point

def score_pairs(p):
    """Query-key pairs that the mask leaves, per head and sequence."""
    s = p.seq
    if p.window:
        w = min(p.window, s)
        return w * (w + 1) / 2 + (s - w) * w
    return s * (s + 1) / 2 if p.causal else s * s


def attention_work(p):
    tokens = p.count * p.seq
    q, k = tokens * p.heads * p.head_dim, tokens * p.kv_heads * p.head_dim
    v, o = tokens * p.kv_heads * p.v_dim, tokens * p.heads * p.v_dim
    flops = 2 * (p.head_dim + p.v_dim) * p.count * p.heads * score_pairs(p)
    if p.direction == "forward":
        return 2 * (q + k + v + o) + 4 * tokens * p.heads, flops
    recomputed = 2 * p.head_dim * p.count * p.heads * score_pairs(p)
    return 4 * (q + k + v + o) + 4 * tokens * p.heads, 2 * flops + recomputed


def gemm_work(p):
    count = p.count or 1
    size = 1 if p.dtype == "fp8" else 2
    x, w, y = p.m * p.k, p.n * p.k, p.m * p.n
    moved = {"forward": size * (x + w) + 2 * y, "dgrad": size * (y + w) + 2 * x}
    if p.direction == "wgrad":
        into = {"addmm_fp32": 8, "mm_fp32": 4, "mm_bf16_add": 12, "scaled_mm": 4, "grouped_mm": 2,
                "loop": 2}
        return count * (size * (x + y) + into.get(p.variant, 8) * w), 2 * count * p.m * p.n * p.k
    return count * moved[p.direction], 2 * count * p.m * p.n * p.k


def pass_work(p):
    """(bytes, flops) of the passes over memory: inputs read once, outputs written once."""
    back = p.direction == "backward"
    m, n = p.m or 0, p.n or 0
    if p.family == "norm":
        return (6 if back else 4) * m * n, 0
    if p.family == "activation":
        if p.variant.startswith("swiglu"):      # n: width of the output, 2n of the input
            return (10 if back else 6) * m * n, 0
        return (6 if back else 4) * m * n, 0
    if p.family == "rope":
        return 4 * m * p.heads * p.head_dim, 0
    if p.family == "residual":
        return 6 * m * n, 0
    if p.family == "embedding":
        return (2 * m * n + 2 * p.k * n if back else 4 * m * n) + 8 * m, 0
    if p.family == "cross_entropy":
        if p.variant == "megatron":     # bf16 in, fp32 softmax kept; that in, bf16 gradient out
            return 6 * m * n, 0
        return (8 if back else 4) * m * n, 0
    if p.family == "launch":
        return 0, 0
    per = {("adam", "fused"): 28, ("grad_norm", "norm"): 4, ("grad_norm", "scale"): 8,
           ("grad_norm", "zero"): 4, ("cast", "bf16_to_fp32"): 6, ("cast", "fp32_to_bf16"): 6,
           ("copy", "device"): 4}
    return per[p.family, p.variant] * m, 0


def work(p):
    """(bytes, flops): the fewest bytes through device memory, the operations that count."""
    if p.family in ("gemm", "fp8_gemm", "grouped_gemm"):
        return gemm_work(p)
    if p.family == "attention":
        return attention_work(p)
    if p.family == "unfused_attention":
        moved, flops = attention_work(dataclasses.replace(p, causal=0))
        scores = p.count * p.heads * p.seq * p.seq
        if p.direction == "forward":    # scores, mask, softmax: written and read in bf16
            return moved + 12 * scores, flops
        flops = 4 * (p.head_dim + p.v_dim) * scores     # nothing is recomputed
        return moved + 12 * scores, flops
    return pass_work(p)


# ---------------------------------------------------------------- models

def read_model(path):
    """The sizes that decide shapes, from a Hugging Face config.json or a Megatron preset."""
    with open(path, encoding="utf-8") as f:
        c = json.load(f)

    def first(*names, default=None):
        for name in names:
            if c.get(name) is not None:
                return c[name]
        return default

    hidden = first("hidden_size", "hidden")
    heads = first("num_attention_heads", "n_head", "heads")
    kind = c.get("model_type", "")
    model = {
        "hidden": hidden, "heads": heads,
        "kv_heads": first("num_key_value_heads", "kv_heads", default=heads),
        "head_dim": first("head_dim", default=hidden // heads),
        "ffn": first("intermediate_size", "ffn", default=4 * hidden),
        "vocab": first("vocab_size", "vocab"),
        "gated": c.get("gated", kind not in ("bloom", "nemotron")),
        "experts": first("n_routed_experts", "num_local_experts", "num_experts", default=0),
        "top_k": first("num_experts_per_tok", default=0),
        "expert_ffn": first("moe_intermediate_size", "intermediate_size", default=0),
        "shared": first("n_shared_experts", default=0),
        "window": first("sliding_window", default=0) if kind == "gpt_oss" else 0,
        "mla": None,
        "layer_norm": c.get("layer_norm", kind in ("bloom", "nemotron")),
    }
    if first("kv_lora_rank"):
        model["mla"] = {"q_rank": first("q_lora_rank", default=0), "kv_rank": c["kv_lora_rank"],
                        "nope": c["qk_nope_head_dim"], "rope": c["qk_rope_head_dim"],
                        "v": c["v_head_dim"]}
    model["only_experts"] = bool(model["experts"]) and not c.get("first_k_dense_replace")
    return model


def read_models(folder):
    paths = sorted(glob.glob(os.path.join(folder, "*.json")))
    if not paths:
        raise ValueError(f"{folder}: no model presets (*.json) there")
    return [read_model(path) for path in paths]


def linear_pairs(models):
    """Distinct (n, k) of y = x W^T, W of n rows and k columns: of layers, and of experts."""
    layers, experts = set(), set()
    for c in models:
        h, d, gate = c["hidden"], c["head_dim"], 2 if c["gated"] else 1
        for tp in TP:
            if c["heads"] % tp:
                continue
            q = c["heads"] // tp
            kv = max(1, c["kv_heads"] // tp)
            if c["mla"]:
                a = c["mla"]
                layers |= {(a["q_rank"], h), (a["kv_rank"] + a["rope"], h),
                           (q * (a["nope"] + a["rope"]), a["q_rank"]),
                           (q * (a["nope"] + a["v"]), a["kv_rank"]), (h, q * a["v"])}
            else:
                layers |= {((q + 2 * kv) * d, h), (h, q * d)}
            if not c["only_experts"] and c["ffn"] % tp == 0:
                layers |= {(gate * c["ffn"] // tp, h), (h, c["ffn"] // tp)}
            if c["shared"]:
                shared = c["shared"] * c["expert_ffn"] // tp
                layers |= {(2 * shared, h), (h, shared)}
            layers.add((math.ceil(c["vocab"] / (128 * tp)) * 128, h))
            if c["experts"]:
                layers.add((c["experts"], h))       # the router
                if c["expert_ffn"] % (64 * tp) == 0 and c["expert_ffn"] // tp >= 256:
                    experts |= {(2 * c["expert_ffn"] // tp, h), (h, c["expert_ffn"] // tp)}
    return sorted(layers), sorted(experts)


def fits(m, n, k, limit):
    return 2 * m * n * k <= limit and max(m * n, n * k, m * k) <= OPERAND


def radical_inverse(i, base):
    x, f = 0.0, 1.0 / base
    while i:
        x += f * (i % base)
        i //= base
        f /= base
    return x


def log_between(u, low, high):
    return low * (high / low) ** u


def rounded(value, i):
    """Three of five on a multiple of 64, one on 8, of the rest half on 2 and half anywhere."""
    step = (64, 64, 64, 8, 2 if i % 2 else 1)[i % 5]
    return max(step, int(round(value / step)) * step)


def gemm_shapes(models):
    layers, experts = linear_pairs(models)
    shapes = set()
    for pairs, rows in ((layers, TOKENS), (experts, EXPERT_TOKENS)):
        for i, (n, k) in enumerate(pairs):
            usable = [m for m in rows if fits(m, n, k, GEMM_FLOPS)]
            for j in range(min(GEMM_ROWS_PER_PAIR, len(usable))):
                step = max(1, len(usable) // GEMM_ROWS_PER_PAIR)
                shapes.add((usable[(i + j * step) % len(usable)], n, k))
    wanted, i = len(shapes) + GEMM_SAMPLE, 0
    while len(shapes) < wanted:
        i += 1
        m, n, k = (rounded(log_between(radical_inverse(i, b), 64, 65536), i // s)
                   for b, s in ((2, 1), (3, 5), (5, 25)))
        if fits(m, n, k, SAMPLE_FLOPS):
            shapes.add((m, n, k))
    return sorted(shapes)


def gemm_points(models):
    return [[Point("gemm", "mm", "forward", m=m, n=n, k=k),
             Point("gemm", "mm", "dgrad", m=m, n=n, k=k),
             Point("gemm", "main_grad", "wgrad", m=m, n=n, k=k)] for m, n, k in gemm_shapes(models)]


def fp8_points(models):
    shapes = [s for s in gemm_shapes(models) if all(x % 16 == 0 for x in s)]
    random.Random(SEED).shuffle(shapes)
    return [[Point("fp8_gemm", "scaled_mm", d, "fp8", m=m, n=n, k=k)
             for d in ("forward", "dgrad", "wgrad")] for m, n, k in sorted(shapes[:150])]


def grouped_points(models):
    groups = set()
    for c in models:
        for ways in (1, 4, 8, 16, 32):
            local = c["experts"] // ways if c["experts"] else 0
            if not 2 <= local <= 64:
                continue
            for tokens in (4096, 8192, 16384, 32768):
                each = tokens * c["top_k"] // c["experts"] * (1 if ways == 1 else 2)
                each = max(16, each // 16 * 16)
                for n, k in ((2 * c["expert_ffn"], c["hidden"]), (c["hidden"], c["expert_ffn"])):
                    if (fits(local * each, n, k, SAMPLE_FLOPS * 1.5) and n % 16 == 0 and k % 16 == 0
                            and local * n * k <= OPERAND):
                        groups.add((local, each, n, k))
    groups = sorted(groups)
    random.Random(SEED).shuffle(groups)
    points = []
    for i, (local, each, n, k) in enumerate(sorted(groups[:64])):
        for variant in ("grouped_mm", "loop")[:1 if i % 4 else 2]:
            points.append([Point("grouped_gemm", variant, d, m=each, n=n, k=k, count=local)
                           for d in ("forward", "dgrad", "wgrad")])
    return points


# ---------------------------------------------------------------- attention

SEQUENCES = (1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072)


def attention_shape(heads, kv, d, v, seq, batch, causal, window=0):
    """Fewer sequences, then fewer heads, until a forward pass stays below ATTENTION_FLOPS."""
    group = max(1, heads // kv)
    while True:
        p = Point("attention", "", "forward", count=batch, seq=seq, heads=heads, kv_heads=kv,
                  head_dim=d, v_dim=v, causal=causal, window=window)
        if attention_work(p)[1] <= ATTENTION_FLOPS and batch * seq * heads * d <= OPERAND / 2:
            return p
        if batch > 1:
            batch //= 2
        elif kv > 1:
            kv //= 2
            heads = kv * group
        elif heads > 1:
            heads //= 2
        else:
            return None


def attention_shapes(models):
    heads = set()
    for c in models:
        for tp in TP:
            if c["heads"] % tp:
                continue
            q = c["heads"] // tp
            if c["mla"]:
                a = c["mla"]
                heads.add((q, q, a["nope"] + a["rope"], a["v"]))
            else:
                kv = max(1, c["kv_heads"] // tp)
                if q % kv == 0:
                    heads.add((q, kv, c["head_dim"], c["head_dim"]))
    heads |= {(16, 16, 256, 256), (8, 4, 256, 256), (16, 1, 256, 256), (4, 4, 256, 256)}
    shapes = {}
    for i, (q, kv, d, v) in enumerate(sorted(heads)):
        for j in range(5):
            seq = SEQUENCES[(i + 3 * j) % len(SEQUENCES)]
            batch = (1, 2, 1, 4, 1, 8)[(i + j) % 6]
            while batch > 1 and batch * seq > 32768:
                batch //= 2
            p = attention_shape(q, kv, d, v, seq, batch, 0 if (i + j) % 5 == 0 else 1)
            if p:
                shapes[p.key()] = p
    i, wanted = 0, len(shapes) + 90
    while len(shapes) < wanted:
        i += 1
        d = (64, 128, 128, 256, 128, 64, 96, 128)[i % 8]
        kv = 2 ** int(radical_inverse(i, 2) * 5)
        q = min(64, kv * 2 ** int(radical_inverse(i, 3) * 4))
        seq = int(log_between(radical_inverse(i, 5), 512, 65536) / 128 + 0.5) * 128
        batch = 2 ** int(radical_inverse(i, 7) * 5)
        while batch > 1 and batch * seq > 65536:
            batch //= 2
        p = attention_shape(q, kv, d, d, seq, batch, 1 if i % 4 else 0)
        if p:
            shapes[p.key()] = p
    return [shapes[k] for k in sorted(shapes)]


def window_shapes():
    """Sliding windows, through the flash kernel of PyTorch: SDPA itself has no such argument."""
    shapes = []
    for q, kv, d in ((64, 8, 64), (32, 4, 64), (8, 1, 64), (32, 8, 128), (16, 16, 128)):
        for seq, window in ((4096, 128), (8192, 1024), (16384, 4096), (32768, 128), (131072, 4096)):
            p = attention_shape(q, kv, d, d, seq, max(1, 8192 // seq), 1, window)
            if p and p not in shapes:
                shapes.append(p)
    return shapes


def attention_points(models):
    points = []
    for p in attention_shapes(models):
        for variant in ("flash", "cudnn"):
            if variant == "flash" and p.v_dim != p.head_dim:
                continue        # flash attention wants one width for all
            points.append([dataclasses.replace(p, variant=variant, direction=d)
                           for d in ("forward", "backward")])
    for p in window_shapes():
        points.append([dataclasses.replace(p, variant="flash", direction=d)
                       for d in ("forward", "backward")])
    return points


def unfused_points(models):
    points = []
    for heads, d in ((32, 64), (16, 128), (12, 128), (8, 128), (10, 128), (4, 128), (40, 128),
                     (96, 128)):
        for seq, batch in ((512, 4), (1024, 2), (2048, 1), (2048, 4), (4096, 1), (8192, 1)):
            if batch * heads * seq * seq <= 6e8:
                points.append([Point("unfused_attention", "torch", x, count=batch, seq=seq,
                                     heads=heads, kv_heads=heads, head_dim=d,
                                     v_dim=d, causal=1, window=0)
                               for x in ("forward", "backward")])
    return points


# ---------------------------------------------------------------- passes over memory

def widths(models, field):
    return sorted({c[field] for c in models if c[field]})


def spread_rows(widths_, rows, per, limit=8e8):
    """For each width a few numbers of rows, all of them used about equally often."""
    for i, n in enumerate(widths_):
        usable = [m for m in rows if m * n <= limit]
        step = max(1, len(usable) // per)
        for j in range(min(per, len(usable))):
            yield usable[(i + j * step) % len(usable)], n


ROWS = (128, 512, 1024, 2048, 4096, 8192, 16384, 32768)


def pair(*args, **sizes):
    return [Point(*args, d, **sizes) for d in ("forward", "backward")]


def norm_points(models):
    hidden = sorted(set(widths(models, "hidden")) | {128, 512, 1536})
    return [pair("norm", v, m=m, n=n) for v in ("rms", "layer")
            for m, n in spread_rows(hidden, ROWS, 4)]


def activation_points(models):
    ffn = sorted({f // tp for f in widths(models, "ffn") for tp in (1, 4) if f % (64 * tp) == 0})
    points = []
    for variant in ("swiglu", "swiglu_compiled", "gelu", "gelu_compiled"):
        points += [pair("activation", variant, m=m, n=n)
                   for m, n in list(spread_rows(ffn, ROWS, 1, 4e8))]
    return points


def rope_points(models):
    return [pair("rope", "torch", m=m, heads=h, head_dim=d)
            for h, d in ((1, 64), (4, 128), (8, 128), (16, 128), (32, 128), (64, 64), (64, 128),
                         (128, 64))
            for m in (1024, 4096, 8192, 32768) if m * h * d <= 3e8]


def residual_points(models):
    return [[Point("residual", "add", "forward", m=m, n=n)]
            for m, n in spread_rows(widths(models, "hidden"), ROWS, 3)]


def embedding_points(models):
    return [pair("embedding", "torch", m=m, n=h, k=v)
            for v, h in ((32000, 4096), (50304, 2048), (128256, 4096), (32064, 8192),
                         (16032, 16384), (152064, 5120)) for m in (1024, 4096, 8192, 32768)]


def cross_entropy_points(models):
    return [pair("cross_entropy", v, dtype="fp32", m=m, n=n) for v in ("torch", "megatron")
            for n in (4096, 16032, 32000, 50304, 64128, 128256, 256000)
            for m in (1024, 2048, 4096, 8192) if m * n <= 6e8]


ELEMENTS = tuple(int(2 ** (e / 2)) // 64 * 64 for e in range(34, 61, 2))   # 2^17 .. 2^30


def flat_points(models):
    """Optimizer passes, casts, copies: one length each."""
    points = []
    for family, variant, direction, dtype in (
            ("adam", "fused", "step", "fp32"), ("grad_norm", "norm", "step", "fp32"),
            ("grad_norm", "scale", "step", "fp32"), ("grad_norm", "zero", "step", "fp32"),
            ("cast", "bf16_to_fp32", "forward", "fp32"),
            ("cast", "fp32_to_bf16", "forward", "bf16"),
            ("copy", "device", "forward", "bf16")):
        for m in ELEMENTS:
            if family != "adam" or m <= 2 ** 29:
                points.append([Point(family, variant, direction, dtype, m=m)])
    return points


def launch_points(models):
    return [[Point("launch", v, "forward", m=1)] for v in ("stream", "graph")]


BUILDERS = (gemm_points, attention_points, fp8_points, grouped_points, unfused_points, norm_points,
            activation_points, rope_points, residual_points, embedding_points, cross_entropy_points,
            flat_points, launch_points)


# ---------------------------------------------------------------- the run

def all_groups(folder, families=FAMILIES, quick=False):
    """Groups of points that belong together: three passes of a product, forward and backward."""
    models = read_models(folder)
    by_family = {f: [] for f in families}
    for build in BUILDERS:
        for group in build(models):
            if group[0].family in by_family:
                by_family[group[0].family].append(group)
    for f, groups in by_family.items():
        random.Random(f"{SEED} {f}").shuffle(groups)
        if quick:
            by_family[f] = groups[:max(2, len(groups) // 25)]
    return by_family


def ordered(by_family, repeat=0.0):
    """(point, repeat) in the order they are measured.

    Every family is dealt evenly over the run, in an order of its own that does not follow size, so
    a run that is cut off has seen a part of everything. A second measurement lies half a run behind
    the first.
    """
    placed = []
    for f, groups in by_family.items():
        n = len(groups)
        every = round(1 / repeat) if repeat > 0 else 0
        for i, group in enumerate(groups):
            at = (i + 0.5) / n
            placed.append((at, f, i, 0, group))
            if every and at < 0.5 and i % max(1, round(every / 2)) == 0:
                placed.append((at + 0.5, f, i, 1, group))
    placed.sort(key=lambda x: x[:4])
    return [(p, again) for _, _, _, again, group in placed for p in group]
