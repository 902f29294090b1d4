"""The digit classifier that `digits.py` trains and `../aot/export.py` exports: images, network, training step."""

import jax
import numpy as np
import optax
from flax import linen as nn
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split


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


def images(seed: int):
    """Images to train with and to test with, and what they show: x_train, x_test, y_train, y_test."""
    digits = load_digits()
    x = (digits.images[..., None] / 16.0).astype(np.float32)
    y = digits.target.astype(np.int32)
    return train_test_split(x, y, test_size=0.2, random_state=seed, stratify=y)


def untrained(seed: int, example):
    """The model, its parameters, the optimizer's state, and the step that changes both and gives the loss."""
    model = Classifier()
    optimizer = optax.adam(2e-3)
    params = model.init(jax.random.key(seed), example)

    @jax.jit
    def step(params, state, x, y):
        def loss_of(params):
            logits = model.apply(params, x)
            return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()

        loss, gradient = jax.value_and_grad(loss_of)(params)
        updates, state = optimizer.update(gradient, state)
        return optax.apply_updates(params, updates), state, loss

    return model, params, optimizer.init(params), step


def batches(order, count: int, size: int):
    """The rows of each batch of an epoch, in a new order."""
    shuffled = order.permutation(count)
    for first in range(0, count - size + 1, size):
        yield shuffled[first : first + size]
