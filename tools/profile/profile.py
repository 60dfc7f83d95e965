#!/usr/bin/env python3
"""Measures the operators of transformer training on the GPU of this machine and writes a table.

    python3 tools/profile/profile.py -o h200.csv --minutes 9 --repeat 0.1

Every point runs in a sustained loop on finite random data with the card at its power limit; a row
has the time, its spread, clock, watts and the versions. A run that ends early keeps what it has;
--resume goes on. Started by torchrun on several GPUs it measures collectives instead.
doc/profile.md explains columns and method.

Exit status: 0 done (points that could not be measured are listed), 2 bad usage or file, 3 no GPU,
or it was lost.
"""
import argparse
import collections
import datetime
import os
import sys
import time
import warnings

HERE = os.path.dirname(os.path.realpath(__file__))
sys.dont_write_bytecode = True      # leave no __pycache__ in the project
sys.path.insert(0, HERE)
import clock        # noqa: E402
import collectives  # noqa: E402
import kernels      # noqa: E402
import sensor       # noqa: E402
import shapes       # noqa: E402
import table        # noqa: E402
# PyTorch imports the standard library's module `profile`; it must not find this file instead.
sys.path[:] = [p for p in sys.path if os.path.realpath(p or os.getcwd()) != HERE]

LOOP_MS = (6.0, 25.0)       # shortest and longest loop; three of them are a point
WARM_S = 2.0
HEATER_S = 0.3
LIGHT_S = 1.0               # so long without heavy work, and the heater runs
HEAVY = 0.45                # heavy: this share of the best TFLOP/s seen, or 0.85 of the power limit
SPARE = 0.97                # share of the time that is planned


def arguments(argv):
    def portion(text):
        value = float(text)
        if not 0 <= value <= 0.5:
            raise argparse.ArgumentTypeError(f"{text} is not between 0 and 0.5")
        return value

    def positive(text):
        value = float(text)
        if not value > 0:
            raise argparse.ArgumentTypeError(f"{text} is not above 0")
        return value

    def names(text):
        chosen = text.split(",")
        for name in chosen:
            if name not in shapes.FAMILIES:
                raise argparse.ArgumentTypeError(
                    f"'{name}' is no family; there are: {', '.join(shapes.FAMILIES)}")
        return chosen

    p = argparse.ArgumentParser(description=__doc__.splitlines()[0], allow_abbrev=False)
    p.add_argument("-o", "--output", metavar="FILE.csv", help="table to write")
    p.add_argument("--minutes", type=positive, default=None,
                   help="stop after so long, startup included")
    p.add_argument("--families", type=names, default=list(shapes.FAMILIES), metavar="A,B",
                   help="only these: " + ", ".join(shapes.FAMILIES))
    p.add_argument("--resume", action="store_true", help="add what is missing to an existing table")
    p.add_argument("--repeat", type=portion, default=0.0, metavar="SHARE",
                   help="measure this share of the points a second time, half a run later")
    p.add_argument("--shapes", choices=("quick", "full"), default="full",
                   help="quick: 4 %% of the points")
    p.add_argument("--models", default=os.path.join(HERE, "..", "..", "data", "models"),
                   metavar="FOLDER",
                   help="model presets that the shapes are taken from")
    p.add_argument("--dry-run", action="store_true", help="count the points, measure nothing")
    p.add_argument("--list", action="store_true",
                   help="print every point in order, measure nothing")
    chosen = p.parse_args(argv)
    if not (chosen.output or chosen.dry_run or chosen.list):
        p.error("-o FILE.csv is missing")
    return chosen


# ---------------------------------------------------------------- what would be done

def guess_s(point):
    """Seconds of one launch, roughly, on a card of 600 TFLOP/s and 3.5 TB/s."""
    moved, flops = shapes.work(point)
    slow = 2 if "attention" in point.family else 1
    return max(slow * flops / 600e12, moved / 3.5e12) + 5e-6


def guess_point_s(point, loop_s, overhead_s=0.008):
    launch = guess_s(point)
    return overhead_s + 4 * launch + clock.LOOPS * max(loop_s, launch)


