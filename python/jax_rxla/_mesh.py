"""The meshes that a thread has set, which are not for callbacks."""

from jax._src import config, mesh


def call_without_mesh(function, *args):
    """Calls a function as JAX does on XLA:CPU's threads, on which no mesh is set. Here it may run on the
    thread that called the program, `with jax.set_mesh(…)`, and what it computes is not meant for that mesh."""
    abstract = config.abstract_mesh_context_manager.swap_local(mesh.empty_abstract_mesh)
    concrete = config.device_context.swap_local(mesh.empty_concrete_mesh)
    try:
        return function(*args)
    finally:
        config.abstract_mesh_context_manager.set_local(abstract)
        config.device_context.set_local(concrete)
