"""Custom calls: `jax.ffi` targets, jaxlib's LAPACK kernels and its Python callbacks, handed to the
plugin's registry."""

import ctypes

from jaxlib import lapack, xla_client

from jax_rxla._library import library

_STAGES = ("instantiate", "prepare", "initialize", "execute")

_get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_get_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
_get_pointer.restype = ctypes.c_void_p
_get_name = ctypes.pythonapi.PyCapsule_GetName
_get_name.argtypes = [ctypes.py_object]
_get_name.restype = ctypes.c_char_p


def _pointer(function) -> int | None:
    """The address in a capsule, whatever the capsule is called, or of one of our functions; nothing
    for nothing."""
    if function is None:
        return None
    if isinstance(function, ctypes._CFuncPtr):
        return ctypes.cast(function, ctypes.c_void_p).value
    return _get_pointer(function, _get_name(function))


def _text(name: str | bytes) -> bytes:
    return name if isinstance(name, bytes) else name.encode()


def _register(name, handler, platform, api_version, traits=None) -> None:
    """A handler as `jax.ffi.register_ffi_target` takes it: one capsule, or one for each stage."""
    if api_version != 1:
        raise NotImplementedError(
            f"custom call target {name!r} of platform {platform!r} has API version {api_version};"
            " rxla calls handlers of the typed FFI (version 1) only"
        )
    stages = handler if isinstance(handler, dict) else {"execute": handler}
    pointers = [_pointer(stages.get(stage)) for stage in _STAGES]
    if not library().RXLA_RegisterFfiHandler(_text(name), *pointers):
        raise RuntimeError(f"custom call target {name!r} could not be registered")


def _register_type(name, type_registration) -> None:
    if isinstance(type_registration, dict):
        type_id = _pointer(type_registration["type_id"])
        type_info = _pointer(type_registration.get("type_info"))
    else:
        type_id, type_info = _pointer(type_registration), None
    if not library().RXLA_RegisterFfiType(_text(name), type_id, type_info):
        raise RuntimeError(f"FFI type {name!r} could not be registered")


@ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
def _find_lapack(_frame) -> int | None:
    """Tells jaxlib's kernels where LAPACK is, which is in SciPy. Importing that takes as long as all
    else that the plugin does when JAX starts, so it waits for the first call of a kernel."""
    try:
        lapack._lapack.initialize()
    except Exception as error:
        return library().RXLA_MakeFfiError(f"LAPACK was not found: {error}".encode())
    return None


def _follow_host(platform: str) -> None:
    """Has what is registered for `cpu` from now on serve the platform, too: libraries that bring kernels
    register them when they are imported, for the platforms they know. What was registered for the platform
    itself goes before."""
    own = set()

    def register(name, handler, platform, api_version, *traits):
        _register(name, handler, platform, api_version, *traits)
        own.add(_text(name))

    host = xla_client.xla_platform_names.get("cpu", "cpu")
    # JAX has set these two if it has made a `cpu` client, and does so later only where there are none.
    register_theirs = xla_client._custom_callback_handler.pop(
        host, xla_client._xla.register_custom_call_target
    )
    register_their_type = xla_client._custom_type_id_handler.pop(
        host, xla_client._xla.register_custom_type
    )

    def register_both(name, handler, platform, api_version, *traits):
        register_theirs(name, handler, platform, api_version, *traits)
        if api_version == 1 and _text(name) not in own:
            _register(name, handler, platform, api_version)

    def register_type_of_both(name, type_registration):
        register_their_type(name, type_registration)
        _register_type(name, type_registration)

    xla_client.register_custom_call_handler("cpu", register_both)
    xla_client.register_custom_type_handler("cpu", register_type_of_both)
    xla_client.register_custom_call_handler(platform, register)
    xla_client.register_custom_type_handler(platform, _register_type)


def serve(platform: str) -> None:
    """Registers every custom call of a platform with the plugin: those there are, and those to
    come."""
    for name, handler in xla_client.custom_call_targets("Host").items():
        if isinstance(handler, dict):
            _register(name, handler, platform, 1)
    if platform == "cpu":
        xla_client.register_custom_call_handler(platform, _register)
        xla_client.register_custom_type_handler(platform, _register_type)
    else:
        _follow_host(platform)
    # After what JAX has registered, which has these kernels without the search for LAPACK.
    for name, handler, api_version in lapack.registrations()["cpu"]:
        if api_version == 1:
            stages = {"instantiate": _find_lapack, "execute": handler}
            _register(name, stages, platform, api_version)
