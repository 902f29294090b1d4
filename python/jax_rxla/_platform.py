"""What JAX does for platforms it knows by name, done for ours.

rxla runs programs on the CPU, so its lowerings are those of `cpu`: the two platforms share one
table, and a rule that a library registers for `cpu` serves both. In particular LAPACK's functions
become the same custom calls, served by rxla where it has kernels (Cholesky, LU, triangular systems)
and by those in jaxlib otherwise (see `_ffi`): they are exactly what JAX's own `cpu` platform runs,
including decompositions that have no HLO operation.
"""

import functools

import jax
from jax._src import callback, compilation_cache
from jax._src.interpreters import mlir
from jax.interpreters import mlir as public_mlir

from jax_rxla import _dlpack
from jax_rxla._changed import Changed
from jax_rxla._mesh import call_without_mesh


def install(platform: str) -> None:
    mlir._platform_specific_lowerings[platform] = mlir._platform_specific_lowerings["cpu"]
    if platform not in mlir._platforms_with_donation:
        mlir._platforms_with_donation.append(platform)
    _install_callbacks(platform)
    _install_compilation_cache(platform)
    _dlpack.install(platform)
    # JAX runs the Python side of callbacks on a `cpu` device. It has to be asked for: a list of
    # platforms without it leaves no such device.
    platforms = jax.config.jax_platforms
    if platforms and platform in platforms.split(",") and "cpu" not in platforms.split(","):
        jax.config.update("jax_platforms", platforms + ",cpu")


def _install_callbacks(platform: str) -> None:
    """Host callbacks by sends and receives, which PJRT offers to every platform. JAX has them under
    the name `tpu`; the FFI's way is for platforms that its C++ knows by name."""
    emit = callback.emit_python_callback

    def emit_python_callback(ctx, function, *args, **kwargs):
        if ctx.module_context.platforms == (platform,):
            ctx = ctx.replace(module_context=Changed(ctx.module_context, platforms=("tpu",)))
            function = functools.partial(call_without_mesh, function)
        return emit(ctx, function, *args, **kwargs)

    callback.emit_python_callback = emit_python_callback
    public_mlir.emit_python_callback = emit_python_callback


def _install_compilation_cache(platform: str) -> None:
    """The persistent cache is for a fixed list of platforms."""
    is_cache_used = compilation_cache.is_cache_used

    def is_used(backend):
        if backend.platform == platform:
            backend = Changed(backend, platform="cpu")
        return is_cache_used(backend)

    compilation_cache.is_cache_used = is_used
