"""What a call costs, and programs of many small operations."""

import jax
import jax.numpy as jnp
import numpy as np

from workloads import normal, workload


@workload("dispatch")
def scalar_add():
    return lambda x: x + 1, [np.float32(1)]


@workload("dispatch")
def add_1k():
    return lambda x, y: x + y, [normal(1000), normal(1000, seed=1)]


@workload("dispatch")
def forty_in_forty_out():
    return lambda *xs: [x + 1 for x in xs], [np.full(8, i, np.float32) for i in range(40)]


@workload("small")
def many_small_adds():
    def program(x):
        out = []
        for i in range(30):
            x = x * np.float32(0.9) + np.float32(0.1 * i)
            out.append(x.sum())
        return out

    return program, [normal(32)]


@workload("small")
def many_small_dots():
    def program(x, w):
        for _ in range(50):
            x = jnp.tanh(x @ w)
        return x

    return program, [normal(8, 8), normal(8, 8, seed=1)]


@workload("small")
def many_small_mixed():
    def program(x):
        for i in range(20):
            y = x @ x.T
            x = jnp.concatenate([y[:8], y[8:] * np.float32(2)], axis=0)
            x = x - x.mean(axis=1, keepdims=True)
            x = jnp.where(x > 0, x, jnp.float32(0.1) * x) / (1 + jnp.abs(x).max())
        return x

    return program, [normal(16, 16)]


@workload("small")
def unrolled_steps():
    """A loop of Python's, as users write it: a hundred steps that are alike."""

    def program(x):
        s = np.float32(0)
        for i in range(100):
            x = x * np.float32(0.5) + jnp.sin(s)
            s = jnp.sum(x * x) * np.float32(0.01)
            x = x.at[i % 64].add(s)
        return x, s

    return program, [normal(64)]


@workload("small")
def unrolled_lstm_grad():
    def loss(parameters, inputs):
        w, u, b = parameters
        h = c = jnp.zeros((8, 64), jnp.float32)
        for i in range(12):
            i_gate, f_gate, o_gate, update = jnp.split(inputs[i] @ w + h @ u + b, 4, axis=-1)
            c = jax.nn.sigmoid(f_gate) * c + jax.nn.sigmoid(i_gate) * jnp.tanh(update)
            h = jax.nn.sigmoid(o_gate) * jnp.tanh(c)
        return (h * h).sum()

    def program(w, u, b, inputs):
        return jax.value_and_grad(loss)((w, u, b), inputs)

    return program, [normal(32, 256), normal(64, 256), normal(256), normal(12, 8, 32)]


@workload("small")
def mlp_tiny_sgd_step():
    def loss(params, x, y):
        h = jnp.tanh(x @ params[0] + params[1])
        return jnp.mean((h @ params[2] + params[3] - y) ** 2)

    def step(a, b, c, d, x, y):
        params = [a, b, c, d]
        grads = jax.grad(loss)(params, x, y)
        return [p - np.float32(0.1) * g for p, g in zip(params, grads)]

    return step, [
        normal(8, 16), normal(16), normal(16, 4), normal(4), normal(32, 8), normal(32, 4, seed=1),
    ]
