"""Elementwise, normalisation, reductions, movement of data, random numbers."""

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
from jax import lax

from workloads import integers, normal, uniform, workload

BF16 = ml_dtypes.bfloat16
MILLION = 1 << 20


def _unary(name, function, low=-4.0, high=4.0, dtype=np.float32, size=MILLION):
    @workload("elementwise", name=name)
    def make():
        return function, [uniform(size, low=low, high=high).astype(dtype)]


_unary("exp_1m", jnp.exp)
_unary("log_1m", jnp.log, low=0.01)
_unary("log1p_1m", jnp.log1p, low=0.0)
_unary("sin_1m", jnp.sin)
_unary("tanh_1m", jnp.tanh)
_unary("rsqrt_1m", lax.rsqrt, low=0.1)
_unary("erf_1m", jax.scipy.special.erf)
_unary("sigmoid_1m", jax.nn.sigmoid)
_unary("gelu_1m", jax.nn.gelu)
_unary("gelu_16m", jax.nn.gelu, size=16 * MILLION)
_unary("gelu_bf16_1m", jax.nn.gelu, dtype=BF16)
_unary("exp_f64_1m", jnp.exp, dtype=np.float64)
_unary("to_bf16_16m", lambda x: x.astype(jnp.bfloat16), size=16 * MILLION)


@workload("elementwise")
def add_16m():
    return lambda x, y: x + y, [uniform(16 * MILLION), uniform(16 * MILLION, seed=1)]


@workload("elementwise")
def add_bf16_16m():
    return lambda x, y: x + y, [uniform(16 * MILLION).astype(BF16), uniform(16 * MILLION, seed=1).astype(BF16)]


@workload("elementwise")
def atan2_1m():
    return jnp.arctan2, [normal(MILLION), normal(MILLION, seed=1)]


@workload("elementwise")
def pow_1m():
    return jnp.power, [uniform(MILLION, low=0.1, high=4.0), uniform(MILLION, low=-2.0, high=2.0)]


@workload("elementwise")
def integer_divide_1m():
    return lambda x, y: x // y, [integers(MILLION, high=1 << 30), integers(MILLION, low=1, high=1000)]


@workload("elementwise")
def integer_hash_1m():
    def program(x):
        x = (x ^ (x >> 16)) * np.uint32(0x7FEB352D)
        x = (x ^ (x >> 15)) * np.uint32(0x846CA68B)
        return x ^ (x >> 16)

    return program, [integers(MILLION, high=1 << 31, dtype=np.uint32)]


@workload("elementwise")
def chain_of_20_1m():
    def program(x):
        for i in range(20):
            x = x * np.float32(0.9) + np.float32(0.1 * i)
        return x

    return program, [normal(MILLION)]


@workload("elementwise")
def formula_of_400_f64_256k():
    """A fit in powers of three variables, as equations of state are: all of it one loop, or many arrays stored."""
    factors = np.random.default_rng(5).standard_normal((6, 6, 3))

    def program(x, y, z):
        def powers(x):
            return [np.float64(1.0)] + [x**n for n in range(1, 6)]

        def polynomial(factors):
            terms = [c * a * b * z**k for i, a in enumerate(powers(x)) for j, b in enumerate(powers(y))
                     for k, c in enumerate(factors[i, j])]
            return sum(terms[1:], terms[0])

        return polynomial(factors) / polynomial(np.abs(factors) + 1)

    return program, [np.random.default_rng(n).uniform(0, 1, 1 << 18) for n in range(3)]


@workload("elementwise")
def fluxes_in_short_rows_f64():
    """Differences between cells of a grid that has few layers, put inside a border of zeros."""

    def program(t, s):
        inside = (slice(1, -1), slice(1, -1))
        dx = jnp.zeros_like(t).at[:-1].set(t[1:] - t[:-1])
        dy = jnp.zeros_like(t).at[:, :-1].set(s[:, 1:] - s[:, :-1])
        slope = dx[inside] / (1e-3 + dy[inside] ** 2)
        taper = 0.5 * (1 + jnp.tanh((0.01 - jnp.abs(slope)) / 1e-3))
        steep = (slope * taper)[..., 1:] - (slope * taper)[..., :-1]
        return t.at[1:-1, 1:-1, :-1].add(steep), dx.at[1:-1, 1:-1].multiply(taper)

    return program, [np.random.default_rng(n).standard_normal((100, 100, 7)) for n in range(2)]


@workload("elementwise")
def exp_in_rows_of_5_5m():
    return lambda x, y: jnp.exp(x[:, None] * y), [normal(MILLION), normal(5)]


@workload("elementwise")
def vander_1m_by_5():
    return lambda x: jnp.vander(x, 5), [uniform(MILLION, low=-2.0, high=2.0)]


@workload("elementwise")
def adamw_update_4m():
    def program(p, g, m, v):
        m = np.float32(0.9) * m + np.float32(0.1) * g
        v = np.float32(0.999) * v + np.float32(0.001) * g * g
        return p - np.float32(1e-3) * (m / (jnp.sqrt(v) + np.float32(1e-8)) + np.float32(0.01) * p), m, v

    return program, [normal(4 * MILLION), normal(4 * MILLION, seed=1), normal(4 * MILLION, seed=2), uniform(4 * MILLION)]


