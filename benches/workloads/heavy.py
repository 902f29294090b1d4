"""Products, convolutions, sorts, linear algebra, transforms."""

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
from jax import lax

from workloads import integers, normal, uniform, workload

BF16 = ml_dtypes.bfloat16


def _dot(name, left, right, function=jnp.matmul, dtype=np.float32):
    @workload("dot", name=name, tolerance=2e-2 if dtype in (BF16, np.float16) else None)
    def make():
        return function, [normal(*left).astype(dtype), normal(*right, seed=1).astype(dtype)]


_dot("dot_256", (256, 256), (256, 256))
_dot("dot_512", (512, 512), (512, 512))
_dot("dot_1024", (1024, 1024), (1024, 1024))
_dot("dot_tn_1024", (1024, 1024), (1024, 1024), lambda x, y: x.T @ y)
_dot("dot_nt_1024", (1024, 1024), (1024, 1024), lambda x, y: x @ y.T)
_dot("dot_odd_517x333x211", (517, 211), (211, 333))
_dot("dot_tall_16384x64x64", (16384, 64), (64, 64))
_dot("dot_few_rows_8x3072x768", (8, 3072), (3072, 768))
_dot("vector_matrix_4096", (4096,), (4096, 4096))
_dot("matrix_vector_4096", (4096, 4096), (4096,))
_dot("vector_matrix_bf16_4096", (4096,), (4096, 4096), dtype=BF16)
_dot("outer_2048", (2048,), (2048,), jnp.outer)
_dot("dot_batched_1000x16", (1000, 16, 16), (1000, 16, 16))
_dot("dot_batched_256x64", (256, 64, 64), (256, 64, 64))
_dot("attention_scores", (24, 256, 64), (24, 256, 64), lambda q, k: jnp.einsum("bqd,bkd->bqk", q, k))
_dot("dot_512_f64", (512, 512), (512, 512), dtype=np.float64)
_dot("dot_512_bf16", (512, 512), (512, 512), dtype=BF16)
_dot("dot_512_c64", (512, 512), (512, 512), dtype=np.complex64)


@workload("dot")
def dot_512_i8():
    def program(x, y):
        return lax.dot(x, y, preferred_element_type=jnp.int32)

    return program, [integers(512, 512, low=-100, high=100, dtype=np.int8), integers(512, 512, low=-100, high=100, dtype=np.int8, seed=1)]


@workload("dot")
def dot_bias_gelu():
    return lambda x, w, b: jax.nn.gelu(x @ w + b), [normal(512, 768), normal(768, 3072) * np.float32(0.05), normal(3072)]


@workload("dot", tolerance=1e-3)
def attention_12x256x64():
    def program(q, k, v):
        p = jax.nn.softmax(jnp.einsum("bhqd,bhkd->bhqk", q, k) / np.float32(8), axis=-1)
        return jnp.einsum("bhqk,bhkd->bhqd", p, v)

    return program, [normal(2, 12, 256, 64, seed=i) for i in range(3)]


def _causal_attention(q, k, v):
    scores = jnp.einsum("hqd,hkd->hqk", q, k) / np.float32(8)
    seen = jnp.tril(jnp.ones(scores.shape[1:], bool))
    return jnp.einsum("hqk,hkd->hqd", jax.nn.softmax(jnp.where(seen, scores, np.float32(-1e30)), axis=-1), v)


@workload("dot", tolerance=1e-3)
def attention_causal_8x1024x64():
    return _causal_attention, [normal(8, 1024, 64, seed=i) for i in range(3)]


@workload("dot", tolerance=1e-3)
def attention_grad_8x1024x64():
    def loss(q, k, v):
        return (_causal_attention(q, k, v) ** 2).sum()

    return jax.grad(loss, argnums=(0, 1, 2)), [normal(8, 1024, 64, seed=i) for i in range(3)]


NHWC = ("NHWC", "HWIO", "NHWC")


def _conv(name, image, kernel, groups=1, stride=1, dilation=(1, 1), left=(1, 1), padding="SAME", dims=NHWC):
    @workload("conv", name=name, tolerance=1e-3)
    def make():
        rank = len(image) - 2

        def program(x, w):
            return lax.conv_general_dilated(
                x, w, (stride,) * rank, padding, lhs_dilation=left[:rank], rhs_dilation=dilation[:rank],
                feature_group_count=groups, dimension_numbers=dims,
            )

        return program, [normal(*image), normal(*kernel, seed=1)]


