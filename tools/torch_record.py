#!/usr/bin/env python3
"""Records programs of PyTorch/XLA's own tests, for tests that have no PyTorch.

  tools/torch_record.py record --tests XLA/test DUMPS                     # hours less with --only NAME
  tools/torch_record.py pick DUMPS crates/client/tests/data/torch_tests.zip

`record` runs the tests on PyTorch/XLA's CPU device, which writes the modules it is given. `pick` takes few of them: first
those that show most operations, element types and custom calls that no other has shown yet, for their size. What
says where a program came from is left out. The number before the name of a module is that of its devices.
"""

import argparse
import math
import os
import pathlib
import shutil
import subprocess
import sys
import zipfile

import protos

FILES = {
    "test_operations.py": 1, "test_data_type.py": 1, "test_input_output_aliases.py": 1, "test_while_loop.py": 1,
    "scan/test_scan.py": 1, "dynamo/test_bridge.py": 1, "quantized_ops/test_dot_general.py": 1,
    "quantized_ops/test_quantized_matmul.py": 1, "test_gru.py": 1, "test_autocast_xla.py": 1, "test_mp_all_gather.py": 4,
    "test_mp_all_to_all.py": 4, "test_mp_reduce_scatter.py": 4, "test_mp_collective_permute.py": 4,
}
LARGEST = 24_000
# What is never the same twice, or comes from outside.
UNSTEADY = {b"rng", b"infeed", b"outfeed", b"send", b"recv"}


def record(tests: pathlib.Path, dumps: pathlib.Path, only: list[str]) -> None:
    for file, devices in FILES.items():
        if only and file not in only:
            continue
        folder = dumps / f"{devices}.{file.replace('/', '.')}"
        folder.mkdir(parents=True, exist_ok=True)
        environment = {
            **os.environ, "PJRT_DEVICE": "CPU", "CPU_NUM_DEVICES": str(devices), "PYTHONPATH": str(tests),
            "XLA_FLAGS": f"--xla_dump_to={folder} --xla_dump_hlo_as_proto --xla_backend_optimization_level=0",
        }
        print(file, subprocess.run([sys.executable, tests / file], cwd=tests, env=environment).returncode, flush=True)
        for path in folder.iterdir():
            if not path.name.endswith(".before_optimizations.hlo.pb"):
                shutil.rmtree(path) if path.is_dir() else path.unlink()


def features(module: bytes) -> set:
    """What a module shows: operations with the types of their results, and targets of custom calls."""
    shown = set()
    for computation in protos.of(module, protos.COMPUTATIONS):
        for instruction in protos.of(computation, protos.INSTRUCTIONS):
            opcode = protos.of(instruction, protos.OPCODE)[0]
            shape = protos.of(instruction, protos.SHAPE)[0]
            parts = protos.of(shape, protos.PARTS) or [shape]
            shown |= {(opcode, *protos.of(part, protos.ELEMENT_TYPE)) for part in parts}
            shown |= {("call of", target) for target in protos.of(instruction, protos.TARGET)}
    return shown


def pick(dumps: pathlib.Path, archive: pathlib.Path, most: int) -> None:
    found = {}
    for path in sorted(dumps.glob("*/*.before_optimizations.hlo.pb")):
        module = protos.of(path.read_bytes(), protos.MODULE_OF_PROTO)
        if not module or len(module[0]) > 4 * LARGEST:
            continue
        module = protos.without_metadata(module[0])
        shown = features(module)
        if len(module) <= LARGEST and not {opcode for opcode, *_ in shown} & UNSTEADY:
            devices = path.parent.name.split(".")[0]
            found.setdefault((devices, module), shown)
    print(f"{len(found)} modules, {len(set().union(*found.values()))} features")
    covered, size = set(), 0
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as out:
        while found and size < most:
            # A small program that shows one thing is worth more than a large one that shows two.
            worth = {key: len(shown - covered) / math.sqrt(len(key[1])) for key, shown in found.items()}
            best = max(found, key=lambda key: (worth[key], -len(key[1]), key))
            if not worth[best]:
                break
            covered |= found.pop(best)
            devices, module = best
            size += len(module)
            # No time of day gets into the archive.
            out.writestr(zipfile.ZipInfo(f"{devices}.{len(out.infolist()):03}.pb"), module, zipfile.ZIP_DEFLATED)
        count = len(out.infolist())
    print(f"{count} picked, {len(covered)} features, {size} bytes, {archive.stat().st_size} packed")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="what", required=True)
    records = commands.add_parser("record")
    records.add_argument("--tests", type=pathlib.Path, required=True)
    records.add_argument("--only", nargs="*", default=[])
    records.add_argument("dumps", type=pathlib.Path)
    picks = commands.add_parser("pick")
    picks.add_argument("--most", type=int, default=600_000, help="bytes before packing")
    picks.add_argument("dumps", type=pathlib.Path)
    picks.add_argument("archive", type=pathlib.Path)
    options = parser.parse_args()
    if options.what == "record":
        record(options.tests.resolve(), options.dumps.resolve(), options.only)
    else:
        pick(options.dumps, options.archive, options.most)


if __name__ == "__main__":
    main()
