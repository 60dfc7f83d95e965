# The profiler without a GPU: the list of points, the table, resuming, arguments, and a whole run on
# a make-believe PyTorch; the importer of nccl-tests logs.
set -eu
command -v python3 >/dev/null || { echo "python3 is missing: the profiler is not tested"; exit 0; }
profile="python3 tools/profile/profile.py"
export PYTHONDONTWRITEBYTECODE=1
refused() { # STATUS TEXT COMMAND...
    status=$1 text=$2
    shift 2
    got=0
    "$@" >"$SCRATCH/said" 2>&1 || got=$?
    [ "$got" = "$status" ] && grep -qF -- "$text" "$SCRATCH/said" && return
    echo "expected status $status and '$text' from: $*, got status $got:"
    cat "$SCRATCH/said"
    exit 1
}

refused 2 "-o FILE.csv is missing" $profile
refused 2 "'gem' is no family" $profile -o x.csv --families gem
refused 2 "is not between 0 and 0.5" $profile -o x.csv --repeat 2
refused 2 "is not above 0" $profile -o x.csv --minutes 0
refused 2 "no model presets" $profile --dry-run --models "$SCRATCH"
refused 2 "the folder does not exist" $profile -o "$SCRATCH/none/x.csv"
echo "a,b" >"$SCRATCH/foreign.csv"
refused 2 "exists already" $profile -o "$SCRATCH/foreign.csv"
refused 2 "foreign.csv:1: the columns are not those" $profile -o "$SCRATCH/foreign.csv" --resume

# The same points in the same order, every key once, as many as promised, each within its limits.
$profile --list --repeat 0.1 >"$SCRATCH/one"
PYTHONHASHSEED=7 $profile --list --repeat 0.1 >"$SCRATCH/two"
cmp "$SCRATCH/one" "$SCRATCH/two"
$profile --dry-run --repeat 0.1 >"$SCRATCH/counts"
grep -q '^gemm .*forward [34][0-9][0-9][0-9], dgrad [34][0-9][0-9][0-9], wgrad [34]' "$SCRATCH/counts"

cat >"$SCRATCH/test.py" <<'END_PYTHON'
import collections, csv, os, sys, types
scratch = sys.argv[1]
sys.path.insert(0, "tools/profile")
import profile as profiler
import clock, kernels, shapes, table
profiler.WARM_S = profiler.HEATER_S = 0.0

plan = shapes.ordered(shapes.all_groups("data/models"), 0.1)
keys = [(p.key(), again) for p, again in plan]
assert len(set(keys)) == len(keys)
first = [p for p, again in plan if not again]
passes = collections.Counter((p.family, p.variant, p.direction) for p in first)
assert passes["gemm", "mm", "forward"] == passes["gemm", "main_grad", "wgrad"] >= 1500
for variant in ("flash", "cudnn"):
    for direction in ("forward", "backward"):
        assert passes["attention", variant, direction] >= 300, passes
