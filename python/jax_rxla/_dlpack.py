"""DLPack: arrays from and to other libraries, without a copy where the memory allows it.

JAX's C++ does most of it, but not all for a plugin: it cannot ask one for a copy of memory that is not
aligned, and it exports arrays of `cpu` and of GPUs only. Both are done here, on DLPack's C structs.
"""

import ctypes

import jax
import ml_dtypes
import numpy as np
from jax._src import array as jax_array
from jax._src import dlpack

from jax_rxla._changed import Changed

# Memory that the plugin can use in place starts at a multiple of this.
_ALIGNMENT = 64

# Element types by DLPack's code and the number of bits.
_DTYPES = {
    **{(0, bits): np.dtype(f"int{bits}") for bits in (8, 16, 32, 64)},
    **{(1, bits): np.dtype(f"uint{bits}") for bits in (8, 16, 32, 64)},
    **{(2, bits): np.dtype(f"float{bits}") for bits in (16, 32, 64)},
    (4, 16): np.dtype(ml_dtypes.bfloat16),
    **{(5, bits): np.dtype(f"complex{bits}") for bits in (64, 128)},
    (6, 8): np.dtype(bool),
    (7, 8): np.dtype(ml_dtypes.float8_e3m4),
    (8, 8): np.dtype(ml_dtypes.float8_e4m3),
    (9, 8): np.dtype(ml_dtypes.float8_e4m3b11fnuz),
    (10, 8): np.dtype(ml_dtypes.float8_e4m3fn),
    (11, 8): np.dtype(ml_dtypes.float8_e4m3fnuz),
    (12, 8): np.dtype(ml_dtypes.float8_e5m2),
    (13, 8): np.dtype(ml_dtypes.float8_e5m2fnuz),
    (14, 8): np.dtype(ml_dtypes.float8_e8m0fnu),
}
_CODES = {dtype: code for code, dtype in _DTYPES.items()}


class _Tensor(ctypes.Structure):
    """`DLTensor`."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


_Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _Managed(ctypes.Structure):
    """`DLManagedTensor`, what capsules hold before DLPack's version 1."""

    NAME, USED = b"dltensor", b"used_dltensor"
    _fields_ = [("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", _Deleter)]


class _Versioned(ctypes.Structure):
    """`DLManagedTensorVersioned`."""

    NAME, USED = b"dltensor_versioned", b"used_dltensor_versioned"
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", _Deleter),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    ]


# `DLPACK_FLAG_BITMASK_READ_ONLY` and `DLPACK_FLAG_BITMASK_IS_COPIED`.
_READ_ONLY, _IS_COPIED = 1, 2


def _function(name, result, *arguments):
    return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))


