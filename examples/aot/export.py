"""Trains the classifier of examples/jax/digits.py and writes it down as a program without Python.

Writes ``digits.jax_export`` (the trained model, its weights in it, for 64 images at a time),
``images.f32`` (64 images that it was not trained on) and ``labels.i32`` (what they show).
"""

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import linen as nn
from jax import export
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

BATCH = 64

# The file says nothing of where it was made.
jax.config.update("jax_traceback_in_locations_limit", 0)


class Classifier(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.relu(nn.Conv(16, (3, 3))(x))
        x = nn.max_pool(x, (2, 2), strides=(2, 2))
        x = nn.relu(nn.Conv(32, (3, 3))(x))
        x = nn.max_pool(x, (2, 2), strides=(2, 2))
        x = x.reshape((x.shape[0], -1))
        x = nn.relu(nn.Dense(64)(x))
        return nn.Dense(10)(x)


def main():
    digits = load_digits()
    images = (digits.images[..., None] / 16.0).astype(np.float32)
    labels = digits.target.astype(np.int32)
    x_train, x_test, y_train, y_test = train_test_split(
        images, labels, test_size=0.2, random_state=0, stratify=labels
    )
    model = Classifier()
    optimizer = optax.adam(2e-3)
    params = model.init(jax.random.key(0), x_train[:1])
    state = optimizer.init(params)

    @jax.jit
    def step(params, state, x, y):
        def loss_of(params):
            logits = model.apply(params, x)
            return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()

        gradient = jax.grad(loss_of)(params)
        updates, state = optimizer.update(gradient, state)
        return optax.apply_updates(params, updates), state

    order = np.random.default_rng(0)
    for _ in range(10):
        shuffled = order.permutation(len(x_train))
        for first in range(0, len(shuffled) - BATCH + 1, BATCH):
            rows = shuffled[first : first + BATCH]
            params, state = step(params, state, x_train[rows], y_train[rows])

    # The weights become constants of the program.
    def predict(images):
        return model.apply(params, images)

    shape = jax.ShapeDtypeStruct((BATCH, 8, 8, 1), jnp.float32)
    exported = export.export(jax.jit(predict), platforms=["cpu"])(shape)
    with open("digits.jax_export", "wb") as file:
        file.write(exported.serialize())
    x_test[:BATCH].tofile("images.f32")
    y_test[:BATCH].tofile("labels.i32")


if __name__ == "__main__":
    main()