repeated = sum(again for _, again in plan)
assert 0.08 * len(first) < repeated < 0.12 * len(first)
half = collections.Counter(p.family for p, _ in plan[:len(plan) // 2])
for f, n in collections.Counter(p.family for p, _ in plan).items():
    assert half[f] >= 0.3 * n - 1, f            # a run cut in half has seen some of everything
for p, _ in plan:
    moved, flops = shapes.work(p)
    assert (moved > 0 or p.family == "launch") and profiler.guess_s(p) < 0.06, p
    if p.family == "gemm":
        assert flops == 2 * p.m * p.n * p.k
        assert max(p.m * p.n, p.n * p.k, p.m * p.k) <= shapes.OPERAND
    if p.family == "attention":
        assert p.heads % p.kv_heads == 0 and p.causal in (0, 1)
assert {64, 128, 192, 256} <= {p.head_dim for p in first if p.family == "attention"}
assert max(p.seq for p in first if p.family == "attention") == 131072
assert any(p.window for p in first)
assert any(p.kv_heads != p.heads for p in first if p.family == "attention")
assert any(p.m % 2 or p.n % 2 or p.k % 2 for p in first if p.family == "gemm")

# By hand: 4 tokens in causal order have 10 pairs, 4 + 3 x 2 = 7 with a window of 2.
a = shapes.Point("attention", "flash", "forward", count=1, seq=4, heads=2, kv_heads=1, head_dim=8,
                 v_dim=8, causal=1, window=0)
assert shapes.work(a) == (2 * (64 + 32 + 32 + 64) + 32, 2 * 16 * 2 * 10)
assert shapes.score_pairs(shapes.dataclasses.replace(a, window=2)) == 7
assert shapes.work(shapes.dataclasses.replace(a, direction="backward"))[1] == 2 * 16 * 2 * 10 * 2.5
g = shapes.Point("gemm", "addmm_fp32", "wgrad", m=2, n=3, k=5)
assert shapes.work(g) == (2 * (10 + 6) + 8 * 15, 60)

# Pace: what is left of the time decides; never outside its limits.
pace = profiler.Pace(100.0)
assert pace.share_ms(1, 0.0) == profiler.SHARE_MS[1]
assert pace.share_ms(10**6, 0.0) == profiler.SHARE_MS[0]
assert profiler.SHARE_MS[0] < pace.share_ms(2000, 0.0) < profiler.SHARE_MS[1]

# A whole run on a make-believe PyTorch whose launches take 1 ms each.
class Event:
    now = 0.0
    def __init__(self, enable_timing): self.at = 0.0
    def record(self): self.at = Event.now
    def synchronize(self): pass
    def query(self): return True
    def elapsed_time(self, other): return other.at - self.at
class Cuda(types.SimpleNamespace):
    def __getattr__(self, name): return lambda *a, **k: 0
class Tensor:
    pass
torch = types.SimpleNamespace(
    __version__="0", version=types.SimpleNamespace(cuda="0"), bfloat16=None, device=lambda *a: a,
    randn=lambda *a, **k: Tensor(), empty_like=lambda t: t, mm=lambda *a, **k: None,
    cuda=Cuda(Event=Event, OutOfMemoryError=MemoryError, get_device_name=lambda d: "Make-believe, 1 GiB",
              get_device_properties=lambda d: types.SimpleNamespace(total_memory=1 << 30)))
class Kernels:
    wgrad = "mm_fp32"
    def __init__(self, *a): pass
    def begin_round(self): self.room = 20
    def build(self, p):
        self.room -= 1
        if self.room < 0:
            raise MemoryError("the round is full")
        if p.family == "fp8_gemm":
            raise kernels.NotAvailable("no fp8 here,\nsecond line")
        def fn(i): Event.now += 1.0
        if p.direction == "wgrad":
            p = shapes.dataclasses.replace(p, variant="mm_fp32")
        return fn, 1, False, p
profiler.kernels.Kernels = Kernels
path = os.path.join(scratch, "run.csv")
small = shapes.ordered(shapes.all_groups("data/models", ["gemm", "fp8_gemm", "norm"], True), 0.1)
def go(plan, resume, deadline=None):
    rows = table.Table(path, table.COLUMNS, resume)
    skipped = table.Table(path + ".skipped", table.SKIPPED, True)
    todo = [x for x in plan if (x[0].key(), x[1]) not in rows.known | skipped.known]
    result = profiler.measure(torch, todo, rows, skipped, deadline)
    rows.close(); skipped.close()
    return len(todo), result
todo, (done, lost, reasons) = go(small[:100], False)
fp8 = sum(p.family == "fp8_gemm" for p, _ in small[:100])
assert (todo, done, lost, sum(reasons.values())) == (100, 100 - fp8, False, fp8) and fp8
with open(path, "a") as f:
    f.write("gemm,mm,forw")                                 # killed while writing
todo, (done, lost, reasons) = go(small, True)
assert todo == len(small) - 100
rows = list(csv.DictReader(open(path)))
assert len(rows) + len(list(csv.DictReader(open(path + ".skipped")))) == len(small)
assert tuple(rows[0]) == table.COLUMNS and rows[0]["gpu"] == "Make-believe, 1 GiB"
assert {r["time_us"] for r in rows} == {"1000.000"} and {r["spread"] for r in rows} == {"0.0000"}
assert {r["variant"] for r in rows if r["pass"] == "wgrad"} == {"mm_fp32"}
assert all(r["loops"] == "75" and r["causal"] == "" for r in rows)
assert any(r["repeat"] == "1" for r in rows)
assert go(small, True)[0] == 0
os.remove(path); os.remove(path + ".skipped")
assert go(small, False, deadline=0.0)[1][0] == 0            # no time: nothing measured, no file
assert not os.path.exists(path)

import sensor
assert sensor.parse_line("1755, 698.21, 61\n") == (1755.0, 698.21, 61.0)
assert sensor.parse_line("1755, [N/A], 61") == (1755.0, None, 61.0)
assert sensor.parse_line("x") is None
samples = sensor.Samples(types.SimpleNamespace(read=lambda: (1700, None, 60)), 0.0)
samples.take(); samples.take()
assert samples.medians() == [1700, None, 60]
result = clock.summary([400.0, 300.0, 310.0, 330.0, 305.0], 10, (1, 2, 3))
assert (result.time_us, result.loops, round(result.spread, 4)) == (31.0, 50, round(25 / 310, 4))
order = clock.deal([3, 6], 1)
assert sorted(order) == [0] * 3 + [1] * 6 and order == clock.deal([3, 6], 1)
assert 0 in order[:5] and 0 in order[4:]                    # spread, not in one heap
END_PYTHON
python3 "$SCRATCH/test.py" "$SCRATCH" 2>"$SCRATCH/log" || { cat "$SCRATCH/log"; exit 1; }

# nccl-tests: an all-reduce of 16 ranks on two nodes, one line wrong, one empty.
cat >"$SCRATCH/ar.log" <<'END_LOG'
# nThread 1 nGpus 1 minBytes 8 maxBytes 1073741824 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1
# Using devices
#  Rank  0 Group  0 Pid 101 on  node-a device  0 [0000:18:00] NVIDIA H100 80GB HBM3
#  Rank  1 Group  0 Pid 102 on  node-a device  1 [0000:2a:00] NVIDIA H100 80GB HBM3
#  Rank  2 Group  0 Pid 201 on  node-b device  0 [0x18] NVIDIA H100 80GB HBM3
#  Rank  3 Group  0 Pid 202 on  node-b device  1 [0x2a] NVIDIA H100 80GB HBM3
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
           0             0     float     sum      -1     0.50    0.00    0.00      0     0.48    0.00    0.00      0
        1024           256     float     sum      -1    28.54    0.04    0.05      0    28.10    0.04    0.05      0
     1048576        262144     float     sum      -1    61.02   17.18   25.78      0    60.11   17.44   26.17      0
     2097152        524288     float     sum      -1    99.99   17.18   25.78      3    60.11   17.44   26.17      0
  1073741824     268435456     float     sum      -1   5731.4  187.34  281.01    N/A   5725.0  187.55  281.33    N/A
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 103.2
END_LOG
import="python3 tools/profile/nccl_tests.py -o $SCRATCH/nccl.csv"
refused 2 "which collective is not said" $import "$SCRATCH/ar.log"
refused 0 "4 ranks on 2 nodes: 3 rows added, 0 known already, 2 left out" \
    $import "$SCRATCH/ar.log" --kind all_reduce
refused 0 "0 rows added, 3 known already" $import "$SCRATCH/ar.log" --kind all_reduce
grep -q '^collective,all_reduce,forward,fp32,2,1048576,,4,.*,1048576,0,61.020,.*,NVIDIA H100 80GB' \
    "$SCRATCH/nccl.csv"
# alltoall and sendrecv print no operation; the kind stands in the name of the file.
sed 's/     sum      -1/    none      -1/' "$SCRATCH/ar.log" >"$SCRATCH/alltoall_perf.log"
refused 0 "all_to_all, 4 ranks on 2 nodes: 3 rows added" $import "$SCRATCH/alltoall_perf.log"
echo nothing >"$SCRATCH/sendrecv.log"
refused 2 "the number of ranks is not said" $import "$SCRATCH/sendrecv.log"
refused 2 "no line of results" $import "$SCRATCH/sendrecv.log" --ranks 2