@workload("normalisation")
def softmax_4096x1024():
    return lambda x: jax.nn.softmax(x, axis=-1), [normal(4096, 1024)]


@workload("normalisation")
def softmax_bf16_12x512x512():
    return lambda x: jax.nn.softmax(x, axis=-1), [normal(12, 512, 512).astype(BF16)]


@workload("normalisation")
def softmax_columns_1024x1024():
    return lambda x: jax.nn.softmax(x, axis=0), [normal(1024, 1024)]


@workload("normalisation")
def softmax_masked_8x512x512():
    def softmax(mask, x):
        return jax.nn.softmax(jnp.where(mask, x, np.float32(-1e9)), axis=-1)

    return softmax, [normal(8, 1, 512) > 0, normal(8, 512, 512)]


def _layernorm(x, g, b):
    wide = x.astype(jnp.float32)
    mean = wide.mean(-1, keepdims=True)
    var = ((wide - mean) ** 2).mean(-1, keepdims=True)
    return ((wide - mean) * lax.rsqrt(var + np.float32(1e-5)) * g + b).astype(x.dtype)


@workload("normalisation")
def layernorm_4096x768():
    return _layernorm, [normal(4096, 768), normal(768), normal(768, seed=1)]


@workload("normalisation")
def layernorm_bf16_4096x768():
    return _layernorm, [normal(4096, 768).astype(BF16), normal(768), normal(768, seed=1)]


@workload("normalisation")
def layernorm_grad_1024x768():
    def loss(x, g, b):
        return (_layernorm(x, g, b) ** 3).sum()

    return jax.grad(loss, argnums=(0, 1, 2)), [normal(1024, 768), normal(768), normal(768, seed=1)]


@workload("normalisation")
def rmsnorm_4096x768():
    return lambda x, g: x * lax.rsqrt((x * x).mean(-1, keepdims=True) + np.float32(1e-6)) * g, [
        normal(4096, 768), normal(768),
    ]


@workload("normalisation")
def logsumexp_4096x1024():
    return lambda x: jax.scipy.special.logsumexp(x, axis=-1), [normal(4096, 1024)]


@workload("normalisation")
def softmax_xent_grad_512x10000():
    def loss(x, y):
        return -jnp.take_along_axis(jax.nn.log_softmax(x), y[:, None], axis=1).mean()

    return jax.grad(loss), [normal(512, 10000), integers(512, high=10000)]


def _reduce(name, function, *shape, dtype=np.float32):
    @workload("reductions", name=name)
    def make():
        return function, [normal(*shape).astype(dtype)]


_reduce("sum_rows_2048x2048", lambda x: x.sum(1), 2048, 2048)
_reduce("sum_rows_bf16_2048x2048", lambda x: x.sum(1), 2048, 2048, dtype=BF16)
_reduce("sum_rows_1mx8", lambda x: x.sum(1), MILLION, 8)
_reduce("sum_columns_2048x2048", lambda x: x.sum(0), 2048, 2048)
_reduce("sum_columns_1mx8", lambda x: x.sum(0), MILLION, 8)
_reduce("sum_all_16m", jnp.sum, 16 * MILLION)
_reduce("sum_middle_64x512x128", lambda x: x.sum(1), 64, 512, 128)
_reduce("max_rows_2048x2048", lambda x: x.max(1), 2048, 2048)
_reduce("argmax_rows_2048x2048", lambda x: x.argmax(1), 2048, 2048)
_reduce("argmax_all_4m", jnp.argmax, 4 * MILLION)
_reduce("mean_var_channels", lambda x: (x.mean((0, 1, 2)), x.var((0, 1, 2))), 8, 56, 56, 256)
_reduce("cumsum_1m", jnp.cumsum, MILLION)
_reduce("cumsum_rows_1000x1000", lambda x: jnp.cumsum(x, 1), 1000, 1000)
_reduce("cumprod_columns_1000x1000", lambda x: jnp.cumprod(x, 0), 1000, 1000)
_reduce("cummax_1m", lambda x: lax.cummax(x, axis=0), MILLION)
_reduce("any_all_2048x2048", lambda x: ((x > 4).any(1), (x > -4).all(0)), 2048, 2048)
_reduce("tree_of_small_sums", lambda x: sum((x[i::16] * x[i::16]).sum(-1) for i in range(16)), 4096, 16)


def _pool(name, reducer, start, window, stride):
    @workload("reductions", name=name)
    def make():
        def program(x):
            return lax.reduce_window(x, np.float32(start), reducer, (1, *window, 1), (1, *stride, 1), "SAME")

        return program, [normal(8, 56, 56, 64)]


_pool("max_pool_3x3_stride_2", lax.max, -np.inf, (3, 3), (2, 2))
_pool("mean_pool_3x3", lax.add, 0.0, (3, 3), (1, 1))


