#!/usr/bin/env python3
"""Whether compiled programs give the same bits whatever the run, the number of threads and the cache.

  tools/determinism.py [--runs N] [--group GROUP,…] [--only NAME,…]

Runs the programs of benches/ on the plugin in processes with 1, 2 and 4 threads, each with an empty cache of
its own, and once more with 2 threads and the cache that the process before has left. In each, a program is run N
times (100 unless told, fewer where that takes longer than a few seconds) and a digest of all its results is taken.
Prints the programs whose digests are not all the same, and exits with 1 if there are any.
"""

import argparse
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

BENCHES = pathlib.Path(__file__).resolve().parent.parent / "benches"


def digests(runs, names):
    """In a process of its own: a line of JSON for each program."""
    import jax
    import jax_rxla

    jax_rxla.initialize()
    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_enable_compilation_cache", False)
    sys.path.insert(0, str(BENCHES))
    from workloads import all_workloads

    known = {w.name: w for w in all_workloads()}
    device = jax.devices("rxla")[0]
    for name in names:
        function, arguments = known[name].make()
        arguments = [jax.device_put(argument, device) for argument in arguments]
        run = jax.jit(function)
        found, count, begin = set(), 0, time.monotonic()
        while count < runs and (count < 3 or time.monotonic() - begin < 5):
            digest = hashlib.sha256()
            for leaf in jax.tree.leaves(jax.device_get(run(*arguments))):
                digest.update(leaf.tobytes())
            found.add(digest.hexdigest())
            count += 1
        print(json.dumps({"name": name, "digests": sorted(found), "runs": count}), flush=True)


def process(options, names, threads, cache):
    """Digests by program; what a process does not get to is missing."""
    flags = f"{os.environ.get('RXLA_FLAGS', '')} --rxla_threads={threads}"
    environment = {**os.environ, "RXLA_FLAGS": flags, "RXLA_CACHE_DIR": cache, "JAX_PLATFORMS": "rxla,cpu"}
    command = [sys.executable, __file__, "--worker", "--runs", str(options.runs), "--only", ",".join(names)]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        print(f"the process with {threads} threads ended with {done.returncode}", file=sys.stderr)
    records = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return {record["name"]: record for record in records}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--group", default="")
    parser.add_argument("--only", default="")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    chosen = [name for name in options.only.split(",") if name]
    if options.worker:
        return digests(options.runs, chosen)
    sys.path.insert(0, str(BENCHES))
    from workloads import all_workloads

    groups = [group for group in options.group.split(",") if group]
    names = [
        w.name
        for w in all_workloads()
        if (not groups or w.group in groups) and (not chosen or w.name in chosen)
    ]
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for title, threads, cache in [
            ("1 thread", 1, "one"),
            ("2 threads", 2, "two"),
            ("4 threads", 4, "four"),
            ("2 threads, from the cache", 2, "two"),
        ]:
            found[title] = process(options, names, threads, os.path.join(folder, cache))
    differing, missing, runs = [], [], 0
    for name in names:
        records = {title: result[name] for title, result in found.items() if name in result}
        runs += sum(record["runs"] for record in records.values())
        if len(records) < len(found):
            missing.append(name)
        if len({digest for record in records.values() for digest in record["digests"]}) > 1:
            differing.append(name)
            for title, record in records.items():
                print(f"{name}, {title}: {', '.join(digest[:12] for digest in record['digests'])}")
    print(f"{len(names)} programs, {runs} runs: {len(differing)} differ, {len(missing)} did not run everywhere")
    for name in missing:
        print(f"did not run everywhere: {name}")
    return 1 if differing or missing else 0


if __name__ == "__main__":
    sys.exit(main())
