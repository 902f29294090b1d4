"""Whole models without attention: networks of images, recurrent ones, tables, simulation, clusters.

Shapes are those of the papers; batches are what one uses on a CPU.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from workloads import integers, normal, uniform, workload

NHWC = ("NHWC", "HWIO", "NHWC")
RATE = np.float32(0.01)


def cross_entropy(logits, labels):
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], 1).mean()


def descent(loss):
    """A training step by gradient descent, of the parameters and a batch."""

    def step(params, *batch):
        value, grads = jax.value_and_grad(loss)(params, *batch)
        return value, jax.tree.map(lambda p, g: p - RATE * g, params, grads)

    return step


def conv(x, w, stride=1, groups=1):
    return lax.conv_general_dilated(
        x, w, (stride, stride), "SAME", dimension_numbers=NHWC, feature_group_count=groups
    )


def kernel(size, inputs, outputs, seed=0):
    """He's initial values of a convolution."""
    return normal(size, size, inputs, outputs, seed=seed) * np.float32((2 / (size * size * inputs)) ** 0.5)


def max_pool(x, size, stride, padding="VALID"):
    return lax.reduce_window(x, np.float32(-np.inf), lax.max, (1, size, size, 1), (1, stride, stride, 1), padding)


def _mlp(a, b, c, x):
    return jax.nn.relu(jax.nn.relu(x @ a) @ b) @ c


def _mlp_weights():
    scale = np.float32(0.05)
    return [scale * normal(784, 512), scale * normal(512, 512), scale * normal(512, 10)]


@workload("models", tolerance=1e-2)
def mnist_mlp_forward():
    return _mlp, [*_mlp_weights(), normal(128, 784)]


@workload("models", tolerance=1e-2)
def mnist_mlp_train():
    def loss(params, x, y):
        return cross_entropy(_mlp(*params, x), y)

    def step(a, b, c, x, y):
        grads = jax.grad(loss)([a, b, c], x, y)
        return [p - RATE * g for p, g in zip([a, b, c], grads)]

    return step, [*_mlp_weights(), normal(128, 784), integers(128, high=10)]


@workload("models", tolerance=1e-2)
def cnn_train():
    def loss(params, x, y):
        x = max_pool(jax.nn.relu(conv(x, params[0])), 2, 2)
        x = max_pool(jax.nn.relu(conv(x, params[1])), 2, 2)
        return cross_entropy(x.reshape(x.shape[0], -1) @ params[2], y)

    def step(a, b, c, x, y):
        grads = jax.grad(loss)([a, b, c], x, y)
        return [p - RATE * g for p, g in zip([a, b, c], grads)]

    scale = np.float32(0.1)
    weights = [scale * normal(3, 3, 1, 32), scale * normal(3, 3, 32, 64), scale * normal(7 * 7 * 64, 10)]
    return step, [*weights, normal(32, 28, 28, 1), integers(32, high=10)]


# ResNet-50: blocks in each stage and their inner channels.
STAGES = [(3, 64), (4, 128), (6, 256), (3, 512)]


def _resnet50_parameters():
    def norm(channels):
        return {"scale": np.ones(channels, np.float32), "shift": np.zeros(channels, np.float32),
                "mean": 0.1 * normal(channels), "variance": uniform(channels, low=0.5, high=1.5)}

    def unit(size, inputs, outputs, seed):
        return {"w": kernel(size, inputs, outputs, seed), "norm": norm(outputs)}

    blocks, inputs = [], 64
    for stage, (count, inner) in enumerate(STAGES):
        for i in range(count):
            block = {"a": unit(1, inputs, inner, i), "b": unit(3, inner, inner, i), "c": unit(1, inner, 4 * inner, i)}
            if i == 0:
                block["skip"] = unit(1, inputs, 4 * inner, stage)
            blocks.append(block)
            inputs = 4 * inner
    return {"stem": unit(7, 3, 64, 0), "blocks": blocks, "head": np.float32(0.01) * normal(2048, 1000)}


