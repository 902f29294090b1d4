"""What XLA_FLAGS and RXLA_FLAGS do, in processes of their own, since they are read once."""

import json
import os
import pathlib
import platform
import subprocess
import sys

import jax
import jax.numpy as jnp
import pytest

PROGRAM = """
import jax, jax.numpy as jnp
@jax.jit
def program(x, w):
    return jax.nn.softmax(jnp.tanh(x @ w)).sum(0)
print(program(jnp.ones((8, 16)), jnp.ones((16, 32))).sum())
"""


def run(program=PROGRAM, **flags):
    environment = {**os.environ, **flags}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done


def dumped(folder, ending):
    return sorted(pathlib.Path(folder).glob(f"*.jit_program.{ending}"))


def test_dumps_have_xlas_names_and_an_index(tmp_path):
    run(XLA_FLAGS=f"--xla_dump_to={tmp_path} --xla_dump_hlo_pass_re=.* "
                  "--xla_dump_hlo_as_text --xla_dump_hlo_as_proto")
    for ending in [
        "before_optimizations.txt",
        "before_optimizations.hlo.pb",
        "cpu_after_optimizations.txt",
        "cpu_after_optimizations-buffer-assignment.txt",
        "kernels.txt",
        "ir-no-opt.ll",
        "ir-with-opt.ll",
        "s",
        "timing.txt",
    ]:
        assert len(dumped(tmp_path, ending)) == 1, ending
    between = dumped(tmp_path, "[0-9][0-9][0-9][0-9].*.after_*.before_*.txt")
    assert any("after_fusion.before_pipeline-end" in path.name for path in between)
    index = json.loads((tmp_path / "index.json").read_text())["files"]
    assert {entry["file"] for entry in index} == {
        path.name for path in tmp_path.iterdir() if path.name != "index.json"
    }
    assert all(entry["about"] and entry["kind"] for entry in index)


def test_dumped_modules_can_be_read_again(tmp_path):
    run(XLA_FLAGS=f"--xla_dump_to={tmp_path} --xla_dump_hlo_as_text --xla_dump_hlo_as_proto")
    from jaxlib import _hlo

    for path in dumped(tmp_path, "*optimizations.txt"):
        assert _hlo.hlo_module_from_text(path.read_text()).name == "jit_program"
    # An HloProto has the module as its first field.
    for path in dumped(tmp_path, "*optimizations.hlo.pb"):
        data = path.read_bytes()
        assert data[0] == 0x0A
        size, shift, at = 0, 0, 1
        while True:
            size |= (data[at] & 0x7F) << shift
            shift, at = shift + 7, at + 1
            if data[at - 1] < 0x80:
                break
        module = _hlo.HloModule.from_serialized_hlo_module_proto(data[at : at + size])
        assert module.name == "jit_program"


def test_dumping_compiles_what_a_cache_holds(tmp_path):
    cache = {"RXLA_CACHE_DIR": str(tmp_path / "cache")}
    run(**cache)
    run(**cache, RXLA_FLAGS=f"--xla_dump_to={tmp_path / 'dump'}")
    assert dumped(tmp_path / "dump", "cpu_after_optimizations.txt")


def test_a_folder_that_cannot_be_written_is_a_warning(tmp_path):
    (tmp_path / "file").write_text("")
    done = run(RXLA_FLAGS=f"--xla_dump_to={tmp_path / 'file' / 'folder'}")
    assert done.stderr.count("rxla: warning: cannot dump to") == 1


def test_an_unknown_flag_warns_once_and_ends_nothing():
    done = run(RXLA_FLAGS="--xla_dumb_to=x --rxla_trace_to")
    assert done.stderr.count("did you mean `--xla_dump_to`?") == 1


def test_one_program_can_have_flags_of_its_own(tmp_path):
    lowered = jax.jit(lambda x: jnp.sin(x) * 2).lower(jnp.ones(8))
    lowered.compile(compiler_options={"xla_dump_to": str(tmp_path)})
    assert list(tmp_path.glob("*cpu_after_optimizations.txt"))
    with pytest.raises(Exception, match="No such compile option"):
        lowered.compile(compiler_options={"rxla_dumb_to": "x"})
    with pytest.raises(Exception, match="it takes a whole number"):
        lowered.compile(compiler_options={"rxla_max_rewrites": "few"})


def test_passes_can_be_left_out(tmp_path):
    run(RXLA_FLAGS=f"--xla_dump_to={tmp_path} --xla_disable_hlo_passes=fusion")
    (after,) = dumped(tmp_path, "cpu_after_optimizations.txt")
    assert "fusion(" not in after.read_text()


def test_snapshots_hold_arguments_and_results(tmp_path):
    run(RXLA_FLAGS=f"--xla_dump_to={tmp_path} --xla_dump_hlo_snapshots")
    (snapshot,) = tmp_path.glob("snapshot_*.jit_program.hlo_snapshot.pb")
    assert snapshot.stat().st_size > 4 * 8 * 16


def test_a_trace_names_ops_and_lines(tmp_path):
    script = tmp_path / "model.py"
    script.write_text(PROGRAM)
    trace = tmp_path / "trace.json"
    # Kernels that a cache holds would not be compiled.
    flags = {"RXLA_FLAGS": f"--rxla_trace_to={trace}", "RXLA_CACHE_DIR": ""}
    run(f"import runpy; runpy.run_path({str(script)!r})", **flags)
    events = json.loads(trace.read_text())["traceEvents"]
    ops = [event["name"] for event in events if event.get("cat") == "op"]
    assert any(name.startswith("dot_general model.py:5 ") for name in ops), ops
    kinds = {event.get("cat") for event in events}
    assert {"compile", "pass", "codegen", "program", "op", "transfer"} <= kinds, kinds


@pytest.mark.skipif(platform.machine() != "x86_64", reason="only there results are flushed")
def test_results_that_would_be_subnormal_are_zero_unless_asked_for():
    program = """
import jax, jax.numpy as jnp
print(jax.jit(lambda x: (x * x != 0).sum())(jnp.full(100_000, 1e-20, jnp.float32)))
"""
    assert run(program).stdout.strip() == "0"
    assert run(program, RXLA_FLAGS="--rxla_flush_subnormals=false").stdout.strip() == "100000"
