//! What the runtime's kernels do: products, convolutions, sorts, transforms, linear algebra.

use rxla_cpu::{Options, compile};
use rxla_hlo::Literal;
use rxla_hlo::literal::Tolerance;
use rxla_hlo::text::parse_literal;
use rxla_interpreter::{Interpreter, Options as World};

use crate::{check, check_within, leaves, module};

#[test]
fn products_and_convolutions_of_the_runtime() {
    check(
        "HloModule m
        ENTRY e {
          i = f32[2,40,3] iota(), iota_dimension=1
          j = f32[3,5,40] iota(), iota_dimension=2
          d = f32[2,3,3,5] dot(i, j), lhs_contracting_dims={1}, rhs_contracting_dims={2}
          x = f32[1,8,8,2] iota(), iota_dimension=1
          k = f32[3,3,2,4] iota(), iota_dimension=0
          c = f32[1,4,4,4] convolution(x, k), window={size=3x3 stride=2x2 pad=1_0x0_1}, dim_labels=b01f_01io->b01f
          ROOT r = (f32[2,3,3,5], f32[1,4,4,4]) tuple(d, c)
        }",
        &[],
    );
}

/// A vector on one side, or on both, whose elements are small: sums are exact, whatever their order.
#[test]
fn products_of_vectors() {
    for ty in ["f32", "f64", "bf16", "f16", "s32", "u8", "c64", "c128"] {
        for depth in [33, 100, 700] {
            for lines in [1, 5, 1100] {
                let (v, rows) = (format!("{ty}[2,{depth}]"), format!("{ty}[2,{depth},{lines}]"));
                let columns = format!("{ty}[2,{lines},{depth}]");
                let real = match ty {
                    "c64" => "f32",
                    "c128" => "f64",
                    real => real,
                };
                let made = match real == ty {
                    true => "copy(F)",
                    false => "complex(F, G)",
                };
                let small = |name: &str, shape: &str, dimension: usize| {
                    let sizes = shape.strip_prefix(ty).unwrap();
                    format!(
                        "{name}i = s32{sizes} iota(), iota_dimension={dimension}
                        {name}c = s32[] constant(3)
                        {name}d = s32{sizes} broadcast({name}c), dimensions={{}}
                        {name}r = s32{sizes} remainder({name}i, {name}d)
                        {name}s = s32{sizes} subtract({name}d, {name}i)
                        {name}t = s32{sizes} remainder({name}s, {name}d)
                        {name}F = {real}{sizes} convert({name}r)
                        {name}G = {real}{sizes} convert({name}t)
                        {name} = {shape} {}\n",
                        made.replace('F', &format!("{name}F")).replace('G', &format!("{name}G")),
                    )
                };
                let inputs = [small("x", &v, 1), small("y", &v, 0), small("m", &rows, 1)].concat();
                let more = [small("n", &columns, 1), small("o", &columns, 2)].concat();
                check(
                    &format!(
                        "HloModule m
                        ENTRY e {{
                          {inputs}{more}
                          d = {ty}[2] dot(x, y), lhs_batch_dims={{0}}, rhs_batch_dims={{0}}, lhs_contracting_dims={{1}}, rhs_contracting_dims={{1}}
                          f = {ty}[] dot(x, y), lhs_contracting_dims={{0,1}}, rhs_contracting_dims={{0,1}}
                          a = {ty}[2,{lines}] dot(x, m), lhs_batch_dims={{0}}, rhs_batch_dims={{0}}, lhs_contracting_dims={{1}}, rhs_contracting_dims={{1}}
                          s = {columns} add(n, o)
                          b = {ty}[2,{lines}] dot(s, x), lhs_batch_dims={{0}}, rhs_batch_dims={{0}}, lhs_contracting_dims={{2}}, rhs_contracting_dims={{1}}
                          ROOT r = ({ty}[2], {ty}[], {ty}[2,{lines}], {ty}[2,{lines}]) tuple(d, f, a, b)
                        }}"
                    ),
                    &[],
                );
            }
        }
    }
}

