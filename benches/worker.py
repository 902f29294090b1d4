"""Runs workloads on XLA:CPU and rxla in one process, by turns, and prints a line of JSON for each.

`run.py` starts this; it ends workers that take too long and goes on with the next workload.
"""

import argparse
import json
import math
import resource
import statistics
import sys
import time

import jax
import jax_rxla

# Where the package is only on the path, not installed, JAX does not find it; twice does no harm.
jax_rxla.initialize()
jax.config.update("jax_enable_x64", True)
jax.config.update("jax_enable_compilation_cache", False)

import numpy as np  # noqa: E402
from workloads import Workload, all_workloads  # noqa: E402

PLATFORMS = ("cpu", "rxla")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="+")
    parser.add_argument("--seconds", type=float, required=True, help="time for measuring a program on both")
    parser.add_argument("--mode", choices=["run", "compile", "growth"], required=True)
    options = parser.parse_args()
    known = {w.name: w for w in all_workloads()}
    measure = {"run": run, "compile": compile_only, "growth": growth}[options.mode]
    for name in options.names:
        emit({"name": name, "event": "start"})
        try:
            emit({"name": name, "event": "done", **measure(known[name], options.seconds)})
        except Exception as error:  # a program that one side cannot run is a result, too
            first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            emit({"name": name, "event": "done", "error": first[:200]})


def emit(record: dict) -> None:
    print("\x1e" + json.dumps(record), flush=True)


def compiled(made, platform: str):
    """A program compiled for a platform, its arguments there, and how long compiling took."""
    device = jax.devices(platform)[0]
    program, args = made
    args = jax.device_put(args, device)
    with jax.default_device(device):
        lowered = jax.jit(program).lower(*args)
    start = time.perf_counter()
    executable = lowered.compile()
    return executable, args, time.perf_counter() - start


def run(workload: Workload, seconds: float) -> dict:
    record = {}
    calls, results, counted = {}, {}, []
    made = workload.make()
    for platform in PLATFORMS:
        executable, args, took = compiled(made, platform)
        record[f"{platform}_compile"] = took
        record[f"{platform}_temp"] = temporaries(executable)
        counted.append(cost(executable))
        emit({"name": workload.name, "event": "compiled", "platform": platform})
        calls[platform] = (executable, args)
        results[platform] = jax.device_get(executable(*args))
    record["bytes"], record["operations"] = least(made[1], results["cpu"], counted)
    record["difference"], record["equal"] = compare(results["cpu"], results["rxla"], workload.tolerance)
    once = {platform: timed(*calls[platform], 1) for platform in PLATFORMS}
    once = {platform: min(once[platform], timed(*calls[platform], 1)) for platform in PLATFORMS}
    # Rounds of several calls each, so that the clock does not count; sides change who goes first.
    share = seconds / 2
    rounds = {p: max(1, min(64, round(0.005 / max(once[p], 1e-7)))) for p in PLATFORMS}
    # Cores that were idle take some milliseconds to their full clock, which short rounds would pay for and long ones
    # not, so that some calls go first that do not count.
    before = {p: 0 if once[p] > 0.05 else math.ceil(0.003 / max(once[p], 1e-7)) for p in PLATFORMS}
    times = {platform: [] for platform in PLATFORMS}
    begin = time.perf_counter()
    while time.perf_counter() - begin < seconds or len(times["cpu"]) < 3:
        order = PLATFORMS if len(times["cpu"]) % 2 == 0 else PLATFORMS[::-1]
        for platform in order:
            settle()
            if before[platform]:
                timed(*calls[platform], before[platform])
            times[platform].append(timed(*calls[platform], rounds[platform]))
        if len(times["cpu"]) >= 1000 or (len(times["cpu"]) >= 3 and max(once.values()) > share):
            break
    for platform in PLATFORMS:
        record[platform] = statistics.median(times[platform])
        record[f"{platform}_best"] = min(times[platform])
    return record


