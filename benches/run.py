"""Measures rxla against the XLA:CPU in jaxlib and prints a table of ratios.

    python benches/run.py                       # everything
    python benches/run.py --group loops,dot     # some groups
    python benches/run.py --only scan_lstm      # programs whose name contains this
    python benches/run.py --quick --json out.json
    python benches/run.py --write docs/performance.md

A ratio is XLA:CPU's time divided by rxla's: above 1 rxla is faster. Both run in one process, by turns,
and medians are compared. Besides the groups of programs there are `compile` (first compilation in a
fresh process with nothing cached, and in a second process) and `memory` (temporaries planned, growth).
The column after it compares the best runs of both, which a machine that does other things disturbs less.
Where memory or arithmetic is the limit the last column says how near rxla comes: the bytes that have to be
read and written, or the operations, in percent of what the machine copies or multiplies and adds, as
measured at the start. More than 100 is what caches give.
"""

import argparse
import datetime
import functools
import json
import os
import pathlib
import queue
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import limits  # noqa: E402
import page  # noqa: E402
from page import geometric_mean  # noqa: E402
from workloads import GROUPS, all_workloads  # noqa: E402

# Pairs of processes in which each of those is compiled.
COMPILATIONS = 3
# What stands for compile time: from one operation to a model of twelve equal layers.
COMPILED = [
    "scalar_add", "gelu_1m", "softmax_4096x1024", "dot_bias_gelu", "conv_3x3_56_64", "many_small_mixed",
    "unrolled_steps", "unrolled_lstm_grad", "mlp_tiny_sgd_step", "scan_60_scalars_grad", "scan_lstm_grad",
    "ode_rk45_lorenz", "normal_1m", "cnn_train", "gpt_tiny_train", "gpt2_small_train",
]
# Groups whose programs are shown as a part of what the machine can do.
LIMITED = ["elementwise", "normalisation", "reductions", "movement", "rng"]
GROWN = ["scalar_add", "mlp_tiny_sgd_step", "scan_lstm", "layernorm_grad_1024x768"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--group", help=f"comma-separated, of: {', '.join(GROUPS)}, compile, memory")
    parser.add_argument("--only", help="programs whose name contains one of these, comma-separated")
    parser.add_argument("--quick", action="store_true", help="a sixth of the time for each program")
    parser.add_argument("--limit", type=float, default=20.0, help="seconds for a program, compiling included")
    parser.add_argument("--json", type=pathlib.Path, help="write results here, too")
    parser.add_argument("--write", type=pathlib.Path, help="put the tables into this page, such as docs/performance.md")
    options = parser.parse_args()
    groups = options.group.split(",") if options.group else [*GROUPS, "compile", "memory"]
    wanted = options.only.split(",") if options.only else [""]
    workloads = [w for w in all_workloads() if any(part in w.name for part in wanted)]
    seconds = 0.2 if options.quick else 1.2
    results = []
    most = None
    for group in GROUPS:
        names = [w.name for w in workloads if w.group == group and group in groups]
        if names:
            limited = group in LIMITED
            if limited and most is None:
                most = limits.measure()
                print(f"\nthe machine: {most['bytes'] / 1e9:.1f} GB/s copied, {most['operations'] / 1e9:.1f} GFLOP/s in a product", flush=True)
            title = "   % of limit" if limited else ""
            print(f"\n{group + ':':38} {'XLA:CPU ms':>14} {'rxla ms':>10} {'ratio':>7} {'best':>7}{title}", flush=True)
            show = functools.partial(print_run, most=most if limited else None)
            records = measure(names, "run", seconds, options.limit, show)
            results += [{"group": group, **record} for record in records]
            summary(group, [r["ratio"] for r in records if r.get("ratio")], len(records))
            summary(f"{group}, best runs", [r["best_ratio"] for r in records if r.get("ratio")], len(records))
    if "compile" in groups:
        names = [n for n in COMPILED if n in {w.name for w in workloads}]
        results += compile_times(names, options.limit * 6)
    if "memory" in groups:
        results += memory(results, [n for n in GROWN if n in {w.name for w in workloads}], options.limit * 3)
    everything = [r["ratio"] for r in results if r.get("ratio") and r["group"] in GROUPS]
    if everything:
        print()
        summary("all programs", everything, sum(r["group"] in GROUPS for r in results))
    if options.json:
        options.json.write_text(json.dumps(results, indent=1))
    if options.write:
        page.write(options.write, "benches/run.py", "JAX", page.jax_section(results, made()))


def made() -> str:
    """When and on what the figures were measured."""
    import jaxlib

    with open("/proc/cpuinfo") as file:
        fields = dict([part.strip() for part in line.split(":", 1)] for line in file if ":" in line)
    model = fields.get("model name", "an unknown processor")
    flags = fields.get("flags", "").split()
    widest = next((name for flag, name in [("avx512f", "AVX-512"), ("avx2", "AVX2")] if flag in flags), "no AVX2")
    cores = len(os.sched_getaffinity(0))
    return f"on {datetime.date.today().isoformat()}, {cores} cores of {model} with {widest}, jaxlib {jaxlib.__version__}"


def print_run(record: dict, most: dict | None) -> None:
    if "cpu" in record:
        record["ratio"] = record["cpu"] / record["rxla"]
        record["best_ratio"] = record["cpu_best"] / record["rxla_best"]
        wrong = "" if record["equal"] else f"   DIFFERENT by {record['difference']:.2g}"
        near = ""
        if most is not None and (share := limits.share(record, most)) is not None:
            record["limit"], record["limited_by"] = share
            near = f" {share[0] * 100:7.0f} {share[1]}"
        print(f"  {record['name']:36} {record['cpu'] * 1e3:14.4f} {record['rxla'] * 1e3:10.4f} {record['ratio']:7.2f} {record['best_ratio']:7.2f}{near}{wrong}", flush=True)
    else:
        print(f"  {record['name']:36} {record['error']}", flush=True)


def summary(group: str, ratios: list[float], count: int) -> None:
    if ratios:
        print(f"  {group}: geometric mean {geometric_mean(ratios):.2f}, least {min(ratios):.2f}, {len(ratios)} of {count} measured", flush=True)
    else:
        print(f"  {group}: none of {count} measured", flush=True)


def measure(names, mode, seconds, limit, show, environment=None) -> list[dict]:
    """Has workers measure programs, in order; who takes longer than the limit is ended."""
    left, records = list(names), []
    while left:
        records += one_worker(left, mode, seconds, limit, show, environment or {})
        left = left[len(records) - (len(names) - len(left)):]
    return records


def one_worker(names, mode, seconds, limit, show, environment) -> list[dict]:
    command = [sys.executable, str(HERE / "worker.py"), *names, "--seconds", str(seconds), "--mode", mode]
    environment = {**os.environ, "JAX_PLATFORMS": "cpu,rxla", "PYTHONPATH": python_path(), **environment}
    with tempfile.TemporaryFile() as errors:
        worker = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment)
        lines: queue.Queue = queue.Queue()
        threading.Thread(target=read_lines, args=(worker.stdout, lines), daemon=True).start()
        records, compiled = [], set()
        # The first program waits for JAX to start, too.
        deadline = time.monotonic() + limit + 60
        while len(records) < len(names):
            name = names[len(records)]
            try:
                line = lines.get(timeout=max(0.01, deadline - time.monotonic()))
            except queue.Empty:
                stage = "running" if "rxla" in compiled else "compiling" if "cpu" in compiled else "XLA:CPU"
                records.append({"name": name, "error": f"time limit of {limit:.0f} s ({stage})"})
                show(records[-1])
                break
            if line is None:
                errors.seek(0)
                said = [line for line in errors.read().decode(errors="replace").splitlines() if "Error" in line]
                tail = said[-1:]
                records.append({"name": name, "error": f"the worker ended: {' '.join(tail)[:160]}"})
                show(records[-1])
                break
            event = line.pop("event")
            if event == "start":
                deadline, compiled = time.monotonic() + limit, set()
            elif event == "compiled":
                compiled.add(line["platform"])
            else:
                records.append(line)
                show(line)
        worker.kill()
        worker.wait()
    return records


