#!/usr/bin/env python3
"""Writes docs/conformance.md from the results of a run of JAX's own tests.

  tools/conformance.py RESULTS.json… > docs/conformance.md

RESULTS.json is what the conformance runner leaves: for each file of JAX's tests/ the outcome of each test that was
run, and the failures grouped by message. The tests run are ones that JAX's own `cpu` platform passes, taken by a
hash of their names, with the plugin in the place of `cpu`.
"""

import collections
import json
import sys

# Why a test fails, by a part of its message; the first that fits counts.
CAUSES = [
    ("1 / 9 (11.1%) export_back_compat_test", "what a QR of a singular matrix leaves is rounding, here 1e-6 from LAPACK's in single precision"),
    ("1 / 1 (100%) shard_map_test", "a derivative is the difference of two sums of 2016 in single precision, where one rounding is 2.5 % of it; XLA:CPU fails it as well once it is compiled by `jax.jit`"),
    ("UNIMPLEMENTED", "not built yet"),
]


def cause(message: str, file: str) -> str:
    message += " " + file
    return next((text for part, text in CAUSES if part in message), "not looked into")


def rate(passed: int, count: int) -> str:
    # Rounded down, so that only all are 100 %.
    return f"{1000 * passed // count / 10:.1f} %" if count else "–"


def read(paths: list[str]) -> dict:
    """The results of several runs as one: a file's later results replace earlier ones."""
    merged = {"files": {}, "messages": {}}
    for path in paths:
        with open(path) as file:
            results = json.load(file)
        merged["meta"] = results["meta"]
        merged["files"] |= results["files"]
        for name in results["files"]:
            merged["messages"][name] = results["messages"].get(name, {})
    return merged


def main() -> None:
    results = read(sys.argv[1:])
    meta, files = results["meta"], results["files"]
    outcomes = {name: [test[0] for test in file["tests"].values()] for name, file in files.items()}
    every = [outcome for list in outcomes.values() for outcome in list]
    compiling = [test[0] for file in files.values() for test in file["tests"].values() if test[2] + test[3]]
    most = max(len(list) for list in outcomes.values())
    print("# JAX's own tests on rxla\n")
    print("Written by `tools/conformance.py`; do not edit.\n")
    print(f"JAX {meta['jax']}, measured on {meta['date']}, with rxla as JAX's platform `cpu`. Of each file (or family of tests")
    print(f"in a file) at most {most} of the tests that XLA:CPU passes; devices are virtual ones.\n")
    print(f"**{every.count('p')} of {len(every)} pass ({rate(every.count('p'), len(every))}); {every.count('c')} aborts, {every.count('t')} timeouts.** Of the tests that")
    print(f"compile something: {compiling.count('p')} of {len(compiling)}.\n")
    print("| group | pass | of | rate |\n|---|--:|--:|--:|")
    for group in dict.fromkeys(file["group"] for file in files.values()):
        list = [outcome for name, file in files.items() if file["group"] == group for outcome in outcomes[name]]
        print(f"| {group} | {list.count('p')} | {len(list)} | {rate(list.count('p'), len(list))} |")
    print("\n## Files with failures\n\n| file | pass | of |\n|---|--:|--:|")
    clean = 0
    for name, list in outcomes.items():
        if list.count("p") == len(list) and not files[name]["loaderror"]:
            clean += 1
        else:
            print(f"| {name.replace('|', chr(92) + '|')} | {list.count('p')} | {len(list)} |")
    print(f"\nAll others, {clean} files, pass whole.\n")
    print("## Reasons\n\n| tests | reason |\n|--:|---|")
    messages = results["messages"]
    reasons = collections.Counter(cause(text, name) for name in files for text in messages[name].values())
    skipped = every.count("s")
    if skipped:
        reasons["the test skips itself: no device of the kind it asks for"] = skipped
    for text, count in reasons.most_common():
        print(f"| {count} | {text} |")


if __name__ == "__main__":
    main()