/// The same sums of columns as a result, and with users: kernels that know nothing of these.
#[test]
fn users_change_no_kernel() {
    let row = |k: usize| (0..500).map(|j| ((j * 7 + k * 3) % 11).to_string()).collect::<Vec<_>>();
    let rows: Vec<String> = (0..500).map(|k| format!("{{{}}}", row(k).join(","))).collect();
    let x = format!("f32[500,500] {{{}}}", rows.join(","));
    let alone = "ROOT s = f32[500] reduce(x, zero), dimensions={0}, to_apply=sum";
    let used = "s = f32[500] reduce(x, zero), dimensions={0}, to_apply=sum
                t = f32[500,500] broadcast(s), dimensions={1}
                d = f32[500,500] subtract(x, t)
                q = f32[500,500] abs(d)
                ROOT u = f32[500] reduce(q, zero), dimensions={0}, to_apply=sum";
    for rest in [alone, used] {
        check(
            &format!(
                "HloModule m
                sum {{ a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }}
                ENTRY e {{
                  x = f32[500,500] parameter(0)
                  zero = f32[] constant(0)
                  {rest}
                }}"
            ),
            &[&x],
        );
    }
}

/// More than the caches near a core hold, in rows that are shorter than a page, which are read one by one.
#[test]
fn short_rows_from_memory() {
    for (ty, rows, columns) in [("f32", 18000, 60), ("bf16", 9000, 240), ("s32", 4500, 300)] {
        let (v, w, m) = (format!("{rows}"), format!("{columns}"), format!("{rows},{columns}"));
        check(
            &format!(
                "HloModule m
                sum {{ a = {ty}[] parameter(0) b = {ty}[] parameter(1) ROOT c = {ty}[] add(a, b) }}
                max {{ a = {ty}[] parameter(0) b = {ty}[] parameter(1) ROOT c = {ty}[] maximum(a, b) }}
                ENTRY e {{
                  i = s32[{m}] iota(), iota_dimension=0
                  j = s32[{m}] iota(), iota_dimension=1
                  ij = s32[{m}] add(i, j)
                  three = s32[] constant(3)
                  threes = s32[{m}] broadcast(three), dimensions={{}}
                  r = s32[{m}] remainder(ij, threes)
                  c = {ty}[{m}] convert(r)
                  x = {ty}[{m}] copy(c)
                  one = {ty}[] constant(1)
                  u = {ty}[{w}] broadcast(one), dimensions={{}}
                  few = {ty}[3,{w}] broadcast(one), dimensions={{}}
                  d = {ty}[{v}] dot(x, u), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
                  f = {ty}[3,{v}] dot(few, x), lhs_contracting_dims={{1}}, rhs_contracting_dims={{1}}
                  half = s32[{v}] iota(), iota_dimension=0
                  two = s32[] constant(2)
                  twos = s32[{v}] broadcast(two), dimensions={{}}
                  odd = s32[{v}] remainder(half, twos)
                  o = {ty}[{v}] convert(odd)
                  g = {ty}[{w}] dot(o, x), lhs_contracting_dims={{0}}, rhs_contracting_dims={{0}}
                  zero = {ty}[] constant(0)
                  s = {ty}[{w}] reduce(x, zero), dimensions={{0}}, to_apply=sum
                  y = {ty}[{w}] reduce(x, zero), dimensions={{0}}, to_apply=max
                  ROOT a = ({ty}[{v}], {ty}[3,{v}], {ty}[{w}], {ty}[{w}], {ty}[{w}]) tuple(d, f, g, s, y)
                }}"
            ),
            &[],
        );
    }
}

/// As JAX writes it.
const SORT: &str = "HloModule m
    less {
      x = f32[] parameter(0)
      y = f32[] parameter(1)
      a = s32[] parameter(2)
      b = s32[] parameter(3)
      zero = f32[] constant(0)
      nan = f32[] constant(nan)
      xz = pred[] compare(x, zero), direction=EQ
      xs = f32[] select(xz, zero, x)
      xn = pred[] compare(x, x), direction=NE
      xk = f32[] select(xn, nan, xs)
      yz = pred[] compare(y, zero), direction=EQ
      ys = f32[] select(yz, zero, y)
      yn = pred[] compare(y, y), direction=NE
      yk = f32[] select(yn, nan, ys)
      ROOT l = pred[] compare(xk, yk), direction=LT, type=TOTALORDER
    }
    ENTRY e {
      x = f32[2,6] parameter(0)
      i = s32[2,6] iota(), iota_dimension=1
      ROOT s = (f32[2,6], s32[2,6]) sort(x, i), dimensions={1}, is_stable=true, to_apply=less
    }";

#[test]
fn sorts_by_keys_run_in_the_runtime() {
    check(SORT, &["f32[2,6] {{3,-0,0,nan,-inf,1},{2,2,1,1,-5,0}}"]);
    let executable = compile(&module(SORT), &Options::default()).unwrap();
    assert_eq!(executable.fallbacks().len(), 0);
}

