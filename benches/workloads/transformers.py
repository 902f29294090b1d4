"""Models with attention: GPT-2 trained, read and continued, a vision transformer, a layer of experts."""

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
from jax import lax

from workloads import integers, normal, workload
from workloads.models import descent

BF16 = ml_dtypes.bfloat16
SCALE = np.float32(0.02)


def _norm(x, gain):
    mean = x.mean(-1, keepdims=True)
    var = ((x - mean) ** 2).mean(-1, keepdims=True)
    return (x - mean) * lax.rsqrt(var + 1e-5).astype(x.dtype) * gain


def _attention(q, k, v, mask=None):
    s = jnp.einsum("bhqd,bhkd->bhqk", q, k) / np.array(q.shape[-1] ** 0.5, q.dtype)
    if mask is not None:
        s = jnp.where(mask, s, np.array(-1e9, s.dtype))
    return jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(s), v)


def _heads(x, heads):
    b, t, d = x.shape
    return x.reshape(b, t, heads, d // heads).transpose(0, 2, 1, 3)


def _joined(x):
    b, h, t, d = x.shape
    return x.transpose(0, 2, 1, 3).reshape(b, t, h * d)


def _block(p, x, heads, mask):
    q, k, v = (_heads(y, heads) for y in jnp.split(_norm(x, p["g1"]) @ p["qkv"], 3, axis=-1))
    x = x + _joined(_attention(q, k, v, mask)) @ p["out"]
    return x + jax.nn.gelu(_norm(x, p["g2"]) @ p["up"]) @ p["down"]


def _layer(width):
    return {
        "g1": np.ones(width, np.float32), "g2": np.ones(width, np.float32),
        "qkv": SCALE * normal(width, 3 * width), "out": SCALE * normal(width, width),
        "up": SCALE * normal(width, 4 * width), "down": SCALE * normal(4 * width, width),
    }


def _gpt_parameters(layers, width, vocabulary, length):
    return {
        "embed": SCALE * normal(vocabulary, width), "places": SCALE * normal(length, width),
        "blocks": [_layer(width) for _ in range(layers)],
    }


def _causal(length):
    return jnp.tril(jnp.ones((length, length), bool))


def _as(dtype, params):
    return jax.tree.map(lambda p: p.astype(dtype), params)


def _gpt_train(layers, width, heads, vocabulary, batch, length, dtype=np.float32):
    """A train step with gradient descent; layers are written out, as users do."""

    def loss(params, tokens):
        x = params["embed"][tokens[:, :-1]] + params["places"]
        for p in params["blocks"]:
            x = _block(p, x, heads, _causal(length))
        logp = jax.nn.log_softmax(x @ params["embed"].T)
        return -jnp.take_along_axis(logp, tokens[:, 1:, None], 2).mean()

    params = _as(dtype, _gpt_parameters(layers, width, vocabulary, length))
    return descent(loss), [params, integers(batch, length + 1, high=vocabulary)]


@workload("models", tolerance=1e-2)
def gpt_tiny_train():
    return _gpt_train(4, 128, 4, 1000, 2, 64)


@workload("models", tolerance=1e-2)
def gpt2_small_train():
    return _gpt_train(12, 768, 12, 50257, 1, 128)


@workload("models", tolerance=1e-1)
def gpt2_small_train_bf16():
    return _gpt_train(12, 768, 12, 50257, 1, 128, BF16)


def _gpt_prefill(dtype):
    def program(params, tokens):
        x = params["embed"][tokens] + params["places"]
        for p in params["blocks"]:
            x = _block(p, x, 12, _causal(tokens.shape[1]))
        return x[:, -1] @ params["embed"].T

    return program, [_as(dtype, _gpt_parameters(12, 768, 50257, 256)), integers(1, 256, high=50257)]


@workload("models", tolerance=1e-2)
def gpt2_small_prefill():
    return _gpt_prefill(np.float32)


@workload("models", tolerance=1e-1)
def gpt2_small_prefill_bf16():
    return _gpt_prefill(BF16)


def _gpt_decode(dtype):
    """One more token with 256 places of keys and values; the caches are updated and returned."""

    def program(params, caches, token, at):
        x = (params["embed"][token] + params["places"][at])[:, None]
        zero = np.int32(0)
        seen = jnp.arange(256, dtype=jnp.int32) <= at
        updated = []
        for p, (keys, values) in zip(params["blocks"], caches):
            q, k, v = (_heads(y, 12) for y in jnp.split(_norm(x, p["g1"]) @ p["qkv"], 3, axis=-1))
            keys = lax.dynamic_update_slice(keys, k, (zero, zero, at, zero))
            values = lax.dynamic_update_slice(values, v, (zero, zero, at, zero))
            updated.append((keys, values))
            x = x + _joined(_attention(q, keys, values, seen)) @ p["out"]
            x = x + jax.nn.gelu(_norm(x, p["g2"]) @ p["up"]) @ p["down"]
        return x[:, 0] @ params["embed"].T, updated

    params = _as(dtype, _gpt_parameters(12, 768, 50257, 256))
    cache = lambda seed: normal(1, 12, 256, 64, seed=seed).astype(dtype)  # noqa: E731
    caches = [(cache(2 * i), cache(2 * i + 1)) for i in range(12)]
    return program, [params, caches, integers(1, high=50257), np.int32(200)]


@workload("models", tolerance=1e-2)
def gpt2_small_decode_f32():
    return _gpt_decode(np.float32)


@workload("models", tolerance=1e-1)
def gpt2_small_decode_bf16():
    return _gpt_decode(BF16)


@workload("models", tolerance=1e-2)
def vit_b16_forward():
    """ViT-B/16: patches of 16 by 16 of an image of 224, 12 layers of 768."""

    def program(params, image):
        x = lax.conv_general_dilated(image, params["patch"], (16, 16), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        x = x.reshape(x.shape[0], -1, 768)
        x = jnp.concatenate([jnp.broadcast_to(params["class"], (x.shape[0], 1, 768)), x], 1) + params["places"]
        for p in params["blocks"]:
            x = _block(p, x, 12, None)
        return _norm(x[:, 0], params["gain"]) @ params["head"]

    params = {
        "patch": SCALE * normal(16, 16, 3, 768), "class": normal(768), "places": SCALE * normal(197, 768),
        "blocks": [_layer(768) for _ in range(12)], "gain": np.ones(768, np.float32), "head": SCALE * normal(768, 1000),
    }
    return program, [params, normal(1, 224, 224, 3)]


@workload("models", tolerance=1e-2)
def moe_block_train():
    """8 experts of 256 to 1024 and back, the best 2 of them for each of 512 tokens, with room for 160."""

    def loss(params, x, target):
        gates = jax.nn.softmax(x @ params["route"])
        best, which = lax.top_k(gates, 2)
        best = best / best.sum(-1, keepdims=True)
        chosen = jax.nn.one_hot(which, 8, dtype=jnp.float32)
        place = jnp.cumsum(chosen.reshape(-1, 8), axis=0).reshape(chosen.shape) - np.float32(1)
        room = jax.nn.one_hot((place * chosen).sum(-1).astype(jnp.int32), 160, dtype=jnp.float32)
        send = jnp.einsum("tke,tkc->tec", chosen, room)
        back = jnp.einsum("tk,tke,tkc->tec", best, chosen, room)
        inner = jax.nn.gelu(jnp.einsum("tec,td,edh->ech", send, x, params["up"]))
        y = jnp.einsum("tec,ech,ehd->td", back, inner, params["down"])
        return ((y - target) ** 2).mean()

    params = {
        "route": SCALE * normal(256, 8), "up": SCALE * normal(8, 256, 1024), "down": SCALE * normal(8, 1024, 256),
    }
    return descent(loss), [params, normal(512, 256), normal(512, 256, seed=1)]