def print_counts(plan, out):
    count = collections.Counter()
    seconds = collections.Counter()
    for p, again in plan:
        count[p.family, "again" if again else p.direction] += 1
        seconds[p.family] += guess_point_s(p, LOOP_MS[1] / 1000)
    print(f"{'family':18} {'points':>6}  {'minutes':>7}  passes", file=out)
    for f in shapes.FAMILIES:
        passes = {d: n for (g, d), n in count.items() if g == f}
        if passes:
            text = ", ".join(f"{d} {n}" for d, n in passes.items())
            print(f"{f:18} {sum(passes.values()):6}  {seconds[f] / 60:7.1f}  {text}", file=out)
    low = sum(guess_point_s(p, LOOP_MS[0] / 1000) for p, _ in plan) / 60
    high = sum(seconds.values()) / 60
    print(f"{'all':18} {len(plan):6}  {high:7.1f}  with loops of {LOOP_MS[1]:.0f} ms; "
          f"{low:.1f} minutes with loops of {LOOP_MS[0]:.0f} ms (a guess for a card like the H200)",
          file=out)


def print_list(plan, out):
    print(",".join(shapes.KEY_COLUMNS + ("bytes", "flops", "repeat")), file=out)
    for p, again in plan:
        moved, flops = shapes.work(p)
        cells = ["" if c is None else str(c) for c in shapes.dataclasses.astuple(p)]
        print(",".join(cells + [str(int(moved)), str(int(flops)), str(again)]), file=out)


# ---------------------------------------------------------------- the run

class Progress:
    """One line that changes on a terminal, a new line every ten seconds elsewhere."""

    def __init__(self, total, stream=sys.stderr):
        self.total, self.stream = total, stream
        self.start = time.monotonic()
        self.terminal = stream.isatty()
        self.next = 0.0

    def show(self, done, left_s, what, final=False):
        now = time.monotonic()
        if now < self.next and not final:
            return
        self.next = now + (0.2 if self.terminal else 10)
        text = f"{100 * done / max(1, self.total):3.0f} %  {done}/{self.total} points  " \
               f"{left_s:4.0f} s left  {what}"
        if self.terminal:
            self.stream.write("\r" + text[:100].ljust(100) + ("\n" if final else ""))
        else:
            self.stream.write(text + "\n")
        self.stream.flush()


class Pace:
    """Chooses the length of a loop so that the points that are left fit the time that is left."""

    def __init__(self, deadline):
        self.deadline = deadline
        self.overhead_s = 0.012     # of a point, beyond its three loops; follows what is seen

    def loop_ms(self, points_left, now):
        if self.deadline is None:
            return LOOP_MS[1]
        each = (self.deadline - now) * SPARE / max(1, points_left)
        return min(LOOP_MS[1], max(LOOP_MS[0], 1000 * (each - self.overhead_s) / clock.LOOPS))

    def learn(self, wall_s, loop_ms):
        seen = min(1.0, wall_s - clock.LOOPS * loop_ms / 1000)
        self.overhead_s += 0.02 * (seen - self.overhead_s)

    def left_s(self, points_left, now):
        need = points_left * (self.overhead_s + clock.LOOPS * self.loop_ms(points_left, now) / 1000)
        return need if self.deadline is None else max(0.0, min(need, self.deadline - now))


class Heater:
    """Keeps the card as warm and as throttled as a training step does."""

    def __init__(self, torch, device, limit_w):
        self.torch, self.limit_w = torch, limit_w
        self.a, self.b = (torch.randn(8192, 8192, dtype=torch.bfloat16, device=device)
                          for _ in range(2))
        self.c = torch.empty_like(self.a)
        self.best, self.last = 0.0, 0.0

    def run(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for _ in range(8):
                self.torch.mm(self.a, self.b, out=self.c)
            self.torch.cuda.synchronize()
        self.last = time.monotonic()

    def saw(self, flops, result):
        rate = flops / result.time_us
        self.best = max(self.best, rate)
        hot = bool(self.limit_w and result.watts) and result.watts >= 0.85 * self.limit_w
        if hot or (flops and rate >= HEAVY * self.best):
            self.last = time.monotonic()

    def when_needed(self):
        if time.monotonic() - self.last > LIGHT_S:
            self.run(HEATER_S)


def describe(torch, device, watch):
    return {"gpu": torch.cuda.get_device_name(device), "driver": watch.driver(),
            "torch": torch.__version__, "cuda": torch.version.cuda or "",
            "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")}


def device_uuid(torch, device):
    uuid = str(getattr(torch.cuda.get_device_properties(device), "uuid", "") or "")
    return uuid if not uuid or uuid.startswith("GPU-") else "GPU-" + uuid


def reason(error):
    text = str(error).strip().splitlines()
    return f"{type(error).__name__}: {text[0][:160] if text else ''}"


