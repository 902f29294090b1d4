"""Programs that take long run apart from who calls them."""

import gc
import os
import subprocess
import sys
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pytest

# Long by the number of its steps, which the compiler knows: what is estimated at more than
# `--rxla_inline_us` never runs where it is called.
STEPS = 200_000


@jax.jit
def long(x):
    return jax.lax.fori_loop(0, STEPS, lambda i, a: jnp.sin(a) + i, x)


def expected(x):
    return jax.jit(lambda x: jax.lax.fori_loop(0, STEPS, lambda i, a: jnp.sin(a) + i, x))(x)


def run_apart(code):
    """Runs Python code with this platform in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=300
    )


def test_the_call_returns_before_the_work_is_done():
    # Some hundred milliseconds of work, called often: none could be done when all were called.
    x = jnp.arange(8.0)
    results = [long(x + i) for i in range(8)]
    assert not results[-1].is_ready()
    assert not all(result.is_ready() for result in results)
    jax.block_until_ready(results)
    assert all(result.is_ready() for result in results)
    for i, result in enumerate(results):
        np.testing.assert_array_equal(result, expected(x + i))


def test_what_is_computed_from_it_waits_without_the_caller():
    x = jnp.arange(8.0)
    y = long(x)
    for _ in range(5):
        y = long(y)
    z = y + 1
    w = jnp.dot(z, z)
    assert not w.is_ready()
    reference = x
    for _ in range(6):
        reference = jax.block_until_ready(expected(reference))
    np.testing.assert_array_equal(z, reference + 1)
    np.testing.assert_array_equal(w, jnp.dot(reference + 1, reference + 1))


def test_donated_arguments_are_gone_at_once():
    step = jax.jit(long, donate_argnums=0)
    x = jnp.arange(64.0)
    kept = x + 0
    read = long(x)
    first = step(x)
    assert x.is_deleted()
    second = step(first)
    assert first.is_deleted()
    with pytest.raises((RuntimeError, ValueError), match="deleted"):
        np.asarray(first)
    np.testing.assert_array_equal(read, expected(kept))
    np.testing.assert_array_equal(second, expected(expected(kept)))


def test_deleting_leaves_those_their_values_who_asked_before():
    x = jnp.arange(8.0)
    y = long(x)
    z = y + 1
    copied = jax.device_put(y, jax.devices()[1])
    y.copy_to_host_async()
    y.delete()
    assert y.is_deleted()
    np.testing.assert_array_equal(z, expected(x) + 1)
    np.testing.assert_array_equal(copied, expected(x))


def test_arguments_live_until_they_were_read():
    owner = np.arange(256, dtype=np.float32)
    kept = owner.copy()
    x = jnp.asarray(owner)
    y = long(x)
    del x, owner
    gc.collect()
    np.testing.assert_array_equal(y, expected(jnp.asarray(kept)))


def test_views_and_addresses_wait():
    x = jnp.arange(8.0)
    y = long(x)
    address = y.unsafe_buffer_pointer()
    assert y.is_ready()
    assert address == y.unsafe_buffer_pointer()
    z = long(x + 1)
    np.testing.assert_array_equal(np.asarray(z), expected(x + 1))


def test_executables_may_go_while_they_run():
    program = jax.jit(lambda x: long(x) * 2).lower(jnp.arange(8.0)).compile()
    y = program(jnp.arange(8.0))
    gone = weakref.ref(program)
    del program
    gc.collect()
    assert gone() is None
    np.testing.assert_array_equal(y, expected(jnp.arange(8.0)) * 2)


def test_a_loop_that_runs_ahead_is_held_back():
    x = jnp.ones(64)
    results = []
    for _ in range(100):
        x = long(x)
        results.append(x)
        # Those before the last 32 and the one that runs are done.
        assert all(result.is_ready() for result in results[:-34])
    jax.block_until_ready(x)


def test_callbacks_of_python_run_programs_while_others_run():
    def twice(x):
        return np.asarray(long(jnp.asarray(x)) * 2)

    shape = jax.ShapeDtypeStruct((8,), jnp.float32)
    program = jax.jit(lambda x: jax.pure_callback(twice, shape, x) + 1)
    x = jnp.arange(8.0)
    before = [long(x) for _ in range(3)]
    y = program(before[-1])
    after = long(y)
    np.testing.assert_array_equal(y, expected(expected(x)) * 2 + 1)
    np.testing.assert_array_equal(after, expected(y))


@pytest.mark.parametrize("ordered", [True, False])
def test_effects_keep_the_order_of_calls(ordered):
    seen = []

    @jax.jit
    def program(x):
        y = jax.lax.fori_loop(0, STEPS // 20, lambda i, a: jnp.sin(a) + i, x)
        jax.experimental.io_callback(
            lambda v: seen.append(int(v[0])), None, x.astype(jnp.int32), ordered=ordered
        )
        return y

    for i in range(10):
        program(long(jnp.full(4, float(i))) * 0 + i)
    jax.effects_barrier()
    assert seen == list(range(10))


def test_errors_reach_what_is_computed_from_the_result():
    def fail(x):
        raise ValueError("refused here")

    shape = jax.ShapeDtypeStruct((8,), jnp.float32)
    program = jax.jit(lambda x: jax.pure_callback(fail, shape, x) + 1)
    with pytest.raises(jax.errors.JaxRuntimeError, match="refused here"):
        jax.block_until_ready(long(program(long(jnp.arange(8.0)))))
    # The device goes on.
    np.testing.assert_array_equal(long(jnp.arange(8.0)), expected(jnp.arange(8.0)))


def test_collectives_of_devices_that_are_still_at_work():
    devices = jax.devices()[:4]
    mesh = jax.sharding.Mesh(np.array(devices), ("d",))
    spec = jax.sharding.PartitionSpec("d")

    @jax.jit
    @jax.shard_map(mesh=mesh, in_specs=spec, out_specs=spec)
    def program(x):
        return jax.lax.psum(long(x), "d") + x

    x = jax.device_put(jnp.arange(32.0), jax.sharding.NamedSharding(mesh, spec))
    each = [long(jax.device_put(jnp.ones(8), device)) for device in devices]
    y = program(program(x))

    def reference(x):
        parts = jnp.asarray(np.asarray(x)).reshape(4, 8)
        return (sum(expected(part) for part in parts) + parts).reshape(32)

    np.testing.assert_allclose(y, reference(reference(x)), rtol=1e-5)
    for one in each:
        np.testing.assert_array_equal(one, expected(jnp.ones(8)))


END = """
import jax, jax.numpy as jnp, os, sys
f = jax.jit(lambda x: jax.lax.fori_loop(0, 5_000_000, lambda i, a: jnp.sin(a) + i, x))
xs = [f(jnp.arange(8.0) + i) for i in range(3)]
assert not xs[0].is_ready()
"""


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("sys.exit(0)", id="exit"),
        pytest.param("del xs; sys.exit(0)", id="exit-without-results"),
        pytest.param("os._exit(0)", id="at-once"),
        pytest.param("del xs, f; jax.clear_caches(); sys.exit(0)", id="without-program"),
    ],
)
def test_the_process_ends_while_programs_run(code):
    done = run_apart(END + code)
    assert (done.returncode, done.stderr.count("Fatal")) == (0, 0), done.stderr


def test_a_child_of_fork_ends_and_the_parent_goes_on():
    # As `multiprocessing` ends children. Where they end like other processes, jaxlib's own threads,
    # which a child has not, bring them down.
    code = END + """
import warnings
warnings.simplefilter("ignore")
child = os.fork()
if child == 0:
    os._exit(0)
_, status = os.waitpid(child, 0)
assert os.waitstatus_to_exitcode(status) == 0, status
g = jax.jit(lambda x: jax.lax.fori_loop(0, 2000, lambda i, a: jnp.sin(a) + i, x))
print(float(g(jnp.zeros(2)).sum()))
os._exit(0)
"""
    done = run_apart(code)
    assert done.returncode == 0, done.stderr


def test_clients_may_be_destroyed_while_programs_run():
    code = END + """
del xs, f
jax.clear_backends() if hasattr(jax, "clear_backends") else jax.extend.backend.clear_backends()
print(float((jnp.ones(4) + 1).sum()))
"""
    done = run_apart("import jax.extend\n" + code)
    assert (done.returncode, done.stdout.strip()) == (0, "8.0"), done.stderr
