"""Custom calls: handlers of XLA's typed FFI, written in C++ and compiled here."""

import ctypes
import subprocess

import jax
import jax.numpy as jnp
import numpy as np
import pytest

SOURCE = """
#include <atomic>
#include <memory>
#include "xla/ffi/api/ffi.h"
namespace ffi = xla::ffi;

static ffi::Error Scale(float by, ffi::Buffer<ffi::F32> x, ffi::ResultBuffer<ffi::F32> y) {
  if (by == 0) return ffi::Error::InvalidArgument("scaling by zero");
  for (size_t i = 0; i < x.element_count(); i++) y->typed_data()[i] = x.typed_data()[i] * by;
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(ScaleHandler, Scale, ffi::Ffi::Bind().Attr<float>("by")
    .Arg<ffi::Buffer<ffi::F32>>().Ret<ffi::Buffer<ffi::F32>>());

// Attributes of each kind, added up.
static ffi::Error Attributes(ffi::Dictionary attrs, ffi::ResultBuffer<ffi::F64> y) {
  double* out = y->typed_data();
  out[0] = *attrs.get<int8_t>("i8");
  out[1] = *attrs.get<bool>("b");
  out[2] = (*attrs.get<std::string_view>("text")).size();
  out[3] = 0;
  for (double value : *attrs.get<ffi::Span<const double>>("list")) out[3] += value;
  out[4] = *(*attrs.get<ffi::Dictionary>("inner")).get<int64_t>("deep");
  out[5] = attrs.size();
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(AttributesHandler, Attributes,
    ffi::Ffi::Bind().Attrs().Ret<ffi::Buffer<ffi::F64>>());

// A counter that a call makes when it is instantiated and keeps as long as its program lives.
static std::atomic<int> alive = 0;
struct Counter {
  static ffi::TypeId id;
  static ffi::TypeInfo info;
  int64_t value;
  explicit Counter(int64_t from) : value(from) { alive++; }
  ~Counter() { alive--; }
};
ffi::TypeId Counter::id = {};
ffi::TypeInfo Counter::info = ffi::MakeTypeInfo<Counter>();

static ffi::ErrorOr<std::unique_ptr<Counter>> Instantiate(int64_t from) {
  if (from < 0) return ffi::Unexpected(ffi::Error::InvalidArgument("counting from below zero"));
  return std::make_unique<Counter>(from);
}
static ffi::Error Count(Counter* counter, ffi::ResultBuffer<ffi::S32> y) {
  y->typed_data()[0] = counter->value++;
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(CounterInstantiate, Instantiate,
    ffi::Ffi::BindInstantiate().Attr<int64_t>("from"));
XLA_FFI_DEFINE_HANDLER_SYMBOL(CounterExecute, Count,
    ffi::Ffi::Bind().Ctx<ffi::State<Counter>>().Ret<ffi::Buffer<ffi::S32>>());
extern "C" void* CounterId() { return &Counter::id; }
extern "C" void* CounterInfo() { return &Counter::info; }
extern "C" int CountersAlive() { return alive; }

// Scratch memory, the pool of threads, and what tells executions apart.
static ffi::Error Context(ffi::ScratchAllocator scratch, ffi::ThreadPool pool, ffi::RunId run,
                          int32_t device, ffi::ResultBuffer<ffi::S32> y) {
  std::optional<void*> memory = scratch.Allocate(1000, 128);
  if (!memory) return ffi::Error::Internal("no scratch memory");
  auto* words = static_cast<std::atomic<int32_t>*>(*memory);
  words[0] = 0;
  std::atomic<int32_t> left = 8;
  for (int i = 0; i < 8; i++) pool.Schedule([&, i] { words[0] += i; left--; });
  while (left) {}
  y->typed_data()[0] = words[0];
  y->typed_data()[1] = reinterpret_cast<uintptr_t>(*memory) % 128;
  y->typed_data()[2] = pool.num_threads() > 0;
  y->typed_data()[3] = run.run_id != 0;
  y->typed_data()[4] = device;
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(ContextHandler, Context, ffi::Ffi::Bind()
    .Ctx<ffi::ScratchAllocator>().Ctx<ffi::ThreadPool>().Ctx<ffi::RunId>().Ctx<ffi::DeviceOrdinal>()
    .Ret<ffi::Buffer<ffi::S32>>());

// An operand whose memory is the result's.
static ffi::Error InPlace(ffi::AnyBuffer x, ffi::Result<ffi::AnyBuffer> y) {
  if (x.untyped_data() != y->untyped_data()) return ffi::Error::InvalidArgument("not in place");
  for (size_t i = 0; i < x.element_count(); i++) x.typed_data<float>()[i] += 1;
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(InPlaceHandler, InPlace,
    ffi::Ffi::Bind().Arg<ffi::AnyBuffer>().Ret<ffi::AnyBuffer>());

// Work that is done after the handler has returned.
static ffi::Future Later(ffi::ThreadPool pool, ffi::Buffer<ffi::F32> x,
                         ffi::ResultBuffer<ffi::F32> y) {
  ffi::Promise promise;
  ffi::Future future(promise);
  float* from = x.typed_data();
  float* to = y->typed_data();
  pool.Schedule([from, to, promise = std::move(promise)]() mutable {
    if (*from < 0) return promise.SetError(ffi::Error::InvalidArgument("negative, later"));
    *to = *from + 1;
    promise.SetAvailable();
  });
  return future;
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(LaterHandler, Later, ffi::Ffi::Bind().Ctx<ffi::ThreadPool>()
    .Arg<ffi::Buffer<ffi::F32>>().Ret<ffi::Buffer<ffi::F32>>());
"""


