"""Compares what rxla reads from MLIR bytecode with what jaxlib reads.

    survey_bytecode.py make DIR [--files GLOB…]    writes bytecode of many JAX programs (and of .mlir files)
    survey_bytecode.py rewrite DIR --rewrite PROGRAM [--version V]   the same for what rxla writes
    survey_bytecode.py texts DIR                   writes the programs as text, for the example `compare_forms`
    survey_bytecode.py summary DIR                 prints the operations in each file of DIR
    survey_bytecode.py check DIR --dump PROGRAM    runs `dump_bytecode` on them and compares

Each program is written as JAX sends it to a plugin (versioned, mixed with Shardy), at an older
version where one can say it, and without versions.
"""

import argparse
import glob
import io
import os
import subprocess
import sys

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=8"

from jaxlib import _jax
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

import mlir_dump

OLD_VERSIONS = ["1.13.7", "1.10.0", "1.5.0", "1.0.0", "0.20.0", "0.14.0", "0.11.0", "0.9.0"]


def context():
    from jax._src.interpreters import mlir

    return mlir.make_ir_context()


def write(module, directory, name, turn):
    """The encodings of one module; returns how many were written."""
    written = 0

    def put(kind, data):
        nonlocal written
        with open(os.path.join(directory, f"{name}.{kind}.mlirbc"), "wb") as out:
            out.write(data)
        written += 1

    try:
        put("plugin", _jax.mlir.serialize_portable_artifact(str_of(module), "1.17.0", True))
    except Exception:
        pass  # What is in no version.
    plain = io.BytesIO()
    module.operation.write_bytecode(plain)
    put("plain", plain.getvalue())
    old = OLD_VERSIONS[turn % len(OLD_VERSIONS)]
    try:
        put("v" + old.replace(".", "_"), _jax.mlir.serialize_portable_artifact(str_of(module), old, True))
    except Exception:
        pass  # Newer than that version.
    return written


def str_of(module):
    out = io.BytesIO()
    module.operation.write_bytecode(out)
    return out.getvalue()


def make(directory, patterns):
    import jax
    import programs

    os.makedirs(directory, exist_ok=True)
    count = failed = 0
    for name, lower in programs.all_programs():
        try:
            module = lower().compiler_ir("stablehlo")
            write(module, directory, name, count)
            count += 1
        except Exception as error:
            failed += 1
            print(f"{name}: {' '.join(str(error).split())[:200] or type(error)}", file=sys.stderr)
    print(f"{count} JAX programs, {failed} not lowered")
    count = failed = 0
    for pattern in patterns:
        for path in sorted(glob.glob(pattern)):
            name = "file_" + os.path.basename(path).removesuffix(".mlir")
            for number, text in enumerate(open(path).read().split("// -----")):
                try:
                    with context() as ctx:
                        ctx.allow_unregistered_dialects = True
                        write(ir.Module.parse(text, ctx), directory, f"{name}.{number}", count)
                    count += 1
                except Exception:  # Many of these files are about errors.
                    failed += 1
    print(f"{count} modules in files, {failed} not written")


def read(path, plain=False):
    data = open(path, "rb").read()
    ctx = context()
    ctx.allow_unregistered_dialects = True
    with ctx:
        if plain or path.endswith(".plain.mlirbc"):
            return ir.Module.parse(data, ctx)
        return stablehlo.deserialize_portable_artifact(ctx, data)


def check(directory, program, limit):
    paths = sorted(glob.glob(os.path.join(directory, "*.mlirbc")))
    for start in range(0, len(paths), 500):
        subprocess.run([program, *paths[start : start + 500]])
    same = skipped = operations = 0
    different = []
    for path in paths:
        ours = open(path + ".dump").read()
        try:
            module = read(path)
            theirs = mlir_dump.dump(module)
        except Exception as error:
            skipped += 1
            print(f"jaxlib: {os.path.basename(path)}: {str(error)[:200]}", file=sys.stderr)
            continue
        operations += sum("->" in line for line in theirs.splitlines())
        if ours == theirs:
            same += 1
            continue
        different.append(path)
        if len(different) <= limit:
            show_difference(path, ours, theirs)
    print(f"{len(paths)} files, {operations} operations: {same} same, {len(different)} different, {skipped} not read by jaxlib")
    return 1 if different else 0


