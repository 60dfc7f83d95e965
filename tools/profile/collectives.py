"""NCCL collectives between the GPUs of a torchrun job, into the same table.

    torchrun --nproc_per_node 8 tools/profile/profile.py -o nccl.csv

family `collective`, variant the kind, m nodes, count ranks, bytes the size that nccl-tests prints:
what each rank holds in full (the gathered or unreduced buffer).
"""
import datetime
import os
import sys
import time

import clock
import sensor
import shapes
import table

KINDS = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "send_recv")
SIZES = tuple(1 << e for e in range(10, 31))
LOOPS = 3


def collective_point(kind, ranks, nodes, dtype="bf16"):
    return shapes.Point("collective", kind, "forward", dtype, m=nodes, count=ranks)


def collective_row(kind, ranks, nodes, size, result, machine, dtype="bf16", again=0):
    """Cells of one collective: its bytes tell rows apart, so they stand in column n too."""
    point = shapes.dataclasses.replace(collective_point(kind, ranks, nodes, dtype), n=size)
    return list(shapes.dataclasses.astuple(point)) + [
        size, 0, f"{result.time_us:.3f}", f"{result.spread:.4f}", result.loops, result.sm_mhz,
        result.watts, result.celsius, machine["gpu"], machine["driver"], machine["torch"],
        machine["cuda"],
        machine["date"], again]


def operation(dist, kind, full, part, rank, ranks):
    """A function that runs the collective once. full: all bytes; part: a rank's share of them."""
    if kind == "all_reduce":
        return lambda: dist.all_reduce(full)
    if kind == "all_gather":
        return lambda: dist.all_gather_into_tensor(full, part)
    if kind == "reduce_scatter":
        return lambda: dist.reduce_scatter_tensor(part, full)
    if kind == "all_to_all":
        other = full.clone()
        return lambda: dist.all_to_all_single(other, full)
    into = full.clone()
    ahead, behind = (rank + 1) % ranks, (rank - 1) % ranks

    def ring():
        pair = [dist.P2POp(dist.isend, full, ahead), dist.P2POp(dist.irecv, into, behind)]
        for work in dist.batch_isend_irecv(pair):
            work.wait()
    return ring


def time_one(torch, dist, run, watch):
    """The same number of launches on every rank; the slowest rank counts."""
    for _ in range(3):
        run()
    events = [torch.cuda.Event(enable_timing=True) for _ in range(LOOPS + 1)]
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(3):
        run()
    torch.cuda.synchronize()
    n = torch.tensor([max(3, min(2000, int(0.025 / max(1e-6, (time.perf_counter() - begin) / 3))))],
                     device="cuda")
    dist.all_reduce(n, op=dist.ReduceOp.MIN)
    n = int(n.item())
    samples = sensor.Samples(watch)
    dist.barrier()
    events[0].record()
    for loop in range(LOOPS):
        for _ in range(n):
            run()
        events[loop + 1].record()
    samples.take()
    torch.cuda.synchronize()
    times = torch.tensor([a.elapsed_time(b) * 1000 for a, b in zip(events, events[1:])],
                         device="cuda")
    dist.all_reduce(times, op=dist.ReduceOp.MAX)
    return clock.summary(times.tolist(), n, samples.medians())


def run(chosen, start):
    """Entry of a torchrun job. Rank 0 writes; all ranks agree on what is left to do."""
    import torch
    import torch.distributed as dist
    rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    local = int(os.environ.get("LOCAL_RANK", "0"))
    nodes = max(1, ranks // int(os.environ.get("LOCAL_WORLD_SIZE", str(ranks))))
    torch.cuda.set_device(local)
    dist.init_process_group("nccl")
    watch = sensor.open_sensor("")
    nccl = torch.cuda.nccl.version()
    machine = {"gpu": torch.cuda.get_device_name(), "driver": watch.driver(),
               "torch": torch.__version__,
               "cuda": f"{torch.version.cuda} nccl {'.'.join(map(str, nccl))}",
               "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")}
    rows = known = None
    if rank == 0:
        rows = table.Table(chosen.output, table.COLUMNS, chosen.resume)
        known = rows.known
    shared = [known]
    dist.broadcast_object_list(shared, src=0)
    pool = torch.randn(SIZES[-1] // 2, dtype=torch.bfloat16, device="cuda")
    for size in SIZES:
        for kind in KINDS:
            late = torch.tensor([chosen.minutes is not None
                                 and time.monotonic() - start > 60 * chosen.minutes],
                                dtype=torch.int32, device="cuda")
            dist.all_reduce(late, op=dist.ReduceOp.MAX)
            if late.item():
                break
            key = shapes.dataclasses.replace(collective_point(kind, ranks, nodes), n=size).key()
            if (key, 0) in shared[0]:
                continue
            length = max(1, size // 2 // ranks) * ranks
            full, part = pool[:length], torch.empty(length // ranks, dtype=pool.dtype,
                                                    device="cuda")
            if kind == "all_reduce":
                full = torch.zeros_like(full)       # sums of sums would overflow
            elif kind == "all_gather":
                full = torch.empty_like(full)
                part.copy_(pool[:length // ranks])
            result = time_one(torch, dist, operation(dist, kind, full, part, rank, ranks), watch)
            if rank == 0:
                rows.write(collective_row(kind, ranks, nodes, length * 2, result, machine))
                print(f"{kind:15} {size:>11} bytes {result.time_us:10.1f} us", file=sys.stderr)
    watch.close()
    dist.destroy_process_group()
    return 0