@pytest.fixture(scope="module")
def handlers(tmp_path_factory):
    """The compiled library, with its handlers registered."""
    directory = tmp_path_factory.mktemp("ffi")
    (directory / "handlers.cc").write_text(SOURCE)
    command = ["c++", "-std=c++17", "-shared", "-fPIC", f"-I{jax.ffi.include_dir()}"]
    subprocess.run([*command, "-o", directory / "handlers.so", directory / "handlers.cc"], check=True)
    library = ctypes.CDLL(str(directory / "handlers.so"))
    platform = jax.default_backend()
    address = lambda function: ctypes.cast(function(), ctypes.c_void_p)
    library.CounterId.restype = library.CounterInfo.restype = ctypes.c_void_p
    capsule = jax.ffi.pycapsule
    for name in ["Scale", "Attributes", "Context", "InPlace", "Later"]:
        handler = getattr(library, f"{name}Handler")
        jax.ffi.register_ffi_target(f"test_{name.lower()}", capsule(handler), platform=platform)
    type_registration = {
        "type_id": capsule(address(library.CounterId)),
        "type_info": capsule(address(library.CounterInfo)),
    }
    jax.ffi.register_ffi_type("test_counter", type_registration, platform=platform)
    stages = {
        "instantiate": capsule(library.CounterInstantiate),
        "execute": capsule(library.CounterExecute),
    }
    jax.ffi.register_ffi_target("test_counter", stages, platform=platform)
    return library


def test_what_libraries_register_for_cpu_is_served(handlers):
    handler = jax.ffi.pycapsule(handlers.ScaleHandler)
    jax.ffi.register_ffi_target("test_scale_for_cpu", handler, platform="cpu")
    x = jnp.arange(3.0)
    call = jax.ffi.ffi_call("test_scale_for_cpu", jax.ShapeDtypeStruct(x.shape, x.dtype))
    np.testing.assert_array_equal(jax.jit(lambda x: call(x, by=np.float32(3)))(x), [0, 3, 6])


def test_sparse_products_of_jaxlib():
    from jax.experimental import sparse

    dense = np.array([[0, 2, 0], [1, 0, 3], [0, 0, 0], [4, 5, 6]], np.float32)
    matrix = sparse.BCSR.fromdense(dense)
    right = np.arange(6, dtype=np.float32).reshape(3, 2)
    np.testing.assert_array_equal(jax.jit(lambda a, b: a @ b)(matrix, right), dense @ right)
    np.testing.assert_array_equal(jax.jit(lambda a, b: a @ b)(matrix, right[:, 0]), dense @ right[:, 0])


def test_operands_results_and_errors(handlers):
    x = jnp.arange(3.0)
    call = jax.ffi.ffi_call("test_scale", jax.ShapeDtypeStruct(x.shape, x.dtype))
    np.testing.assert_array_equal(jax.jit(lambda x: call(x, by=np.float32(3)))(x), [0, 3, 6])
    with pytest.raises(jax.errors.JaxRuntimeError, match="scaling by zero"):
        jax.jit(lambda x: call(x, by=np.float32(0)))(x).block_until_ready()


