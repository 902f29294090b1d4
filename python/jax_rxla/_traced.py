"""Programs that an earlier process compiled, known by what JAX traced.

A plugin gets a program as bytes that jaxlib writes after a series of passes over it: for a program
whose code is found on disk that is nine tenths of the time. So they are not written for a program that
is known by its MLIR: what jaxlib makes of the executable, which the plugin keeps beside the code, names
the program as well.
"""

import ctypes
import io

import jaxlib.version
from jax._src import compiler

from jax_rxla._library import library


# The bound of the client, whose reason is there.
_LARGEST_KEPT = 16 << 20


def install(platform: str) -> None:
    compile_and_load = compiler.backend_compile_and_load

    def known(backend, module, executable_devices, options, host_callbacks):
        def compiled():
            return compile_and_load(backend, module, executable_devices, options, host_callbacks)

        # Code for several devices is not kept, and callbacks are this process's own.
        several = options.num_replicas * options.num_partitions > 1
        if backend.platform != platform or several or host_callbacks:
            return compiled()
        name = _name(module, options)
        if len(name) > _LARGEST_KEPT:
            return compiled()
        if (found := _recall(name)) is not None:
            try:
                return backend.deserialize_executable(found, executable_devices, options)
            except Exception:  # what cannot be loaded is compiled, which tells what is wrong
                pass
        executable = compiled()
        try:
            kept = backend.serialize_executable(executable)
        except Exception:  # not everything can be written down
            return executable
        library().RXLA_KeepTraced(name, len(name), kept, len(kept))
        return executable

    compiler.backend_compile_and_load = known


def _name(module, options) -> bytes:
    """All that the bytes depend on but for the plugin."""
    version = jaxlib.version.__version__.encode()
    options = options.SerializeAsString()
    bytecode = io.BytesIO()
    module.operation.write_bytecode(bytecode)
    return b"%d %d %s%s%s" % (len(version), len(options), version, options, bytecode.getvalue())


def _recall(name: bytes) -> bytes | None:
    size = ctypes.c_size_t()
    found = library().RXLA_RecallTraced(name, len(name), ctypes.byref(size))
    if not found:
        return None
    try:
        return ctypes.string_at(found, size.value)
    finally:
        library().RXLA_FreeTraced(found, size)
