"""How long one launch takes when it runs over and over.

A point is a function of a number: fn(i) launches once, on the i-th of its sets of buffers. Three
loops of n launches follow each other without a pause between four events; the median counts. Short
launches, and those that the processor cannot hand over fast enough, are put into a CUDA graph
first: PyTorch needs 5 to 20 us to launch, backward through autograd 100, and small operators would
all seem to take just as long.
"""
import dataclasses
import math
import statistics
import time

import sensor

LOOPS = 3
GRAPH_US = 80
HOST_SHARE = 0.6        # of the GPU's time that the processor needs to launch
GRAPH_LAUNCHES = 32
GRAPH_LENGTH_US = 2000
MAX_LAUNCHES = 20000


@dataclasses.dataclass
class Result:
    time_us: float
    spread: float       # (slowest - fastest) / median of the loops
    loops: int          # launches in one loop
    sm_mhz: int
    watts: int
    celsius: int


def summary(loop_us, launches, readings):
    middle = statistics.median(loop_us)
    return Result(middle / launches, (max(loop_us) - min(loop_us)) / middle, launches, *readings)


class Clock:
    """Times points on one side stream: a graph can only be captured there."""

    def __init__(self, torch, watch):
        self.torch, self.watch = torch, watch
        self.events = [torch.cuda.Event(enable_timing=True) for _ in range(LOOPS + 1)]
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

    def time(self, fn, sets, loop_ms, graph=None):
        """Measures fn. graph: True and False force or forbid a CUDA graph."""
        fn(0)
        self.torch.cuda.synchronize()
        us, host = self.estimate_us(fn)
        launches, run, captured = 1, fn, None
        if graph or (graph is None and (us < GRAPH_US or host > HOST_SHARE * us)):
            launches = min(GRAPH_LAUNCHES, math.ceil(GRAPH_LENGTH_US / us))
            launches = max(1, min(128, max(sets, launches)))
            captured = self.capture(fn, launches)
            if captured is None:
                launches = 1
            else:
                run = lambda i: captured.replay()
                us = self.between_us(run, 2)[0] / launches
        n = max(1, min(MAX_LAUNCHES, math.ceil(loop_ms * 1000 / max(us * launches, 0.5))))
        return self.loops(run, n, launches)

    def loops(self, run, n, launches):
        samples = sensor.Samples(self.watch)
        self.events[0].record()
        for loop in range(LOOPS):
            for i in range(n):
                run(i)
            self.events[loop + 1].record()
        while not self.events[LOOPS].query():
            samples.take()
            time.sleep(0.0005)
        if not samples.seen:
            samples.take()
        times = [a.elapsed_time(b) * 1000 for a, b in zip(self.events, self.events[1:])]
        return summary(times, n * launches, samples.medians())
