"""Compares what lies around programs on rxla and on jaxlib's XLA:CPU: how soon the first result is there, what a call
from Python costs, callbacks, and several devices in one process.

    python benches/host.py
    python benches/host.py --platform rxla --only callback,devices

With `--platform cpu` rxla is JAX's platform `cpu`, else one of its own, where JAX lowers callbacks in another way. The
two platforms are processes that are asked by turns; medians are compared, above 1 rxla is faster. Nothing is compared
with what the machine can do.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
LIBRARY = HERE.parent / "target" / "release" / "librxla_pjrt.so"
DEVICES = 4

FIRST_RESULT = """
import time
start = time.perf_counter()
import jax
imported = time.perf_counter()
x = jax.numpy.arange(10.0)
(jax.numpy.sin(x) @ x).block_until_ready()
print(time.perf_counter() - imported)
"""


def cases() -> dict:
    """What is measured, by name: functions without arguments."""
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax import lax
    from jax.experimental import io_callback
    from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

    x, key = jnp.arange(16.0), jax.random.key(0)
    host, large = np.ones(16, np.float32), np.ones((1000, 1000), np.float32)
    tree = {name: x for name in "abcdefghijklmnopqrst"}
    wait = jax.block_until_ready
    of = lambda function, *arguments: (lambda f: lambda: wait(f(*arguments)))(jax.jit(function))
    same = lambda x: jax.pure_callback(lambda x: x, x, x)
    found = {
        "eager_add": lambda: x + 1.0,
        "eager_index": lambda: x[3],
        "eager_set": lambda: x.at[2].set(1.0),
        "eager_split": lambda: jax.random.split(key),
        "eager_to_numpy": lambda: np.asarray(x + 1.0),
        "jit_two_arguments": of(lambda x, y: (x + y, x * y), x, x),
        "jit_of_numpy": of(lambda x, y: (x + y, x * y), host, host),
        "jit_tree_of_20": of(lambda tree: jax.tree.map(lambda x: x + 1, tree), tree),
        "put_4mb": lambda: wait(jax.device_put(large)),
        "from_dlpack_4mb": lambda: jnp.from_dlpack(large),
        "callback_pure": of(same, x),
        "callback_pure_4mb": of(same, jnp.asarray(large)),
        "callback_ordered": of(lambda x: io_callback(lambda x: x, x, x, ordered=True), x),
        "callback_in_scan_50": of(lambda x: lax.scan(lambda x, _: (same(x), None), x, None, length=50)[0], x),
    }
    mesh = Mesh(np.array(jax.devices()[:DEVICES]), ("i",))
    spread = lambda size: jax.device_put(np.ones((size, size), np.float32), NamedSharding(mesh, P("i")))
    small = spread(64)
    on_all = lambda function, out: jax.shard_map(function, mesh=mesh, in_specs=P("i"), out_specs=out, check_vma=False)
    total = on_all(lambda x: lax.psum(x, "i"), P())
    means = on_all(lambda x: lax.fori_loop(0, 20, lambda _, x: lax.pmean(x, "i") + 1, x), P("i"))
    turn = [(i, (i + 1) % DEVICES) for i in range(DEVICES)]
    return found | {
        "devices_apart": of(on_all(lambda x: x + 1, P("i")), small),
        "devices_psum": of(total, small),
        "devices_psum_4mb": of(total, spread(1024)),
        "devices_pmean_20": of(means, small),
        "devices_gather": of(on_all(lambda x: lax.all_gather(x, "i", tiled=True), P()), small),
        "devices_permute": of(on_all(lambda x: lax.ppermute(x, "i", turn), P("i")), small),
        "devices_product": of(lambda x: (x @ x.T).sum(), small),
    }


def serve() -> None:
    """Answers names with seconds per call."""
    known = cases()
    for case in known.values():
        for _ in range(3):
            case()
    print(json.dumps(list(known)), flush=True)
    for line in sys.stdin:
        case, times = known[line.strip()], []
        for _ in range(3):
            start, count = time.perf_counter(), 0
            while time.perf_counter() - start < 0.01:
                case()
                count += 1
            times.append((time.perf_counter() - start) / count)
        print(min(times), flush=True)


def environment(platform: str, kept: str) -> dict:
    inherited = {name: value for name, value in os.environ.items() if name not in ("JAX_PLATFORMS", "RXLA_AS_CPU")}
    flags = f"{inherited.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={DEVICES}"
    path = os.pathsep.join(filter(None, [str(HERE.parent / "python"), inherited.get("PYTHONPATH")]))
    inherited |= {"XLA_FLAGS": flags, "PYTHONPATH": path, "RXLA_CACHE_DIR": kept}
    inherited |= {"RXLA_NUM_DEVICES": str(DEVICES)}
    inherited.setdefault("RXLA_LIBRARY_PATH", str(LIBRARY))
    chosen = {"XLA:CPU": {"JAX_PLATFORMS": "cpu"}, "cpu": {"RXLA_AS_CPU": "1"}, "rxla": {"JAX_PLATFORMS": "rxla"}}
    return inherited | chosen[platform]


def show(name: str, theirs: list[float], ours: list[float]) -> None:
    theirs, ours = statistics.median(theirs), statistics.median(ours)
    print(f"{name:24} {1e6 * theirs:12.1f} {1e6 * ours:12.1f} {theirs / ours:7.2f}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="parts of names, by commas")
    parser.add_argument("--platform", choices=["cpu", "rxla"], default="cpu", help="what JAX knows rxla as")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve()
        return 0
    wanted = [part for part in options.only.split(",") if part]
    chosen = lambda name: not wanted or any(part in name for part in wanted)
    print(f"{'in microseconds':24} {'XLA:CPU':>12} {'rxla':>12} {'ratio':>7}")
    with tempfile.TemporaryDirectory() as kept:
        both = [environment("XLA:CPU", kept), environment(options.platform, kept)]
        if chosen("first_result"):
            first = lambda env: float(subprocess.check_output([options.python, "-c", FIRST_RESULT], env=env, text=True))
            first(both[1])  # Leaves its programs for those after it.
            show("first_result", *zip(*[[first(env) for env in both] for _ in range(options.rounds)]))
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        servers = [subprocess.Popen([options.python, __file__, "--serve"], env=env, **pipes) for env in both]
        names = [json.loads(server.stdout.readline()) for server in servers][0]

        def ask(server, name):
            print(name, file=server.stdin, flush=True)
            return float(server.stdout.readline())

        for name in filter(chosen, names):
            show(name, *zip(*[[ask(server, name) for server in servers] for _ in range(options.rounds)]))
        for server in servers:
            server.kill()
    return 0


if __name__ == "__main__":
    sys.exit(main())
