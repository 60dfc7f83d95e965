"""The operators: turns a point into a function that launches it on the i-th set of buffers.

Inputs are windows into one large pool of normal numbers that nothing ever writes; outputs go to a
second pool, sums (main gradients, optimizer states) to a third, so values stay finite however often
a loop runs. As many sets of buffers are rotated as fill twice the L2 cache.
"""
import dataclasses
import math

import shapes

ALIGN = 512             # bytes
MAX_SETS = 64
NEG = -10000.0          # Megatron's masked score


class NotAvailable(Exception):
    """This PyTorch or this GPU has no such operator."""


class Pool:
    """Windows into one allocation, handed out from the start for every round anew."""

    def __init__(self, tensor):
        self.tensor, self.used = tensor, 0
        self.views = {}

    def reset(self):
        self.used = 0

    def take(self, dtype, *shape):
        size = dtype.itemsize
        total = math.prod(shape)
        if self.used + total * size > self.tensor.numel() * self.tensor.element_size():
            raise MemoryError("needs more than the buffers that this GPU's memory allows")
        if dtype not in self.views:
            self.views[dtype] = self.tensor.view(dtype)
        strides = [math.prod(shape[i + 1:]) for i in range(len(shape))]
        window = self.views[dtype].as_strided(shape, strides, self.used // size)
        self.used += -(-total * size // ALIGN) * ALIGN
        return window


class Kernels:
    def __init__(self, torch, device):
        self.torch, self.device = torch, device
        props = torch.cuda.get_device_properties(device)
        self.l2 = getattr(props, "L2_cache_size", 0) or 64 << 20
        free, _ = torch.cuda.mem_get_info(device)
        size = min(24 << 30, int(free * 0.15)) // 4096 * 4096
        self.inputs = Pool(self.normal(size))
        self.outputs = Pool(torch.empty(size // 2, dtype=torch.bfloat16, device=device))
        self.sums = Pool(torch.zeros(size // 4, dtype=torch.float32, device=device))
        self.fp8 = None
        self.usable = {}        # attention configurations that the backend accepts
        self.compiled = {}
        self.wgrad = self.find_wgrad()

    def normal(self, size):
        torch = self.torch
        generator = torch.Generator(device=self.device)
        generator.manual_seed(shapes.SEED)
        pool = torch.empty(size // 2, dtype=torch.bfloat16, device=self.device)
        for piece in pool.split(1 << 28):
            piece.normal_(generator=generator)
        return pool

    def fp8_pool(self):
        if self.fp8 is None:
            torch = self.torch
            capability = torch.cuda.get_device_capability(self.device)
            if not hasattr(torch, "float8_e4m3fn") or capability < (8, 9):
                raise NotAvailable("no fp8 on this GPU")
            source = self.inputs.tensor[:self.inputs.tensor.numel() // 2]
            pool = torch.empty(source.numel(), dtype=torch.float8_e4m3fn, device=self.device)
            for to, of in zip(pool.split(1 << 28), source.split(1 << 28)):
                to.copy_(of)
            self.fp8 = Pool(pool)
        return self.fp8

    def find_wgrad(self):
        """How this PyTorch adds a bf16 product to an fp32 main gradient, best way first."""
        torch = self.torch
        a = self.inputs.take(torch.bfloat16, 64, 64)
        for name, call in (("addmm_fp32", self.wgrad_addmm), ("mm_fp32", self.wgrad_mm)):
            main = torch.ones(64, 64, dtype=torch.float32, device=self.device)
            try:
                call(main, a, a, None)
                exact = a.t().float() @ a.float() + (1 if name == "addmm_fp32" else 0)
                if torch.allclose(main, exact, rtol=1e-2, atol=1e-1):
                    return name
            except (RuntimeError, TypeError):
                continue
        return "mm_bf16_add"

    def wgrad_addmm(self, main, dy, x, _):
        self.torch.addmm(main, dy.t(), x, out_dtype=self.torch.float32, out=main)

    def wgrad_mm(self, main, dy, x, _):
        self.torch.mm(dy.t(), x, out_dtype=self.torch.float32, out=main)

    def wgrad_add(self, main, dy, x, scratch):
        self.torch.mm(dy.t(), x, out=scratch)
        main.add_(scratch)

    # -------------------------------------------------------- common

    def sets(self, moved, most=MAX_SETS):
        return max(1, min(most, math.ceil(2 * self.l2 / max(moved, 1))))

    def begin_round(self):
        """Points built from now on may use all buffers; those built before must be gone."""
        for pool in (self.inputs, self.outputs, self.sums, self.fp8):
            if pool:
                pool.reset()

    def build(self, point):
        """(fn, sets of buffers, graph, point as done). graph: a CUDA graph is a must, must not be,
        or None: as the clock likes. MemoryError: does not fit beside the others of the round."""
        built = getattr(self, "build_" + point.family)(point)
        fn, sets = built[:2]
        graph = built[2] if len(built) > 2 else None
        done = built[3] if len(built) > 3 else point
        return fn, sets, graph, done

    def leaf(self, *shape, dtype=None):
        return self.inputs.take(dtype or self.torch.bfloat16, *shape).detach().requires_grad_()

    def differentiate(self, p, f, make, sets):
        """Forward or backward of f, through autograd, as training runs it."""
        torch = self.torch
        made = [make() for _ in range(sets)]
        if p.direction == "forward":
            def forward(i):
                with torch.enable_grad():
                    return f(*made[i % sets])
            return forward, sets
        with torch.enable_grad():
            out = [f(*arguments) for arguments in made]
        wanted = [[a for a in arguments if torch.is_tensor(a) and a.requires_grad]
                  for arguments in made]
        grads = [self.inputs.take(o.dtype, *o.shape) if o.dim() else torch.ones_like(o)
                 for o in out]

        def backward(i):
            i %= sets
            return torch.autograd.grad(out[i], wanted[i], grads[i], retain_graph=True)
        return backward, sets

    # -------------------------------------------------------- matrix products

    def build_gemm(self, p):
        torch = self.torch
        bf16, fp32 = torch.bfloat16, torch.float32
        sets = self.sets(shapes.work(p)[0])
        take, give, keep = self.inputs.take, self.outputs.take, self.sums.take
        mm = torch.mm
        if p.direction == "forward":
            b = [(take(bf16, p.m, p.k), take(bf16, p.n, p.k).t(), give(bf16, p.m, p.n))
                 for _ in range(sets)]
        elif p.direction == "dgrad":
            b = [(take(bf16, p.m, p.n), take(bf16, p.n, p.k), give(bf16, p.m, p.k))
                 for _ in range(sets)]
        else:
            scratch = give(bf16, p.n, p.k) if self.wgrad == "mm_bf16_add" else None
            call = {"addmm_fp32": self.wgrad_addmm, "mm_fp32": self.wgrad_mm,
                    "mm_bf16_add": self.wgrad_add}[self.wgrad]
            b = [(keep(fp32, p.n, p.k), take(bf16, p.m, p.n), take(bf16, p.m, p.k), scratch)
                 for _ in range(sets)]
            done = dataclasses.replace(p, variant=self.wgrad)
            return lambda i: call(*b[i % sets]), sets, None, done

        def product(i):
            x, y, out = b[i % sets]
            mm(x, y, out=out)
        return product, sets

    def build_fp8_gemm(self, p):
        """Hopper's fp8 knows one layout, row times column; TransformerEngine transposes for it."""
        torch = self.torch
        pool = self.fp8_pool()
        kind = pool.tensor.dtype
        rows, columns, inner = {"forward": (p.m, p.n, p.k), "dgrad": (p.m, p.k, p.n),
                                "wgrad": (p.n, p.k, p.m)}[p.direction]
        out_dtype = torch.float32 if p.direction == "wgrad" else torch.bfloat16
        fast = p.direction == "forward"         # TransformerEngine: split accumulators backward
        one = torch.ones((), dtype=torch.float32, device=self.device)
        sets = self.sets(shapes.work(p)[0])
        b = [(pool.take(kind, rows, inner), pool.take(kind, columns, inner).t())
             for _ in range(sets)]

        def product(i):
            x, y = b[i % sets]
            return torch._scaled_mm(x, y, scale_a=one, scale_b=one, out_dtype=out_dtype,
                                    use_fast_accum=fast)
        return product, sets

    def build_grouped_gemm(self, p):
        torch = self.torch
        bf16 = torch.bfloat16
        tokens = p.m * p.count
        sets = self.sets(shapes.work(p)[0], 16)
        take = self.inputs.take
        b = [(take(bf16, tokens, p.k), take(bf16, p.count, p.n, p.k), take(bf16, tokens, p.n))
             for _ in range(sets)]
        if p.variant == "loop":
            return self.expert_loop(p, b), sets
        grouped = getattr(torch, "_grouped_mm", None)
        grouped = grouped or getattr(torch.nn.functional, "grouped_mm", None)
        if grouped is None:
            raise NotAvailable("no grouped product in this PyTorch")
        ends = torch.arange(1, p.count + 1, dtype=torch.int32, device=self.device) * p.m

        def product(i):
            x, w, dy = b[i % sets]
            if p.direction == "forward":
                return grouped(x, w.transpose(-2, -1), offs=ends)
            if p.direction == "dgrad":
                return grouped(dy, w, offs=ends)
            return grouped(dy.t(), x, offs=ends)
        return product, sets

    def expert_loop(self, p, b):
        """One product after the other, as SequentialMLP does."""
        torch = self.torch
        out = self.outputs.take(torch.bfloat16, p.count, *(
            {"forward": (p.m, p.n), "dgrad": (p.m, p.k), "wgrad": (p.n, p.k)}[p.direction]))
        calls = []
        for x, w, dy in b:
            xs, dys = x.split(p.m), dy.split(p.m)
            calls.append([{"forward": (xs[e], w[e].t()), "dgrad": (dys[e], w[e]),
                           "wgrad": (dys[e].t(), xs[e])}[p.direction] + (out[e],)
                          for e in range(p.count)])

        def run(i):
            for x, y, into in calls[i % len(calls)]:
                torch.mm(x, y, out=into)
        return run

    # -------------------------------------------------------- attention

    def attention_buffers(self, p, sets):
        """q, k, v and the output's gradient: b h s d as SDPA wants them, b s h d in memory."""
        bf16 = self.torch.bfloat16

        def one(heads, width):
            return self.inputs.take(bf16, p.count, p.seq, heads, width).transpose(1, 2)
        return [(one(p.heads, p.head_dim), one(p.kv_heads, p.head_dim), one(p.kv_heads, p.v_dim),
                 one(p.heads, p.v_dim)) for _ in range(sets)]

    def check_backend(self, p, q, k, v):
        """Asks SDPA itself, once per kind of attention and with gradients: it knows what goes."""
        torch = self.torch
        kind = (p.variant, p.head_dim, p.v_dim, p.causal, p.heads == p.kv_heads)
        if kind not in self.usable:
            from torch.nn.attention import SDPBackend, sdpa_kernel
            backend = {"flash": SDPBackend.FLASH_ATTENTION,
                       "cudnn": SDPBackend.CUDNN_ATTENTION}[p.variant]
            try:
                with torch.enable_grad(), sdpa_kernel(backend):
                    torch.nn.functional.scaled_dot_product_attention(
                        q.detach().requires_grad_(), k.detach().requires_grad_(),
                        v.detach().requires_grad_(), is_causal=bool(p.causal),
                        enable_gqa=p.heads != p.kv_heads)
                torch.cuda.synchronize()
                self.usable[kind] = ""
            except torch.cuda.OutOfMemoryError:
                raise
            except RuntimeError as e:
                torch.cuda.synchronize()
                self.usable[kind] = str(e).splitlines()[0]
        if self.usable[kind]:
            raise NotAvailable(f"{p.variant} refuses: {self.usable[kind]}")

    def build_attention(self, p):
        if p.window:
            return self.windowed_attention(p)
        aten = self.torch.ops.aten
        causal = bool(p.causal)
        sets = self.sets(shapes.work(p)[0], 16)
        b = self.attention_buffers(p, sets)
        self.check_backend(p, *b[0][:3])
        if p.variant == "flash":
            op, back = aten._scaled_dot_product_flash_attention, \
                aten._scaled_dot_product_flash_attention_backward

            def run(q, k, v):
                return op(q, k, v, 0.0, causal, False)

            def gradient(q, k, v, do, f):
                return back(do, q, k, v, f[0], f[1], f[2], f[3], f[4], f[5], 0.0, causal,
                            f[6], f[7])
        else:
            op, back = aten._scaled_dot_product_cudnn_attention, \
                aten._scaled_dot_product_cudnn_attention_backward

            def run(q, k, v):
                return op(q, k, v, None, True, 0.0, causal, False)

            def gradient(q, k, v, do, f):
                return back(do, q, k, v, f[0], f[1], f[6], f[7], None, f[2], f[3], f[4], f[5], 0.0,
                            causal)
        return self.attention_pass(p, b, sets, run, gradient)

    def attention_pass(self, p, b, sets, run, gradient):
        if p.direction == "forward":
            return lambda i: run(*b[i % sets][:3]), sets
        saved = [run(*x[:3]) for x in b]
        return lambda i: gradient(*b[i % sets], saved[i % sets]), sets

    def windowed_attention(self, p):
        """The flash kernel below SDPA takes a window; layout b s h d."""
        aten = self.torch.ops.aten
        if p.variant != "flash":
            raise NotAvailable("no sliding window in this backend")
        sets = self.sets(shapes.work(p)[0], 16)
        b = [tuple(t.transpose(1, 2) for t in x) for x in self.attention_buffers(p, sets)]
        sides = {"window_size_left": p.window - 1, "window_size_right": 0}

        def run(q, k, v):
            return aten._flash_attention_forward(q, k, v, None, None, p.seq, p.seq, 0.0, True,
                                                 False, **sides)

        def gradient(q, k, v, do, f):
            return aten._flash_attention_backward(do, q, k, v, f[0], f[1], None, None, p.seq, p.seq,
                                                  0.0, True, f[2], f[3], **sides)
        return self.attention_pass(p, b, sets, run, gradient)

    def build_unfused_attention(self, p):
        """Megatron's local attention, nothing fused: product, mask, softmax in fp32, product."""
        torch = self.torch
        batch, scale = p.count * p.heads, 1 / math.sqrt(p.head_dim)
        mask = torch.ones(p.seq, p.seq, dtype=torch.bool, device=self.device).triu(1)
        empty = torch.empty(1, 1, 1, dtype=torch.bfloat16, device=self.device)
        sets = self.sets(shapes.work(p)[0], 16)

        def f(q, k, v):
            scores = torch.baddbmm(empty, q, k.transpose(1, 2), beta=0.0, alpha=scale)
            scores = scores.float().masked_fill_(mask, NEG)
            return torch.bmm(torch.softmax(scores, -1).to(torch.bfloat16), v)
        return self.differentiate(p, f, lambda: [self.leaf(batch, p.seq, p.head_dim)
                                                 for _ in range(3)], sets)

    # -------------------------------------------------------- passes over memory

    def build_norm(self, p):
        functional = self.torch.nn.functional
        sets = self.sets(shapes.work(p)[0])
        if p.variant == "rms":
            if not hasattr(functional, "rms_norm"):
                raise NotAvailable("no rms_norm in this PyTorch")
            return self.differentiate(p, lambda x, w: functional.rms_norm(x, (p.n,), w, 1e-5),
                                      lambda: (self.leaf(p.m, p.n), self.leaf(p.n)), sets)
        return self.differentiate(p, lambda x, w, b: functional.layer_norm(x, (p.n,), w, b, 1e-5),
                                  lambda: (self.leaf(p.m, p.n), self.leaf(p.n), self.leaf(p.n)),
                                  sets)

    def activation_functions(self):
        torch = self.torch

        def swiglu(y):
            a, b = torch.chunk(y, 2, -1)
            return torch.nn.functional.silu(a) * b

        def swiglu_back(g, y):
            a, b = torch.chunk(y, 2, -1)
            s = torch.sigmoid(a)
            return torch.cat((g * s * (1 + a * (1 - s)) * b, g * torch.nn.functional.silu(a)), -1)

        def gelu(y):
            return 0.5 * y * (1 + torch.tanh(0.79788456 * y * (1 + 0.044715 * y * y)))

        def gelu_back(g, y):
            t = torch.tanh(0.79788456 * y * (1 + 0.044715 * y * y))
            slope = 0.5 * y * ((1 - t * t) * (0.79788456 + 0.1070322243 * y * y)) + 0.5 * (1 + t)
            return g * slope
        return {"swiglu": (swiglu, swiglu_back), "gelu": (gelu, gelu_back)}

    def build_activation(self, p):
        """Operator by operator; `_compiled`: fused by torch.compile, as in Megatron."""
        torch = self.torch
        name, _, compiled = p.variant.partition("_")
        back = p.direction == "backward"
        sets = self.sets(shapes.work(p)[0])
        wide = 2 * p.n if name == "swiglu" else p.n
        if not compiled:
            if name == "gelu":
                def f(y):
                    return torch.nn.functional.gelu(y, approximate="tanh")
            else:
                f = self.activation_functions()[name][0]
            return self.differentiate(p, f, lambda: (self.leaf(p.m, wide),), sets)
        f = self.compile(name, back)
        # Tensors of their own: torch.compile looks at the offset of a window.
        widths = (p.n, wide) if back else (wide,)
        b = [tuple(self.inputs.take(torch.bfloat16, p.m, n).clone() for n in widths)
             for _ in range(sets)]
        return lambda i: f(*b[i % sets]), sets

    def compile(self, name, back):
        if (name, back) not in self.compiled:
            import torch._dynamo
            config = torch._dynamo.config
            # Beyond the limit torch.compile goes back to unfused operators, silently.
            for limit in ("recompile_limit", "cache_size_limit"):
                if hasattr(config, limit):
                    setattr(config, limit, 64)
            self.compiled[name, back] = self.torch.compile(
                self.activation_functions()[name][back], dynamic=True)
        return self.compiled[name, back]

    def build_rope(self, p):
        torch = self.torch
        sets = self.sets(shapes.work(p)[0])
        angle = torch.rand(p.m, 1, 1, p.head_dim, device=self.device) * 6.28
        cos, sin = angle.cos().to(torch.bfloat16), angle.sin().to(torch.bfloat16)

        def f(t):
            a, b = torch.chunk(t, 2, -1)
            return t * cos + torch.cat((-b, a), -1) * sin
        return self.differentiate(p, f, lambda: (self.leaf(p.m, 1, p.heads, p.head_dim),), sets)

    def build_residual(self, p):
        torch = self.torch
        sets = self.sets(shapes.work(p)[0])
        take, bf16 = self.inputs.take, torch.bfloat16
        b = [(take(bf16, p.m, p.n), take(bf16, p.m, p.n), self.outputs.take(bf16, p.m, p.n))
             for _ in range(sets)]

        def add(i):
            x, y, out = b[i % sets]
            torch.add(x, y, out=out)
        return add, sets

    def build_embedding(self, p):
        torch = self.torch
        sets = self.sets(4 * p.m * p.n, 16)
        table = self.inputs.take(torch.bfloat16, p.k, p.n)
        ids = [torch.randint(p.k, (p.m,), device=self.device) for _ in range(sets)]
        if p.direction == "forward":
            return lambda i: torch.nn.functional.embedding(ids[i % sets], table), sets
        grad = self.inputs.take(torch.bfloat16, p.m, p.n)
        back = torch.ops.aten.embedding_dense_backward
        return lambda i: back(grad, ids[i % sets], p.k, -1, False), sets

    def build_cross_entropy(self, p):
        torch = self.torch
        target = torch.randint(p.n, (p.m,), device=self.device)
        sets = self.sets(4 * p.m * p.n, 16)
        if p.variant == "torch":
            return self.differentiate(
                p, lambda x: torch.nn.functional.cross_entropy(x, target),
                lambda: (self.leaf(p.m, p.n, dtype=torch.float32),), sets)
        rows = torch.arange(p.m, device=self.device)
        if p.direction == "forward":
            b = [self.inputs.take(torch.bfloat16, p.m, p.n) for _ in range(sets)]

            def forward(i):
                x = b[i % sets].float()
                x -= x.max(-1)[0].unsqueeze(-1)
                at = x[rows, target].clone()
                torch.exp(x, out=x)
                total = x.sum(-1)
                loss = torch.log(total) - at
                x.div_(total.unsqueeze(-1))
                return loss
            return forward, sets
        soft = [self.sums.take(torch.float32, p.m, p.n) for _ in range(sets)]
        for s in soft:
            s.fill_(1 / p.n)
        weight = torch.ones(p.m, 1, dtype=torch.float32, device=self.device)

        def backward(i):
            g = soft[i % sets]
            g[rows, target] -= 1.0
            g.mul_(weight)
            return g.to(torch.bfloat16)
        return backward, sets

    def build_adam(self, p):
        torch = self.torch
        sets = self.sets(16 * p.m, 16)
        pieces = [p.m // 4] * 3 + [p.m - 3 * (p.m // 4)]
        b = []
        for _ in range(sets):
            weight, first, second = (self.sums.take(torch.float32, p.m) for _ in range(3))
            grad = self.inputs.take(torch.float32, p.m)
            weight.copy_(grad)
            first.copy_(grad)
            torch.mul(grad, grad, out=second)
            steps = [torch.ones((), dtype=torch.float32, device=self.device) for _ in pieces]
            b.append([list(t.split(pieces)) for t in (weight, grad, first, second)] + [[], steps])
        step = torch.ops.aten._fused_adamw_

        def run(i):
            step(*b[i % sets], lr=1e-4, beta1=0.9, beta2=0.95, weight_decay=0.1, eps=1e-8,
                 amsgrad=False, maximize=False)
        return run, sets

    def build_grad_norm(self, p):
        torch = self.torch
        sets = self.sets(4 * p.m)
        if p.variant == "norm":
            b = [list(self.inputs.take(torch.float32, p.m).split(max(1, p.m // 8)))
                 for _ in range(sets)]

            def norm(i):
                return torch.linalg.vector_norm(torch.stack(torch._foreach_norm(b[i % sets], 2)))
            return norm, sets
        b = [self.sums.take(torch.float32, p.m) for _ in range(sets)]
        if p.variant == "zero":
            return lambda i: b[i % sets].zero_(), sets
        for x in b:
            x.copy_(self.inputs.take(torch.float32, p.m))
        return lambda i: b[i % sets].mul_(1.0000001), sets

    def build_cast(self, p):
        torch = self.torch
        bf16, fp32 = torch.bfloat16, torch.float32
        source, to = (bf16, fp32) if p.variant == "bf16_to_fp32" else (fp32, bf16)
        return self.copies(p, source, to)

    def build_copy(self, p):
        return self.copies(p, self.torch.bfloat16, self.torch.bfloat16)

    def copies(self, p, source, to):
        sets = self.sets(shapes.work(p)[0])
        b = [(self.outputs.take(to, p.m), self.inputs.take(source, p.m)) for _ in range(sets)]

        def copy(i):
            into, of = b[i % sets]
            into.copy_(of)
        return copy, sets

    def build_launch(self, p):
        """The shortest kernel: what a launch costs, from the processor and from a graph."""
        x = self.torch.zeros(1, dtype=self.torch.float32, device=self.device)
        return lambda i: x.add_(1.0), 1, p.variant == "graph"
