#!/usr/bin/env python3
"""Runs HLO modules on XLA's CPU backend (jaxlib) and with `rxla run`, on the same random inputs, and compares.

  tools/oracle.py DIR [--tool target/debug/rxla] [--backend interpreter|cpu] [--limit N] [--max-elements N] [--seed N]
                  [--list] [--filter TEXT]

DIR is searched as by tools/corpus.py. Modules that jaxlib cannot run (because its parser or compiler refuses them, they
need several devices, draw numbers with `rng`, have no StableHLO form, in which a client hands modules to XLA, or have constants left out of
their text) are counted as such. Where results differ a second run has positive inputs, under which square roots and
logarithms have a value: XLA's CPU backend loses NaNs. Where a module sorts and does not ask for a stable sort, a third
run has inputs without equal elements, since the order of equal keys is left open. Sizes that a `dynamic-reshape` reads
from parameters are its bounds, which fit. Floats
agree when they differ by at most rtol * (|expected| + largest expected magnitude), with rtol 2e-4 for f32, 1e-9 for
f64, 3e-2 for 16 bits and 0.26 for less; integers must be equal. Exits with 0 also if some differ: it measures.
"""

import argparse
import collections
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import corpus  # noqa: E402

RTOL = {1: 0.26, 2: 3e-2, 4: 2e-4, 8: 1e-9}
SIZE = re.compile(r"\b(?:pred|bf16|[suf]\d+\w*|c64|c128)\[([\d,<=]*)\]")


UNSTABLE = re.compile(r" sort\((?!.*is_stable=true)")


def reshape_sizes(text):
    """Of parameters that a `dynamic-reshape` of the entry takes as sizes: the bounds, by number of the parameter."""
    entry = text[text.find("ENTRY") :]
    numbers = {name: int(number) for name, number in re.findall(r"([\w.-]+) = \S+ parameter\((\d+)\)", entry)}
    sizes = {}
    for dims, operands in re.findall(r"= \w+\[([\d,<=]*)\]\S* dynamic-reshape\(([^)]*)\)", entry):
        names = [operand.split()[-1].lstrip("%") for operand in operands.split(",")][1:]
        for name, size in zip(names, dims.split(",")):
            if name in numbers:
                sizes[numbers[name]] = int(size.lstrip("<="))
    return sizes


def largest(text):
    """Elements of the largest array that the text names."""
    found = 1
    for match in SIZE.finditer(text):
        count = 1
        for size in match.group(1).split(","):
            count *= int(size.lstrip("<=") or 1)
        found = max(found, count)
    return found