def _resnet50(params, x, train):
    def unit(p, x, stride=1):
        x = conv(x, p["w"], stride)
        norm = p["norm"]
        if train:
            mean = x.mean((0, 1, 2))
            variance = ((x - mean) ** 2).mean((0, 1, 2))
        else:
            mean, variance = norm["mean"], norm["variance"]
        return (x - mean) * (lax.rsqrt(variance + np.float32(1e-5)) * norm["scale"]) + norm["shift"]

    x = max_pool(jax.nn.relu(unit(params["stem"], x, 2)), 3, 2, "SAME")
    blocks = iter(params["blocks"])
    for stage, (count, _) in enumerate(STAGES):
        for i in range(count):
            p = next(blocks)
            stride = 2 if i == 0 and stage > 0 else 1
            y = jax.nn.relu(unit(p["a"], x))
            y = jax.nn.relu(unit(p["b"], y, stride))
            y = unit(p["c"], y)
            x = jax.nn.relu(y + (unit(p["skip"], x, stride) if "skip" in p else x))
    return x.mean((1, 2)) @ params["head"]


@workload("models", tolerance=1e-2)
def resnet50_forward():
    return lambda params, x: _resnet50(params, x, False), [_resnet50_parameters(), normal(1, 224, 224, 3)]


# The gradients of its norms' shifts are small sums of large numbers: XLA:CPU's are 7 % from those in f64, and so are ours.
@workload("models", tolerance=1.5e-1)
def resnet50_train():
    def loss(params, x, y):
        return cross_entropy(_resnet50(params, x, True), y)

    return descent(loss), [_resnet50_parameters(), normal(4, 224, 224, 3), integers(4, high=1000)]


@workload("models", tolerance=1e-2)
def mobile_block_forward():
    """The inverted bottleneck of mobile networks: widen, a depthwise convolution, narrow."""

    def program(wide, depth, narrow, x):
        y = jax.nn.relu6(conv(x, wide))
        y = jax.nn.relu6(conv(y, depth, groups=y.shape[-1]))
        return x + conv(y, narrow)

    return program, [kernel(1, 32, 192), kernel(3, 1, 192), kernel(1, 192, 32), normal(4, 56, 56, 32)]


@workload("models", tolerance=1e-2)
def unet_block_train():
    """A level of a U-Net: down, a group norm and SiLU between convolutions, up, the skip, and back."""

    def group_norm(x, groups=8):
        parts = x.reshape(*x.shape[:-1], groups, -1)
        mean = parts.mean((1, 2, 4), keepdims=True)
        variance = ((parts - mean) ** 2).mean((1, 2, 4), keepdims=True)
        return ((parts - mean) * lax.rsqrt(variance + np.float32(1e-5))).reshape(x.shape)

    def double(x, a, b):
        x = jax.nn.silu(group_norm(conv(x, a)))
        return jax.nn.silu(group_norm(conv(x, b)))

    def loss(params, x, target):
        skip = double(x, *params["in"])
        low = lax.reduce_window(skip, np.float32(0), lax.add, (1, 2, 2, 1), (1, 2, 2, 1), "VALID") / np.float32(4)
        low = double(low, *params["low"])
        high = jax.image.resize(low, (*skip.shape[:-1], low.shape[-1]), "nearest")
        out = double(jnp.concatenate([skip, high], -1), *params["out"])
        return ((conv(out, params["last"]) - target) ** 2).mean()

    params = {
        "in": [kernel(3, 4, 64), kernel(3, 64, 64, 1)], "low": [kernel(3, 64, 128), kernel(3, 128, 128, 1)],
        "out": [kernel(3, 192, 64), kernel(3, 64, 64, 2)], "last": kernel(1, 64, 4),
    }
    return descent(loss), [params, normal(2, 64, 64, 4), normal(2, 64, 64, 4, seed=1)]


