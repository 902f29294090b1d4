#!/usr/bin/env python3
"""Writes docs/conformance.md from the results of a run of JAX's own tests.

  tools/conformance.py RESULTS.json > docs/conformance.md

RESULTS.json is what the conformance runner leaves: for each file of JAX's tests/ the outcome of each test that was
run, and the failures grouped by message. The tests run are ones that JAX's own `cpu` platform passes, taken by a
hash of their names, with the plugin in the place of `cpu`.
"""

import collections
import json
import sys

# Why a test fails, by a part of its message; the first that fits counts.
CAUSES = [
    ("CustomSPMDPartitioning", "custom partitioners: the extension through which JAX asks Python is not there"),
    ("all-", "the text of the optimised program is looked at: work outside of manual regions is not divided yet, so there are collectives where XLA has none, and the other way round"),
    ("Named", "results' shardings: `shard_alike` and flows through control flow are not followed"),
    ("SingleDeviceSharding", "results' shardings: `shard_alike` and flows through control flow are not followed"),
    ("GSPMDSharding", "results' shardings: unreduced values are made whole"),
    ("slice(", "results' shardings: `shard_alike` and flows through control flow are not followed"),
    ("True is not false", "results' shardings: `shard_alike` and flows through control flow are not followed"),
    ("False is not true", "results' shardings: `shard_alike` and flows through control flow are not followed"),
    ("Tuples differ: (", "layouts left to the compiler: XLA makes a transpose a change of layout, rxla keeps row-major"),
    ("unexpected success", "DLPack: memory that is not aligned is copied, where XLA refuses it"),
    ("not raised", "DLPack: memory that is not aligned is copied, where XLA refuses it"),
    ("HostBufferSemantics", "a limit of JAX's client for plugins"),
    ("buffer callback", "the text of an error that jaxlib takes over as a C++ object, which has no room for it"),
    ("Array(False, dtype=bool)", "numbers below the smallest normal one: XLA makes them zero, rxla keeps them"),
    ("UNIMPLEMENTED", "not built yet"),
    ("Items in the first set", "callbacks on a device's own part inside of loops: they get the whole"),
    ("xla_transform", "the extension for transformations written in Python is not there"),
]


def cause(message: str, files) -> str:
    if any("xla_transform" in name for name in files):
        message += " xla_transform"
    return next((text for part, text in CAUSES if part in message), "not looked into")


def main() -> None:
    with open(sys.argv[1]) as file:
        results = json.load(file)
    meta, total = results["meta"], results["total"]
    rate = lambda row: f"{100 * row['ok'] / row['d']:.1f} %" if row["d"] else "–"
    print("# JAX's own tests on rxla\n")
    print("Written by `tools/conformance.py`; do not edit.\n")
    most = max(len(file["tests"]) for file in results["files"].values())
    print(f"JAX {meta['jax']}, measured on {meta['date']}, with rxla as JAX's platform `cpu`. Of each file (or family of tests")
    print(f"in a file) at most {most} of the tests that XLA:CPU passes; devices are virtual ones.\n")
    print(f"**{total['ok']} of {total['d']} pass ({rate(total)}); {total['c']} aborts, {total['t']} timeouts.** Of the tests that")
    print(f"compile something: {total['cok']} of {total['cd']}.\n")
    print("| group | pass | of | rate |\n|---|--:|--:|--:|")
    for name, row in results["groups"].items():
        print(f"| {name} | {row['ok']} | {row['d']} | {rate(row)} |")
    print("\n## Files with failures\n\n| file | pass | of |\n|---|--:|--:|")
    clean = 0
    for name, file in results["files"].items():
        outcomes = collections.Counter(test[0] for test in file["tests"].values())
        passed, count = outcomes["p"], sum(outcomes.values())
        if passed == count and not file["loaderror"]:
            clean += 1
        else:
            print(f"| {name.replace('|', chr(92) + '|')} | {passed} | {count} |")
    print(f"\nAll others, {clean} files, pass whole.\n")
    print("## Reasons\n\n| tests | reason |\n|--:|---|")
    reasons = collections.Counter()
    for reason in results["reasons"]:
        reasons[cause(reason["message"], reason["files"])] += reason["count"]
    for text, count in reasons.most_common():
        print(f"| {count} | {text} |")


if __name__ == "__main__":
    main()
