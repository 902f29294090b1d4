"""Runs programs of libraries on JAX on rxla and on jaxlib's XLA:CPU, and compares results and times.

    python benches/libraries.py                                  # everything whose library is installed
    python benches/libraries.py --only brax,mjx
    python benches/libraries.py --python ~/libraries/bin/python  # whose packages are not those of this Python
    python benches/libraries.py --write docs/performance-avx2.md

What nobody here wrote shows what nobody here thought of. The programs stand in `programs`, with the
libraries that each needs; all come from PyPI, and programs of one that is not installed are left out. Each program runs
in a process of its own for each platform, of which rxla is one as JAX's platform `cpu`. Times are of the first call,
which traces and compiles, and of the fastest of those after it: processes run one after the other, so small differences
mean nothing. Results that are apart by more than a program allows are marked, and the exit status is 1 then.
"""

import argparse
import datetime
import json
import os
import pathlib
import subprocess
import sys

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import page  # noqa: E402

LIBRARY = HERE.parent / "target" / "release" / "librxla_pjrt.so"


def ask(options, platform: str, *arguments: str) -> dict:
    environment = {name: value for name, value in os.environ.items() if name != "JAX_PLATFORMS"}
    if platform == "rxla":
        path = os.pathsep.join(filter(None, [str(HERE.parent / "python"), os.environ.get("PYTHONPATH")]))
        environment |= {"RXLA_AS_CPU": "1", "RXLA_CACHE_DIR": "", "PYTHONPATH": path}
        environment.setdefault("RXLA_LIBRARY_PATH", str(LIBRARY))
    else:
        environment["JAX_PLATFORMS"] = "cpu"
    command = [options.python, str(HERE / "programs_of_libraries.py"), *arguments]
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=options.limit)
    except subprocess.TimeoutExpired:
        return {"error": f"took more than {options.limit} s"}
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode != 0 or not lines:
        last = (done.stderr.strip().splitlines() or ["no output"])[-1]
        return {"error": f"ended with {done.returncode}: {last}"}
    answer = json.loads(lines[-1])
    version = answer.get("platform")
    # Some releases of jaxlib put "PJRT C API" and a new line before the plugin's own words.
    if version is not None and ("rxla" in version) != (platform == "rxla"):
        return {"error": f"ran on `{version}`"}
    return answer


def apart(one: list, other: list) -> float:
    """How far results are apart, as a part of the largest number in each array."""
    most = 0.0
    for x, y in zip(one, other, strict=True):
        x, y = np.array(x, float), np.array(y, float)
        if not np.array_equal(np.isfinite(x), np.isfinite(y)):
            return float("inf")
        x, y = x[np.isfinite(x)], y[np.isfinite(y)]
        if x.size:
            most = max(most, float(np.abs(x - y).max() / max(np.abs(x).max(), 1e-30)))
    return most


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="parts of names of programs, by commas")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--limit", type=int, default=600, help="seconds for each process")
    parser.add_argument("--write", type=pathlib.Path, help="the page to put the table into")
    options = parser.parse_args()
    known = ask(options, "XLA:CPU", "--list")
    if "error" in known:
        print(f"cannot list programs: {known['error']}", file=sys.stderr)
        return 1
    wanted = [part for part in options.only.split(",") if part]
    wrong, rows, ratios, others, jax = 0, [], {"first": [], "run": []}, [], ""
    print(f"{'':30} {'XLA:CPU first':>14} {'rxla':>11} {'ratio':>6} {'XLA:CPU ms':>11} {'rxla ms':>10} {'ratio':>6}")
    for name, program in known.items():
        if wanted and not any(part in name for part in wanted):
            continue
        if program["missing"]:
            print(f"{name:30} left out: {', '.join(program['missing'])} not installed")
            continue
        theirs, ours = ask(options, "XLA:CPU", name), ask(options, "rxla", name)
        if "error" in theirs or "error" in ours:
            wrong += "error" not in theirs
            why = f"XLA:CPU: {theirs.get('error', 'runs')}; rxla: {ours.get('error', 'runs')}"
            print(f"{name:30} {why}")
            others.append(f"`{name}` ({why})")
            continue
        distance = apart(theirs["results"], ours["results"])
        mark = "" if distance <= program["tolerance"] else f"  APART by {distance:.1e}"
        wrong += bool(mark)
        jax = ours["jax"]
        first, run = (theirs[what] / ours[what] for what in ("first", "run"))
        ratios["first"].append(first)
        ratios["run"].append(run)
        print(
            f"{name:30} {theirs['first']:12.2f} s {ours['first']:9.2f} s {first:6.2f}"
            f" {1e3 * theirs['run']:11.3f} {1e3 * ours['run']:10.3f} {run:6.2f}{mark}",
            flush=True,
        )
        rows.append([
            f"`{name}`{mark}", f"{theirs['first']:.2f}", f"{ours['first']:.2f}", f"{first:.2f}",
            f"{1e3 * theirs['run']:.4g}", f"{1e3 * ours['run']:.4g}", f"{run:.2f}",
        ])
    if not rows:
        return int(wrong > 0)
    mean = {what: f"{page.geometric_mean(values):.2f}" for what, values in ratios.items()}
    rows.append(["geometric mean", "", "", mean["first"], "", "", mean["run"]])
    if options.write:
        heads = ["program", "first call, s: XLA:CPU", "rxla", "ratio", "later ones, ms: XLA:CPU", "rxla", "ratio"]
        left = ["", f"Not measured: {'; '.join(others)}."] if others else []
        made = f"Written by `benches/libraries.py` on {datetime.date.today()}, JAX {jax}."
        page.write(options.write, "benches/libraries.py", "Libraries on JAX", [made, "", *page.table(heads, rows), *left])
    print(f"geometric means: first call {mean['first']}, later ones {mean['run']}")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
