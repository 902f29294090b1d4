"""Linear algebra and Fourier transforms against NumPy."""

import pickle
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import serialize_executable

RNG = np.random.default_rng(0)
A = RNG.normal(size=(5, 5)).astype(np.float32)
SYMMETRIC = (A @ A.T + 5 * np.eye(5)).astype(np.float32)
close = lambda a, b: np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-4)


def test_cholesky_and_solve():
    close(jnp.linalg.cholesky(SYMMETRIC), np.linalg.cholesky(SYMMETRIC))
    close(jnp.linalg.solve(A, A[0]), np.linalg.solve(A, A[0]))
    close(jax.scipy.linalg.cho_solve(jax.scipy.linalg.cho_factor(SYMMETRIC), A), np.linalg.solve(SYMMETRIC, A))


def test_decompositions_multiply_back():
    q, r = jnp.linalg.qr(A)
    close(q @ r, A)
    p, l, u = jax.scipy.linalg.lu(A)
    close(p @ l @ u, A)
    u, s, vt = jnp.linalg.svd(A)
    close(u * s @ vt, A)
    values, vectors = jnp.linalg.eigh(SYMMETRIC)
    close(vectors * values @ vectors.T, SYMMETRIC)
    t, z = jax.scipy.linalg.schur(A)
    close(z @ t @ z.T, A)
    h, q = jax.scipy.linalg.hessenberg(A, calc_q=True)
    close(q @ h @ q.T, A)


# From 75 rows on this is left to LAPACK.
@pytest.mark.parametrize("size", [1, 2, 5, 20, 74, 75])
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_eigenvalues_of_general_matrices(size, dtype):
    a = RNG.normal(size=(2, size, size)).astype(dtype)
    if dtype == "complex64":
        a += 1j * RNG.normal(size=a.shape).astype("float32")
    values, left, right = jax.lax.linalg.eig(a)
    adjoint = lambda matrices: matrices.conj().swapaxes(-1, -2)
    close(a @ right, right * values[:, None])
    close(adjoint(left) @ a, values[..., None] * adjoint(left))
    for matrix, found in zip(a, values):
        expected = np.linalg.eigvals(matrix.astype("complex128"))
        assert np.all(np.abs(expected[:, None] - found).min(1) < 1e-3)
    close(np.sort(jnp.linalg.eigvals(a)), np.sort(values))
    form, basis = jax.lax.linalg.schur(a)
    close(basis @ form @ adjoint(basis), a)
    close(adjoint(basis) @ basis, np.broadcast_to(np.eye(size), a.shape))
    reduced, taus = jax.lax.linalg.hessenberg(a)
    basis = jnp.zeros_like(a).at[:, 0, 0].set(1)
    if size > 1:
        basis = basis.at[:, 1:, 1:].set(jax.lax.linalg.householder_product(reduced[:, 1:, :-1], taus))
    close(basis @ jnp.triu(reduced, -1) @ adjoint(basis), a)


def test_eigenvalues_of_what_is_not_finite():
    a = np.stack([A, A])
    a[0, 1, 2] = np.nan
    values, vectors = jnp.linalg.eig(a)
    assert np.isnan(values[0]).all() and np.isnan(vectors[0]).all()
    close(A @ vectors[1], vectors[1] * values[1])
    form, basis = jax.lax.linalg.schur(a)
    assert np.isnan(form[0]).all() and np.isnan(basis[0]).all()
    close(basis[1] @ form[1] @ basis[1].T, A)


def test_functions_of_matrices():
    close(jnp.linalg.det(A), np.linalg.det(A))
    close(jnp.linalg.pinv(A) @ A, np.eye(5))
    close(jax.scipy.linalg.expm(A / 4), jax.scipy.linalg.expm(A / 8) @ jax.scipy.linalg.expm(A / 8))
    close(jax.scipy.linalg.sqrtm(SYMMETRIC).real @ jax.scipy.linalg.sqrtm(SYMMETRIC).real, SYMMETRIC)
    assert jnp.linalg.matrix_rank(A[:, :3] @ A[:3]) == 3


def test_batches():
    batch = np.stack([SYMMETRIC, 2 * SYMMETRIC])
    close(jnp.linalg.inv(batch), np.linalg.inv(batch))
    close(jax.vmap(jnp.linalg.cholesky)(batch), np.linalg.cholesky(batch))


@pytest.mark.parametrize("shape", [(8,), (3, 7), (2, 4, 6)])
def test_fft(shape):
    x = RNG.normal(size=shape).astype(np.float32)
    close(jnp.fft.fft(x), np.fft.fft(x))
    close(jnp.fft.fftn(x), np.fft.fftn(x))
    close(jnp.fft.rfft(x), np.fft.rfft(x))
    close(jnp.fft.irfft(jnp.fft.rfft(x), n=shape[-1]), x)


def test_convolution():
    x = RNG.normal(size=(20,)).astype(np.float32)
    close(jnp.convolve(x, A[0], mode="same"), np.convolve(x, A[0], mode="same"))


START = """
import sys, jax
jax.devices()
assert "scipy.linalg" not in sys.modules, "SciPy was imported when JAX started"
"""
LOAD = """
import pickle, numpy as np
from jax.experimental import serialize_executable
with open(sys.argv[1], "rb") as file:
    one = {"execution_devices": jax.devices()[:1]}
    compiled = serialize_executable.deserialize_and_load(*pickle.load(file), **one)
argument = np.diag(range(100)).astype("float32")
"""


@pytest.fixture(scope="module")
def eigenvalues(tmp_path_factory):
    """A compiled call of LAPACK as another process loads it, which never lowered one."""
    compiled = jax.jit(jnp.linalg.eigvals).lower(jnp.eye(100)).compile()
    path = tmp_path_factory.mktemp("compiled") / "eigenvalues"
    path.write_bytes(pickle.dumps(serialize_executable.serialize(compiled)))
    return path


def run(program, *arguments):
    return subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, timeout=300)


def test_lapack_is_looked_for_when_it_is_called(eigenvalues):
    done = run(START + LOAD + "print(compiled(argument).real.sum())", eigenvalues)
    assert done.stdout == "4950.0\n", done.stderr


def test_a_call_without_lapack_is_an_error(eigenvalues):
    done = run(START + LOAD + "sys.modules['scipy.linalg'] = None; compiled(argument)", eigenvalues)
    assert done.returncode == 1
    assert "LAPACK was not found" in done.stderr and "lapack_sgeev_ffi" in done.stderr
