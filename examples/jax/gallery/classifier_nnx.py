"""A convolutional classifier of handwritten digits in Flax NNX, with batch norm and dropout."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx
from sklearn.datasets import load_digits

TOLERANCE = 1e-4


class Classifier(nnx.Module):
    def __init__(self, rngs):
        # The normalisation takes a bias away again, and its gradient would be rounding errors only.
        self.first = nnx.Conv(1, 8, (3, 3), use_bias=False, rngs=rngs)
        self.norm = nnx.BatchNorm(8, rngs=rngs)
        self.second = nnx.Conv(8, 16, (3, 3), strides=2, rngs=rngs)
        self.dropout = nnx.Dropout(0.1, rngs=rngs)
        self.out = nnx.Linear(16 * 4, 10, rngs=rngs)

    def __call__(self, x):
        x = nnx.max_pool(nnx.relu(self.norm(self.first(x))), (2, 2), (2, 2))
        x = nnx.relu(self.second(x))
        return self.out(self.dropout(x.reshape(x.shape[0], -1)))


def run():
    digits = load_digits()
    images = jnp.asarray(digits.images[:640, ..., None] / 16, jnp.float32)
    labels = jnp.asarray(digits.target[:640])
    model = Classifier(nnx.Rngs(0))
    optimizer = nnx.Optimizer(model, optax.adam(5e-3), wrt=nnx.Param)

    @nnx.jit
    def step(model, optimizer, x, y):
        def loss_of(model):
            return optax.softmax_cross_entropy_with_integer_labels(model(x), y).mean()

        loss, gradient = nnx.value_and_grad(loss_of)(model)
        optimizer.update(model, gradient)
        return loss

    model.train()
    losses = []
    for epoch in range(2):
        for first in range(0, 512, 64):
            rows = slice(first, first + 64)
            losses.append(step(model, optimizer, images[rows], labels[rows]))
    model.eval()
    logits = nnx.jit(lambda model, x: model(x))(model, images[512:])
    return {
        "losses": np.array(losses),
        "logits": np.asarray(logits),
        "running mean": np.asarray(model.norm.mean[...]),
    }
