"""Runs one of `programs` for `libraries.py`, which runs them in processes: `--list`, or the name of one."""

import importlib.util
import json
import sys
import time
import warnings

import jax
import numpy as np

from programs import PROGRAMS


def is_missing(library: str) -> bool:
    try:
        return importlib.util.find_spec(library) is None
    except ModuleNotFoundError:
        return True


def main():
    warnings.filterwarnings("ignore")
    name = sys.argv[1]
    if name == "--list":
        listed = {
            name: {"tolerance": known["tolerance"], "missing": list(filter(is_missing, known["libraries"]))}
            for name, known in PROGRAMS.items()
        }
        return print(json.dumps(listed))
    known = PROGRAMS[name]
    run, arguments = known["make"]()
    run = jax.jit(run) if known["traced"] else run

    def once():
        begin = time.perf_counter()
        results = jax.block_until_ready(run(*arguments))
        return time.perf_counter() - begin, results

    first, results = once()
    fastest, begin = float("inf"), time.perf_counter()
    while fastest == float("inf") or time.perf_counter() - begin < 2:
        fastest = min(fastest, once()[0])
    leaves = [np.asarray(leaf, np.float64).ravel()[:1000].tolist() for leaf in jax.tree.leaves(results)]
    answer = {"first": first, "run": fastest, "results": leaves, "jax": jax.__version__}
    print(json.dumps(answer | {"platform": jax.devices()[0].client.platform_version}))


if __name__ == "__main__":
    main()
