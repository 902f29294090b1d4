"""What programs say of the accuracy of functions: `result_accuracy`, which `docs/accuracy.md` explains."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.lax import AccuracyMode, Tolerance

HIGHEST = AccuracyMode.HIGHEST
# Functions with a range in which they are neither trivial nor overflow.
FUNCTIONS = {
    "exp": (jax.lax.exp, np.exp, -80, 80),
    "exp2": (jax.lax.exp2, np.exp2, -120, 120),
    "expm1": (jax.lax.expm1, np.expm1, -5, 80),
    "log": (jax.lax.log, np.log, 1e-30, 1e30),
    "log1p": (jax.lax.log1p, np.log1p, -0.99, 1e5),
    "tanh": (jax.lax.tanh, np.tanh, -9, 9),
    "sin": (jax.lax.sin, np.sin, -1e5, 1e5),
    "cos": (jax.lax.cos, np.cos, -1e5, 1e5),
    "tan": (jax.lax.tan, np.tan, -1e5, 1e5),
    "cbrt": (jax.lax.cbrt, np.cbrt, -1e30, 1e30),
    "rsqrt": (jax.lax.rsqrt, lambda x: 1 / np.sqrt(x), 1e-30, 1e30),
    "sqrt": (jax.lax.sqrt, np.sqrt, 1e-30, 1e30),
}


def inputs(low, high):
    spread = np.random.default_rng(0).uniform(0, 1, 20_000)
    if low > 0:
        return np.exp(np.log(low) + spread * (np.log(high) - np.log(low))).astype(np.float32)
    return (low + spread * (high - low)).astype(np.float32)


def ulps(found, true):
    unit = np.spacing(np.abs(true).astype(np.float32)).astype(np.float64)
    return (np.abs(np.asarray(found, np.float64) - true) / unit).max()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_highest_accuracy_is_a_rounding_away(name):
    function, true, low, high = FUNCTIONS[name]
    x = inputs(low, high)
    exact = true(x.astype(np.float64))
    if name == "exp2":
        # JAX makes it of `exp`, and rounds the product before.
        exact = np.exp((x * np.float32(np.log(2))).astype(np.float64))
    found = jax.jit(lambda x: function(x, accuracy=HIGHEST))(x)
    assert found.dtype == jnp.float32
    assert ulps(found, exact) < 0.502
    # And so it is where the fast one is not near enough.
    strict = jax.jit(lambda x: function(x, accuracy=Tolerance(rtol=2.0**-23 * 0.502)))(x)
    np.testing.assert_array_equal(found, strict)


@pytest.mark.parametrize("name", ["exp", "tanh", "log", "sin"])
def test_the_fast_one_is_taken_where_it_will_do(name):
    function, true, low, high = FUNCTIONS[name]
    x = inputs(low, high)
    usual = jax.jit(function)(x)
    for accuracy in [AccuracyMode.DEFAULT, Tolerance(ulps=3), Tolerance(rtol=1e-5)]:
        found = jax.jit(lambda x, accuracy=accuracy: function(x, accuracy=accuracy))(x)
        np.testing.assert_array_equal(found, usual)
    better = jax.jit(lambda x: function(x, accuracy=HIGHEST))(x)
    assert (np.asarray(better) != np.asarray(usual)).any()


def test_gradients_and_batches_keep_it():
    x = inputs(-80, 80)
    batched = jax.jit(jax.vmap(lambda x: jax.lax.exp(x, accuracy=HIGHEST)))(x)
    gradient = jax.jit(jax.vmap(jax.grad(lambda x: jax.lax.exp(x, accuracy=HIGHEST))))(x)
    exact = np.exp(x.astype(np.float64))
    assert ulps(batched, exact) < 0.502 and ulps(gradient, exact) < 0.502


def test_what_nothing_meets_is_an_error():
    x = jnp.arange(4.0)
    for accuracy in [Tolerance(atol=1e-60, rtol=1e-60), Tolerance(rtol=1e-9), Tolerance(atol=1e-3)]:
        with pytest.raises(jax.errors.JaxRuntimeError, match="as accurate as .*result_accuracy"):
            jax.jit(lambda x, accuracy=accuracy: jax.lax.exp(x, accuracy=accuracy))(x)
    with jax.enable_x64(True), pytest.raises(jax.errors.JaxRuntimeError, match="1.500 units"):
        jax.lax.exp(jnp.arange(4.0, dtype=jnp.float64), accuracy=Tolerance(ulps=1))


def test_half_precision_is_as_good_as_it_gets():
    x = jnp.arange(-8, 8, 0.125, dtype=jnp.bfloat16)
    usual = jax.lax.tanh(x)
    np.testing.assert_array_equal(jax.lax.tanh(x, accuracy=HIGHEST), usual)
    np.testing.assert_array_equal(jax.lax.tanh(x, accuracy=Tolerance(ulps=1)), usual)