def rewritten(directory, program, version, limit):
    """Whether jaxlib finds the same in what rxla wrote as in what rxla read."""
    paths = sorted(glob.glob(os.path.join(directory, "*.mlirbc")))
    # Versioned programs leave out defaults, plain ones need not.
    paths = [path for path in paths if path.endswith(".plain.mlirbc") == (version == "plain")]
    for start in range(0, len(paths), 500):
        subprocess.run([program, version, *paths[start : start + 500]])
    same = missing = different = 0
    sizes = [0, 0]
    for path in paths:
        out = f"{path}.{version}.out"
        if not os.path.exists(out):
            missing += 1
            continue
        theirs = mlir_dump.dump(read(path))
        try:
            ours = mlir_dump.dump(read(out, version == "plain"))
        except Exception as error:
            ours = f"jaxlib: {str(error)[:300]}"
        sizes[0] += os.path.getsize(path)
        sizes[1] += os.path.getsize(out)
        os.remove(out)
        if ours == theirs:
            same += 1
            continue
        different += 1
        if different <= limit:
            show_difference(path, ours, theirs)
    print(f"{len(paths)} files written at {version}: {same} same, {different} different, {missing} not written; "
          f"{sizes[1]} bytes instead of {sizes[0]}")
    return 1 if different else 0


def show_difference(path, ours, theirs):
    print(os.path.basename(path))
    if ours.startswith(("error", "jaxlib")):
        print("  " + ours.strip())
        return
    a, b = ours.splitlines(), theirs.splitlines()
    for x, y in zip(a, b):
        if x != y:
            at = len(os.path.commonprefix([x, y]))
            start = max(0, at - 60)
            print(f"  {x[:60]} …")
            print("  rxla:   " + x[start : at + 100])
            print("  jaxlib: " + y[start : at + 100])
            return
    print(f"  {len(a)} lines here, {len(b)} there")


def texts(directory):
    """Each program as jaxlib prints it, both ways, beside its bytecode."""
    for path in sorted(glob.glob(os.path.join(directory, "*.mlirbc"))):
        module = read(path)
        for suffix, generic in ((".pretty.mlir", False), (".generic.mlir", True)):
            with open(path + suffix, "w") as out:
                out.write(module.operation.get_asm(enable_debug_info=True, print_generic_op_form=generic))


def summary(directory):
    """What jaxlib finds in each file: how many of each operation."""
    for path in sorted(glob.glob(os.path.join(directory, "*.mlirbc"))):
        counts = {}
        module = read(path)

        def count(operation):
            counts[operation.name] = counts.get(operation.name, 0) + 1
            for region in operation.regions:
                for block in region.blocks:
                    for inner in block.operations:
                        count(inner.operation)

        count(module.operation)
        text = ", ".join(f"{counts[name]} {name}" for name in sorted(counts))
        print(f"{os.path.basename(path)}: {text}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("make")
    one.add_argument("directory")
    one.add_argument("--files", nargs="*", default=[])
    two = commands.add_parser("check")
    two.add_argument("directory")
    two.add_argument("--dump", required=True)
    two.add_argument("--limit", type=int, default=10)
    three = commands.add_parser("rewrite")
    three.add_argument("directory")
    three.add_argument("--rewrite", required=True)
    three.add_argument("--version", default="1.17.0")
    three.add_argument("--limit", type=int, default=10)
    commands.add_parser("texts").add_argument("directory")
    commands.add_parser("summary").add_argument("directory")
    arguments = parser.parse_args()
    if arguments.command == "texts":
        texts(arguments.directory)
        return 0
    if arguments.command == "summary":
        summary(arguments.directory)
        return 0
    if arguments.command == "make":
        make(arguments.directory, arguments.files)
        return 0
    if arguments.command == "rewrite":
        return rewritten(arguments.directory, arguments.rewrite, arguments.version, arguments.limit)
    return check(arguments.directory, arguments.dump, arguments.limit)


if __name__ == "__main__":
    sys.exit(main())