/// Places along the dimension are not read but told, and what nobody looks at is not moved.
#[test]
fn sorts_of_which_one_result_is_read() {
    let values = "f32[2,6] {{3,-0,0,nan,-inf,1},{2,2,1,1,-5,0}}";
    let root = "ROOT s = (f32[2,6], s32[2,6])";
    for (iota, dimension) in [("s32[2,6]", 1), ("s32[2,6]", 0), ("u64[2,6]", 1), ("s16[2,6]", 1)] {
        let comparing = iota.split('[').next().unwrap();
        let text = SORT
            .replace("s32[] parameter", &format!("{comparing}[] parameter"))
            .replace(
                "i = s32[2,6] iota(), iota_dimension=1",
                &format!("i = {iota} iota(), iota_dimension={dimension}"),
            )
            .replace(root, &format!("s = (f32[2,6], {iota})"));
        for (index, shape) in [(0, "f32[2,6]"), (1, iota)] {
            let root = format!("ROOT r = {shape} get-tuple-element(s), index={index}\n}}");
            let text = format!("{}{root}", text.strip_suffix('}').unwrap());
            check(&text, &[values]);
        }
        let both = "a = f32[2,6] get-tuple-element(s), index=0
            b = IOTA get-tuple-element(s), index=1
            ROOT r = (f32[2,6], IOTA) tuple(a, b)
        }";
        check(
            &format!("{}{}", text.strip_suffix('}').unwrap(), both.replace("IOTA", iota)),
            &[values],
        );
    }
}

#[test]
fn transforms_and_linear_algebra_of_the_runtime() {
    let text = "HloModule m
        ENTRY e {
          x = f32[2,6] parameter(0)
          a = f32[3,3] parameter(1)
          b = f32[3,2] parameter(2)
          f = c64[2,4] fft(x), fft_type=RFFT, fft_length={6}
          g = f32[2,6] fft(f), fft_type=IRFFT, fft_length={6}
          h = c64[2,4] fft(f), fft_type=IFFT, fft_length={4}
          l = f32[3,3] cholesky(a), lower=true
          s = f32[3,2] triangular-solve(a, b), left_side=true, lower=true, transpose_a=TRANSPOSE
          c = f32[2,3] transpose(b), dimensions={1,0}
          u = f32[2,3] triangular-solve(a, c), unit_diagonal=true, transpose_a=NO_TRANSPOSE
          ROOT r = (f32[2,6], c64[2,4], f32[3,3], f32[3,2], f32[2,3]) tuple(g, h, l, s, u)
        }";
    let inputs = [
        "f32[2,6] {{1,2,4,-1,0.5,3},{3,0,0,1,2,-2}}",
        "f32[3,3] {{4,1,0.5},{1,5,1},{0.5,1,6}}",
        "f32[3,2] {{1,2},{3,-4},{5,6}}",
    ];
    let module = module(text);
    assert_eq!(compile(&module, &Options::default()).unwrap().fallbacks().len(), 0);
    check_within(text, &inputs, Tolerance::within(1e-5, 1e-5));
}

