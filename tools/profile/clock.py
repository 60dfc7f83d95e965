"""How long one launch takes inside a mix of work at the power limit, as in a training step.

A point is a function of a number: fn(i) launches once, on the i-th of its sets of buffers. Some
points run together in a round: slices of about a millisecond each, dealt evenly over the round, one
behind the other without a pause; the median slice of a point counts. Alone in a loop each kernel
would set a clock of its own, high for the light ones and, for a while, for whatever follows them;
in a round they all share the clock that the mix leaves. Short launches, and those that the
processor cannot hand over fast enough, are put into a CUDA graph first: PyTorch needs 5 to 20 us to
launch, backward through autograd 100, and small operators would all seem to take just as long.
"""
import dataclasses
import math
import random
import statistics
import time

import sensor

SLICE_MS = 1.0
LEAST_SLICES = 3
MOST_SLICES = 100
GRAPH_US = 80
HOST_SHARE = 0.6        # of the GPU's time that the processor needs to launch
GRAPH_LAUNCHES = 32
GRAPH_LENGTH_US = 2000


@dataclasses.dataclass
class Result:
    time_us: float
    spread: float       # between the quartiles of the slices, over the median
    loops: int          # launches in all slices
    sm_mhz: int
    watts: int
    celsius: int


@dataclasses.dataclass
class Ready:
    """A point that can run: run(i) makes `launches` launches of `us` each."""
    run: object
    launches: int
    us: float
    fn: object          # keeps the tensors alive that a graph uses


def summary(slice_us, launches, readings):
    """slice_us: of each slice; launches: in each slice."""
    ordered = sorted(slice_us)
    middle = statistics.median(ordered)
    quarter = len(ordered) // 4
    spread = (ordered[-1 - quarter] - ordered[quarter]) / middle
    return Result(middle / launches, spread, launches * len(ordered), *readings)


def deal(counts, seed):
    """The order of a round: index i appears counts[i] times, each evenly spread."""
    dice = random.Random(seed)
    placed = [((j + dice.random()) / n, i) for i, n in enumerate(counts) for j in range(n)]
    return [i for _, i in sorted(placed)]


class Clock:
    """Times points on one side stream: a graph can only be captured there."""

    def __init__(self, torch, watch):
        self.torch, self.watch = torch, watch
        self.events = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
        self.broken_graphs = 0

    def between_us(self, fn, launches):
        """(GPU, processor) microseconds of a launch in a short loop."""
        start, end = self.events[:2]
        begin = time.perf_counter()
        start.record()
        for i in range(launches):
            fn(i)
        end.record()
        host = time.perf_counter() - begin
        end.synchronize()
        return start.elapsed_time(end) * 1000 / launches, host * 1e6 / launches

    def estimate_us(self, fn):
        first, host = self.between_us(fn, 1)
        if first > 3000:
            return first, host
        return self.between_us(fn, 3 if first > 300 else 10)

    def capture(self, fn, launches):
        """A graph of some launches, or None when the operator cannot be captured."""
        torch = self.torch
        graph = torch.cuda.CUDAGraph()
        torch.cuda.synchronize()
        try:
            graph.capture_begin()
            try:
                for i in range(launches):
                    fn(i)
            finally:
                graph.capture_end()
            graph.replay()
            torch.cuda.synchronize()
            return graph
        except RuntimeError:
            self.broken_graphs += 1
            torch.cuda.synchronize()    # raises when the device itself is lost
            return None

    def prepare(self, fn, sets, graph=None):
        """graph: True and False force or forbid a CUDA graph."""
        fn(0)
        self.torch.cuda.synchronize()
        us, host = self.estimate_us(fn)
        ready = Ready(fn, 1, us, fn)
        if graph or (graph is None and (us < GRAPH_US or host > HOST_SHARE * us)):
            launches = min(GRAPH_LAUNCHES, math.ceil(GRAPH_LENGTH_US / max(us, 0.5)))
            launches = max(1, min(128, max(sets, launches)))
            captured = self.capture(fn, launches)
            if captured is not None:
                ready = Ready(lambda i: captured.replay(), launches, 0.0, fn)
                ready.us = self.between_us(ready.run, 2)[0] / launches
        return ready

    def round(self, points, share_ms, seed):
        """Runs prepared points together, about share_ms of each. Returns a Result for each."""
        calls = [max(1, round(1000 * SLICE_MS / max(p.us * p.launches, 0.5))) for p in points]
        slice_ms = [n * max(p.us * p.launches, 0.5) / 1000 for n, p in zip(calls, points)]
        counts = [max(LEAST_SLICES, min(MOST_SLICES, round(share_ms / ms))) for ms in slice_ms]
        order = deal(counts, seed)
        while len(self.events) < len(order) + 1:
            self.events.append(self.torch.cuda.Event(enable_timing=True))
        samples = sensor.Samples(self.watch)
        self.events[0].record()
        for at, i in enumerate(order):
            for call in range(calls[i]):
                points[i].run(at + call)
            self.events[at + 1].record()
            samples.take()
        while not self.events[len(order)].query():
            samples.take()
            time.sleep(0.0005)
        readings = samples.medians()
        us = [[] for _ in points]
        for at, i in enumerate(order):
            us[i].append(self.events[at].elapsed_time(self.events[at + 1]) * 1000)
        return [summary(u, n * p.launches, readings) for u, n, p in zip(us, calls, points)]
