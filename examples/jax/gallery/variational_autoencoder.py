"""A variational autoencoder of handwritten digits in Flax NNX."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx
from sklearn.datasets import load_digits

TOLERANCE = 1e-4


class Autoencoder(nnx.Module):
    def __init__(self, rngs):
        self.encode = nnx.Linear(64, 32, rngs=rngs)
        self.mean = nnx.Linear(32, 4, rngs=rngs)
        self.spread = nnx.Linear(32, 4, rngs=rngs)
        self.decode = nnx.Sequential(nnx.Linear(4, 32, rngs=rngs), nnx.elu, nnx.Linear(32, 64, rngs=rngs))

    def __call__(self, x, key):
        hidden = nnx.elu(self.encode(x))
        mean, spread = self.mean(hidden), self.spread(hidden)
        latent = mean + jnp.exp(spread) * jax.random.normal(key, mean.shape)
        return self.decode(latent), mean, spread


def run():
    images = jnp.asarray(load_digits().data[:256] / 16, jnp.float32)
    model = Autoencoder(nnx.Rngs(0))
    graph, params = nnx.split(model)
    optimizer = optax.adam(3e-3)

    def loss_of(params, x, key):
        logits, mean, spread = nnx.merge(graph, params)(x, key)
        picture = optax.sigmoid_binary_cross_entropy(logits, x).sum(-1)
        distance = 0.5 * (jnp.exp(2 * spread) + mean**2 - 1 - 2 * spread).sum(-1)
        return (picture + distance).mean()

    @jax.jit
    def train(params, keys):
        def step(carry, key):
            params, state = carry
            batch_key, noise_key = jax.random.split(key)
            x = images[jax.random.choice(batch_key, len(images), (64,), replace=False)]
            loss, gradient = jax.value_and_grad(loss_of)(params, x, noise_key)
            updates, state = optimizer.update(gradient, state)
            return (optax.apply_updates(params, updates), state), loss

        return jax.lax.scan(step, (params, optimizer.init(params)), keys)

    (params, _), losses = train(params, jax.random.split(jax.random.key(1), 30))
    model = nnx.merge(graph, params)
    pictures = jax.nn.sigmoid(model.decode(jax.random.normal(jax.random.key(2), (5, 4))))
    return {"losses": np.asarray(losses), "pictures": np.asarray(pictures)}
