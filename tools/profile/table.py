"""The table of measurements: one header, one row per point, flushed row by row."""
import csv
import dataclasses
import os

import shapes

COLUMNS = shapes.KEY_COLUMNS + (
    "bytes", "flops", "time_us", "spread", "loops", "sm_mhz", "watts", "celsius", "gpu", "driver",
    "torch", "cuda", "date", "repeat")
SKIPPED = shapes.KEY_COLUMNS + ("repeat", "reason")


class TableError(Exception):
    """The file is not what it should be; the text is complete."""


def drop_torn_line(path):
    """A run that was killed while writing leaves half a row at the end."""
    with open(path, "rb+") as f:
        data = f.read()
        if data and not data.endswith(b"\n"):
            f.truncate(data.rfind(b"\n") + 1)


def read_keys(path, columns):
    """(key, repeat) of every row. A file with other columns is refused."""
    keys = set()
    with open(path, encoding="utf-8", newline="") as f:
        rows = csv.reader(f)
        head = next(rows, None)
        if head is None:
            return keys
        if tuple(head) != columns:
            raise TableError(f"{path}:1: the columns are not those of this profiler: "
                             + ",".join(head)[:60])
        again = columns.index("repeat")
        for line, row in enumerate(rows, 2):
            if len(row) != len(columns):
                raise TableError(f"{path}:{line}: {len(row)} columns, {len(columns)} are expected")
            key = row[:len(shapes.KEY_COLUMNS)]
            if key[0] == "gemm":
                key[1] = ""
            keys.add((tuple(key), int(row[again])))
    return keys


class Table:
    """Appends rows to a CSV file, which appears with the first; `known`: keys it had before."""

    def __init__(self, path, columns, resume):
        self.path, self.columns, self.known, self.file = path, columns, set(), None
        if os.path.exists(path) and os.path.getsize(path):
            if not resume:
                raise TableError(f"{path}: exists already; "
                                 "add to it with --resume, or name another file")
            drop_torn_line(path)
            self.known = read_keys(path, columns)
        elif not os.path.isdir(os.path.dirname(os.path.abspath(path))):
            raise TableError(f"{path}: the folder does not exist")

    def write(self, cells):
        if self.file is None:
            self.file = open(self.path, "a", encoding="utf-8", newline="")
            self.writer = csv.writer(self.file, lineterminator="\n")
            if self.file.tell() == 0:
                self.writer.writerow(self.columns)
        self.writer.writerow(["" if c is None else c for c in cells])
        self.file.flush()

    def close(self):
        if self.file:
            self.file.close()


def row(point, again, result, machine):
    """Cells of one measured point. `result`: a clock.Result; `machine`: the fixed columns."""
    moved, flops = shapes.work(point)
    time_us = f"{result.time_us:.4g}" if result.time_us < 1 else f"{result.time_us:.3f}"
    return list(dataclasses.astuple(point)) + [
        int(moved), int(flops), time_us, f"{result.spread:.4f}", result.loops, result.sm_mhz,
        result.watts, result.celsius, machine["gpu"], machine["driver"], machine["torch"],
        machine["cuda"], machine["date"], again]
