"""What each training step of the rank takes: time, clock and power, memory."""
import os
import statistics
import sys
import threading
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "profile"))
import sensor  # noqa: E402, of tools/profile, or beside this file where both were copied

WARM_UP = 2     # steps: kernels are chosen, the optimizer's states are made
SAMPLE_S = 0.05


class Enough(Exception):
    """All steps that were asked for are done."""


class Clock(threading.Thread):
    """Clock and power while steps are timed."""

    def __init__(self):
        super().__init__(daemon=True)
        self.sensor, self.on = sensor.open_sensor(None), False
        self.samples = sensor.Samples(self.sensor, 0)
        self.start()

    def run(self):
        while True:
            time.sleep(SAMPLE_S)
            if self.on:
                self.samples.take()

    def result(self):
        mhz, watts, _ = self.samples.medians()
        return dict(sm_mhz=mhz, watts=watts, watt_limit=self.sensor.limit_w())


class Watch:
    """Time and peak of each step; of the last one also what was alive at its peak."""

    def __init__(self, iterations, seconds, trace, fill):
        self.iterations, self.seconds, self.trace, self.fill = iterations, seconds, trace, fill
        self.peaks, self.ms, self.loss = [], [], []
        self.alive, self.setup, self.clock = None, None, None

    def wrap(self, step):
        import torch

        def train_step(*args, **words):
            if not self.peaks:
                self.setup = torch.cuda.max_memory_allocated()
                self.clock = Clock()
            torch.cuda.reset_peak_memory_stats()
            before, last = torch.cuda.memory_allocated(), self.is_last()
            if last and self.trace:
                torch.cuda.memory._record_memory_history(max_entries=4000000, stacks="python")
            out = self.timed(step, args, words)
            self.peaks.append(torch.cuda.max_memory_allocated())
            self.keep_loss(out)
            if last and self.trace:
                self.alive = at_peak(torch.cuda.memory._snapshot()["device_traces"][0], before)
            if last:
                raise Enough
            return out
        return train_step

    def timed(self, step, args, words):
        import torch
        torch.cuda.synchronize()
        self.fill.begin_step()
        self.clock.on = len(self.ms) >= WARM_UP
        begin = time.perf_counter()
        out = step(*args, **words)
        torch.cuda.synchronize()
        self.ms.append(1e3 * (time.perf_counter() - begin))
        self.clock.on = False
        self.fill.end_step()
        return out

    def is_last(self):
        """Whether the next step is: enough of them, and they took long enough for a clock."""
        done, timed_ms = len(self.ms), sum(self.ms[WARM_UP:])
        typical_ms = timed_ms / (done - WARM_UP) if done > WARM_UP else 0
        return done + 1 >= self.iterations and timed_ms + typical_ms >= 1e3 * self.seconds

    def keep_loss(self, out):
        losses = out[0] if isinstance(out, tuple) and isinstance(out[0], dict) else {}
        values = [float(x) for name, x in losses.items() if name == "lm loss"]
        self.loss += values

    def install(self):
        import megatron.training.training as training
        training.train_step = self.wrap(training.train_step)
        loaders = training.build_train_valid_test_data_loaders

        def build(*args, **words):  # rank 0 would tell middle stages, which have no data, to train
            out = loaders(*args, **words)
            training.get_args().do_train = True
            return out
        training.build_train_valid_test_data_loaders = build

    def result(self):
        fill_ms = self.fill.step_ms()
        out = dict(iterations=len(self.peaks), loss=self.loss[-3:],
                   iteration_mib=[round(x / 2**20, 1) for x in self.peaks],
                   iteration_ms=[round(x, 2) for x in self.ms],
                   fill_ms=[round(x, 2) for x in fill_ms])
        if self.setup is not None:  # the most that was allocated before the first step
            out.update(setup_mib=round(self.setup / 2**20, 1))
        own = [x - y for x, y in zip(self.ms, fill_ms)][WARM_UP:]
        if own:
            out.update(compute_ms=round(statistics.median(own), 2), **self.clock.result())
        return out


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
