"""A vision transformer in Equinox, in mixed precision: bfloat16 layers, float32 parameters."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from sklearn.datasets import load_digits

# bfloat16 has eight bits: one rounding differently is 0.4 %, and training carries it on.
TOLERANCE = 2e-2

WIDTH = 16


class Block(eqx.Module):
    attention: eqx.nn.MultiheadAttention
    mlp: eqx.nn.MLP
    norms: list

    def __init__(self, key):
        keys = jax.random.split(key)
        self.attention = eqx.nn.MultiheadAttention(2, WIDTH, key=keys[0])
        self.mlp = eqx.nn.MLP(WIDTH, WIDTH, 32, 1, activation=jax.nn.gelu, key=keys[1])
        self.norms = [eqx.nn.LayerNorm(WIDTH), eqx.nn.LayerNorm(WIDTH)]

    def __call__(self, x):
        y = jax.vmap(self.norms[0])(x)
        x = x + self.attention(y, y, y)
        return x + jax.vmap(self.mlp)(jax.vmap(self.norms[1])(x))


class Transformer(eqx.Module):
    patch: eqx.nn.Conv2d
    places: jax.Array
    blocks: list
    out: eqx.nn.Linear

    def __init__(self, key):
        keys = jax.random.split(key, 5)
        self.patch = eqx.nn.Conv2d(1, WIDTH, 2, stride=2, key=keys[0])
        self.places = 0.02 * jax.random.normal(keys[1], (16, WIDTH))
        self.blocks = [Block(keys[2]), Block(keys[3])]
        self.out = eqx.nn.Linear(WIDTH, 10, key=keys[4])

    def __call__(self, image):
        x = self.patch(image).reshape(WIDTH, -1).T + self.places
        for block in self.blocks:
            x = block(x)
        return self.out(x.mean(0))


def in_bfloat16(tree):
    return jax.tree.map(lambda x: x.astype(jnp.bfloat16) if eqx.is_inexact_array(x) else x, tree)


def run():
    digits = load_digits()
    images = jnp.asarray(digits.images[:320, None] / 16, jnp.float32)
    labels = jnp.asarray(digits.target[:320])
    model = Transformer(jax.random.key(0))
    optimizer = optax.adam(3e-3)
    state = optimizer.init(eqx.filter(model, eqx.is_inexact_array))

    @eqx.filter_jit(donate="all")
    def step(model, state, x, y):
        def loss_of(model):
            logits = jax.vmap(in_bfloat16(model))(in_bfloat16(x)).astype(jnp.float32)
            return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()

        loss, gradient = eqx.filter_value_and_grad(loss_of)(model)
        updates, state = optimizer.update(gradient, state)
        return eqx.apply_updates(model, updates), state, loss

    losses = []
    for first in range(0, 256, 32):
        rows = slice(first, first + 32)
        model, state, loss = step(model, state, images[rows], labels[rows])
        losses.append(loss)
    logits = eqx.filter_jit(eqx.filter_vmap(model))(images[256:])
    return {"losses": np.array(losses), "logits": np.asarray(logits)}