def python_path() -> str:
    """The package of this repository, unless one is installed or named."""
    paths = [str(HERE), str(HERE.parent / "python"), os.environ.get("PYTHONPATH", "")]
    return os.pathsep.join(path for path in paths if path)


def read_lines(stream, lines: queue.Queue) -> None:
    for line in stream:
        if line.startswith("\x1e"):
            lines.put(json.loads(line[1:]))
    lines.put(None)


def compile_times(names: list[str], limit: float) -> list[dict]:
    """Medians over pairs of processes, the first of which finds nothing kept by rxla, the second what the first kept."""
    print(f"\ncompile: {'XLA:CPU ms':>43} {'cold ms':>10} {'ratio':>7} {'2nd proc.':>10} {'ratio':>7}", flush=True)
    results = []
    quiet = lambda record: None  # noqa: E731
    for name in names:
        cold, again = [], []
        for _ in range(COMPILATIONS):
            with tempfile.TemporaryDirectory() as cache:
                environment = {"RXLA_CACHE_DIR": cache}
                cold += measure([name], "compile", 0, limit, quiet, environment)
                again += measure([name], "compile", 0, limit, quiet, environment)
        record = {"group": "compile", "name": name}
        errors = [run["error"] for run in cold + again if "error" in run]
        if errors:
            record["error"] = errors[0]
            print(f"  {name:36} {record['error']}", flush=True)
        else:
            middle = lambda runs, key: statistics.median(run[key] for run in runs)  # noqa: E731
            record.update(
                cpu_compile=middle(cold + again, "cpu_compile"),
                cold=middle(cold, "rxla_compile"),
                warm=middle(again, "rxla_compile"),
            )
            record["ratio"] = record["cpu_compile"] / record["cold"]
            record["warm_ratio"] = record["cpu_compile"] / record["warm"]
            print(f"  {name:36} {record['cpu_compile'] * 1e3:14.1f} {record['cold'] * 1e3:10.1f} {record['ratio']:7.2f} {record['warm'] * 1e3:10.1f} {record['warm_ratio']:7.2f}", flush=True)
        results.append(record)
    summary("compile, cold", [r["ratio"] for r in results if "ratio" in r], len(results))
    summary("compile, second process", [r["warm_ratio"] for r in results if "ratio" in r], len(results))
    return results


def memory(results: list[dict], grown: list[str], limit: float) -> list[dict]:
    print("\nmemory:", flush=True)
    planned = [r for r in results if r.get("cpu_temp") is not None and r.get("rxla_temp") is not None]
    more = [r for r in planned if r["rxla_temp"] > r["cpu_temp"]]
    if planned:
        print(f"  temporaries no larger than XLA:CPU's in {len(planned) - len(more)} of {len(planned)} programs")
        for r in sorted(more, key=lambda r: r["cpu_temp"] - r["rxla_temp"])[:10]:
            print(f"    {r['name']:36} {r['cpu_temp']:>12} {r['rxla_temp']:>12}")
    def show(record):
        if "error" in record:
            print(f"  growth of {record['name']:26} {record['error']}", flush=True)
        else:
            print(f"  growth of {record['name']:26} {record['cpu_growth']:>12} {record['rxla_growth']:>12} bytes in 10,000 runs", flush=True)
    return [{"group": "memory", **record} for record in measure(grown, "growth", 0, limit, show)]


if __name__ == "__main__":
    main()