_conv("conv_3x3_56_64", (8, 56, 56, 64), (3, 3, 64, 64))
_conv("conv_3x3_14_256", (1, 14, 14, 256), (3, 3, 256, 256))
_conv("conv_3x3_stride_2", (8, 56, 56, 128), (3, 3, 128, 128), stride=2)
_conv("conv_1x1_56_256_64", (8, 56, 56, 256), (1, 1, 256, 64))
_conv("conv_7x7_stride_2", (4, 224, 224, 3), (7, 7, 3, 64), stride=2)
_conv("conv_depthwise_56_128", (8, 56, 56, 128), (3, 3, 1, 128), groups=128)
_conv("conv_depthwise_nchw", (8, 128, 56, 56), (128, 1, 3, 3), groups=128, dims=("NCHW", "OIHW", "NCHW"))
_conv("conv_dilated", (4, 28, 28, 128), (3, 3, 128, 128), dilation=(2, 2))
_conv("conv_grouped_32", (4, 28, 28, 256), (3, 3, 8, 256), groups=32)
_conv("conv_1d", (8, 2048, 64), (5, 64, 128), dims=("NWC", "WIO", "NWC"))
_conv("conv_3d", (1, 16, 56, 56, 16), (3, 3, 3, 16, 32), dilation=(1, 1, 1), left=(1, 1, 1), dims=("NDHWC", "DHWIO", "NDHWC"))
_conv("conv_transposed", (4, 28, 28, 128), (3, 3, 128, 64), left=(2, 2), padding=((2, 1), (2, 1)))
_conv("conv_nchw", (4, 64, 56, 56), (64, 64, 3, 3), dims=("NCHW", "OIHW", "NCHW"))


def _conv_grad(name, image, kernel, wrt, groups=1, stride=1):
    @workload("conv", name=name, tolerance=1e-3)
    def make():
        def loss(x, w):
            y = lax.conv_general_dilated(
                x, w, (stride, stride), "SAME", feature_group_count=groups, dimension_numbers=NHWC
            )
            return (y * y).sum()

        return jax.grad(loss, argnums=wrt), [normal(*image), normal(*kernel, seed=1)]


_conv_grad("conv_input_grad", (4, 56, 56, 64), (3, 3, 64, 64), 0)
_conv_grad("conv_kernel_grad", (4, 56, 56, 64), (3, 3, 64, 64), 1)
_conv_grad("conv_stride_2_input_grad", (4, 56, 56, 64), (3, 3, 64, 64), 0, stride=2)
_conv_grad("conv_depthwise_kernel_grad", (4, 28, 28, 128), (3, 3, 1, 128), 1, groups=128)


def _sort(name, function, make_values):
    @workload("sort", name=name)
    def make():
        return function, [make_values()]


_sort("sort_1m", jnp.sort, lambda: normal(1 << 20))
_sort("sort_i32_1m", jnp.sort, lambda: integers(1 << 20, high=1 << 30))
_sort("argsort_1m", jnp.argsort, lambda: normal(1 << 20))
_sort("sort_rows_1000x1000", lambda x: jnp.sort(x, axis=1), lambda: normal(1000, 1000))
_sort("sort_columns_1000x1000", lambda x: jnp.sort(x, axis=0), lambda: normal(1000, 1000))
_sort("sort_short_100000x8", lambda x: jnp.sort(x, axis=1), lambda: normal(100000, 8))
_sort("top_50_of_64x50257", lambda x: lax.top_k(x, 50), lambda: normal(64, 50257))
_sort("top_10_of_1m", lambda x: lax.top_k(x, 10), lambda: normal(1 << 20))
_sort("median_1000x1001", lambda x: jnp.median(x, axis=1), lambda: normal(1000, 1001))


def _spd(*shape, dtype=np.float32):
    x = normal(*shape, dtype=dtype)
    return (x @ np.swapaxes(x, -1, -2) + shape[-1] * np.eye(shape[-1])).astype(dtype)


def _eigh(x):
    """Vectors are the same up to their signs, which LAPACK and others choose as they like. Where values are near each
    other they are known less well: of 512, in f32, LAPACK's are off by 0.015 from those of f64, and so are others."""
    values, vectors = jnp.linalg.eigh(x)
    return values, jnp.abs(vectors)


def _eig(x):
    """The vectors together, since their order and their signs are anybody's."""
    values, vectors = jnp.linalg.eig(x)
    return (vectors * values[..., None, :]) @ jnp.linalg.inv(vectors)


