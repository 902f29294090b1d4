"""What `jax.profiler` sees of programs: kernels under the names of the user's ops and lines."""

import gzip
import json

import jax
import jax.numpy as jnp
import numpy as np


def program(x, w):
    hidden = jnp.tanh(x @ w)
    return jax.nn.softmax(hidden).sum(0)


def profiled(folder, work):
    with jax.profiler.trace(str(folder), create_perfetto_trace=True):
        work()
    (path,) = folder.glob("**/*.xplane.pb")
    data = jax.profiler.ProfileData.from_file(str(path))
    return {plane.name: {line.name: list(line.events) for line in plane.lines} for plane in data.planes}


def test_kernels_are_named_after_ops_and_lines(tmp_path):
    compiled = jax.jit(program)
    x, w = jnp.ones((32, 64)), jnp.ones((64, 128))
    before = compiled(x, w)
    after = []

    def work():
        for _ in range(3):
            after.append(jax.block_until_ready(compiled(x, w)))

    planes = profiled(tmp_path, work)
    device = planes["/device:CUSTOM:RXLA:0"]
    modules, ops = device["XLA Modules"], device["XLA Ops"]
    assert [event.name for event in modules] == ["jit_program"] * 3
    dots = [event for event in ops if event.name.startswith("dot_general test_profiler.py:")]
    assert len(dots) == 3, {event.name for event in ops}
    assert dict(dots[0].stats)["hlo_module"] == "jit_program"
    # Instructions run while their program runs.
    for event in ops:
        assert any(
            module.start_ns <= event.start_ns
            and event.start_ns + event.duration_ns <= module.start_ns + module.duration_ns
            for module in modules
        )
    # Watching changes no bit.
    for result in after:
        np.testing.assert_array_equal(before, result)


def test_compilations_passes_and_transfers_are_seen(tmp_path):
    def work():
        jax.jit(lambda x: jnp.cos(x) * 5)(np.ones((7, 9), np.float32)).block_until_ready()

    host = profiled(tmp_path, work)["/device:CUSTOM:RXLA host"]
    names = {event.name for events in host.values() for event in events}
    assert {"compile jit__lambda", "passes", "algsimp", "generate code"} <= names, names
    # The way back is no copy: the array is the buffer's memory.
    assert any(name.startswith("to device f32[7,9]") for name in names), names


def test_perfetto_shows_the_device(tmp_path):
    profiled(tmp_path, lambda: jax.jit(program)(jnp.ones((4, 8)), jnp.ones((8, 16))))
    (path,) = tmp_path.glob("**/perfetto_trace.json.gz")
    trace = json.loads(gzip.open(path).read())
    events = trace["traceEvents"] if isinstance(trace, dict) else trace
    assert any("dot_general test_profiler.py:" in str(event.get("name")) for event in events)


def test_what_a_cache_gave_is_seen_too(tmp_path):
    import os
    import subprocess
    import sys

    script = """
import glob, sys, jax, jax.numpy as jnp
f = jax.jit(lambda x: jnp.tanh(x @ x) + 1)
f(jnp.ones((16, 16)))
with jax.profiler.trace(sys.argv[1]):
    jax.block_until_ready(f(jnp.ones((16, 16))))
(path,) = glob.glob(sys.argv[1] + "/**/*.xplane.pb", recursive=True)
data = jax.profiler.ProfileData.from_file(path)
print([e.name for p in data.planes for l in p.lines if l.name == "XLA Ops" for e in l.events])
"""
    environment = {**os.environ, "RXLA_CACHE_DIR": str(tmp_path / "cache")}
    for number in range(2):
        arguments = [sys.executable, "-c", script, str(tmp_path / f"profile{number}")]
        done = subprocess.run(arguments, env=environment, capture_output=True, text=True, timeout=300)
        assert "dot_general" in done.stdout, done.stdout + done.stderr
