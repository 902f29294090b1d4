"""Gaussian process regression by Cholesky, its kernel fitted with L-BFGS, in double precision."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.scipy.linalg import cho_solve, solve_triangular

TOLERANCE = 1e-9


def kernel(params, a, b):
    squares = (a[:, None] - b[None, :]) ** 2
    return jnp.exp(2 * params["scale"]) * jnp.exp(-0.5 * squares / jnp.exp(2 * params["length"]))


def run():
    with jax.enable_x64(True):
        x = jnp.sort(jax.random.uniform(jax.random.key(0), (40,), minval=-3, maxval=3))
        y = jnp.sin(2 * x) + 0.1 * jax.random.normal(jax.random.key(1), x.shape)
        wanted = jnp.linspace(-3, 3, 25)

        def factor_of(params):
            noise = jnp.exp(2 * params["noise"]) + 1e-6
            return jnp.linalg.cholesky(kernel(params, x, x) + noise * jnp.eye(len(x)))

        def loss_of(params):
            factor = factor_of(params)
            fit = y @ cho_solve((factor, True), y)
            return 0.5 * fit + jnp.log(jnp.diag(factor)).sum() + 0.5 * len(x) * jnp.log(2 * jnp.pi)

        optimizer = optax.lbfgs()
        params = {"scale": jnp.array(0.0), "length": jnp.array(0.0), "noise": jnp.array(-1.0)}
        state = optimizer.init(params)

        @jax.jit
        def step(params, state):
            value, gradient = optax.value_and_grad_from_state(loss_of)(params, state=state)
            updates, state = optimizer.update(
                gradient, state, params, value=value, grad=gradient, value_fn=loss_of
            )
            return optax.apply_updates(params, updates), state, value

        losses = []
        for _ in range(8):
            params, state, loss = step(params, state)
            losses.append(loss)

        @jax.jit
        def predict(params):
            factor = factor_of(params)
            across = kernel(params, wanted, x)
            half = solve_triangular(factor, across.T, lower=True)
            mean = across @ cho_solve((factor, True), y)
            return mean, jnp.exp(2 * params["scale"]) - (half**2).sum(0)

        mean, variance = predict(params)
        return {"losses": np.array(losses), "mean": np.asarray(mean), "variance": np.asarray(variance)}
