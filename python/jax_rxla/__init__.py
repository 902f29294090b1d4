"""rxla as a platform of JAX.

JAX finds this package through the entry point group `jax_plugins` and calls `initialize()` before
it makes its first client. That registers the platform `rxla`, or, with `RXLA_AS_CPU=1`, takes the
place of the platform `cpu`.
"""

import os

__version__ = "0.1.0"
__all__ = ["initialize", "library_path", "replace_cpu"]

PLATFORM = "rxla"

from jax_rxla._library import library_path

_registered = False
_replaced_cpu = False


def initialize() -> None:
    """Registers rxla with JAX. JAX calls this; calling it twice does no harm."""
    if _registered or _replaced_cpu:
        return
    if os.environ.get("RXLA_AS_CPU", "") not in ("", "0"):
        replace_cpu()
    else:
        _register_platform()


def replace_cpu() -> None:
    """Makes rxla JAX's `cpu` platform. Has to come before the first use of a device."""
    global _replaced_cpu
    if _replaced_cpu:
        return
    from jax._src import xla_bridge

    from jax_rxla import _callbacks, _dlpack, _ffi, _traced, _transforms

    if xla_bridge.backends_are_initialized():
        raise RuntimeError(
            "jax_rxla.replace_cpu() comes too late: JAX has made its devices; call it before the"
            " first use of one, or set RXLA_AS_CPU=1"
        )
    _replaced_cpu = True
    _callbacks.install()
    _dlpack.install("cpu")
    _ffi.serve("cpu")
    _transforms.install("cpu")
    _traced.install("cpu")
    _register("cpu", priority=0)


def _register_platform() -> None:
    global _registered
    from jax_rxla import _ffi, _platform, _traced

    _registered = True
    _ffi.serve(PLATFORM)
    _register(PLATFORM, priority=400)
    _platform.install(PLATFORM)
    _traced.install(PLATFORM)


def _register(platform: str, *, priority: int) -> None:
    from jax._src import xla_bridge

    def options() -> dict:
        options = {"platform_name": platform}
        count = xla_bridge.num_cpu_devices.value
        if count > 0:
            options["num_devices"] = count
        return options

    # JAX warns of platforms it does not know.
    xla_bridge._nonexperimental_plugins.add(platform)
    xla_bridge.register_plugin(
        platform, priority=priority, library_path=library_path(), options=options
    )
