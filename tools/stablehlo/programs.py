"""Many small JAX programs: `all_programs` yields a name and a function that lowers one."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import NamedSharding, PartitionSpec as P

jax.config.update("jax_enable_x64", True)
# Locations name files without directories.
jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/")

S = jax.ShapeDtypeStruct

FLOATS = ["float32", "float64", "bfloat16", "float16"]
INTS = ["int8", "int32", "uint8", "uint64"]
COMPLEX = ["complex64", "complex128"]

UNARY = """abs negative sign exp exp2 expm1 log log1p log2 sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh
arccosh arctanh sqrt cbrt square reciprocal floor ceil rint round isnan isfinite isinf sinc degrees conj real imag
angle cumsum cumprod sort argsort flip ravel mean std var median max min argmax argmin prod sum all any diff ptp
count_nonzero nanmean unwrap trace tril triu diagonal fliplr rot90 transpose isneginf signbit""".split()

BINARY = """add subtract multiply divide power arctan2 maximum minimum mod floor_divide logaddexp hypot equal less
greater not_equal heaviside copysign nextafter fmod dot matmul outer inner kron tensordot cross append convolve
left_shift right_shift bitwise_and bitwise_or bitwise_xor gcd isclose polyval float_power ldexp""".split()

LAX_UNARY = """erf erfc erf_inv lgamma digamma bessel_i1e bessel_i0e is_finite population_count clz rsqrt logistic
round integer_pow stop_gradient""".split()


def lower(f, *shapes, **options):
    return lambda: jax.jit(f, **options).lower(*shapes)


def elementwise():
    for name in UNARY:
        for ty in FLOATS[:2] + INTS[1:2] + COMPLEX[:1] + (["bfloat16"] if len(name) < 5 else []):
            yield f"jnp_{name}_{ty}", lower(getattr(jnp, name), S((3, 4), ty))
    for name in BINARY:
        for ty in ["float32", "int32"]:
            yield f"jnp_{name}_{ty}", lower(getattr(jnp, name), S((3, 3), ty), S((3, 3), ty))
    for name in LAX_UNARY:
        f = functools.partial(lax.integer_pow, y=3) if name == "integer_pow" else getattr(lax, name)
        for ty in ["float32", "float64", "int32"]:
            yield f"lax_{name}_{ty}", lower(f, S((5,), ty))
    types = FLOATS + INTS + COMPLEX + ["bool", "int4", "uint4", "int2", "float8_e4m3fn", "float8_e5m2", "float8_e4m3b11fnuz",
        "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e3m4", "float8_e4m3", "float8_e8m0fnu", "float4_e2m1fn"]
    for ty in types:
        yield f"convert_{ty}", lower(lambda x, ty=ty: x.astype(ty), S((2, 3), "float32"))
        yield f"constant_{ty}", lower(lambda x, ty=ty: (x, jnp.arange(6).reshape(2, 3).astype(ty) if ty != "bool" else jnp.array([[True, False, True], [True, True, False]])), S((2,), ty))
        values = np.array([[1, 0, 1], [0, 1, 1]]).astype(jnp.dtype(ty))
        yield f"literal_{ty}", lower(lambda x, v=values: (x, v), S((2,), "float32"))


def structural():
    f32, i32 = "float32", "int32"
    x = S((4, 6), f32)
    yield "reshape", lower(lambda x: x.reshape(2, 12), x)
    yield "pad", lower(lambda x: lax.pad(x, 0.0, [(1, 2, 1), (-1, 0, 0)]), x)
    yield "slice", lower(lambda x: x[1:3:2, ::2], x)
    yield "dynamic_slice", lower(lambda x, i: lax.dynamic_slice(x, (i, i), (2, 2)), x, S((), i32))
    yield "dynamic_update", lower(lambda x, i: lax.dynamic_update_slice(x, jnp.ones((2, 2), f32), (i, i)), x, S((), i32))
    yield "gather", lower(lambda x, i: x[i], x, S((3,), i32))
    yield "gather2", lower(lambda x, i: x[i, i], x, S((3, 2), i32))
    yield "take_along", lower(lambda x, i: jnp.take_along_axis(x, i, 1), x, S((4, 2), i32))
    yield "vmap_gather", lower(jax.vmap(lambda x, i: x[i]), x, S((4, 2), i32))
    yield "vmap_scatter", lower(jax.vmap(lambda x, i: x.at[i].add(1.0)), x, S((4, 2), i32))
    for op in ["set", "add", "multiply", "min", "max"]:
        yield f"scatter_{op}", lower(lambda x, i, op=op: getattr(x.at[i], op)(2.0), x, S((3,), i32))
    yield "scatter_sorted", lower(lambda x, i: x.at[i].add(2.0, indices_are_sorted=True, unique_indices=True), x, S((3,), i32))
    for pad in ["SAME", "VALID"]:
        for ty in ["float32", "bfloat16", "int8"]:
            yield f"conv_{pad}_{ty}", lower(lambda a, b, pad=pad: lax.conv(a, b, (1, 2), pad), S((1, 2, 8, 8), ty), S((3, 2, 3, 3), ty))
    yield "conv_dilated", lower(lambda a, b: lax.conv_general_dilated(a, b, (1, 1), [(1, 1), (2, 0)], (2, 1), (1, 2), ("NHWC", "HWIO", "NHWC"), 2, precision="highest"), S((1, 8, 8, 4), f32), S((3, 3, 2, 4), f32))
    yield "conv_1d", lower(lambda a, b: lax.conv_general_dilated(a, b, (1,), "SAME", dimension_numbers=("NWC", "WIO", "NWC")), S((1, 8, 4), f32), S((3, 4, 4), f32))
    yield "conv_transpose", lower(lambda a, b: lax.conv_transpose(a, b, (2, 2), "SAME"), S((1, 8, 8, 4), f32), S((3, 3, 4, 4), f32))
    yield "conv_grad", lower(jax.grad(lambda b, a: lax.conv(a, b, (1, 1), "SAME").sum()), S((3, 2, 3, 3), f32), S((1, 2, 8, 8), f32))
    yield "reduce_window_max", lower(lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (2, 2), (2, 2), "VALID"), x)
    yield "reduce_window_sum", lower(lambda x: lax.reduce_window(x, 0.0, lax.add, (2, 2), (1, 1), [(1, 0), (0, 1)], (2, 1), (1, 2)), x)
    yield "select_and_scatter", lower(jax.grad(lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (2, 2), (2, 2), "SAME").sum()), x)
    yield "cumlogsumexp", lower(lambda x: lax.cumlogsumexp(x), x)
    yield "associative_scan", lower(lambda x: lax.associative_scan(jnp.add, x), x)
    yield "top_k", lower(lambda x: lax.top_k(x, 2), x)
    yield "approx_max_k", lower(lambda x: lax.approx_max_k(x, 2), x)
    yield "sort_many", lower(lambda x, y: lax.sort((x, y), num_keys=2, is_stable=False), x, x)
    yield "sort_total", lower(lambda x: jnp.sort(x, axis=0, descending=True), S((5, 2), "bfloat16"))
    yield "reverse", lower(lambda x: lax.rev(x, (0, 1)), x)
    yield "iota", lower(lambda: lax.broadcasted_iota(jnp.uint32, (3, 4), 1))
    yield "select", lower(lambda p, x: lax.select(p, x, -x), S((4, 6), "bool"), x)
    yield "clamp", lower(lambda x: lax.clamp(0.0, x, 1.0), x)
    yield "reduce_precision", lower(lambda x: lax.reduce_precision(x, 5, 3), x)
    yield "bitcast", lower(lambda x: lax.bitcast_convert_type(x, jnp.uint8), x)
    yield "complex", lower(lambda x: lax.complex(x, x), x)
    yield "barrier", lower(lambda x: lax.optimization_barrier((x, x + 1)), x)
    yield "einsum", lower(lambda a, b: jnp.einsum("bij,bjk->bik", a, b), S((2, 3, 4), f32), S((2, 4, 5), f32))
    yield "dot_precision", lower(lambda a, b: lax.dot(a, b, precision=("high", "default")), S((3, 4), f32), S((4, 5), f32))
    for algorithm in ["F16_F16_F32", "BF16_BF16_F32_X3", "F32_F32_F32", "TF32_TF32_F32", "ANY_F8_ANY_F8_F32"]:
        ty = "float16" if algorithm.startswith("F16") else "float8_e4m3fn" if "F8" in algorithm else "float32"
        yield f"dot_{algorithm}", lower(lambda a, b, algorithm=algorithm: lax.dot_general(a, b, (((1,), (0,)), ((), ())), precision=getattr(lax.DotAlgorithmPreset, algorithm), preferred_element_type=jnp.float32), S((3, 4), ty), S((4, 5), ty))
    yield "ragged_dot", lower(lambda a, b, g: lax.ragged_dot(a, b, g), S((8, 4), f32), S((3, 4, 5), f32), S((3,), i32))
    for kind in ["fft", "ifft", "rfft", "irfft", "fft2", "rfftn"]:
        yield f"fft_{kind}", lower(getattr(jnp.fft, kind), S((4, 8), "complex64" if kind in ("ifft", "irfft") else f32))
    yield "exp_accuracy", lower(lambda x: lax.exp(x, accuracy=lax.Tolerance(atol=1e-3, rtol=1e-4, ulps=3)), x)
    yield "tanh_highest", lower(lambda x: lax.tanh(x, accuracy=lax.AccuracyMode.HIGHEST), x)
    yield "big_constant", lower(lambda x: x + np.arange(4096, dtype=np.float32).reshape(64, 64), S((64, 64), f32))
    yield "bool_constant", lower(lambda x: jnp.where(np.arange(77) % 3 == 0, x, 0), S((77,), f32))
    yield "bool_splat", lower(lambda x: jnp.where(np.ones(77, bool), x, 0), S((77,), f32))
    yield "int4_constant", lower(lambda x: x + np.arange(-3, 4).astype(jnp.int4), S((7,), "int4"))
    yield "donate", lower(lambda x, y: x + y, x, x, donate_argnums=0)
    yield "static_metadata", lower(jax.named_scope("scope")(lambda x: jnp.sin(x)), x)
    yield "jnp_histogram", lower(lambda x: jnp.histogram(x, 5), x)
    yield "jnp_percentile", lower(lambda x: jnp.percentile(x, 30), x)
    yield "jnp_unique", lower(lambda x: jnp.unique(x, size=3), x)
    yield "jnp_interp", lower(lambda x: jnp.interp(x, x[0], x[1]), x)
    yield "jnp_searchsorted", lower(lambda x: jnp.searchsorted(x[0], x), x)
    yield "jnp_nonzero", lower(lambda x: jnp.nonzero(x, size=3), x)
    yield "jnp_roll", lower(lambda x: jnp.roll(x, (1, 2), (0, 1)), x)
    yield "jnp_repeat", lower(lambda x: jnp.repeat(x, 3, axis=1), x)
    yield "jnp_piecewise", lower(lambda x: jnp.piecewise(x, [x < 0, x > 1], [jnp.sin, jnp.cos, 2.0]), x)


def control():
    f32 = "float32"
    x = S((4,), f32)
    yield "cond", lower(lambda p, x: lax.cond(p, jnp.sin, jnp.cos, x), S((), "bool"), x)
    yield "switch", lower(lambda i, x: lax.switch(i, [jnp.sin, jnp.cos, lambda x: x * 2], x), S((), "int32"), x)
    yield "while", lower(lambda x: lax.while_loop(lambda c: c[0] < 5, lambda c: (c[0] + 1, c[1] * 2), (0, x)), x)
    yield "fori", lower(lambda x: lax.fori_loop(0, 10, lambda i, x: x + i, x), x)
    yield "scan", lower(lambda x: lax.scan(lambda c, y: (c + y, c * y), 0.0, x), x)
    yield "scan_grad", lower(jax.grad(lambda x: lax.scan(lambda c, y: (jnp.sin(c) + y, c * y), 0.0, x)[0]), x)
    yield "nested_jit", lower(lambda x: jax.jit(lambda y: jnp.sin(y))(x) + jax.jit(jnp.cos)(x), x)
    yield "remat", lower(jax.grad(jax.checkpoint(lambda x: jnp.sin(jnp.sin(x)).sum())), x)
    yield "custom_vjp", lower(jax.grad(lambda x: jax.nn.relu(x).sum()), x)
    yield "hessian", lower(jax.hessian(lambda x: jnp.sum(x**3)), x)
    yield "jvp", lower(lambda x: jax.jvp(jnp.tanh, (x,), (x,)), x)
    for name in "relu gelu silu softmax log_softmax elu selu glu softplus swish sigmoid logsumexp standardize hard_tanh mish".split():
        yield f"nn_{name}", lower(getattr(jax.nn, name), S((4, 8), f32))
        yield f"nn_grad_{name}", lower(jax.grad(lambda x, name=name: getattr(jax.nn, name)(x).sum()), S((4, 8), f32))
    yield "nn_one_hot", lower(lambda i: jax.nn.one_hot(i, 7), S((4,), "int32"))
    yield "nn_attention", lower(lambda q: jax.nn.dot_product_attention(q, q, q, is_causal=True), S((1, 8, 2, 4), f32))


def libraries():
    f32 = "float32"
    for name in "normal uniform bernoulli exponential gumbel laplace cauchy logistic truncated_normal rademacher t gamma beta poisson dirichlet categorical permutation choice randint bits ball".split():
        def f(key, name=name):
            g = getattr(jax.random, name)
            arguments = {"t": (3.0, (4,)), "gamma": (2.0, (4,)), "beta": (1.0, 2.0, (4,)), "poisson": (3.0, (4,)),
                "dirichlet": (jnp.ones(3),), "categorical": (jnp.ones(3),), "permutation": (10,), "choice": (10, (3,)),
                "randint": ((4,), 0, 9), "truncated_normal": (-1.0, 1.0, (4,)), "bernoulli": (0.3, (4,)), "ball": (3,)}.get(name, ((4,),))
            return g(key, *arguments)
        yield f"random_{name}", lower(f, S((2,), "uint32"))
    for impl in ["rbg", "unsafe_rbg", "threefry2x32"]:
        yield f"random_{impl}", lower(lambda impl=impl: jax.random.uniform(jax.random.key(0, impl=impl), (4,)))
    m = S((4, 4), f32)
    for name in "cholesky qr svd eigh det inv pinv slogdet matrix_rank norm cond eigvalsh".split():
        yield f"linalg_{name}", lower(getattr(jnp.linalg, name), m)
    yield "linalg_solve", lower(jnp.linalg.solve, m, m)
    yield "linalg_lstsq", lower(lambda a, b: jnp.linalg.lstsq(a, b), m, m)
    yield "linalg_triangular", lower(lambda a, b: lax.linalg.triangular_solve(a, b, left_side=True, lower=True, transpose_a=True, conjugate_a=True), S((4, 4), "complex64"), S((4, 4), "complex64"))
    yield "linalg_expm", lower(lambda a: jax.scipy.linalg.expm(a), m)
    yield "linalg_lu", lower(lambda a: jax.scipy.linalg.lu(a), m)
    for name in "gammaln erf erfc erfinv expit logit digamma i0 i1 i0e i1e ndtr log_ndtr entr exp1 expi xlog1py zeta polygamma betainc gammainc gammaincc betaln rel_entr".split():
        f = getattr(jax.scipy.special, name)
        arity = {"xlog1py": 2, "zeta": 2, "polygamma": 2, "betainc": 3, "gammainc": 2, "gammaincc": 2, "betaln": 2, "rel_entr": 2}.get(name, 1)
        yield f"special_{name}", lower(lambda *x, f=f: f(*x), *[S((3,), f32)] * arity)
    for name in "norm t gamma beta expon laplace cauchy uniform logistic pareto".split():
        d = getattr(jax.scipy.stats, name)
        yield f"stats_{name}", lower(lambda x, d=d, name=name: d.logpdf(x, *((2.0,) if name in ("t", "gamma", "pareto") else (2.0, 3.0) if name == "beta" else ())), S((3,), f32))
    yield "image_resize", lower(lambda x: jax.image.resize(x, (8, 8), "bicubic"), m)
    yield "map_coordinates", lower(lambda x: jax.scipy.ndimage.map_coordinates(x, [x, x], 1), m)
    yield "sparse_free_callback", lower(lambda x: jax.debug.print("{}", x) or x, m)
    yield "pure_callback", lower(lambda x: jax.pure_callback(np.sin, S((4, 4), f32), x), m)
    yield "ffi_call", lower(lambda x: jax.ffi.ffi_call("target", S((4, 4), f32))(x, alpha=np.float32(3), name="é", n=np.int64(4), flags=np.array([1, 2])), m)
    yield "ffi_alias", lower(lambda x: jax.ffi.ffi_call("target", S((4, 4), f32), input_output_aliases={0: 0}, has_side_effect=True, custom_call_api_version=1, legacy_backend_config="a\\b\"c\x00d")(x), m)
    try:
        import flax.linen as nn
        import optax
    except ImportError:
        return
    class Net(nn.Module):
        @nn.compact
        def __call__(self, x):
            x = nn.relu(nn.Conv(4, (3, 3))(x))
            x = nn.LayerNorm()(nn.Dense(8)(x.reshape(x.shape[0], -1)))
            return nn.Dense(3)(nn.Dropout(0.1, deterministic=True)(x))
    net = Net()
    params = jax.eval_shape(net.init, jax.random.key(0), jnp.ones((2, 8, 8, 1)))
    yield "flax_forward", lower(net.apply, params, S((2, 8, 8, 1), f32))
    tx = optax.adamw(1e-3)
    def step(params, state, x):
        grads = jax.grad(lambda p: net.apply(p, x).sum())(params)
        updates, state = tx.update(grads, state, params)
        return optax.apply_updates(params, updates), state
    yield "flax_step", lower(step, params, jax.eval_shape(tx.init, params), S((2, 8, 8, 1), f32))


def sharded():
    f32 = "float32"
    mesh = jax.make_mesh((4, 2), ("a", "b"), axis_types=(jax.sharding.AxisType.Auto,) * 2)
    x = S((8, 8), f32)
    def on(*spec):
        return NamedSharding(mesh, P(*spec))
    for number, (i, o) in enumerate([(("a", "b"), ("b", "a")), (("a", None), (None, "a")), ((("a", "b"), None), (None, None)), ((None, None), ("a",))]):
        yield f"sharded_{number}", lower(lambda x: jnp.sin(x) @ x, x, in_shardings=on(*i), out_shardings=on(*o))
    yield "sharding_constraint", lower(lambda x: lax.with_sharding_constraint(x * 2, on("a", P.UNCONSTRAINED)), x)
    sharded = functools.partial(jax.shard_map, mesh=mesh, check_vma=False)
    yield "psum", lower(sharded(lambda x: lax.psum(x, "a"), in_specs=P("a", "b"), out_specs=P(None, "b")), x)
    yield "pmax", lower(sharded(lambda x: lax.pmax(x, ("a", "b")), in_specs=P("a", "b"), out_specs=P(None, None)), x)
    yield "psum_many", lower(sharded(lambda x: lax.psum((x, x * 2), "b"), in_specs=P("a", "b"), out_specs=P("a", None)), x)
    yield "all_gather", lower(sharded(lambda x: lax.all_gather(x, "a", tiled=True), in_specs=P("a", "b"), out_specs=P(None, "b")), x)
    yield "all_to_all", lower(sharded(lambda x: lax.all_to_all(x, "b", 1, 0, tiled=True), in_specs=P("a", None), out_specs=P("a", "b")), x)
    yield "ppermute", lower(sharded(lambda x: lax.ppermute(x, "a", [(0, 1), (1, 2), (2, 3), (3, 0)]), in_specs=P("a", "b"), out_specs=P("a", "b")), x)
    yield "psum_scatter", lower(sharded(lambda x: lax.psum_scatter(x, "a", tiled=True), in_specs=P(None, "b"), out_specs=P("a", "b")), x)
    yield "pbroadcast", lower(sharded(lambda x: lax.pbroadcast(x, "a", 1), in_specs=P("a", "b"), out_specs=P("a", "b")), x)
    yield "axis_index", lower(sharded(lambda x: x + lax.axis_index("a"), in_specs=P("a", "b"), out_specs=P("a", "b")), x)
    yield "manual_one_axis", lower(jax.shard_map(lambda x: lax.psum(x, "a"), mesh=mesh, axis_names={"a"}, in_specs=P("a"), out_specs=P(), check_vma=True), x)
    explicit = jax.make_mesh((8,), ("x",), axis_types=(jax.sharding.AxisType.Explicit,))
    def f(x):
        return jnp.sin(x) * 2
    yield "explicit_mesh", lambda: jax.jit(f).lower(S((8, 8), f32, sharding=NamedSharding(explicit, P("x"))))
    from jax import export
    b, c = export.symbolic_shape("b, c")
    yield "dynamic_shapes", lambda: Exported(export.export(jax.jit(lambda x: jnp.sum(jnp.sin(x) @ x.T, axis=0)))(S((b, c), f32)))
    yield "dynamic_gather", lambda: Exported(export.export(jax.jit(lambda x, i: (x[i], jnp.broadcast_to(x[0], x.shape), x[::2])))(S((b, 4), f32), S((c,), "int32")))
    yield "dynamic_conv", lambda: Exported(export.export(jax.jit(lambda x, k: lax.conv(x, k, (2, 2), "SAME")))(S((b, 3, c, c), f32), S((4, 3, 3, 3), f32)))


class Exported:
    def __init__(self, exported):
        self.exported = exported

    def compiler_ir(self, _dialect):
        from jax._src.interpreters import mlir
        from jaxlib.mlir import ir

        with mlir.make_ir_context() as context:
            return ir.Module.parse(self.exported.mlir_module(), context)


MODULES = {
    "resource": """module {
  func.func @main() -> (tensor<3xf32>, tensor<2xi1>) {
    %0 = "stablehlo.constant"() <{value = dense_resource<blob> : tensor<3xf32>}> : () -> tensor<3xf32>
    %1 = stablehlo.constant dense<[true, false]> : tensor<2xi1>
    return %0, %1 : tensor<3xf32>, tensor<2xi1>
  }
}
{-#
  dialect_resources: { builtin: { blob: "0x040000000000803F0000004000004040" } }
#-}""",
    "unregistered": """module attributes {other.unit, other.thing = #other.thing<1, "two">, other.nested = @a::@b::@c} {
  %0:2 = "other.op"() <{one = 1 : i7, two = "x"}> {three = !other.type<3>} : () -> (i32, !other.type<4>)
  "other.use"(%0#1, %0#0) ({
  ^bb0(%a: i32):
    "other.branch"(%a)[^bb1, ^bb2] : (i32) -> ()
  ^bb1:
    "other.end"() : () -> ()
  ^bb2:
    "other.branch"(%a)[^bb1] : (i32) -> ()
  }, {}) : (!other.type<4>, i32) -> ()
}""",
    "attributes": """module attributes {a.a = dense<["x", "y"]> : tensor<2x!other.s>, a.b = array<i8: 1, -1>, a.c = array<f32: 1.5, -0.0>,
  a.d = 1.0e300 : f64, a.e = 0.1 : f32, a.f = -5 : si16, a.g = 18446744073709551615 : ui64, a.h = dense<> : tensor<0x3xi4>,
  a.k = vector<2x3xf32>, a.l = memref<?x3xf32>,
  a.m = tuple<i32, tensor<*xf32>>, a.n = (i32, i64) -> (), a.o = none, a.p = 3 : index, a.q = array<i16: 3>, a.r = array<f64: 2.0>,
  a.t = f80, a.u = dense<-7> : vector<4xi64>,
  a.v = tensor<3x?xf32, #stablehlo.bounds<?, 9>>, a.w = !stablehlo.token, a.x = dense<[1, -2]> : tensor<2xindex>} {
}""",
    "quantized": """module {
  func.func @main(%a: tensor<2x3x!quant.uniform<i8:f32:1, {0.1:1,0.2,0.3:-4}>>, %b: tensor<2x!quant.uniform<u4<1:14>:bf16, 0.25:7>>,
      %d: tensor<2xf32>, %c: tensor<?x2x!quant.uniform<i32:f32, 1.0>, #stablehlo.bounds<4, ?>>) -> tensor<2xbf16> {
    %0 = stablehlo.convert %d : (tensor<2xf32>) -> tensor<2xbf16>
    return %0 : tensor<2xbf16>
  }
}""",
    "tuples": """module @"odd name \\22" {
  func.func private @f(%arg0: tuple<tensor<f32>, tuple<>>, %arg1: !stablehlo.token) -> tensor<f32> {
    %0 = stablehlo.get_tuple_element %arg0[0] : (tuple<tensor<f32>, tuple<>>) -> tensor<f32>
    %1:2 = "stablehlo.infeed"(%arg1) <{infeed_config = "x", layout = [[]]}> : (!stablehlo.token) -> (tensor<f32>, !stablehlo.token)
    %2 = "stablehlo.outfeed"(%1#0, %1#1) : (tensor<f32>, !stablehlo.token) -> !stablehlo.token
    return %0 : tensor<f32>
  }
  func.func private @declared(tensor<f32>) -> tensor<f32>
}""",
}


class Parsed:
    def __init__(self, text):
        self.text = text

    def compiler_ir(self, _dialect):
        from jax._src.interpreters import mlir
        from jaxlib.mlir import ir

        with mlir.make_ir_context() as context:
            context.allow_unregistered_dialects = True
            return ir.Module.parse(self.text, context)


def modules():
    for name, text in MODULES.items():
        yield f"text_{name}", lambda text=text: Parsed(text)


def all_programs():
    for group in (elementwise, structural, control, libraries, sharded, modules):
        yield from group()
