"""What running a program many times, and in odd ways, does to the process."""

import resource

import jax
import jax.numpy as jnp
import numpy as np
import pytest


def resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def test_ten_thousand_executions_take_no_more_memory():
    @jax.jit
    def program(x, y):
        z = jnp.tanh(x @ y)
        return z, z.sum(), [z + i for i in range(10)]

    taking = jax.jit(lambda x: x + 1, donate_argnums=0)
    x, y = jnp.ones((64, 64)), jnp.full((64, 64), 0.01)
    kept = jnp.zeros(100_000)

    def run(times):
        nonlocal kept
        for _ in range(times):
            result = program(x, y)
            kept = taking(kept)
        return jax.block_until_ready(result)

    run(1000)
    before = resident()
    run(10_000)
    # One result that were not freed would be 190 kB a run.
    assert resident() - before < 1 << 20
    np.testing.assert_array_equal(kept[:2], [11_000, 11_000])


def test_outputs_that_are_one_value_are_buffers_of_their_own():
    x = jnp.arange(8.0)
    a, b, c = jax.jit(lambda x: (x, x, x + 0))(x)
    a.delete()
    b.delete()
    np.testing.assert_array_equal(c, np.arange(8.0))
    np.testing.assert_array_equal(x, np.arange(8.0))


def test_deleted_arguments_are_refused():
    x = jnp.arange(8.0)
    program = jax.jit(lambda x: x + 1)
    program(x)
    x.delete()
    with pytest.raises((RuntimeError, ValueError), match="deleted"):
        program(x)
