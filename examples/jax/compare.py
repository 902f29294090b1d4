"""Runs the programs of `gallery/` on rxla and on XLA:CPU and compares their numbers.

    python examples/jax/compare.py              # all of them
    python examples/jax/compare.py lstm …       # some of them

Needs the wheel and its extra `gallery`.
"""

import argparse
import importlib
import os
import subprocess
import sys
import tempfile
import time

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import gallery

PLATFORMS = {"rxla": "rxla", "XLA:CPU": "cpu"}


def compute(name: str) -> dict[str, np.ndarray]:
    """The numbers of one program on the platform of this process."""
    results = importlib.import_module(f"gallery.{name}").run()
    return {key: np.asarray(value) for key, value in results.items()}


def compute_apart(name: str, platform: str) -> dict[str, np.ndarray]:
    """The same in a process of its own, on a platform as `JAX_PLATFORMS` names it."""
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "numbers.npz")
        environment = {**os.environ, "JAX_PLATFORMS": platform}
        environment.pop("RXLA_AS_CPU", None)
        subprocess.run([sys.executable, __file__, "--save", path, name], env=environment, check=True)
        with np.load(path) as numbers:
            return dict(numbers)


def difference(a: dict[str, np.ndarray], b: dict[str, np.ndarray]) -> float:
    """The largest difference, relative to the largest number of the array it is in."""
    if a.keys() != b.keys():
        raise ValueError(f"{sorted(a)} and {sorted(b)} cannot be compared")
    worst = 0.0
    for key in a:
        if a[key].shape != b[key].shape:
            raise ValueError(f"{key}: {a[key].shape} and {b[key].shape} cannot be compared")
        x, y = a[key].astype(np.float64), b[key].astype(np.float64)
        if not (np.isfinite(x).all() and np.isfinite(y).all()):
            raise ValueError(f"{key}: there are numbers that are not finite")
        worst = max(worst, np.abs(x - y).max() / max(np.abs(y).max(), 1e-30))
    return float(worst)


def tolerance(name: str) -> float:
    return importlib.import_module(f"gallery.{name}").TOLERANCE


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=gallery.NAMES)
    parser.add_argument("--save", metavar="FILE", help="run one program here and save its numbers")
    options = parser.parse_args()
    if options.save:
        np.savez(options.save, **compute(options.names[0]))
        return
    print(f"{'program':<26} {'rxla':>8} {'XLA:CPU':>8} {'difference':>11} {'allowed':>8}")
    failed = False
    for name in options.names:
        seconds, numbers = {}, {}
        for title, platform in PLATFORMS.items():
            begun = time.perf_counter()
            numbers[title] = compute_apart(name, platform)
            seconds[title] = time.perf_counter() - begun
        found, allowed = difference(numbers["rxla"], numbers["XLA:CPU"]), tolerance(name)
        verdict = "" if found <= allowed else "  <- differs"
        failed |= found > allowed
        print(
            f"{name:<26} {seconds['rxla']:7.1f}s {seconds['XLA:CPU']:7.1f}s {found:11.1e} {allowed:8.0e}{verdict}",
            flush=True,
        )
    sys.exit(failed)


if __name__ == "__main__":
    main()
