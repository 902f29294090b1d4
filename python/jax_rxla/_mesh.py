"""The meshes that a thread has set, which are not for callbacks."""

from jax._src import config, mesh

# JAX has moved them from one to the other since 0.10.
_settings = mesh if hasattr(mesh, "device_context") else config


def call_without_mesh(function, *args):
    """Calls a function as JAX does on XLA:CPU's threads, on which no mesh is set. Here it may run on the
    thread that called the program, `with jax.set_mesh(…)`, and what it computes is not meant for that mesh."""
    abstract = _settings.abstract_mesh_context_manager.swap_local(mesh.empty_abstract_mesh)
    concrete = _settings.device_context.swap_local(mesh.empty_concrete_mesh)
    try:
        return function(*args)
    finally:
        _settings.abstract_mesh_context_manager.set_local(abstract)
        _settings.device_context.set_local(concrete)
