"""What watching costs: the time of a call of benchmarked programs while nobody records, and while `jax.profiler` does.

    JAX_PLATFORMS=rxla python benches/profiling.py [PROGRAM…]

Off and on take turns, so that a busy machine slows both. Python's own tracer is off while recording: it costs a
multiple of all else and says nothing of programs. The first recorded call, for which a program is compiled again, is
told apart.
"""

import argparse
import pathlib
import statistics
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import jax  # noqa: E402

jax.config.update("jax_enable_x64", True)

from workloads import all_workloads  # noqa: E402

PROGRAMS = ["scalar_add", "many_small_dots", "mnist_mlp_train", "scan_lstm", "resnet50_forward", "gpt2_small_prefill"]
ROUNDS = 9
SECONDS = 0.3


def timed(call, count):
    start = time.perf_counter()
    for _ in range(count):
        result = call()
    jax.block_until_ready(result)
    return (time.perf_counter() - start) / count


def measure(workload):
    program, arguments = workload.make()
    arguments = [jax.device_put(argument) for argument in arguments]
    compiled = jax.jit(program)
    call = lambda: compiled(*arguments)  # noqa: E731
    jax.block_until_ready(call())
    # A recording keeps a million events.
    count = max(1, min(2000, int(SECONDS / timed(call, 3))))
    options = jax.profiler.ProfileOptions()
    options.python_tracer_level = 0
    off, on, first = [], [], None
    for _ in range(ROUNDS):
        off.append(timed(call, count))
        with tempfile.TemporaryDirectory() as folder, jax.profiler.trace(folder, profiler_options=options):
            once = timed(call, 1)
            first = once if first is None else first
            on.append(timed(call, count))
    return min(off), statistics.median(off), min(on), statistics.median(on), first


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=PROGRAMS)
    options = parser.parse_args()
    known = {w.name: w for w in all_workloads()}
    print(f"{jax.devices()[0].client.platform_version}; microseconds of a call, the best and the median of {ROUNDS}")
    print(f"{'program':24} {'off':>20} {'on':>20} {'best':>8} {'first on':>10}")
    for name in options.names:
        if name not in known:
            parser.error(f"there is no program `{name}`; run.py's table lists them")
        off, off_median, on, on_median, first = (1e6 * value for value in measure(known[name]))
        print(
            f"{name:24} {off:9.1f} {off_median:10.1f} {on:9.1f} {on_median:10.1f} {100 * (on / off - 1):+7.1f}% {first:10.0f}"
        )


if __name__ == "__main__":
    main()