def test_orders_of_dimensions(handlers):
    x = jnp.arange(24.0).reshape(2, 3, 4)
    result = jax.ShapeDtypeStruct(x.shape, x.dtype)
    turned = np.asarray(x).transpose(2, 0, 1).reshape(x.shape)
    layout = {"input_layouts": [(2, 0, 1)], "output_layouts": (0, 1, 2)}
    call = jax.ffi.ffi_call("test_scale", result, **layout)
    np.testing.assert_array_equal(jax.jit(lambda x: call(x, by=np.float32(3)))(x), 3 * turned)
    same = jax.ffi.ffi_call("test_scale", result, input_layouts=[(2, 0, 1)], output_layouts=(2, 0, 1))
    loop = jax.jit(lambda x: jax.lax.fori_loop(0, 5, lambda _, x: same(x, by=np.float32(2)), x))
    np.testing.assert_array_equal(loop(x), 32 * x)
    empty = jnp.zeros((0, 3))
    call = jax.ffi.ffi_call("test_scale", jax.ShapeDtypeStruct(empty.shape, empty.dtype), input_layouts=[(1, 0)])
    assert call(empty, by=np.float32(3)).shape == (0, 3)


def test_attributes_of_each_kind(handlers):
    with jax.enable_x64(True):
        call = jax.ffi.ffi_call("test_attributes", jax.ShapeDtypeStruct((6,), np.float64))
        result = call(i8=np.int8(-3), b=True, text="four", list=np.array([1.5, 2, 0.1]), inner={"deep": 7})
        np.testing.assert_array_equal(result, [-3, 1, 4, 3.6, 7, 5])


def test_a_call_keeps_its_state_as_long_as_its_program(handlers):
    call = jax.ffi.ffi_call("test_counter", jax.ShapeDtypeStruct((), np.int32), has_side_effect=True)
    count = jax.jit(lambda: call(**{"from": 5}))
    assert [int(count()) for _ in range(3)] == [5, 6, 7]
    other = jax.jit(lambda: call(**{"from": 5}) * 10)
    assert int(other()) == 50
    assert handlers.CountersAlive() == 2
    del count, other
    jax.clear_caches()
    assert handlers.CountersAlive() == 0


def test_an_instantiation_that_fails(handlers):
    call = jax.ffi.ffi_call("test_counter", jax.ShapeDtypeStruct((), np.int32), has_side_effect=True)
    with pytest.raises(jax.errors.JaxRuntimeError, match="counting from below zero"):
        jax.jit(lambda: call(**{"from": -1}))().block_until_ready()


def test_context_of_an_execution(handlers):
    call = jax.ffi.ffi_call("test_context", jax.ShapeDtypeStruct((5,), np.int32))
    for device in jax.devices()[:2]:
        with jax.default_device(device):
            np.testing.assert_array_equal(jax.jit(lambda: call())(), [28, 0, 1, 1, device.id])


def test_results_in_the_place_of_operands(handlers):
    x = jnp.arange(3.0)
    call = jax.ffi.ffi_call("test_inplace", jax.ShapeDtypeStruct(x.shape, x.dtype), input_output_aliases={0: 0})
    np.testing.assert_array_equal(jax.jit(lambda x: call(x) + x)(x), [1, 3, 5])
    np.testing.assert_array_equal(x, [0, 1, 2])


def test_work_that_ends_later(handlers):
    call = jax.ffi.ffi_call("test_later", jax.ShapeDtypeStruct((), np.float32))
    assert jax.jit(call)(jnp.float32(1)) == 2
    # JAX's fast path makes a `ValueError` of an invalid argument, on every platform.
    with pytest.raises((jax.errors.JaxRuntimeError, ValueError), match="negative, later"):
        jax.jit(call)(jnp.float32(-1)).block_until_ready()


def test_a_target_that_nobody_has_registered():
    call = jax.ffi.ffi_call("test_nowhere", jax.ShapeDtypeStruct((), np.float32))
    with pytest.raises(jax.errors.JaxRuntimeError, match="test_nowhere"):
        jax.jit(call)(jnp.float32(1)).block_until_ready()
