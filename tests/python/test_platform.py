"""Devices, memories, transfers."""

import copy
import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest


def test_rxla_is_the_default_backend():
    name = "cpu" if os.environ.get("RXLA_AS_CPU") else "rxla"
    assert jax.default_backend() == name
    assert "rxla" in jax.devices()[0].client.platform_version
    assert len(jax.devices()) == 4


def test_registering_twice_does_no_harm():
    code = "import jax, jax_rxla; jax_rxla.initialize(); jax_rxla.initialize(); jax.devices()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0 and "ALREADY_EXISTS" not in done.stderr, done.stderr


@pytest.mark.parametrize("dtype", ["bool", "int8", "int4", "uint2", "bfloat16", "float8_e4m3fn", "complex64"])
def test_arrays_come_back_as_they_went(dtype):
    value = np.arange(6).reshape(2, 3).astype(jnp.dtype(dtype))
    np.testing.assert_array_equal(np.asarray(jax.device_put(value)), value)


def test_strides_of_host_arrays_are_followed():
    value = np.arange(24.0, dtype=np.float32).reshape(4, 6)
    for view in [value.T, value[::-1], value[:, ::2], np.asfortranarray(value), value[:0]]:
        np.testing.assert_array_equal(np.asarray(jax.device_put(view)), view)


def test_memory_stats_count_buffers():
    device = jax.devices()[1]
    before = device.memory_stats()["bytes_in_use"]
    x = jax.device_put(np.zeros(1 << 16, np.uint8), device)
    x.block_until_ready()
    assert device.memory_stats()["bytes_in_use"] == before + (1 << 16)
    x.delete()
    assert device.memory_stats()["bytes_in_use"] == before
    assert device.memory_stats()["bytes_limit"] > 0


def test_memory_kinds_and_copies_between_devices():
    first, second = jax.devices()[:2]
    assert {memory.kind for memory in first.addressable_memories()} >= {"device", "pinned_host"}
    x = jax.device_put(jnp.arange(3), second)
    assert x.devices() == {second}
    pinned = jax.sharding.SingleDeviceSharding(first, memory_kind="pinned_host")
    y = jax.device_put(x, pinned)
    assert y.sharding.memory_kind == "pinned_host"
    np.testing.assert_array_equal(y, [0, 1, 2])


def aligned(size: int) -> np.ndarray:
    """Zeros at an address that JAX takes without a copy."""
    array = np.zeros(size + 16, np.float32)
    return array[-array.ctypes.data % 64 // 4 :][:size]


@pytest.mark.parametrize("size", [10, 1 << 20])
def test_copies_are_copies_of_arrays_that_change(size):
    a = aligned(size)
    put = jax.device_put(a)
    copies = [jnp.array(a), jax.jit(lambda x: x)(a), jnp.copy(put), jax.jit(lambda x: (x, x + 1))(put)[0]]
    jax.block_until_ready(copies)
    a[0] = 7
    assert [copy[0] for copy in copies] == [0] * len(copies)


def test_who_knows_an_address_knows_that_of_one_array():
    x = jnp.ones(10)
    before = [jax.jit(jnp.asarray)(x), jnp.array(x), copy.deepcopy(x)]
    address = x.unsafe_buffer_pointer()
    after = [jax.jit(jnp.asarray)(x), jnp.copy(x), copy.copy(x)]
    assert address == jnp.asarray(x).unsafe_buffer_pointer() == x.unsafe_buffer_pointer()
    assert address not in [other.unsafe_buffer_pointer() for other in before + after]


def test_spacing_of_zero_is_the_least_number():
    x = np.zeros(5, np.float32)
    np.testing.assert_array_equal(jnp.spacing(x), np.spacing(x))


def test_subnormal_constants_count():
    f = jax.jit(lambda: jnp.full(3, np.float32(1e-45)) * np.float32(2**23))
    np.testing.assert_array_equal(f(), np.full(3, 2.0**-126, np.float32))


def test_donors_without_an_output_stay():
    mesh = jax.make_mesh((2,), ("x",), axis_types=(jax.sharding.AxisType.Auto,))
    x = jax.device_put(np.ones((8, 2), np.float32), jax.NamedSharding(mesh, jax.P("x")))
    jax.jit(lambda x: x @ x.T, donate_argnums=0)(x)
    assert not x.is_deleted()


def test_donated_arguments_are_gone():
    x = jnp.arange(4.0)
    y = jax.jit(lambda x: x + 1, donate_argnums=0)(x)
    assert x.is_deleted()
    with pytest.raises(RuntimeError, match="deleted"):
        np.asarray(x)
    np.testing.assert_array_equal(y, [1, 2, 3, 4])


def test_donating_twice_is_an_error():
    x = jnp.arange(4.0)
    with pytest.raises(Exception, match="donate"):
        jax.jit(lambda x, y: (x + 1, y + 1), donate_argnums=(0, 1))(x, x)


def test_a_view_of_a_result_outlives_its_deletion():
    x = jnp.arange(1000.0) + 1
    view = np.asarray(x)
    x.delete()
    del x
    jnp.zeros(1000).block_until_ready()
    assert view.sum() == 500500


def test_outputs_are_buffers_of_their_own():
    x, y = jax.jit(lambda x: (x, x))(jnp.arange(100))
    assert x.unsafe_buffer_pointer() != y.unsafe_buffer_pointer()


def test_a_mistyped_compiler_option_is_an_error():
    lowered = jax.jit(lambda x: x + 1).lower(1.0)
    assert lowered.compile(compiler_options={"xla_embed_ir_in_executable": True})(1.0) == 2
    with pytest.raises(jax.errors.JaxRuntimeError, match="No such compile option: 'xla_embed'"):
        lowered.compile(compiler_options={"xla_embed": True})