@workload("reductions")
def max_pool_grad():
    def loss(x):
        y = lax.reduce_window(x, np.float32(-np.inf), lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        return (y * y).sum()

    return jax.grad(loss), [normal(4, 56, 56, 64)]


def _move(name, function, *args):
    @workload("movement", name=name)
    def make():
        return function, [arg() for arg in args]


_move("transpose_4096x4096", jnp.transpose, lambda: normal(4096, 4096))
_move("transpose_bf16_4096x4096", jnp.transpose, lambda: normal(4096, 4096).astype(BF16))
_move("transpose_nchw_nhwc", lambda x: x.transpose(0, 2, 3, 1), lambda: normal(8, 64, 112, 112))
_move("transpose_c64_1000x1000", jnp.transpose, lambda: normal(1000, 1000).astype(np.complex64))
_move("transpose_4x250000", jnp.transpose, lambda: normal(4, 250_000))
_move("transpose_heads", lambda x: x.transpose(0, 2, 1, 3), lambda: normal(4, 512, 12, 64))
_move("concat_rows", lambda *xs: jnp.concatenate(xs, 0), *[lambda: normal(512, 1024)] * 4)
_move("concat_columns", lambda *xs: jnp.concatenate(xs, 1), *[lambda: normal(1024, 256)] * 4)
_move("concat_many", lambda *xs: jnp.concatenate(xs), *[lambda i=i: normal(1000 + i) for i in range(50)])
_move("slice_strided", lambda x: x[::2, 1::3], lambda: normal(2048, 2048))
_move("pad", lambda x: jnp.pad(x, ((3, 5), (7, 9))), lambda: normal(1024, 1024))
_move("reverse", lambda x: x[::-1, ::-1], lambda: normal(1024, 1024))
_move("roll", lambda x: jnp.roll(x, (5, 17), (0, 1)), lambda: normal(1024, 1024))
_move("where_mask", lambda m, x: jnp.where(m, x, np.float32(0)), lambda: normal(2048, 2048) > 0, lambda: normal(2048, 2048))
_move("tril", jnp.tril, lambda: normal(2048, 2048))
_move("one_hot", lambda i: jax.nn.one_hot(i, 1000, dtype=jnp.float32), lambda: integers(4096))
_move("gather_rows", lambda t, i: t[i], lambda: normal(50000, 768), lambda: integers(1024, high=50000))
_move("gather_elements", lambda x, i: x[i], lambda: normal(MILLION), lambda: integers(MILLION, high=MILLION))
_move("scatter_add_elements", lambda x, i, u: x.at[i].add(u), lambda: normal(100000), lambda: integers(MILLION, high=100000), lambda: normal(MILLION))
_move("scatter_add_rows", lambda x, i, u: x.at[i].add(u), lambda: normal(10000, 64), lambda: integers(20000, high=10000), lambda: normal(20000, 64))
_move("dynamic_update_slice_16mb", lambda x, u: lax.dynamic_update_slice(x, u, (100, 0)), lambda: normal(4096, 1024), lambda: normal(8, 1024))


def _random(name, function):
    @workload("rng", name=name, tolerance=1e-4)
    def make():
        return lambda key: function(jax.random.wrap_key_data(key, impl="threefry2x32")), [np.array([1, 2], np.uint32)]


_random("bits_1m", lambda k: jax.random.bits(k, (MILLION,), jnp.uint32))
_random("uniform_1m", lambda k: jax.random.uniform(k, (MILLION,), jnp.float32))
_random("normal_1m", lambda k: jax.random.normal(k, (MILLION,), jnp.float32))
_random("bernoulli_4m", lambda k: jax.random.bernoulli(k, 0.1, (4 * MILLION,)))
_random("permutation_100k", lambda k: jax.random.permutation(k, 100_000))
_random("categorical_64x50257", lambda k: jax.random.categorical(k, jnp.zeros((64, 50257), jnp.float32)))
_random("gamma_10k", lambda k: jax.random.gamma(k, 2.0, (10_000,), jnp.float32))
_random("circle_1m", lambda k: jnp.mean((jax.random.uniform(k, (MILLION, 2), jnp.float32) ** 2).sum(1) < 1))
_random("split_1k", lambda k: jax.random.key_data(jax.random.split(k, 1000)))


def _walk(key, steps):
    def step(state, _):
        key, x = state
        key, own = jax.random.split(key)
        x = x + jax.random.normal(own, (), jnp.float32)
        return (key, x), x

    return lax.scan(step, (key, jnp.float32(0)), None, length=steps)[1]


_random("random_walk_2000", lambda k: _walk(k, 2000))
_random("random_walks_vmap", lambda k: jax.vmap(lambda k: _walk(k, 200)[-1])(jax.random.split(k, 1000)))


@workload("rng")
def rng_bit_generator_philox_4m():
    return lambda key: lax.rng_bit_generator(key, (4 * MILLION,), jnp.uint32, lax.RandomAlgorithm.RNG_PHILOX)[1], [
        np.array([1, 2, 3, 4], np.uint32)
    ]
