"""Writes benchmarked programs as files for the command `rxla`, as JAX lowers them: StableHLO bytecode with locations.

    python benches/export.py resnet50_forward gpt2_small_train --output DIRECTORY
"""

import argparse
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import jax  # noqa: E402

jax.config.update("jax_enable_x64", True)

from workloads import all_workloads  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+")
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("."))
    options = parser.parse_args()
    known = {w.name: w for w in all_workloads()}
    options.output.mkdir(parents=True, exist_ok=True)
    for name in options.names:
        if name not in known:
            parser.error(f"there is no program `{name}`; run.py's table lists them")
        program, arguments = known[name].make()
        path = options.output / f"{name}.mlirbc"
        with path.open("wb") as file:
            jax.jit(program).lower(*arguments).compiler_ir("stablehlo").operation.write_bytecode(file)
        print(path)


if __name__ == "__main__":
    main()
