"""An LSTM in Flax Linen that learns to add the marked numbers of a sequence."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import linen as nn

TOLERANCE = 1e-4

LENGTH, BATCH = 16, 32


class Adder(nn.Module):
    @nn.compact
    def __call__(self, x):
        carry, states = nn.RNN(nn.OptimizedLSTMCell(24), return_carry=True)(x)
        backward = nn.RNN(nn.GRUCell(8), reverse=True, keep_order=True)(x)
        features = jnp.concatenate([carry[1], states.mean(1), backward[:, 0]], -1)
        return nn.Dense(1)(features)[:, 0]


def examples(key):
    value_key, mark_key = jax.random.split(key)
    values = jax.random.uniform(value_key, (BATCH, LENGTH))
    places = jax.vmap(lambda key: jax.random.permutation(key, LENGTH)[:2])(jax.random.split(mark_key, BATCH))
    marks = jax.nn.one_hot(places, LENGTH).sum(1)
    return jnp.stack([values, marks], -1), (values * marks).sum(-1)


def run():
    model = Adder()
    params = model.init(jax.random.key(0), jnp.zeros((1, LENGTH, 2)))
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.rmsprop(5e-3, momentum=0.5))
    state = optimizer.init(params)

    @jax.jit
    def step(params, state, key):
        x, y = examples(key)
        loss_of = lambda params: jnp.mean((model.apply(params, x) - y) ** 2)
        loss, gradient = jax.value_and_grad(loss_of)(params)
        updates, state = optimizer.update(gradient, state)
        return optax.apply_updates(params, updates), state, loss

    losses = []
    for key in jax.random.split(jax.random.key(1), 25):
        params, state, loss = step(params, state, key)
        losses.append(loss)
    x, _ = examples(jax.random.key(2))
    return {"losses": np.array(losses), "predictions": np.asarray(model.apply(params, x))}
