"""Transformations of modules (`jax.extend.xla`), where rxla takes the place of `cpu`.

JAX registers those of `cpu` with the XLA inside jaxlib; here they go to the plugin, as JAX does for
other platforms.
"""

from jax._src import xla_bridge, xla_transform
from jax._src.lib import _jax

from jax_rxla._changed import Changed


def install(platform: str) -> None:
    inner = xla_transform._xla
    # Since JAX 0.11, which makes all devices first, a plugin is told, and not one of its clients.
    by_client = hasattr(xla_bridge, "register_backend_initialization_hook")

    def register(name, stage, callback):
        if not by_client:
            inner.register_xla_transform_c_api(_jax.get_pjrt_plugin(platform), name, stage, callback)
            return

        def on_client(client):
            if client.platform == platform:
                inner.register_xla_transform_c_api(client, name, stage, callback)

        # JAX may do the same by itself: one of the same name takes the other's place.
        xla_bridge.register_backend_initialization_hook(on_client)

    def clear(name, stage):
        if not by_client:
            return inner.clear_xla_transform_c_api(_jax.get_pjrt_plugin(platform), name, stage)
        client = xla_bridge.backends().get(platform)
        return client is not None and inner.clear_xla_transform_c_api(client, name, stage)

    xla_transform._xla = Changed(
        inner, register_xla_transform=register, clear_xla_transform=clear
    )
