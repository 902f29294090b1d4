"""rxla as a device of PyTorch/XLA: `PJRT_DEVICE=RXLA` is all that a program needs.

PyTorch/XLA finds this package through the entry point group `torch_xla.plugins` when it is imported. Nothing here
needs JAX.
"""

from __future__ import annotations

import os

from torch_xla.experimental import plugins

from jax_rxla._library import library_path

__all__ = ["RxlaPlugin"]

NAME = "RXLA"


class RxlaPlugin(plugins.DevicePlugin):
    """The plugin, with what the client may be told when it is made. What is left out is asked of the environment
    (`RXLA_NUM_DEVICES`, `RXLA_BACKEND`, `RXLA_MEETING_TIMEOUT`).

    A plugin with options replaces the installed one:

        plugins.register_plugin("RXLA", RxlaPlugin(num_devices=4))
        xr.set_device_type("RXLA")
    """

    def __init__(
        self,
        *,
        num_devices: int | None = None,
        backend: str | None = None,
        memory_limit: int | None = None,
        meeting_timeout: int | None = None,
    ) -> None:
        super().__init__()
        self._options = {
            "num_devices": num_devices,
            "backend": backend,
            "memory_limit": memory_limit,
            "meeting_timeout": meeting_timeout,
        }
        _answer_to_lower_case(self)

    def library_path(self) -> str:
        return library_path()

    def client_create_options(self) -> dict:
        return {name: value for name, value in self._options.items() if value is not None}

    def configure_single_process(self) -> None:
        self._options["num_devices"] = 1

    def physical_chip_count(self) -> int:
        """Virtual devices share one process, with a thread each."""
        return 1


def _answer_to_lower_case(plugin: RxlaPlugin) -> None:
    """PyTorch/XLA writes names in upper case on the one side and takes them as they come on the other."""
    import torch_xla

    torch_xla._XLAC._register_pjrt_plugin(NAME.lower(), plugin)
    plugins._plugin_registry[NAME.lower()] = plugin
    device = os.environ.get("PJRT_DEVICE", "")
    if device.upper() == NAME:
        os.environ["PJRT_DEVICE"] = NAME
