"""What Python adds to compiling and to calls by PJRT's extensions."""

import os

import jax
import jax.extend.xla
import jax.numpy as jnp
import numpy as np
import pytest
from jax._src.lib import hlo


def negated_sine(serialized):
    module = hlo.HloModule.from_serialized_hlo_module_proto(serialized)
    changed = False
    for computation in module.computations():
        for instruction in computation.instructions():
            if instruction.opcode == hlo.HloOpcode.kSin:
                new = computation.create_unary_instruction(
                    hlo.HloOpcode.kNegate, instruction.operands()[0]
                )
                computation.replace_instruction(instruction, new)
                changed = True
    return module.as_serialized_hlo_module_proto() if changed else None


@pytest.fixture
def transform():
    """Registers a transformation for the platform at hand, and gives what clears it."""
    platform = jax.default_backend()

    def register(callback, name):
        jax.extend.xla.register_hlo_module_transformation(callback, name=name, platforms=platform)
        return lambda: jax.extend.xla.clear_hlo_module_transformation(name, platforms=platform)

    return register


def test_modules_are_transformed_until_the_transformation_is_cleared(transform):
    clear = transform(negated_sine, "negated_sine")
    x = np.array([0.5, 1.0, 2.0], np.float32)
    f = jax.jit(lambda x: jnp.sin(x) + 1)
    try:
        np.testing.assert_allclose(f(x), 1 - x, rtol=1e-6)
    finally:
        assert clear()
    f.clear_cache()
    np.testing.assert_allclose(f(x), np.sin(x) + 1, rtol=1e-6)


def test_a_transformation_that_fails_is_heard(transform):
    def broken(serialized):
        raise ValueError("not on a Monday")

    clear = transform(broken, "broken")
    try:
        with pytest.raises(jax.errors.JaxRuntimeError, match="not on a Monday"):
            jax.jit(lambda x: x * 3 + 1)(np.float32(2))
    finally:
        assert clear()


@pytest.mark.skipif(not os.environ.get("RXLA_AS_CPU"), reason="JAX has buffer callbacks for `cpu`")
def test_buffer_callbacks_say_why_there_is_no_stream():
    from jax.experimental import buffer_callback

    def callback(context, out, x):
        with pytest.raises(jax.errors.JaxRuntimeError, match="GPU context is not available"):
            context.stream
        assert context.stage == buffer_callback.ExecutionStage.EXECUTE
        np.asarray(out)[...] = np.asarray(x) + 1

    x = np.arange(4, dtype=np.float32)
    f = buffer_callback.buffer_callback(callback, jax.ShapeDtypeStruct(x.shape, x.dtype))
    np.testing.assert_array_equal(f(x), x + 1)