def settle() -> None:
    """Waits, 100 ms at most, until this process computes nothing: threads of OpenBLAS look for work for some 20 ms
    after their last, XLA:CPU's are busy as long after a decoding in bf16, both on cores of who comes next. The system
    counts the time of a thread that runs by ticks of up to 4 ms (10 on some), so that a shorter look sees nothing."""
    for _ in range(8):
        before = time.process_time()
        time.sleep(0.012)
        if time.process_time() - before < 0.001:
            return


def timed(executable, args, count: int) -> float:
    start = time.perf_counter()
    for _ in range(count):
        result = executable(*args)
    jax.block_until_ready(result)
    return (time.perf_counter() - start) / count


def temporaries(executable) -> int | None:
    analysis = executable.memory_analysis()
    return None if analysis is None else analysis.temp_size_in_bytes


def cost(executable) -> dict:
    """What a compiler counts: floating point operations, functions as one each, and bytes."""
    try:
        analysis = executable.cost_analysis()
    except Exception:  # not all programs can be counted
        return {}
    return (analysis[0] if isinstance(analysis, list) else analysis) or {}


def least(args, results, counted: list[dict]) -> tuple[float, float]:
    """The bytes that have to be read and written, and the operations: all arguments and results, or what
    is counted where not all of an argument is read, but all results."""
    written = sum(np.asarray(x).nbytes for x in jax.tree.leaves(results))
    whole = written + sum(np.asarray(x).nbytes for x in jax.tree.leaves(args))
    found = [counts["bytes accessed"] for counts in counted if counts.get("bytes accessed")]
    first = counted[0]
    operations = sum(max(first.get(key) or 0, 0) for key in ("flops", "transcendentals"))
    return max(written, min([whole, *found])), operations


def compare(reference, result, tolerance: float | None) -> tuple[float, bool]:
    """The largest difference relative to the largest reference, and whether it is small enough."""
    worst, equal = 0.0, True
    for want, got in zip(jax.tree.leaves(reference), jax.tree.leaves(result), strict=True):
        want, got = np.asarray(want), np.asarray(got)
        if want.shape != got.shape or want.dtype != got.dtype:
            return float("inf"), False
        if want.tobytes() == got.tobytes():
            continue
        if want.dtype.kind in "biu":
            equal &= bool((want == got).all())
            continue
        kind = np.complex128 if want.dtype.kind == "c" else np.float64
        bound = tolerance or (1e-9 if want.dtype in (np.float64, np.complex128) else 1e-4)
        if want.dtype.itemsize == 2:
            bound = max(bound, 2e-2)
        want, got = want.astype(kind), got.astype(kind)
        both = np.isfinite(want) & np.isfinite(got)
        equal &= bool((np.isfinite(want) == np.isfinite(got)).all())
        if both.any():
            scale = max(float(np.abs(want[both]).max()), 1e-30)
            difference = float(np.abs(want[both] - got[both]).max()) / scale
            worst = max(worst, difference)
            equal &= difference <= bound
    return worst, equal


def compile_only(workload: Workload, seconds: float) -> dict:
    """First compilations in this process: what `run.py` compares across processes."""
    made = workload.make()
    return {f"{platform}_compile": compiled(made, platform)[2] for platform in PLATFORMS}


def growth(workload: Workload, seconds: float) -> dict:
    """How much more memory the process has after 10,000 runs than before, once caches are warm."""
    record = {}
    made = workload.make()
    for platform in PLATFORMS:
        executable, args, _ = compiled(made, platform)
        for _ in range(1000):
            result = executable(*args)
        jax.block_until_ready(result)
        before = resident()
        for _ in range(10_000):
            result = executable(*args)
        jax.block_until_ready(result)
        record[f"{platform}_growth"] = resident() - before
    return record


def resident() -> int:
    """Bytes of memory that the process has."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


if __name__ == "__main__":
    jax.devices()
    main()
    sys.stdout.flush()
