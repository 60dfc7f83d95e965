#!/usr/bin/env python3
"""Measures the operators of transformer training on the GPU of this machine and writes a table.

    python3 tools/profile/profile.py -o h200.csv --minutes 9 --repeat 0.1

Points run mixed, on finite random data and with the card at its power limit as in a training step;
a row has the time, its spread, clock, watts and the versions. A run that ends early keeps what it has;
--resume goes on. Started by torchrun on several GPUs it measures collectives instead.
doc/evidence/profile.md explains columns and method.

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

SHARE_MS = (15.0, 75.0)     # least and most time of a point in its round
ROUND = 64                  # points that run together: a mix that draws much the same power
WARM_S = 2.0
HEATER_S = 0.15             # before a round: building its points leaves the card idle
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


def guess_point_s(point, share_s, overhead_s=0.008 + HEATER_S / ROUND):
    launch = guess_s(point)
    return overhead_s + 4 * launch + max(share_s, clock.LEAST_SLICES * launch)


def print_counts(plan, out):
    count = collections.Counter()
    seconds = collections.Counter()
    for p, again in plan:
        count[p.family, "again" if again else p.direction] += 1
        seconds[p.family] += guess_point_s(p, SHARE_MS[1] / 1000)
    print(f"{'family':18} {'points':>6}  {'minutes':>7}  passes", file=out)
    for f in shapes.FAMILIES:
        passes = {d: n for (g, d), n in count.items() if g == f}
        if passes:
            text = ", ".join(f"{d} {n}" for d, n in passes.items())
            print(f"{f:18} {sum(passes.values()):6}  {seconds[f] / 60:7.1f}  {text}", file=out)
    low = sum(guess_point_s(p, SHARE_MS[0] / 1000) for p, _ in plan) / 60
    high = sum(seconds.values()) / 60
    print(f"{'all':18} {len(plan):6}  {high:7.1f}  with {SHARE_MS[1]:.0f} ms a point; "
          f"{low:.1f} minutes with {SHARE_MS[0]:.0f} ms (a guess for a card like the H200)",
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
    """Chooses the time of a point so that the points that are left fit the time that is left."""

    def __init__(self, deadline):
        self.deadline = deadline
        self.overhead_s = 0.02      # of a point, beyond its share; follows what is seen

    def share_ms(self, points_left, now):
        if self.deadline is None:
            return SHARE_MS[1]
        each = (self.deadline - now) * SPARE / max(1, points_left)
        return min(SHARE_MS[1], max(SHARE_MS[0], 1000 * (each - self.overhead_s)))

    def learn(self, wall_s, points, share_ms):
        seen = min(1.0, wall_s / points - share_ms / 1000)
        self.overhead_s += 0.2 * (seen - self.overhead_s)

    def left_s(self, points_left, now):
        need = points_left * (self.overhead_s + self.share_ms(points_left, now) / 1000)
        return need if self.deadline is None else max(0.0, min(need, self.deadline - now))


class Heater:
    """Makes the card as warm and as throttled as a training step does."""

    def __init__(self, torch, device):
        self.torch = torch
        self.a, self.b = (torch.randn(8192, 8192, dtype=torch.bfloat16, device=device)
                          for _ in range(2))
        self.c = torch.empty_like(self.a)

    def run(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for _ in range(8):
                self.torch.mm(self.a, self.b, out=self.c)
            self.torch.cuda.synchronize()


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


class Run:
    """Builds points, runs them in rounds, writes rows."""

    def __init__(self, torch, rows, skipped, deadline):
        self.torch, self.rows, self.skipped, self.deadline = torch, rows, skipped, deadline
        self.device = torch.device("cuda", torch.cuda.current_device())
        self.watch = sensor.open_sensor(device_uuid(torch, self.device))
        self.machine = describe(torch, self.device, self.watch)
        self.ops = kernels.Kernels(torch, self.device)
        self.timer = clock.Clock(torch, self.watch)
        self.heater = Heater(torch, self.device)
        self.pace = Pace(deadline)
        self.limit = 0.85 * torch.cuda.get_device_properties(self.device).total_memory
        self.done, self.lost, self.rounds = 0, False, 0
        self.reasons = collections.Counter()

    def give_up(self, point, again, error):
        why = reason(error)
        self.reasons[point.family, point.variant, point.direction, why] += 1
        self.skipped.write(list(shapes.dataclasses.astuple(point)) + [again, why])
        self.lost = device_is_lost(self.torch)
        if not self.lost:
            self.torch.cuda.empty_cache()

    def build(self, todo):
        """Prepares the first points of todo that fit together. Returns (built, points taken)."""
        self.ops.begin_round()
        built, taken = [], 0
        for point, again in todo[:ROUND]:
            if built and self.torch.cuda.memory_reserved(self.device) > self.limit:
                break
            try:
                fn, sets, graph, as_done = self.ops.build(point)
                built.append((as_done, again, self.timer.prepare(fn, sets, graph)))
            except Exception as e:      # one point must not end the run
                full = isinstance(e, (MemoryError, self.torch.cuda.OutOfMemoryError))
                if full and built:
                    break               # it gets a round of its own
                self.give_up(point, again, e)
                if self.lost:
                    break
            taken += 1
        return built, taken

    def round(self, todo):
        """One round of the first points of todo. Returns how many are over."""
        begin = time.monotonic()
        built, taken = self.build(todo)
        if not built or self.lost:
            return taken
        self.heater.run(HEATER_S)
        share_ms = self.pace.share_ms(len(todo), begin)
        try:
            results = self.timer.round([ready for _, _, ready in built], share_ms, self.rounds)
        except RuntimeError as e:
            for point, again, _ in built:
                self.give_up(point, again, e)
            return taken
        for (point, again, _), result in zip(built, results):
            self.rows.write(table.row(point, again, result, self.machine))
        self.done += len(built)
        self.rounds += 1
        self.pace.learn(time.monotonic() - begin, len(built), share_ms)
        built.clear()
        if self.torch.cuda.memory_reserved(self.device) > self.limit / 2:
            self.torch.cuda.empty_cache()
        return taken

    def all(self, todo):
        self.heater.run(WARM_S)
        progress, at = Progress(len(todo)), 0
        while at < len(todo) and not self.lost:
            if self.deadline is not None and time.monotonic() >= self.deadline:
                break
            try:
                at += self.round(todo[at:])
            except KeyboardInterrupt:
                break
            left = self.pace.left_s(len(todo) - at, time.monotonic())
            progress.show(at, left, todo[min(at, len(todo) - 1)][0].family)
        progress.show(at, 0, "measured", final=True)


def measure(torch, todo, rows, skipped, deadline):
    """Measures the points in order until the time is over. Returns (done, lost, reasons)."""
    run_all = Run(torch, rows, skipped, deadline)
    try:
        print(f"{run_all.machine['gpu']}, driver {run_all.machine['driver']}, torch "
              f"{run_all.machine['torch']}; wgrad: {run_all.ops.wgrad}; sensor: "
              f"{type(run_all.watch).__name__}; {len(todo)} points", file=sys.stderr)
        run_all.all(todo)
        if run_all.timer.broken_graphs:
            print(f"{run_all.timer.broken_graphs} points ran without a CUDA graph: "
                  "they could not be captured", file=sys.stderr)
    finally:
        run_all.watch.close()
    return run_all.done, run_all.lost, run_all.reasons


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