def worker(max_elements, seed):
    """Reads paths of modules from standard input; writes for each a line `verdict<TAB>message`, and beside the module its
    inputs and results as .npz."""
    import ml_dtypes
    import numpy as np
    import jax

    jax.config.update("jax_platforms", "cpu")
    jax.config.update("jax_enable_x64", True)
    from jax._src import compiler, xla_bridge
    from jax._src.interpreters import mlir
    from jax._src.lib import _jax, xla_client
    from jax._src.lib.mlir import ir
    from jaxlib import _hlo

    context = mlir.make_ir_context()
    backend = xla_bridge.get_backend("cpu")
    device = jax.devices("cpu")[0]
    types = dict(i1=np.bool_, f16=np.float16, f32=np.float32, f64=np.float64, bf16=ml_dtypes.bfloat16)
    types["complex<f32>"], types["complex<f64>"] = np.complex64, np.complex128
    for bits in (8, 16, 32, 64):
        types[f"i{bits}"], types[f"ui{bits}"] = np.dtype(f"int{bits}"), np.dtype(f"uint{bits}")
    for name in dir(ml_dtypes):
        if name.startswith(("float8", "float6", "float4")):
            types["f" + name[5:].replace("_", "").upper()] = getattr(ml_dtypes, name)
        if re.fullmatch(r"u?int[24]", name):
            types[name.replace("int", "i")] = getattr(ml_dtypes, name)

    def distinct(random, shape, dtype):
        """No two elements alike: every value of a type of 16 bits or less, between 2**-20 and 2**20, is taken once."""
        count = int(np.prod(shape, dtype=np.int64))
        if dtype.kind in "iu":
            room = 2 ** (8 * dtype.itemsize - 1) if dtype.itemsize < 4 else count
            return (random.permutation(max(room, count))[:count] % room).reshape(shape).astype(dtype)
        if dtype.itemsize > 2:
            return np.asarray(random.standard_normal(shape)).astype(dtype)
        every = np.arange(1 << (8 * dtype.itemsize)).astype(f"uint{8 * dtype.itemsize}").view(dtype)
        sizes = np.abs(every.astype(np.float64))
        every = every[(sizes >= 2.0**-20) & (sizes <= 2.0**20)]
        return np.resize(random.permutation(every), count).reshape(shape)

    def argument(random, shape, dtype, kind):
        positive = kind == "positive"
        if kind == "distinct" and dtype != np.bool_ and dtype.kind != "c" and "int" not in dtype.name:
            return distinct(random, shape, dtype)
        if kind == "distinct" and dtype.kind in "iu":
            return distinct(random, shape, dtype)
        if dtype == np.bool_:
            return np.asarray(random.rand(*shape) < 0.5)
        if dtype.kind in "iu":
            return random.randint(0, 4, size=shape).astype(dtype)
        if "int" in dtype.name:
            return random.randint(0, 2, size=shape).astype(dtype)
        if dtype.kind == "c":
            return np.asarray(random.standard_normal(shape) + 1j * random.standard_normal(shape)).astype(dtype)
        values = np.asarray(random.standard_normal(shape))
        return (np.abs(values) + 0.01 if positive else values).astype(dtype)

    def attempt(path, kind):
        with open(path) as handle:
            text = handle.read()
        if largest(text) > max_elements:
            return "large", ""
        if any(int(count) > 1 for count in re.findall(r"(?:replica_count|num_partitions)=(\d+)", text)):
            return "devices", ""
        if " rng(" in text:
            return "random", ""
        if "({...})" in text or "{...}" in text:
            return "elided", ""
        try:
            module = _hlo.hlo_module_from_text(text)
        except Exception as error:
            return "unparsed", corpus.one_line(str(error))
        try:
            code = _jax.mlir.hlo_to_stablehlo(module.as_serialized_hlo_module_proto())
            with context:
                program = ir.Module.parse(code)
        except Exception as error:
            return "inexpressible", corpus.one_line(str(error))
        with context:
            attributes = program.operation.attributes
            for key in ("mhlo.num_replicas", "mhlo.num_partitions"):
                if key in attributes and ir.IntegerAttr(attributes[key]).value > 1:
                    return "devices", ""
            mains = [f for f in program.body.operations if getattr(f, "name", None) and f.name.value == "main"]
            random = np.random.RandomState(seed)
            try:
                arguments = []
                fitting = reshape_sizes(text)
                for number, value in enumerate(mains[0].regions[0].blocks[0].arguments):
                    array = ir.RankedTensorType(value.type)
                    dtype = np.dtype(types[str(array.element_type)])
                    made = argument(random, tuple(array.shape), dtype, kind)
                    arguments.append(np.full_like(made, fitting[number]) if number in fitting else made)
            except Exception as error:
                return "arguments", corpus.one_line(str(error))
        try:
            with context:
                options = compiler.get_compile_options(1, 1)
                devices = xla_client.DeviceList((device,))
                executable = backend.compile_and_load(program, devices, options, [])
            results = [np.asarray(x) for x in executable.execute([jax.device_put(a, device) for a in arguments])]
        except Exception as error:
            return "refused", corpus.one_line(str(error))
        np.savez(path + ".in.npz", *arguments)
        np.savez(path + ".out.npz", *results)
        return "ran", " ".join(result.dtype.name for result in results)

    for line in sys.stdin:
        kind, path = line.strip().split(" ", 1)
        verdict, message = attempt(path, kind)
        print("ANSWER", verdict, message.replace("\t", " "), sep="\t", flush=True)


class Reference:
    """The worker, started again when a module takes it down."""

    def __init__(self, arguments):
        self.command = [sys.executable, os.path.abspath(__file__), "--worker", str(arguments.max_elements), str(arguments.seed)]
        self.process = None

    def ask(self, path, kind):
        if self.process is None:
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
            )
        try:
            self.process.stdin.write(f"{kind} {path}\n")
            self.process.stdin.flush()
            for line in self.process.stdout:
                if line.startswith("ANSWER\t"):
                    return line.rstrip("\n").split("\t")[1:]
        except BrokenPipeError:
            pass
        self.process.wait()
        self.process = None
        return ["crashed", "jaxlib's process ended"]


def arrays(path):
    import numpy as np

    with np.load(path) as archive:
        return [archive[name] for name in archive.files]


