#!/usr/bin/env python3
"""PyTorch's operators on rxla: each one of PyTorch's own table of them (`op_db`, some 600) on samples
that it comes with.

  tools/torch_ops.py [--types float32,int64,…] [--samples N] [--only NAME,…]

Results are compared with PyTorch's on the CPU. What differs or fails is done once more on PyTorch/XLA's own CPU
device, and printed if that does better; then the exit status is 1. The interpreter that runs this must have torch,
torch_xla, expecttest, SciPy and rxla's wheel. An operator that ends the process, which some do in PyTorch/XLA itself,
is noted, and a new process goes on behind it.
"""

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile

# Random, uninitialised or free up to signs, and what does not exist for devices of PyTorch/XLA.
LEFT_OUT = (
    "empty rand multinomial bernoulli dropout uniform normal exponential cauchy geometric poisson rrelu sparse masked. "
    "jiterator nonzero_static fractional_max_pool lowrank"
).split()
# Sorts of many equal elements, whose order among each other is free.
SORTS, FEW_VALUES = ("sort", "argsort"), ("bfloat16", "float16", "uint8", "bool")
TYPES = "float32,float64,bfloat16,float16,int64,uint8,bool,complex64"


def child(type_name: str, samples: int, only: list[str], path: str) -> None:
    """Writes a line when an operator begins, and one with what is wrong with each sample when it ends."""
    import torch
    import torch_xla
    from torch.testing._internal.common_methods_invocations import op_db

    device, dtype = torch_xla.device(), getattr(torch, type_name)
    with open(path) as file:
        begun = {json.loads(line)[0] for line in file}
    results = open(path, "a", buffering=1)

    def moved(value):
        if isinstance(value, torch.Tensor):
            return value.detach().to(device)
        if isinstance(value, (list, tuple)):
            moved_items = [moved(item) for item in value]
            return type(value)(*moved_items) if hasattr(value, "_fields") else type(value)(moved_items)
        if isinstance(value, dict):
            return {key: device if key == "device" else moved(item) for key, item in value.items()}
        return value

    def tensors(value):
        if isinstance(value, torch.Tensor):
            return [value]
        return [each for item in value for each in tensors(item)] if isinstance(value, (list, tuple)) else []

    tolerance = (1e-2, 1e-2) if dtype in (torch.bfloat16, torch.float16) else (1e-3, 1e-4)

    def trouble(op, sample) -> str | None:
        try:
            expected = tensors(op(sample.input, *sample.args, **sample.kwargs))
        except Exception:
            return None  # nothing to compare with
        try:
            found = op(moved(sample.input), *moved(sample.args), **moved(sample.kwargs))
            for found, expected in zip(tensors(found), expected):
                found = found.cpu().to(expected.dtype)
                torch.testing.assert_close(
                    found, expected, rtol=tolerance[0], atol=tolerance[1], equal_nan=True
                )
        except AssertionError as error:
            return f"differs: {error}"
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        return None

    for op in op_db:
        name = op.name + (f".{op.variant_test_name}" if op.variant_test_name else "")
        left_out = name not in only if only else any(word in name for word in LEFT_OUT)
        left_out |= name in SORTS and type_name in FEW_VALUES
        if left_out or name in begun or dtype not in op.dtypes:
            continue
        results.write(json.dumps([name, ["it ended the process"]]) + "\n")
        try:
            all_samples = list(itertools.islice(op.sample_inputs("cpu", dtype), 40))
        except Exception:
            all_samples = []  # some cannot make samples of each type
        chosen = all_samples[:: max(1, len(all_samples) // samples)][:samples]
        found = [trouble(op, sample) for sample in chosen]
        results.write(json.dumps([name, [text for text in found if text]]) + "\n")


def run(device: str, type_name: str, samples: int, only: list[str]) -> dict[str, list[str]]:
    """What is wrong with each operator on a device."""
    with tempfile.NamedTemporaryFile("r", suffix=".json") as file:
        arguments = ["--child", file.name, "--types", type_name, "--samples", str(samples), "--only", ",".join(only)]
        environment = {**os.environ, "PJRT_DEVICE": device}
        while True:
            before = os.path.getsize(file.name)
            command = [sys.executable, os.path.abspath(__file__), *arguments]
            done = subprocess.run(command, env=environment, stderr=subprocess.PIPE, text=True)
            if done.returncode == 0:
                break
            if os.path.getsize(file.name) == before:
                raise SystemExit(f"{device} does nothing:\n{done.stderr}")
        file.seek(0)
        return dict(json.loads(line) for line in file)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--types", default=TYPES)
    parser.add_argument("--samples", type=int, default=2)
    parser.add_argument("--only", default="")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    only = [name for name in options.only.split(",") if name]
    if options.child:
        child(options.types, options.samples, only, options.child)
        return
    worse = 0
    for type_name in options.types.split(","):
        ours = run("RXLA", type_name, options.samples, only)
        wrong = [name for name, texts in ours.items() if texts]
        theirs = run("CPU", type_name, options.samples, wrong) if wrong else {}
        behind = [name for name in wrong if len(theirs[name]) < len(ours[name])]
        worse += len(behind)
        print(f"{type_name}: {len(ours)} operators, {len(wrong)} fail, of which {len(behind)} on rxla alone", flush=True)
        for name in behind:
            text = ours[name][0].replace("\n", " ")
            print(f"  {name}: {text[:200]}", flush=True)
    sys.exit(worse > 0)


if __name__ == "__main__":
    main()
