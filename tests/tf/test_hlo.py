"""HLO that TensorFlow makes of a Keras model, through `rxla run`: numbers as TensorFlow's own.

Needs TensorFlow 2.21, which is not installed for tests otherwise: `pip install tensorflow-cpu==2.21.0`.
"""

import subprocess

import pytest

REASON = "there is no TensorFlow: `pip install tensorflow-cpu==2.21.0` brings one"
tf = pytest.importorskip("tensorflow", reason=REASON)

import keras
import numpy as np

STEPS = 5


@pytest.fixture
def model():
    keras.utils.set_random_seed(7)
    return keras.Sequential(
        [
            keras.Input((16, 16, 3)),
            keras.layers.Conv2D(8, 3, activation="relu"),
            keras.layers.BatchNormalization(),
            keras.layers.MaxPooling2D(),
            keras.layers.Conv2D(16, 3, strides=2, padding="same", activation="gelu"),
            keras.layers.GlobalAveragePooling2D(),
            keras.layers.Dense(5),
        ]
    )


@pytest.fixture
def images():
    return tf.constant(np.random.default_rng(0).normal(size=(8, 16, 16, 3)), tf.float32)


def parameters(function, arguments):
    """What a function's module takes: its arguments, then what it captures, variables among them."""
    concrete = function.get_concrete_function(*arguments)
    variables = {id(variable.handle): variable for variable in concrete.variables}
    return [*arguments, *(variables.get(id(tensor), tensor) for tensor in concrete.captured_inputs)]


def run(rxla, module, values, folder):
    """The module's results on these values."""
    (folder / "module.pb").write_bytes(module)
    inputs = []
    for index, value in enumerate(values):
        np.save(folder / f"{index}.npy", value)
        inputs += ["--input", folder / f"{index}.npy"]
    outputs = folder / "outputs.npz"
    subprocess.run([rxla, "run", folder / "module.pb", *inputs, "--output", outputs], check=True)
    with np.load(outputs) as archive:
        return [archive[str(index)] for index in range(len(archive.files))]


def test_forward(rxla, model, images, tmp_path):
    @tf.function(jit_compile=True)
    def forward(images):
        return model(images, training=False)

    module = forward.experimental_get_compiler_ir(images)(stage="hlo_serialized")
    values = [value.numpy() for value in parameters(forward, (images,))]
    (logits,) = run(rxla, module, values, tmp_path)
    np.testing.assert_allclose(logits, forward(images).numpy(), rtol=1e-5, atol=1e-6)


def test_training(rxla, model, images, tmp_path):
    labels = tf.constant(np.arange(8) % 5)
    optimizer = keras.optimizers.Adam(1e-2)
    optimizer.build(model.trainable_variables)
    loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    @tf.function(jit_compile=True)
    def step(images, labels):
        with tf.GradientTape() as tape:
            loss = loss_of(labels, model(images, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss

    module = step.experimental_get_compiler_ir(images, labels)(stage="hlo_serialized")
    taken = parameters(step, (images, labels))
    values = [value.numpy() for value in taken]
    written = None
    losses = []
    for _ in range(STEPS):
        loss, *changed = run(rxla, module, values, tmp_path)
        expected = step(images, labels).numpy()
        np.testing.assert_allclose(loss, expected, rtol=1e-4)
        losses.append(loss)
        after = [value.numpy() for value in taken]
        if written is None:
            # The other results are the variables that a step writes, in the order of parameters.
            written = [i for i, old in enumerate(values) if not np.array_equal(old, after[i])]
        assert len(changed) == len(written)
        for index, value in zip(written, changed):
            np.testing.assert_allclose(value, after[index], rtol=1e-3, atol=1e-5)
            values[index] = value
    assert losses[-1] < losses[0]
