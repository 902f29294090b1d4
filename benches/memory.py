"""Measures peak resident memory of training steps on rxla beside the XLA:CPU in jaxlib, and prints a table.

    python benches/memory.py                              # all training programs, some minutes
    python benches/memory.py --only gpt2_small_train --steps 20
    python benches/memory.py --write docs/performance.md

Each program on each platform is a fresh process, which starts JAX on that platform alone; what it has then is the base.
It makes the arguments, puts them on the device, drops its own copies, compiles, and runs steps one after the other,
the result of each dropped before the next. The kernel counts the peak (`VmHWM`) while it compiles and anew while it
runs; shown is what they are above the base, so arguments, results, temporaries, what allocators keep and the
compilers' memory are all in it. rxla compiles with an empty cache, and again in a second process that finds it filled.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import page  # noqa: E402

PLATFORMS = {"cpu": "XLA:CPU", "rxla": "rxla", "again": "rxla, kept"}


def status(field: str) -> int:
    """A number of bytes that the kernel knows of this process."""
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) * 1024
    raise KeyError(field)


def peak_anew() -> None:
    """Makes the peak what the process has now."""
    pathlib.Path("/proc/self/clear_refs").write_text("5")


def work(name: str, steps: int) -> dict:
    import jax
    import jax_rxla

    jax_rxla.initialize()
    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_enable_compilation_cache", False)
    from workloads import all_workloads

    workload = next(w for w in all_workloads() if w.name == name)
    device = jax.devices()[0]
    base = status("VmRSS")
    program, args = workload.make()
    args = jax.block_until_ready(jax.device_put(args, device))
    arguments = sum(leaf.nbytes for leaf in jax.tree.leaves(args))
    peak_anew()
    executable = jax.jit(program).lower(*args).compile()
    compiling = status("VmHWM") - base
    peak_anew()
    for _ in range(steps):
        jax.block_until_ready(executable(*args))
    return {"base": base, "arguments": arguments, "compiling": compiling, "running": status("VmHWM") - base}


def measure(name: str, steps: int) -> dict:
    record = {"name": name}
    with tempfile.TemporaryDirectory() as cache:
        for platform in PLATFORMS:
            environment = {
                **os.environ, "JAX_PLATFORMS": "cpu" if platform == "cpu" else "rxla", "RXLA_CACHE_DIR": cache,
                "PYTHONPATH": os.pathsep.join(filter(None, [str(HERE.parent / "python"), os.environ.get("PYTHONPATH")])),
            }
            command = [sys.executable, str(HERE / "memory.py"), "--worker", name, "--steps", str(steps)]
            said = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout
            record[platform] = json.loads(said.splitlines()[-1])
    return record


def lines_of(records: list[dict]) -> list[str]:
    """The lines of a page's section."""
    head = ["program, in MB", "arguments"]
    head += [f"{what}, {title}" for what in ("running", "compiling") for title in PLATFORMS.values()]
    rows = []
    for record in records:
        cells = [f"`{record['name']}`", f"{record['cpu']['arguments'] / 1e6:.1f}"]
        cells += [f"{record[platform][what] / 1e6:.0f}" for what in ("running", "compiling") for platform in PLATFORMS]
        rows.append(cells)
    more = [f"`{r['name']}`" for r in records if r["rxla"]["running"] > r["cpu"]["running"]]
    end = f"Running takes no more than XLA:CPU in {len(records) - len(more)} of {len(records)} programs (goal: all)"
    return [*page.table(head, rows), "", f"{end}; more in {', '.join(more)}." if more else f"{end}."]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help="programs whose name contains one of these, comma-separated")
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--json", type=pathlib.Path, help="write results here, too")
    parser.add_argument("--write", type=pathlib.Path, help="the page to put the table into")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        print("\n" + json.dumps(work(options.worker, options.steps)))
        return
    from workloads import all_workloads

    parts = options.only.split(",") if options.only else [""]
    names = [w.name for w in all_workloads() if w.group == "models" and w.name.endswith("_train")]
    records = []
    for name in names:
        if any(part in name for part in parts):
            record = measure(name, options.steps)
            records.append(record)
            print(name, *(f"{p} {record[p]['running'] / 1e6:.0f} (compiling {record[p]['compiling'] / 1e6:.0f})" for p in PLATFORMS), flush=True)
    bases = ", ".join(f"{max(r[p]['base'] for r in records) / 1e6:.0f} MB with {PLATFORMS[p]}" for p in ("cpu", "rxla"))
    lines = [
        f"Written by `benches/memory.py`: resident memory above that of a process that has started JAX ({bases}), the peak of {options.steps} steps "
        "and of compiling; the last of each three is a second process, which finds what the first one kept.", "", *lines_of(records),
    ]
    print("\n" + "\n".join(lines))
    if options.json:
        options.json.write_text(json.dumps(records, indent=1))
    if options.write:
        page.write(options.write, "benches/memory.py", "Resident memory", lines)


if __name__ == "__main__":
    main()
