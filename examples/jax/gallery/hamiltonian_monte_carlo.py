"""Hamiltonian Monte Carlo for a Bayesian logistic regression: chains by `vmap`, steps by `scan`."""

import jax
import jax.numpy as jnp
import numpy as np

TOLERANCE = 1e-4


def run():
    keys = jax.random.split(jax.random.key(0), 3)
    x = jax.random.normal(keys[0], (80, 3))
    y = jax.random.bernoulli(keys[1], jax.nn.sigmoid(x @ jnp.array([1.5, -2.0, 0.5])))

    def log_density(w):
        logits = x @ w
        return jnp.sum(jnp.where(y, jax.nn.log_sigmoid(logits), jax.nn.log_sigmoid(-logits))) - 0.5 * w @ w

    gradient = jax.grad(log_density)

    def leapfrog(w, momentum, size):
        def step(carry, _):
            w, momentum = carry
            momentum = momentum + 0.5 * size * gradient(w)
            w = w + size * momentum
            return (w, momentum + 0.5 * size * gradient(w)), None

        return jax.lax.scan(step, (w, momentum), None, 10)[0]

    def transition(w, key):
        momentum_key, accept_key = jax.random.split(key)
        momentum = jax.random.normal(momentum_key, w.shape)
        proposal, final = leapfrog(w, momentum, 0.12)
        before = log_density(w) - 0.5 * momentum @ momentum
        after = log_density(proposal) - 0.5 * final @ final
        accepted = jnp.log(jax.random.uniform(accept_key)) < after - before
        return jnp.where(accepted, proposal, w), (jnp.where(accepted, proposal, w), accepted)

    @jax.jit
    def sample(key):
        chain = lambda key: jax.lax.scan(transition, jnp.zeros(3), jax.random.split(key, 60))[1]
        return jax.vmap(chain)(jax.random.split(key, 4))

    samples, accepted = sample(keys[2])
    return {
        "samples": np.asarray(samples),
        "accepted": np.asarray(accepted).mean(),
        "mean": np.asarray(samples[:, 20:].mean((0, 1))),
    }