/// Factors, what the factors make, and eigenvectors without their signs: `A V` over `V`.
fn decompositions(ty: &str, real: &str) -> String {
    // Imaginary parts, also on the diagonal, where nobody may read them; and the Hermitian matrix.
    let (make, adjoint, diagonal) = if ty == real {
        ("copy(X)", "transpose(b), dimensions={1,0}", "copy(b)")
    } else {
        ("complex(X, X_reversed)", "complex(b_real, b_negated)", "complex(p_b, b_zeros)")
    };
    let complex = format!(
        "p_a_reversed = {real}[2,4,3] reverse(p_a), dimensions={{0,1,2}}
         p_b_reversed = {real}[3,3] reverse(p_b), dimensions={{0,1}}
         b_real = {real}[3,3] transpose(p_b), dimensions={{1,0}}
         b_imaginary = {real}[3,3] transpose(p_b_reversed), dimensions={{1,0}}
         b_negated = {real}[3,3] negate(b_imaginary)
         b_zero = {real}[] constant(0)
         b_zeros = {real}[3,3] broadcast(b_zero), dimensions={{}}"
    );
    let complex = if ty == real { "" } else { &complex };
    let (make_a, make_b) = (make.replace('X', "p_a"), make.replace('X', "p_b"));
    format!(
        "HloModule m
        ENTRY e {{
          p_a = {real}[2,4,3] parameter(0)
          p_b = {real}[3,3] parameter(1)
          {complex}
          a = {ty}[2,4,3] {make_a}
          b = {ty}[3,3] {make_b}
          qr = ({ty}[2,4,3], {ty}[2,3]) custom-call(a), custom_call_target=\"Qr\"
          packed = {ty}[2,4,3] get-tuple-element(qr), index=0
          taus = {ty}[2,3] get-tuple-element(qr), index=1
          q = {ty}[2,4,3] custom-call(packed, taus),
            custom_call_target=\"ProductOfElementaryHouseholderReflectors\"
          i = s32[2,3,3] iota(), iota_dimension=1
          j = s32[2,3,3] iota(), iota_dimension=2
          upper = pred[2,3,3] compare(i, j), direction=LE
          top = {ty}[2,3,3] slice(packed), slice={{[0:2], [0:3], [0:3]}}
          zeros = {ty}[2,3,3] subtract(top, top)
          r = {ty}[2,3,3] select(upper, top, zeros)
          again = {ty}[2,4,3] dot(q, r), lhs_batch_dims={{0}}, rhs_batch_dims={{0}},
            lhs_contracting_dims={{2}}, rhs_contracting_dims={{1}}
          rest = {ty}[2,4,3] subtract(again, a)
          lo = ({ty}[3,3], {real}[3]) custom-call(b), custom_call_target=\"Eigh\",
            backend_config=\"1,1,100,0.000001\"
          up = ({ty}[3,3], {real}[3]) custom-call(b), custom_call_target=\"Eigh\",
            backend_config=\"0,1,100,0.000001\"
          v = {ty}[3,3] get-tuple-element(lo), index=0
          w = {real}[3] get-tuple-element(lo), index=1
          x = {real}[3] get-tuple-element(up), index=1
          k = s32[3,3] iota(), iota_dimension=0
          l = s32[3,3] iota(), iota_dimension=1
          below = pred[3,3] compare(k, l), direction=GT
          above = pred[3,3] compare(k, l), direction=LT
          adjoint = {ty}[3,3] {adjoint}
          diagonal = {ty}[3,3] {diagonal}
          half = {ty}[3,3] select(below, b, diagonal)
          h = {ty}[3,3] select(above, adjoint, half)
          hv = {ty}[3,3] dot(h, v), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
          ratios = {ty}[3,3] divide(hv, v)
          ROOT t = ({ty}[2,4,3], {ty}[2,3], {ty}[2,4,3], {real}[3], {real}[3], {ty}[3,3])
            tuple(packed, taus, rest, w, x, ratios)
        }}"
    )
}

#[test]
fn decompositions_of_the_library_of_builders() {
    let a = "{{{1,2,4},{-1,0.5,3},{3,0,0},{1,2,-2}},{{-2,0,1},{0,3,1},{0,1,1},{0,4,2}}}";
    let b = "{{4,9,9},{1,5,9},{0.5,2,6}}";
    for (ty, real) in [("f32", "f32"), ("f64", "f64"), ("c64", "f32"), ("c128", "f64")] {
        let text = decompositions(ty, real);
        let inputs = [format!("{real}[2,4,3] {a}"), format!("{real}[3,3] {b}")];
        let literals = inputs.iter().map(|text| parse_literal(text).unwrap()).collect();
        let module = module(&text);
        let found = Interpreter::new(module.clone()).run(literals, &World::default()).unwrap();
        let [_, _, rest, values, _, ratios] = &leaves(found)[..] else { panic!("six results") };
        // The factors make the matrix, and each vector is as many times itself as its value says.
        let doubles = |literal: &Literal| -> Vec<f64> {
            let array = literal.as_array().unwrap();
            (0..array.len()).map(|index| array.complex(index).unwrap().re).collect()
        };
        assert!(doubles(rest).iter().all(|rest| rest.abs() < 1e-5), "{rest:?}");
        let values = doubles(values);
        for (index, ratio) in doubles(ratios).iter().enumerate() {
            assert!((ratio - values[index % 3]).abs() < 1e-4, "{ratios:?} {values:?}");
        }
        assert_eq!(compile(&module, &Options::default()).unwrap().fallbacks().len(), 0, "{ty}");
        let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
        check_within(&text, &inputs, Tolerance::within(2e-5, 2e-5));
    }
}
