#!/usr/bin/env python3
"""Adds the results of nccl-tests logs to a table of the profiler.

    python3 tools/profile/nccl_tests.py -o nccl.csv all_reduce.log ... [--nodes 2]

Reads what all_reduce_perf, all_gather_perf, reduce_scatter_perf, alltoall_perf and sendrecv_perf
print: the out-of-place time of every size. Kind, ranks, nodes and GPU come from the log; where it
does not say, from the options. A size of 0 bytes and a line with wrong results are counted and left
out.
"""
import argparse
import os
import re
import sys

sys.dont_write_bytecode = True      # leave no __pycache__ in the project
sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import clock        # noqa: E402
import collectives  # noqa: E402
import table        # noqa: E402

KINDS = {"all_reduce": "all_reduce", "all_gather": "all_gather", "reduce_scatter": "reduce_scatter",
         "alltoall": "all_to_all", "sendrecv": "send_recv"}
DTYPES = {"float": "fp32", "half": "fp16", "bfloat16": "bf16", "float16": "fp16"}
OTHER_DTYPES = ("int", "uint", "double", "fp8", "float8", "f8")
RANK = re.compile(r"#\s+Rank\s+(\d+).*?\bon\s+(\S+)\s+device\s+\d+\s+\[[^\]]*\]\s*(.*)")
KIND = re.compile(r"\b(all_reduce|all_gather|reduce_scatter|alltoall|sendrecv)(?:_perf)?\b|"
                  r"\b(AllReduce|AllGather|ReduceScatter|AlltoAll|SendRecv)\b")


class LogError(Exception):
    pass


def kind_of(text):
    found = KIND.search(text)
    if not found:
        return None
    name = found.group(1) or re.sub(r"(?<=[a-z])(?=[A-Z])", "_", found.group(2)).lower()
    return KINDS.get(name) or KINDS[name.replace("_", "")]


def data_line(line):
    """(bytes, dtype, out-of-place microseconds, wrong results) of a line of results, or None."""
    cells = line.split()
    if len(cells) < 9 or not cells[0].isdigit() or not cells[1].isdigit():
        return None
    if cells[2] not in DTYPES and not cells[2].startswith(OTHER_DTYPES):
        return None
    # size count type redop root | time algbw busbw #wrong (out of place) | the same in place
    rest = cells[3:]
    while rest and not re.fullmatch(r"\d+\.\d+|\d+e[+-]?\d+", rest[0]):
        rest.pop(0)
    if len(rest) < 3:
        return None
    wrong = rest[3] if len(rest) > 3 else "0"
    dtype = DTYPES.get(cells[2], cells[2])
    return int(cells[0]), dtype, float(rest[0]), wrong not in ("0", "N/A", "0e+00")


def read_log(path, lines, options):
    """(kind, ranks, nodes, gpu, [(bytes, dtype, us)], left out) of one log."""
    kind = options.kind or kind_of(os.path.basename(path))
    ranks, hosts, gpu, data, left_out = set(), set(), None, [], 0
    for line in lines:
        rank = RANK.match(line)
        if rank:
            ranks.add(int(rank.group(1)))
            hosts.add(rank.group(2))
            gpu = gpu or rank.group(3).strip()
        elif line.startswith("#") or "_perf" in line:
            kind = kind or kind_of(line)
        else:
            found = data_line(line)
            if found and (found[0] == 0 or found[2] <= 0 or found[3]):
                left_out += 1
            elif found:
                data.append(found[:3])
    if not kind:
        kinds = "|".join(collectives.KINDS)
        raise LogError(f"{path}: which collective is not said; give --kind {kinds}")
    n_ranks = options.ranks or len(ranks)
    if not n_ranks:
        raise LogError(f"{path}: the number of ranks is not said; give --ranks")
    if not data:
        raise LogError(f"{path}: no line of results")
    n_nodes = options.nodes or max(1, len(hosts))
    return kind, n_ranks, n_nodes, options.gpu or gpu or "", data, left_out


def main(argv):
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0], allow_abbrev=False)
    p.add_argument("-o", "--output", required=True, metavar="FILE.csv")
    p.add_argument("logs", nargs="+")
    p.add_argument("--kind", choices=collectives.KINDS)
    p.add_argument("--ranks", type=int)
    p.add_argument("--nodes", type=int)
    p.add_argument("--gpu")
    p.add_argument("--driver", default="")
    p.add_argument("--date", default="", help="YYYY-MM-DD of the run")
    options = p.parse_args(argv)
    try:
        out = table.Table(options.output, table.COLUMNS, True)
        for path in options.logs:
            with open(path, encoding="utf-8", errors="replace") as f:
                kind, ranks, nodes, gpu, data, left_out = read_log(path, f, options)
            machine = {"gpu": gpu, "driver": options.driver, "torch": "", "cuda": "nccl-tests",
                       "date": options.date}
            new = 0
            for size, dtype, us in data:
                point = collectives.collective_point(kind, ranks, nodes, dtype)
                key = collectives.shapes.dataclasses.replace(point, n=size).key()
                if (key, 0) in out.known:
                    continue
                out.known.add((key, 0))
                out.write(collectives.collective_row(kind, ranks, nodes, size, clock.Result(
                    us, 0.0, 1, None, None, None), machine, dtype))
                new += 1
            print(f"{path}: {kind}, {ranks} ranks on {nodes} nodes: {new} rows added, "
                  f"{len(data) - new} known already, {left_out} left out", file=sys.stderr)
    except (LogError, table.TableError, OSError) as e:
        print(f"nccl_tests: {e}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