@workload("models", tolerance=1e-2)
def lstm_train():
    """A language model of characters: embedding, 2 LSTM layers of 256, 64 steps, batch 16."""

    def layer(p, xs):
        def cell(state, x):
            h, c = state
            i, f, g, o = jnp.split(x + h @ p["h"], 4, axis=-1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        zeros = jnp.zeros((xs.shape[1], p["h"].shape[0]), jnp.float32)
        return lax.scan(cell, (zeros, zeros), xs @ p["x"] + p["b"])[1]

    def loss(params, tokens):
        x = params["embed"][tokens[:-1]]
        for p in params["layers"]:
            x = layer(p, x)
        logits = x @ params["head"]
        return cross_entropy(logits.reshape(-1, logits.shape[-1]), tokens[1:].reshape(-1))

    scale = np.float32(0.06)
    one = lambda seed: {  # noqa: E731
        "x": scale * normal(256, 1024, seed=seed), "h": scale * normal(256, 1024, seed=seed + 1), "b": np.zeros(1024, np.float32),
    }
    params = {"embed": normal(128, 256), "layers": [one(0), one(2)], "head": scale * normal(256, 128)}
    return descent(loss), [params, integers(65, 16, high=128)]


@workload("models", tolerance=1e-2)
def dlrm_train():
    """A recommender: 26 tables of 10,000 rows of 32, dense features, all pairs of products, batch 128."""

    def tower(layers, x):
        for w, b in layers:
            x = jax.nn.relu(x @ w + b)
        return x

    def loss(params, dense, sparse, clicked):
        bottom = tower(params["bottom"], dense)
        rows = jnp.take_along_axis(params["tables"], sparse.T[:, :, None], 1).transpose(1, 0, 2)
        all_rows = jnp.concatenate([bottom[:, None], rows], 1)
        pairs = jnp.einsum("bid,bjd->bij", all_rows, all_rows)
        low = np.tril_indices(27, -1)
        x = tower(params["top"], jnp.concatenate([bottom, pairs[:, low[0], low[1]]], 1))
        logit = (x @ params["last"])[:, 0]
        return (jnp.logaddexp(np.float32(0), logit) - clicked * logit).mean()

    def layers(*sizes):
        scale = np.float32(0.1)
        return [(scale * normal(a, b), np.zeros(b, np.float32)) for a, b in zip(sizes, sizes[1:])]

    params = {
        "tables": np.float32(0.1) * normal(26, 10_000, 32), "bottom": layers(13, 512, 256, 32),
        "top": layers(32 + 351, 512, 256), "last": np.float32(0.1) * normal(256, 1),
    }
    clicked = integers(128, high=2).astype(np.float32)
    return descent(loss), [params, normal(128, 13), integers(128, 26, high=10_000), clicked]


@workload("models", tolerance=1e-2)
def neural_ode_train():
    """A network as the right side of an ODE, by 20 steps of RK4 and back through them, batch 64."""

    def field(params, y):
        for w, b in params[:-1]:
            y = jnp.tanh(y @ w + b)
        w, b = params[-1]
        return y @ w + b

    def loss(params, start, end):
        h = np.float32(0.05)

        def step(y, _):
            a = field(params, y)
            b = field(params, y + h / 2 * a)
            c = field(params, y + h / 2 * b)
            d = field(params, y + h * c)
            return y + h / 6 * (a + 2 * b + 2 * c + d), None

        return ((lax.scan(step, start, None, length=20)[0] - end) ** 2).mean()

    params = [(np.float32(0.3) * normal(a, b), np.zeros(b, np.float32)) for a, b in [(2, 64), (64, 64), (64, 2)]]
    return descent(loss), [params, normal(64, 2), normal(64, 2, seed=1)]


@workload("models", tolerance=1e-2)
def kmeans():
    """Ten of Lloyd's steps: 20,000 points of 16 dimensions, 64 centres."""

    def program(points, centres):
        def step(_, centres):
            far = (centres**2).sum(1) - 2 * points @ centres.T
            nearest = jnp.argmin(far, axis=1)
            sums = jax.ops.segment_sum(points, nearest, 64)
            counts = jax.ops.segment_sum(jnp.ones(len(points), jnp.float32), nearest, 64)
            return sums / jnp.maximum(counts, np.float32(1))[:, None]

        return lax.fori_loop(0, 10, step, centres)

    centres = 3 * normal(64, 16)
    points = centres[integers(20_000, high=64)] + normal(20_000, 16)
    return program, [points.astype(np.float32), points[:64].astype(np.float32)]
