"""DLPack, through which libraries of arrays share memory."""

import gc
import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

# JAX looks for plugins when it is first asked for a device; until then memory is XLA:CPU's.
jax.devices()

DTYPES = [np.int8, np.uint32, np.float16, np.float32, np.complex64, np.bool_]


def at_offset(array, offset):
    """A copy that starts `offset` bytes after a multiple of 64."""
    memory = np.empty(array.nbytes + 128, np.uint8)
    start = -memory.ctypes.data % 64 + offset
    copy = memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (5,), (2, 3), (0, 4)])
def test_there_and_back(dtype, shape):
    x = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    y = jnp.from_dlpack(x)
    assert y.dtype == dtype and y.devices() == {jax.devices()[0]}
    np.testing.assert_array_equal(y, x)
    np.testing.assert_array_equal(np.from_dlpack(jnp.array(x)), x)
    np.testing.assert_array_equal(jnp.from_dlpack(jnp.array(x)), x)


def test_types_that_numpy_cannot_export():
    for dtype in [ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn]:
        x = jnp.arange(6).astype(dtype)
        y = jnp.from_dlpack(x)
        assert y.dtype == dtype
        np.testing.assert_array_equal(np.asarray(y), np.asarray(x))


def test_memory_is_shared():
    x = jnp.arange(1000.0) + 1
    view = np.from_dlpack(x)
    assert view.ctypes.data == x.unsafe_buffer_pointer()
    if jax.__version_info__ >= (0, 12):
        # DLPack says so since its version 1.
        assert not view.flags.writeable
    x.delete()
    del x
    gc.collect()
    assert view.sum() == 500500
    source = at_offset(np.arange(64, dtype=np.float32), 0)
    y = jnp.from_dlpack(source, copy=False)
    assert y.unsafe_buffer_pointer() == source.ctypes.data
    z = jnp.from_dlpack(source, copy=True)
    source[0] = 7
    assert y[0] == 7 and z[0] == 0


def test_memory_that_is_not_aligned_is_copied_if_that_is_allowed():
    source = at_offset(np.arange(24, dtype=np.float32).reshape(4, 6), 4)
    for x in [source, source.T, source[:0]]:
        for copy in [None, True]:
            np.testing.assert_array_equal(jnp.from_dlpack(x, copy=copy), x)
    with pytest.raises(ValueError, match="requires a copy"):
        jnp.from_dlpack(source, copy=False)


def test_memory_is_an_array_while_a_function_is_traced():
    source = np.arange(6, dtype=np.float32)

    @jax.jit
    def add(x):
        for offset in [0, 4]:
            memory = jnp.from_dlpack(at_offset(source, offset))
            assert not isinstance(memory, jax.core.Tracer)
            x += memory
        return x

    np.testing.assert_array_equal(add(source), 3 * source)


def test_a_capsule_that_nobody_takes():
    x = jnp.arange(5.0)
    for _ in range(3):
        x.__dlpack__()
    gc.collect()
    assert x.sum() == 10


def test_other_platforms_keep_memory_of_the_cpu():
    # The plugin is installed, and not asked for.
    program = "import jax, numpy as np; jax.devices(); print(jax.numpy.from_dlpack(np.arange(3.0)).devices())"
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "RXLA_AS_CPU": ""}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=300
    )
    assert "CpuDevice" in done.stdout, done.stderr