def _schur(x):
    form, basis = lax.linalg.schur(x)
    return basis @ form @ basis.swapaxes(-1, -2)


def _linalg(name, function, *args, tolerance=1e-2):
    @workload("linalg", name=name, tolerance=tolerance)
    def make():
        return function, [arg() for arg in args]


_linalg("cholesky_128", jnp.linalg.cholesky, lambda: _spd(128, 128))
_linalg("cholesky_512", jnp.linalg.cholesky, lambda: _spd(512, 512))
_linalg("cholesky_256x16", jnp.linalg.cholesky, lambda: _spd(256, 16, 16))
_linalg("solve_256", jnp.linalg.solve, lambda: _spd(256, 256), lambda: normal(256, 8))
_linalg("triangular_solve_512", lambda a, b: jax.scipy.linalg.solve_triangular(a, b, lower=True), lambda: _spd(512, 512), lambda: normal(512, 64))
_linalg("solve_1000x4x4", jnp.linalg.solve, lambda: _spd(1000, 4, 4), lambda: normal(1000, 4, 1))
_linalg("schur_200_times_3x3", lambda a: jax.lax.scan(lambda a, _: (jax.scipy.linalg.schur(a)[0], None), a, None, 200)[0], lambda: normal(3, 3))
_linalg("cholesky_f64_256", jnp.linalg.cholesky, lambda: _spd(256, 256, dtype=np.float64))
_linalg("cho_solve_256", lambda a, b: jax.scipy.linalg.cho_solve((jnp.linalg.cholesky(a), True), b), lambda: _spd(256, 256), lambda: normal(256, 8))

# Those that LAPACK does on both sides, large, middling, and small in batches.
for _size in [(1000, 4, 4), (16, 16), (128, 128), (512, 512)]:
    _tail = "x".join(map(str, _size))
    _linalg(f"eigh_{_tail}", _eigh, lambda size=_size: _spd(*size), tolerance=5e-2)
    _linalg(f"svd_{_tail}", lambda x: jnp.linalg.svd(x, compute_uv=False), lambda size=_size: normal(*size))
    _linalg(f"qr_{_tail}", jnp.linalg.qr, lambda size=_size: normal(*size))
    _linalg(f"lu_{_tail}", lax.linalg.lu, lambda size=_size: normal(*size))
    _linalg(f"det_{_tail}", jnp.linalg.det, lambda size=_size: normal(*size) / np.float32(size[-1]))
    _linalg(f"inv_{_tail}", jnp.linalg.inv, lambda size=_size: _spd(*size))
# Eigenvalues come in no order, and of vectors none is the only one.
for _size in [(1000, 4, 4), (16, 16), (64, 64)]:
    _tail = "x".join(map(str, _size))
    _linalg(f"eigvals_{_tail}", lambda x: jnp.sort(jnp.linalg.eigvals(x)), lambda size=_size: normal(*size))
    _linalg(f"eig_{_tail}", _eig, lambda size=_size: normal(*size))
    _linalg(f"schur_{_tail}", _schur, lambda size=_size: normal(*size))
_linalg("lstsq_512x64", lambda a, b: jnp.linalg.lstsq(a, b)[0], lambda: normal(512, 64), lambda: normal(512, 4))
_linalg("svd_10000x2", lambda x: jnp.linalg.svd(x, compute_uv=True, full_matrices=False)[1], lambda: normal(10000, 2))
_linalg("qr_10000x3", jnp.linalg.qr, lambda: normal(10000, 3))
_linalg("lstsq_100000x3", lambda a, b: jnp.linalg.lstsq(a, b)[0], lambda: normal(100000, 3), lambda: normal(100000))
_linalg("expm_128", jax.scipy.linalg.expm, lambda: normal(128, 128) / np.float32(16))
_linalg("fft_1m", jnp.fft.fft, lambda: normal(1 << 20).astype(np.complex64), tolerance=1e-4)
_linalg("fft_1024x1024", jnp.fft.fft, lambda: normal(1024, 1024).astype(np.complex64), tolerance=1e-4)
_linalg("rfft_1024x1000", jnp.fft.rfft, lambda: normal(1024, 1000), tolerance=1e-4)
_linalg("fft2_512", jnp.fft.fft2, lambda: normal(512, 512).astype(np.complex64), tolerance=1e-4)
_linalg("rfft2_and_back_512", lambda x: jnp.fft.irfft2(jnp.fft.rfft2(x)), lambda: normal(512, 512), tolerance=1e-4)
