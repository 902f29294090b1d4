"""Trains the classifier of examples/jax/digits.py and writes it down as a program without Python.

Writes ``digits.jax_export`` (the trained model, its weights in it, for 64 images at a time),
``images.f32`` (64 images that it was not trained on) and ``labels.i32`` (what they show).
"""

import pathlib
import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax import export

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "jax"))

import classifier  # noqa: E402

BATCH = 64

# The file says nothing of where it was made.
jax.config.update("jax_traceback_in_locations_limit", 0)


def main():
    x_train, x_test, y_train, y_test = classifier.images(0)
    model, params, state, step = classifier.untrained(0, x_train[:1])
    order = np.random.default_rng(0)
    for _ in range(10):
        for rows in classifier.batches(order, len(x_train), BATCH):
            params, state, _ = step(params, state, x_train[rows], y_train[rows])

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