def measure(torch, todo, rows, skipped, deadline):
    """Measures the points in order until the time is over. Returns (done, lost, reasons)."""
    device = torch.device("cuda", torch.cuda.current_device())
    watch = sensor.open_sensor(device_uuid(torch, device))
    done, lost, reasons = 0, False, collections.Counter()
    try:
        machine = describe(torch, device, watch)
        ops = kernels.Kernels(torch, device)
        timer = clock.Clock(torch, watch)
        heater = Heater(torch, device, watch.limit_w())
        limit = 0.85 * torch.cuda.get_device_properties(device).total_memory
        print(f"{machine['gpu']}, driver {machine['driver']}, torch {machine['torch']}; wgrad: "
              f"{ops.wgrad}; sensor: {type(watch).__name__}; {len(todo)} points", file=sys.stderr)
        heater.run(WARM_S)
        pace, progress = Pace(deadline), Progress(len(todo))
        for at, (point, again) in enumerate(todo):
            begin = time.monotonic()
            if deadline is not None and begin >= deadline:
                break
            heater.when_needed()
            begin = time.monotonic()
            loop_ms = pace.loop_ms(len(todo) - at, begin)
            try:
                fn, sets, graph, as_done = ops.build(point)
                result = timer.time(fn, sets, loop_ms, graph)
                rows.write(table.row(as_done, again, result, machine))
                heater.saw(shapes.work(point)[1], result)
                done += 1
            except KeyboardInterrupt:
                break
            except Exception as e:      # one point must not end the run
                why = reason(e)
                reasons[point.family, point.variant, point.direction, why] += 1
                skipped.write(list(shapes.dataclasses.astuple(point)) + [again, why])
                if device_is_lost(torch):
                    lost = True
                    break
                torch.cuda.empty_cache()
            fn = None
            if at % 16 == 0 and torch.cuda.memory_reserved(device) > limit:
                torch.cuda.empty_cache()
            now = time.monotonic()
            pace.learn(now - begin, loop_ms)
            progress.show(at + 1, pace.left_s(len(todo) - at - 1, now), point.family)
        progress.show(done + sum(reasons.values()), 0, "measured", final=True)
        if timer.broken_graphs:
            print(f"{timer.broken_graphs} points ran without a CUDA graph: "
                  "they could not be captured", file=sys.stderr)
    finally:
        watch.close()
    return done, lost, reasons


def device_is_lost(torch):
    try:
        torch.cuda.synchronize()
        return False
    except RuntimeError:
        return True


def run(chosen, plan, start):
    rows = table.Table(chosen.output, table.COLUMNS, chosen.resume)
    skipped = table.Table(chosen.output + ".skipped", table.SKIPPED, True)
    over = rows.known | (skipped.known if chosen.resume else set())
    todo = [(p, again) for p, again in plan if (p.key(), again) not in over]
    if not todo:
        print(f"{chosen.output}: nothing is missing", file=sys.stderr)
        return 0
    try:
        import torch
    except ImportError:
        print("profile: PyTorch is not installed for this python3", file=sys.stderr)
        return 3
    if not torch.cuda.is_available():
        print("profile: PyTorch sees no GPU", file=sys.stderr)
        return 3
    deadline = start + 60 * chosen.minutes if chosen.minutes else None
    warnings.filterwarnings("ignore")
    with torch.no_grad(), torch.cuda.stream(torch.cuda.Stream()):
        done, lost, reasons = measure(torch, todo, rows, skipped, deadline)
    rows.close()
    skipped.close()
    left = len(todo) - done - sum(reasons.values())
    print(f"{done} points measured, {sum(reasons.values())} not available, "
          f"{left} left for --resume; {time.monotonic() - start:.0f} s", file=sys.stderr)
    for (family, variant, direction, why), n in sorted(reasons.items()):
        print(f"  {n:4} x {family} {variant} {direction}: {why}", file=sys.stderr)
    if lost:
        print("profile: the GPU stopped answering; start again with --resume", file=sys.stderr)
    return 3 if lost else 0


def main(argv):
    start = time.monotonic()
    chosen = arguments(argv)
    try:
        if int(os.environ.get("WORLD_SIZE", "1")) > 1 and not (chosen.dry_run or chosen.list):
            return collectives.run(chosen, start)
        by_family = shapes.all_groups(chosen.models, chosen.families, chosen.shapes == "quick")
        plan = shapes.ordered(by_family, chosen.repeat)
        if chosen.list:
            print_list(plan, sys.stdout)
        elif chosen.dry_run:
            print_counts(plan, sys.stdout)
        else:
            return run(chosen, plan, start)
    except (table.TableError, ValueError, OSError) as e:
        print(f"profile: {e}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