def difference(expected, found, dynamic):
    """What differs, or an empty string."""
    import numpy as np

    if len(expected) != len(found):
        return f"{len(found)} results instead of {len(expected)}"
    for number, (x, y, dtype) in enumerate((*pair, pair[0].dtype) for pair in zip(expected, found)):
        if dynamic and x.ndim == y.ndim and all(n <= bound for n, bound in zip(y.shape, x.shape)):
            # A client of XLA gets memory of the bound's size, at whose start the actual elements lie densely.
            x = x.ravel()[: y.size].reshape(y.shape)
        if x.shape != y.shape or x.dtype.itemsize != y.dtype.itemsize:
            return f"result {number} is {y.dtype}{list(y.shape)} instead of {x.dtype}{list(x.shape)}"
        if y.dtype != x.dtype:
            y = y.view(x.dtype)
        if x.size == 0:
            continue
        if x.dtype.kind in "iub" or "int" in dtype.name:
            bad = x != y
        else:
            wide = np.complex128 if x.dtype.kind == "c" else np.float64
            with np.errstate(all="ignore"):
                a, b = x.astype(wide), y.astype(wide)
                rtol = RTOL[x.dtype.itemsize // (2 if x.dtype.kind == "c" else 1)]
                finite = np.abs(a[np.isfinite(a)])
                scale = finite.max() if finite.size else 0
                bad = ~((a == b) | (np.isnan(a) & np.isnan(b)) | (np.abs(a - b) <= rtol * (np.abs(a) + scale)))
        if bad.any():
            at = tuple(int(i) for i in np.argwhere(bad)[0])
            return f"result {number}: {int(bad.sum())} of {x.size} differ, first at {at}: {y[at]!r} instead of {x[at]!r}"
    return ""


def compare(reference, arguments, path, kind):
    """Verdict and message for one module."""
    import ml_dtypes
    import numpy as np

    verdict, message = reference.ask(path, kind)
    if verdict != "ran":
        return verdict, message
    command = [arguments.tool, "run", path, "--backend", arguments.backend, "--input", path + ".in.npz", "--output", path + ".found.npz"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=arguments.timeout)
    except subprocess.TimeoutExpired:
        return "slow", f"more than {arguments.timeout} s"
    if done.returncode != 0:
        panicked = done.returncode < 0 or "panicked" in done.stderr
        return "panicked" if panicked else "failed", corpus.one_line(done.stderr)
    expected = arrays(path + ".out.npz")
    for i, dtype in enumerate(message.split(" ") if message else []):
        if expected[i].dtype.kind == "V":
            expected[i] = expected[i].view(np.dtype(getattr(ml_dtypes, dtype)))
    with open(path) as handle:
        dynamic = "<=" in handle.read()
    message = difference(expected, arrays(path + ".found.npz"), dynamic)
    return "differs" if message else "agrees", message


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", metavar="DIR")
    parser.add_argument("--tool", default="target/debug/rxla")
    parser.add_argument("--backend", default="interpreter", choices=["interpreter", "cpu"])
    parser.add_argument("--limit", type=int, default=None)
    parser.add_argument("--max-elements", type=int, default=1 << 22)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--timeout", type=float, default=60)
    parser.add_argument("--filter", default="")
    parser.add_argument("--list", action="store_true", help="say a word on every module")
    arguments = parser.parse_args()

    counts, examples = collections.Counter(), collections.defaultdict(list)
    reference = Reference(arguments)
    with tempfile.TemporaryDirectory() as folder:
        found = [module for module in corpus.modules(arguments.root) if arguments.filter in module[0]]
        for number, (name, text) in enumerate(found[: arguments.limit]):
            path = os.path.join(folder, f"{number}.hlo")
            with open(path, "w") as handle:
                handle.write(text)
            verdict, message = compare(reference, arguments, path, "any")
            if verdict == "differs":
                again, _ = compare(reference, arguments, path, "positive")
                if again == "agrees":
                    verdict = "agrees (+)"
            if verdict == "differs" and UNSTABLE.search(text):
                again, _ = compare(reference, arguments, path, "distinct")
                if again == "agrees":
                    verdict = "agrees (!)"
            counts[verdict] += 1
            examples[verdict].append((name, message))
            if arguments.list:
                print(f"{verdict:14} {name} {message}", flush=True)
            for tail in (".hlo", ".hlo.in.npz", ".hlo.out.npz", ".hlo.found.npz"):
                if os.path.exists(os.path.join(folder, f"{number}{tail}")):
                    os.remove(os.path.join(folder, f"{number}{tail}"))
    agreed = sum(counts[v] for v in ("agrees", "agrees (+)", "agrees (!)"))
    ran = agreed + sum(counts[v] for v in ("differs", "failed", "panicked", "slow"))
    for verdict, count in counts.most_common():
        print(f"{count:6} {verdict}")
    if ran:
        print(f"{100 * agreed / ran:.2f} % of the {ran} modules that jaxlib runs agree")
    for verdict in ("panicked", "differs", "failed", "slow"):
        for name, message in examples[verdict]:
            print(f"{verdict}: {name}: {message}")


if __name__ == "__main__":
    if len(sys.argv) == 4 and sys.argv[1] == "--worker":
        worker(int(sys.argv[2]), int(sys.argv[3]))
    else:
        main()
