"""Calls of Python functions from running programs, on the platform `cpu` (see the plugin's
`xla_ffi/python.rs`)."""

import ctypes
import functools
import math
import traceback

import jax
import ml_dtypes
import numpy as np
from jax._src import buffer_callback
from jax._src.interpreters import mlir

from jax_rxla._changed import Changed
from jax_rxla._library import library
from jax_rxla._mesh import call_without_mesh

# Element types by XLA's number.
_DTYPES = {
    1: np.bool_,
    2: np.int8,
    3: np.int16,
    4: np.int32,
    5: np.int64,
    6: np.uint8,
    7: np.uint16,
    8: np.uint32,
    9: np.uint64,
    10: np.float16,
    11: np.float32,
    12: np.float64,
    15: np.complex64,
    16: ml_dtypes.bfloat16,
    18: np.complex128,
    19: ml_dtypes.float8_e5m2,
    20: ml_dtypes.float8_e4m3fn,
    21: ml_dtypes.int4,
    22: ml_dtypes.uint4,
    23: ml_dtypes.float8_e4m3b11fnuz,
    24: ml_dtypes.float8_e5m2fnuz,
    25: ml_dtypes.float8_e4m3fnuz,
    26: ml_dtypes.int2,
    27: ml_dtypes.uint2,
    28: ml_dtypes.float8_e4m3,
    29: ml_dtypes.float8_e3m4,
    32: ml_dtypes.float4_e2m1fn,
    33: ml_dtypes.float8_e8m0fnu,
}
_DTYPES = {number: np.dtype(dtype) for number, dtype in _DTYPES.items()}
_TOKEN = 17


class _Buffer(ctypes.Structure):
    """`XLA_FFI_Buffer`."""

    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("extension_start", ctypes.c_void_p),
        ("dtype", ctypes.c_int),
        ("data", ctypes.c_void_p),
        ("rank", ctypes.c_int64),
        ("dims", ctypes.POINTER(ctypes.c_int64)),
    ]

    def shape(self) -> tuple[int, ...]:
        return tuple(self.dims[: self.rank])

    def view(self) -> np.ndarray | None:
        """The memory as an array, which may be used as long as the call; nothing for a token."""
        if self.dtype == _TOKEN:
            return None
        dtype, shape = _DTYPES[self.dtype], self.shape()
        size = math.prod(shape) * dtype.itemsize
        if size == 0:
            return np.empty(shape, dtype)
        return np.ndarray(shape, dtype, _memory(self.data, size, _WRITE))


# `PyBUF_WRITE`.
_WRITE = 0x200
_memory = ctypes.pythonapi.PyMemoryView_FromMemory
_memory.argtypes = [ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int]
_memory.restype = ctypes.py_object

# Up to here a copy takes less time than holding the memory.
_SMALL = 1 << 16


class _Operand:
    """An operand's memory, held as long as an array stands on it."""

    def __init__(self, address: int, shape: tuple[int, ...], dtype: np.dtype, held: int):
        self._held = held
        self.__array_interface__ = {
            "version": 3,
            "shape": shape,
            # NumPy cannot tell types of others by their names.
            "typestr": f"|V{dtype.itemsize}",
            "data": (address, True),
        }

    def __del__(self, release=library().RXLA_ReleaseOperand):
        release(self._held)


def _argument(operands, index: int, owners: int) -> np.ndarray | None:
    """An operand as an array that a function may keep."""
    operand = operands[index]
    view = operand.view()
    if view is None:
        return None
    if view.nbytes > _SMALL:
        held = library().RXLA_HoldOperand(owners, index)
        return np.asarray(_Operand(operand.data, view.shape, view.dtype, held)).view(view.dtype)
    array = view.copy()
    array.flags.writeable = False
    return array


_HOOK = ctypes.CFUNCTYPE(
    ctypes.c_bool,
    ctypes.py_object,
    ctypes.POINTER(_Buffer),
    ctypes.c_size_t,
    ctypes.POINTER(_Buffer),
    ctypes.c_size_t,
    ctypes.c_void_p,
    ctypes.c_size_t,
    ctypes.c_void_p,
)


def _call(function, operands, operand_count, results, result_count, message, size, owners) -> bool:
    try:
        arguments = [_argument(operands, i, owners) for i in range(operand_count)]
        values = call_without_mesh(function, *arguments)
        for i in range(result_count):
            target = results[i].view()
            if target is None:
                continue
            value = np.asarray(values[i])
            if value.shape != target.shape:
                raise ValueError(
                    f"result {i} of a callback has shape {value.shape}; {target.shape} is expected"
                )
            target[...] = value
        return True
    except BaseException:
        text = "CpuCallback error calling callback: " + traceback.format_exc()
        # The end of a trace tells most.
        text = text.encode(errors="replace").replace(b"\0", b" ")[-(size - 1) :] + b"\0"
        ctypes.memmove(message, text, len(text))
        return False


# Kept for the rest of the process: the plugin holds its address.
_hook = _HOOK(_call)


class _Context(Changed):
    """What a buffer callback is told of its execution."""

    @property
    def stream(self):
        # The plugin's error has a code only: jaxlib takes it over as an object of its C++.
        try:
            return self._inner.stream
        except jax.errors.JaxRuntimeError as error:
            raise jax.errors.JaxRuntimeError(
                f"{error} XLA FFI GPU context is not available: CPU devices have no streams"
            ) from None


def _lower_buffer_callback(ctx, *args, callback, **kwargs):
    @functools.wraps(callback)
    def with_context(context, *buffers, **named):
        return callback(_Context(context), *buffers, **named)

    lower = buffer_callback._buffer_callback_lowering
    return lower(ctx, *args, callback=with_context, **kwargs)


def install() -> None:
    library().RXLA_SetPythonCallback(_hook)
    mlir.register_lowering(
        buffer_callback.buffer_callback_p, _lower_buffer_callback, platform="cpu"
    )
