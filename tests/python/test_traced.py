"""Programs of earlier processes are known by what JAX traced, and are what they were."""

import os
import pathlib
import subprocess
import sys

CODE = """
import sys
import jax, jax.numpy as jnp, numpy as np
from jax._src import compiler

written = 0
inner = compiler.backend_compile_and_load

def counted(*args, **kwargs):
    global written
    written += 1
    return inner(*args, **kwargs)

# Before rxla's: it is asked for what is not known.
compiler.backend_compile_and_load = counted
device = jax.devices()[0]
x, y = jax.device_put((np.arange(6.0, dtype=np.float32), np.ones(6, np.float32)), device)
scale = float(sys.argv[1])
program = jax.jit(lambda x, y: (scale * x + y, {"sum": (x @ y).astype(jnp.bfloat16), "y": y}), donate_argnums=0)
with jax.default_device(device):
    compiled = program.lower(x, y).compile()
before = written
scaled, others = compiled(x, y)
assert x.is_deleted() and not y.is_deleted()
assert others["sum"].dtype == jnp.bfloat16 and compiled.memory_analysis().output_size_in_bytes > 0
assert "HloModule" in compiled.as_text()
print(before, np.asarray(scaled).tolist(), float(others["sum"]))
"""


def run(cache: pathlib.Path, scale: float) -> tuple[int, str]:
    """How many programs jaxlib wrote down for the plugin, and results."""
    environment = {**os.environ, "RXLA_CACHE_DIR": str(cache)}
    done = subprocess.run([sys.executable, "-c", CODE, str(scale)], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    count, results = done.stdout.split(" ", 1)
    return int(count), results


def test_a_program_is_known_in_the_next_process(tmp_path):
    first, results = run(tmp_path, 2)
    assert first == 1 and results == "[1.0, 3.0, 5.0, 7.0, 9.0, 11.0] 15.0\n"
    assert run(tmp_path, 2) == (0, results)
    other, results = run(tmp_path, 3)
    assert other == 1 and results == "[1.0, 4.0, 7.0, 10.0, 13.0, 16.0] 15.0\n"


def test_what_is_damaged_or_lost_is_compiled_anew(tmp_path):
    _, results = run(tmp_path, 2)
    for file in tmp_path.rglob("*.obj"):
        file.write_bytes(file.read_bytes()[:-1] + b"?")
    assert run(tmp_path, 2) == (1, results)
    # The program is still known, its code is not.
    sizes = sorted((file.stat().st_size, file) for file in tmp_path.rglob("*.obj"))
    sizes[-1][1].unlink()
    assert run(tmp_path, 2)[1] == results
    assert run(tmp_path, 2) == (0, results)


def test_nothing_is_kept_without_a_place(tmp_path):
    environment = {**os.environ, "RXLA_CACHE_DIR": ""}
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", CODE, "2"], env=environment, capture_output=True, text=True)
        assert done.returncode == 0 and done.stdout.startswith("1 "), (done.stdout, done.stderr)
