"""JAX's transformations and control flow."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest


def test_jit_and_grad():
    def loss(w, x):
        return jnp.sum(jnp.tanh(x @ w) ** 2)

    w = jnp.linspace(-1, 1, 6).reshape(3, 2)
    x = jnp.linspace(0, 1, 12).reshape(4, 3)
    gradient = jax.jit(jax.grad(loss))(w, x)
    step = 1e-3
    for index in np.ndindex(3, 2):
        difference = loss(w.at[index].add(step), x) - loss(w.at[index].add(-step), x)
        expected = float(difference) / (2 * step)
        assert float(gradient[index]) == pytest.approx(expected, rel=1e-2, abs=1e-3)


def test_vmap_and_jacobians():
    f = lambda x: jnp.array([x[0] * x[1], jnp.sin(x[1])])
    x = jnp.array([2.0, 3.0])
    expected = [[3, 2], [0, np.cos(3.0)]]
    np.testing.assert_allclose(jax.jacfwd(f)(x), expected, rtol=1e-6)
    np.testing.assert_allclose(jax.jacrev(f)(x), expected, rtol=1e-6)
    np.testing.assert_allclose(jax.vmap(f)(jnp.stack([x, x]))[1], f(x))


def test_scan_while_cond_switch():
    total, partial = jax.lax.scan(lambda c, x: (c + x, c), 0.0, jnp.arange(5.0))
    assert total == 10
    np.testing.assert_array_equal(partial, [0, 0, 1, 3, 6])
    assert jax.lax.while_loop(lambda c: c < 10, lambda c: c + 3, 0) == 12
    assert jax.jit(lambda p: jax.lax.cond(p, lambda: 1, lambda: 2))(False) == 2
    assert jax.lax.switch(2, [lambda: 1, lambda: 2, lambda: 3]) == 3
    assert jax.lax.fori_loop(0, 5, lambda i, c: c * 2 + i, 1) == 58


def test_remat_and_custom_derivatives():
    @jax.custom_vjp
    def f(x):
        return x * x

    f.defvjp(lambda x: (f(x), x), lambda x, g: (g * 100 * x,))
    assert jax.grad(f)(2.0) == 200
    assert jax.grad(jax.checkpoint(lambda x: jnp.sin(jnp.sin(x))))(0.0) == 1


def test_random():
    key = jax.random.key(0)
    assert int(jax.random.bits(key, (), "uint32")) == 4070199207
    normal = jax.random.normal(key, (10000,))
    assert abs(normal.mean()) < 0.05 and abs(normal.std() - 1) < 0.05
    permuted = np.asarray(jax.random.permutation(key, 10))
    assert sorted(permuted) == list(range(10))


def test_indexing_and_sorting():
    x = jnp.array([3, 1, 2])
    np.testing.assert_array_equal(jnp.sort(x), [1, 2, 3])
    np.testing.assert_array_equal(jnp.argsort(x), [1, 2, 0])
    np.testing.assert_array_equal(x.at[jnp.array([0, 0])].add(1), [5, 1, 2])
    values, indices = jax.lax.top_k(x, 2)
    np.testing.assert_array_equal(values, [3, 2])
    np.testing.assert_array_equal(indices, [0, 2])


def test_errors_name_the_users_line():
    def f(x):
        return jax.ffi.ffi_call("no_such_target", jax.ShapeDtypeStruct((), jnp.float32))(x)

    with pytest.raises(jax.errors.JaxRuntimeError) as caught:
        jax.jit(f)(1.0)
    assert "no_such_target" in str(caught.value)
    assert "test_transformations.py" in str(caught.value)