_Destructor = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
_new = _function("PyCapsule_New", ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, _Destructor)
_get = _function("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
_rename = _function("PyCapsule_SetName", ctypes.c_int, ctypes.py_object, ctypes.c_char_p)
_is_valid = _function("PyCapsule_IsValid", ctypes.c_int, ctypes.py_object, ctypes.c_char_p)
# In a destructor the capsule is dying, so it must not be counted as an object again.
_is_dying_valid = _function("PyCapsule_IsValid", ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)
_get_dying = _function("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)

# What exported tensors stand on, by the tensor's address, until whoever took one frees it.
_exported = {}


@_Deleter
def _forget(address):
    _exported.pop(address, None)


@_Destructor
def _destroy(capsule):
    for kind in (_Managed, _Versioned):
        if _is_dying_valid(capsule, kind.NAME):
            _forget(_get_dying(capsule, kind.NAME))


def _export(array: np.ndarray, max_version: tuple[int, int] | None, copied: bool):
    """A capsule with the array's memory, which stays until the taker frees it. From DLPack's version 1
    on, if the taker knows it, the capsule says that the memory is not to be written."""
    if array.dtype not in _CODES:
        raise BufferError(f"DLPack has no element type for {array.dtype}")
    if max_version and max_version >= (1, 0):
        flags = _READ_ONLY | (_IS_COPIED if copied else 0)
        managed = _Versioned(major=1, minor=0, flags=flags, deleter=_forget)
    else:
        managed = _Managed(deleter=_forget)
    tensor = managed.tensor
    tensor.data, tensor.device_type = array.ctypes.data, int(dlpack.DLDeviceType.kDLCPU)
    (tensor.code, tensor.bits), tensor.lanes, tensor.ndim = _CODES[array.dtype], 1, array.ndim
    tensor.shape = (ctypes.c_int64 * array.ndim)(*array.shape)
    strides = [stride // array.itemsize for stride in array.strides]
    tensor.strides = (ctypes.c_int64 * array.ndim)(*strides)
    address = ctypes.addressof(managed)
    _exported[address] = managed, array
    return _new(address, managed.NAME, _destroy)


def _managed(capsule) -> _Managed | _Versioned:
    kind = _Versioned if _is_valid(capsule, _Versioned.NAME) else _Managed
    return kind.from_address(_get(capsule, kind.NAME))


def _address(tensor: _Tensor) -> int:
    return (tensor.data or 0) + tensor.byte_offset


def _take_copy(capsule, device) -> jax.Array:
    """A copy of a capsule's tensor on a device; the capsule is used up."""
    managed = _managed(capsule)
    tensor = managed.tensor
    dtype = _DTYPES.get((tensor.code, tensor.bits)) if tensor.lanes == 1 else None
    if dtype is None:
        raise BufferError(f"elements of DLPack's type {tensor.code} with {tensor.bits} bits are unknown")
    shape = tuple(tensor.shape[: tensor.ndim])
    if 0 in shape:
        source = np.empty(shape, dtype)
    else:
        strides = None
        if tensor.strides:
            strides = [stride * dtype.itemsize for stride in tensor.strides[: tensor.ndim]]
        reach = sum((size - 1) * abs(stride) for size, stride in zip(shape, strides or []))
        size = dtype.itemsize * int(np.prod(shape)) if strides is None else reach + dtype.itemsize
        # Strides below zero reach to memory before the first element.
        before = -sum((n - 1) * stride for n, stride in zip(shape, strides or []) if stride < 0)
        memory = (ctypes.c_char * size).from_address(_address(tensor) - before)
        source = np.ndarray(shape, dtype, memory, before, strides)
    # The plugin uses what is aligned in place, and copies what is not.
    if _address(tensor) % _ALIGNMENT == 0:
        source = source.copy()
    # Also where JAX is tracing a function, this is an array, as it is on JAX's other platforms.
    with jax.ensure_compile_time_eval():
        copy = jax.device_put(source, device)
    copy.block_until_ready()
    _rename(capsule, managed.USED)
    if managed.deleter:
        managed.deleter(ctypes.addressof(managed))
    return copy


class _Platforms(dict):
    """JAX's table of platforms by the kind of memory, where memory of the CPU is that of a platform of
    ours while programs run there, and else what it was."""

    def __init__(self, platforms, ours: str):
        super().__init__(platforms)
        self._ours = ours

    def __getitem__(self, kind):
        if kind == dlpack.DLDeviceType.kDLCPU and jax.default_backend() == self._ours:
            return self._ours
        return super().__getitem__(kind)


def install(platform: str) -> None:
    """Makes DLPack work for arrays of rxla, known to JAX as `platform`."""
    inner = dlpack._jax

    def is_ours(device) -> bool:
        return device.platform == platform

    def dlpack_managed_tensor_to_buffer(capsule, device, stream, copy, *rest):
        aligned = is_ours(device) and _address(_managed(capsule).tensor) % _ALIGNMENT == 0
        if not is_ours(device) or copy is False or (aligned and not copy):
            return inner.dlpack_managed_tensor_to_buffer(capsule, device, stream, copy, *rest)
        return _take_copy(capsule, device)

    def buffer_to_dlpack_managed_tensor(buffer, stream=None, **asked):
        if platform == "cpu" or buffer.platform() != platform:
            return inner.buffer_to_dlpack_managed_tensor(buffer, stream=stream, **asked)
        # JAX asks for a version since 0.12.
        return _export(np.asarray(buffer), asked.get("max_version"), asked.get("copied", False))

    dlpack._jax = Changed(
        inner,
        dlpack_managed_tensor_to_buffer=dlpack_managed_tensor_to_buffer,
        buffer_to_dlpack_managed_tensor=buffer_to_dlpack_managed_tensor,
    )
    if platform == "cpu":
        return
    dlpack._DL_DEVICE_TO_PLATFORM = _Platforms(dlpack._DL_DEVICE_TO_PLATFORM, platform)
    dlpack_device = jax_array.ArrayImpl.__dlpack_device__

    def __dlpack_device__(self):
        if len(self._arrays) == 1 and self.platform() == platform:
            return dlpack.DLDeviceType.kDLCPU, 0
        return dlpack_device(self)

    jax_array.ArrayImpl.__dlpack_device__ = __dlpack_device__
