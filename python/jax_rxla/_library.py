"""The shared library: where it is, and the functions of it that are not PJRT's."""

import ctypes
import functools
import glob
import os


def library_path() -> str:
    """The plugin's path: `RXLA_LIBRARY_PATH`, or the one inside this package."""
    if path := os.environ.get("RXLA_LIBRARY_PATH"):
        return path
    here = os.path.dirname(os.path.abspath(__file__))
    found = sorted(glob.glob(os.path.join(here, "_plugin*.so")))
    if not found:
        raise FileNotFoundError(
            f"there is no plugin library in {here}; install the wheel, or set RXLA_LIBRARY_PATH to"
            " a librxla_pjrt.so that cargo has built"
        )
    return found[0]


@functools.cache
def library() -> ctypes.CDLL:
    """The library. JAX loads it too, and the two share one copy of it."""
    library = ctypes.CDLL(library_path())
    library.RXLA_RegisterFfiHandler.argtypes = [ctypes.c_char_p] + [ctypes.c_void_p] * 4
    library.RXLA_RegisterFfiHandler.restype = ctypes.c_bool
    library.RXLA_RegisterFfiType.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p]
    library.RXLA_RegisterFfiType.restype = ctypes.c_bool
    library.RXLA_MakeFfiError.argtypes = [ctypes.c_char_p]
    library.RXLA_MakeFfiError.restype = ctypes.c_void_p
    library.RXLA_SetPythonCallback.restype = None
    library.RXLA_HoldOperand.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    library.RXLA_HoldOperand.restype = ctypes.c_void_p
    library.RXLA_ReleaseOperand.argtypes = [ctypes.c_void_p]
    library.RXLA_ReleaseOperand.restype = None
    text = [ctypes.c_char_p, ctypes.c_size_t]
    library.RXLA_RecallTraced.argtypes = text + [ctypes.POINTER(ctypes.c_size_t)]
    library.RXLA_RecallTraced.restype = ctypes.c_void_p
    library.RXLA_FreeTraced.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    library.RXLA_FreeTraced.restype = None
    library.RXLA_KeepTraced.argtypes = text + text
    library.RXLA_KeepTraced.restype = None
    return library
