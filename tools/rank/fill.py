"""Finite data in what a lone rank would have received.

Under a fake process group nothing is written into received tensors. Zeros, NaN and leftovers there
make kernels draw less power, so that the GPU clocks higher and they run up to 20 % too fast. Here
every collective whose result is not its own input writes numbers instead: the rank's own part over
and over, or noise where it has none. No buffer is allocated, so the peak of memory is Megatron's own.

What the filling takes is kept apart, step by step. An event before and one behind it also see the
GPU wait for the host between them, as it often does behind the exchange of tokens: so each filling
counts with the shortest time per element that any of its kind and size took.
"""


class Done:
    def wait(self, *_):
        return True

    def is_completed(self):
        return True


class Fill:
    def __init__(self):
        self.events, self.steps, self.least, self.noise = [], [], {}, None

    def install(self):
        """Before Megatron is imported: it keeps the functions it finds."""
        import torch
        import torch.distributed as d
        import torch.distributed.distributed_c10d as c10d
        self.torch = torch
        gather, scatter = d.all_gather_into_tensor, d.reduce_scatter_tensor
        receive, exchange = d.irecv, d.all_to_all_single

        def all_gather(output_tensor, input_tensor, group=None, async_op=False):
            if same_memory(output_tensor, input_tensor):
                return gather(output_tensor, input_tensor, group=group, async_op=async_op)
            return self.write(output_tensor, input_tensor, async_op)

        def reduce_scatter(output, input, op=d.ReduceOp.SUM, group=None, async_op=False):
            if same_memory(output, input):
                return scatter(output, input, op=op, group=group, async_op=async_op)
            return self.write(output, input, async_op)

        def all_to_all(output, input, output_split_sizes=None, input_split_sizes=None, group=None,
                       async_op=False):
            if same_memory(output, input):
                return exchange(output, input, output_split_sizes, input_split_sizes, group=group,
                                async_op=async_op)
            return self.write(output, input, async_op)

        def irecv(tensor, *args, **words):
            request = receive(tensor, *args, **words)
            if tensor.is_floating_point():
                self.timed("noise", tensor, self.make_noise, tensor.detach())
            return request

        for name in ("all_gather_into_tensor", "_all_gather_base"):
            setattr(d, name, all_gather)
        for name in ("reduce_scatter_tensor", "_reduce_scatter_base"):
            setattr(d, name, reduce_scatter)
        d.all_to_all_single = all_to_all
        d.irecv = c10d.irecv = irecv  # P2POp takes no other function than c10d's

    def timed(self, kind, x, work, *args):
        if not x.is_cuda:
            return work(*args)
        begin, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        work(*args)
        end.record()
        size = x.numel()
        self.events.append(((kind, x.dtype, size.bit_length()), size, begin, end))

    def write(self, out, source, async_op):
        if out.numel():
            with self.torch.no_grad():
                self.repeat(out.detach().view(-1), source.detach().reshape(-1))
        return Done() if async_op else None

    def repeat(self, out, given):
        if given.numel() == 0 and out.is_floating_point():
            return self.timed("noise", out, self.make_noise, out)
        if given.numel() == 0:
            return out.zero_()
        whole = out.numel() // given.numel()
        rest = out[whole * given.numel():]
        if whole:
            into = out[:whole * given.numel()].view(whole, -1)
            self.timed("copy" if whole == 1 else "spread", into, into.copy_, given.expand(whole, -1))
        if rest.numel():
            self.timed("copy", rest, rest.copy_, given[:rest.numel()])

    def make_noise(self, x):
        if self.noise is None:
            self.noise = self.torch.Generator(device=x.device)
        x.normal_(0, 0.5, generator=self.noise)

    def begin_step(self):
        self.events = []

    def end_step(self):
        """The GPU has to be synchronised."""
        for kind, size, begin, end in self.events:
            each = begin.elapsed_time(end) / size
            self.least[kind] = min(each, self.least.get(kind, each))
        self.steps.append([(kind, size) for kind, size, _, _ in self.events])
        self.events = []

    def step_ms(self):
        """Milliseconds of each step."""
        return [sum(self.least[kind] * size for kind, size in step) for step in self.steps]


def same_memory(x, y):
    return x.untyped_storage().data_ptr() == y.untyped_storage().data_ptr()
