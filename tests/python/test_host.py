"""Callbacks to Python, profiles, caches, exports."""

import glob
import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.extend import core
from jax.interpreters import mlir


def test_pure_callback_and_its_errors():
    shape = jax.ShapeDtypeStruct((3,), np.float32)
    f = jax.jit(lambda x: jax.pure_callback(np.sin, shape, x) + 1)
    np.testing.assert_allclose(f(jnp.arange(3.0)), np.sin(np.arange(3.0)) + 1, rtol=1e-6)

    def bad(x):
        raise ValueError("a reason of the user's")

    with pytest.raises(jax.errors.JaxRuntimeError, match="a reason of the user's"):
        jax.jit(lambda x: jax.pure_callback(bad, shape, x))(jnp.arange(3.0)).block_until_ready()


def test_a_callback_may_run_programs():
    shape = jax.ShapeDtypeStruct((), np.float32)
    inner = lambda x: np.asarray(jax.jit(lambda x: jnp.cos(x) * 2)(x))
    f = jax.jit(lambda x: jax.pure_callback(inner, shape, x) + 1)
    assert float(f(0.0)) == 3


def test_what_a_callback_is_given_stays_and_cannot_be_written():
    kept = []
    shape = jax.ShapeDtypeStruct((300, 300), np.float32)

    # Below the wrappers that make JAX's arrays of the arguments.
    def lowering(ctx, x):
        def keep(x):
            kept.append(x)
            return (x + 1,)

        return callback_lowering(keep)(ctx, x)

    def callback_lowering(function):
        return lambda ctx, x: mlir.emit_python_callback(
            ctx, function, None, [x], ctx.avals_in, ctx.avals_out, has_side_effect=False
        )[0]

    primitive = core.Primitive("keep")
    primitive.def_abstract_eval(lambda x: x)
    mlir.register_lowering(primitive, lowering)
    f = jax.jit(lambda x: primitive.bind(x * 2) - 1)
    for i in range(3):
        x = jnp.full(shape.shape, float(i))
        np.testing.assert_array_equal(f(x), 2 * x)
    assert [float(x.sum()) for x in kept] == [0, 180000, 360000]
    assert not any(x.flags.writeable for x in kept)


@pytest.mark.parametrize("dtype", ["bool", "int4", "uint16", "float8_e5m2", "bfloat16", "complex64"])
@pytest.mark.parametrize("shape", [(), (3,), (300, 301)])
def test_callbacks_of_every_kind_of_type(dtype, shape):
    x = jnp.ones(shape, dtype)

    def same(y):
        assert (y.dtype, y.shape) == (x.dtype, x.shape)
        return y

    y = jax.jit(lambda x: jax.pure_callback(same, x, x))(x)
    np.testing.assert_array_equal(np.asarray(y), np.asarray(x))


def test_programs_with_callbacks_are_compiled():
    program = """
import jax, jax.numpy as jnp
@jax.jit
def f(x):
    def step(x, _):
        jax.debug.callback(lambda x: None, x)
        return jax.pure_callback(lambda x: x + 1, x, x), None
    jax.debug.print("from {x}", x=x)
    return jax.lax.scan(step, x, None, length=3)[0]
print(f(1.0))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert sorted(done.stdout.split()) == ["1.0", "4.0", "from"], done.stderr
    assert "left to" not in done.stderr


def test_io_callback_keeps_order():
    seen = []

    @jax.jit
    def f(x):
        for i in range(3):
            jax.experimental.io_callback(lambda x, i=i: seen.append((i, int(x))), None, x, ordered=True)
        return x

    f(7)
    jax.effects_barrier()
    assert seen == [(0, 7), (1, 7), (2, 7)]


def test_debug_print(capfd):
    @jax.jit
    def f(x):
        jax.debug.print("x is {x}", x=x)
        return x

    f(jnp.arange(2)).block_until_ready()
    jax.effects_barrier()
    assert "x is [0 1]" in capfd.readouterr().out


def test_checkify():
    from jax.experimental import checkify

    def f(x):
        checkify.check(x > 0, "{x} is not positive", x=x)
        return jnp.log(x)

    error, _ = checkify.checkify(jax.jit(f))(-1.0)
    with pytest.raises(checkify.JaxRuntimeError, match="is not positive"):
        error.throw()


def test_export_and_call_again():
    exported = jax.export.export(jax.jit(lambda x: jnp.sin(x) + 1))(jax.ShapeDtypeStruct((3,), np.float32))
    again = jax.export.deserialize(exported.serialize())
    np.testing.assert_allclose(again.call(jnp.zeros(3)), [1, 1, 1])
    (size,) = jax.export.symbolic_shape("n")
    shape = jax.ShapeDtypeStruct((size,), np.float32)
    polymorphic = jax.export.export(jax.jit(lambda x: x.sum()))(shape)
    assert polymorphic.call(jnp.ones(5)) == 5


def test_compiled_programs_tell_about_themselves():
    compiled = jax.jit(lambda x: jnp.sin(x) @ x).lower(jnp.ones((4, 4))).compile()
    assert "HloModule" in compiled.as_text()
    assert compiled.cost_analysis()["flops"] >= 2 * 4**3
    assert compiled.memory_analysis().argument_size_in_bytes == 64
    assert compiled.memory_analysis().output_size_in_bytes == 64


def test_temporaries_are_told():
    # The first product is needed whole before the second begins.
    compiled = jax.jit(lambda x: (x @ x) @ x).lower(jnp.ones((512, 512))).compile()
    assert compiled.memory_analysis().temp_size_in_bytes >= 512 * 512 * 4


def test_executables_are_serialized():
    from jax.experimental import serialize_executable

    compiled = jax.jit(lambda x: x * 2).lower(1.0).compile()
    parts = serialize_executable.serialize(compiled)
    devices = jax.devices()[:1]
    again = serialize_executable.deserialize_and_load(*parts, execution_devices=devices)
    assert again(4.0) == 8


def test_profile_names_the_program(tmp_path):
    def a_program_with_a_name(x):
        return x + 1

    with jax.profiler.trace(str(tmp_path)):
        jax.jit(a_program_with_a_name)(1.0).block_until_ready()
    (plane,) = glob.glob(str(tmp_path / "**" / "*.xplane.pb"), recursive=True)
    with open(plane, "rb") as file:
        assert b"a_program_with_a_name" in file.read()


def test_persistent_cache(tmp_path):
    """The second process finds what the first one has compiled."""
    program = """
import jax, sys
jax.config.update("jax_compilation_cache_dir", sys.argv[1])
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
hits = []
jax.monitoring.register_event_listener(lambda event, **_: hits.append(event))
print(jax.jit(lambda x: x * 3 + 1)(2.0), "/jax/compilation_cache/cache_hits" in hits)
"""
    outputs = []
    for _ in range(2):
        run = subprocess.run(
            [sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True
        )
        assert run.returncode == 0, run.stderr
        outputs.append(run.stdout.strip())
    assert outputs == ["7.0 False", "7.0 True"]
    assert os.listdir(tmp_path)
