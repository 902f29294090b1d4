//! HLO to StableHLO and back: each program must give the same results as before, and what is made
//! must print, be written as bytecode, and be read again.

use rxla_hlo::native::Pred;
use rxla_hlo::{ElementType, Literal, Module, Shape, verify};
use rxla_interpreter::{Options, evaluate};
use rxla_stablehlo::text::{self, PrintOptions};
use rxla_stablehlo::{export, import};

fn parse(source: &str) -> Module {
    rxla_hlo::text::parse(source, &Default::default())
        .map(|parsed| parsed.module)
        .unwrap_or_else(|findings| panic!("{findings:?}\n{source}"))
}

/// Numbers from a small range, the same each time.
fn argument(shape: &Shape, salt: usize) -> Literal {
    let Shape::Array(array) = shape else {
        let parts = shape.as_tuple().unwrap_or(&[]).iter().enumerate();
        return Literal::Tuple(parts.map(|(i, part)| argument(part, salt + i + 1)).collect());
    };
    let numbers = (0..array.element_count().unwrap()).map(|i| (i * 7 + salt * 3) % 5);
    match array.element_type {
        ElementType::F32 => Literal::from_values(
            array.dims.clone(),
            &numbers.map(|n| n as f32 - 1.5).collect::<Vec<_>>(),
        ),
        ElementType::S32 => {
            Literal::from_values(array.dims.clone(), &numbers.map(|n| n as i32).collect::<Vec<_>>())
        }
        ElementType::Pred => Literal::from_values(
            array.dims.clone(),
            &numbers.map(|n| Pred::from(n % 2 == 1)).collect::<Vec<_>>(),
        ),
        other => panic!("no arguments of type {other}"),
    }
}

/// The module after a round through StableHLO, its text and its bytecode.
fn round(source: &Module) -> Module {
    let exported = export(source).unwrap_or_else(|findings| panic!("{findings:?}"));
    let printed = text::print(&exported, PrintOptions::default());
    let again = text::parse(&printed).unwrap_or_else(|findings| panic!("{findings:?}\n{printed}"));
    assert_eq!(text::print(&again, PrintOptions::default()), printed);
    let version = rxla_stablehlo::vhlo::Version::CURRENT;
    let bytes = rxla_stablehlo::bytecode::portable_artifact(&exported, version).unwrap();
    let from_bytes = rxla_stablehlo::read(rxla_stablehlo::UNNAMED, &bytes).unwrap();
    assert_eq!(text::print(&from_bytes, PrintOptions::default()), printed);
    let module = import(&again, &Default::default())
        .unwrap_or_else(|findings| panic!("{findings:?}\n{printed}"));
    assert!(verify(&module).is_empty(), "{:?}\n{printed}", verify(&module));
    module
}

fn check(source: &str) {
    let before = parse(source);
    let findings = verify(&before);
    assert!(findings.is_empty(), "{findings:?}\n{source}");
    let after = round(&before);
    let parameters = before.program_shape(before.entry()).parameters;
    let arguments: Vec<Literal> =
        parameters.iter().enumerate().map(|(i, (_, shape))| argument(shape, i)).collect();
    let run = |module| evaluate(module, arguments.clone(), &Options::default()).unwrap();
    assert_eq!(run(&before), run(&after), "{source}");
}

#[test]
fn elementwise_and_shapes() {
    check(
        "HloModule m
ENTRY main {
  x = f32[4,6] parameter(0)
  i = s32[] parameter(1)
  c = f32[6] constant({1, 2, 3, 4, 5, 6})
  b = f32[4,6] broadcast(c), dimensions={1}
  s = f32[4,6] add(x, b)
  t = f32[6,4] transpose(s), dimensions={1,0}
  e = f32[6,4] tanh(t)
  sl = f32[3,4] slice(e), slice={[0:6:2], [0:4]}
  z = f32[] constant(0)
  p = f32[5,4] pad(sl, z), padding=1_1_0x0_0_0
  ds = f32[2,2] dynamic-slice(p, i, i), dynamic_slice_sizes={2,2}
  r = f32[2,2] reverse(ds), dimensions={0}
  cat = f32[4,2] concatenate(ds, r), dimensions={0}
  k = s32[4,2] iota(), iota_dimension=0
  kf = f32[4,2] convert(k)
  m = f32[4,2] multiply(cat, kf)
  bits = s32[4,2] bitcast-convert(m)
  cmp = pred[4,2] compare(m, kf), direction=LT, type=TOTALORDER
  sel = f32[4,2] select(cmp, m, kf)
  lo = f32[] constant(-1)
  hi = f32[] constant(1)
  rp = f32[4,2] reduce-precision(sel), exponent_bits=5, mantissa_bits=10
  cl = f32[4,2] clamp(lo, rp, hi)
  n = (pred[4,2], f32[4,2]) tuple(cmp, sel)
  ROOT out = (f32[4,2], s32[4,2], (pred[4,2], f32[4,2])) tuple(cl, bits, n)
}",
    );
}

#[test]
fn regions_and_control_flow() {
    check(
        "HloModule m
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }
less { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = pred[] compare(a, b), direction=LT }
argmax {
  a = f32[] parameter(0)
  i = s32[] parameter(1)
  b = f32[] parameter(2)
  j = s32[] parameter(3)
  c = pred[] compare(a, b), direction=GE
  v = f32[] select(c, a, b)
  k = s32[] select(c, i, j)
  ROOT r = (f32[], s32[]) tuple(v, k)
}
cond {
  s = (s32[], (f32[8], f32[])) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(3)
  ROOT c = pred[] compare(i, n), direction=LT
}
body {
  s = (s32[], (f32[8], f32[])) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  p = (f32[8], f32[]) get-tuple-element(s), index=1
  x = f32[8] get-tuple-element(p), index=0
  y = f32[] get-tuple-element(p), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  t = f32[] reduce(x, y), dimensions={0}, to_apply=add
  q = (f32[8], f32[]) tuple(x, t)
  ROOT r = (s32[], (f32[8], f32[])) tuple(j, q)
}
square { a = f32[8] parameter(0) ROOT m = f32[8] multiply(a, a) }
double { a = f32[8] parameter(0) ROOT m = f32[8] add(a, a) }
callee { a = f32[8] parameter(0) n = f32[8] negate(a) ROOT t = (f32[8], f32[8]) tuple(n, a) }
ENTRY main {
  x = f32[8] parameter(0)
  p = pred[] parameter(1)
  zero = s32[] constant(0)
  f0 = f32[] constant(0)
  inner = (f32[8], f32[]) tuple(x, f0)
  init = (s32[], (f32[8], f32[])) tuple(zero, inner)
  w = (s32[], (f32[8], f32[])) while(init), condition=cond, body=body
  wi = (f32[8], f32[]) get-tuple-element(w), index=1
  total = f32[] get-tuple-element(wi), index=1
  c = f32[8] conditional(p, x, x), true_computation=square, false_computation=double
  iota = s32[8] iota(), iota_dimension=0
  am = (f32[], s32[]) reduce(c, iota, f0, zero), dimensions={0}, to_apply=argmax
  at = s32[] get-tuple-element(am), index=1
  sorted = f32[8] sort(c), dimensions={0}, is_stable=true, to_apply=less
  rw = f32[7] reduce-window(sorted, f0), window={size=2}, to_apply=add
  called = (f32[8], f32[8]) call(sorted), to_apply=callee
  neg = f32[8] get-tuple-element(called), index=0
  ROOT out = (f32[], f32[8], s32[], f32[7], f32[8]) tuple(total, c, at, rw, neg)
}",
    );
}

#[test]
fn what_only_compilers_write() {
    check(
        "HloModule m
fused { a = f32[4] parameter(0) b = f32[4] parameter(1) m = f32[4] multiply(a, b) ROOT s = f32[4] subtract(m, b) }
wrapped { a = f32[4] parameter(0) ROOT n = f32[4] negate(a) }
ENTRY main {
  x = f32[4] parameter(0)
  t = (f32[4], s32[2]) parameter(1)
  y = f32[4] get-tuple-element(t), index=0
  f = f32[4] fusion(x, y), kind=kLoop, calls=fused
  c = f32[4] copy(f)
  b = f32[2,2] bitcast(c)
  start = ((f32[4]), f32[4], u32[]) async-start(c), calls=wrapped
  done = f32[4] async-done(start)
  token = token[] after-all()
  d = f32[4] add-dependency(done, token)
  o = (f32[4], s32[2]) opt-barrier(t)
  z = s32[2] get-tuple-element(o), index=1
  ROOT out = (f32[2,2], f32[4], s32[2]) tuple(b, d, z)
}",
    );
    // A tuple of one part stays one.
    check("HloModule m\nENTRY main { x = f32[] parameter(0) ROOT t = (f32[]) tuple(x) }");
    check("HloModule m\nENTRY main { ROOT t = () tuple() }");
}

#[test]
fn contractions() {
    check(
        "HloModule m
ENTRY main {
  a = f32[2,3,4] parameter(0)
  b = f32[2,4,5] parameter(1)
  x = f32[1,6,6,2] parameter(2)
  k = f32[3,3,1,4] parameter(3)
  d = f32[2,3,5] dot(a, b), lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={0}, rhs_contracting_dims={1}, operand_precision={highest,default}
  c = f32[1,3,8,4] convolution(x, k), window={size=3x3 stride=2x1 pad=0_1x2_2 rhs_reversal=0x1}, dim_labels=b01f_01io->b01f, feature_group_count=2
  ROOT out = (f32[2,3,5], f32[1,3,8,4]) tuple(d, c)
}",
    );
    check(
        "HloModule m
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }
ge { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = pred[] compare(a, b), direction=GE }
ENTRY main {
  t = f32[5,4] parameter(0)
  i = s32[2,1] parameter(1)
  u = f32[2,4] parameter(2)
  z = f32[] constant(0)
  g = f32[2,4] gather(t, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,4}
  s = f32[5,4] scatter(t, i, u), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add
  v = f32[2,2] slice(t), slice={[0:2], [0:2]}
  ss = f32[5,4] select-and-scatter(t, v, z), window={size=2x2 stride=2x2}, select=ge, scatter=add
  ROOT out = (f32[2,4], f32[5,4], f32[5,4]) tuple(g, s, ss)
}",
    );
}

#[test]
fn what_stablehlo_cannot_say_is_told() {
    for (source, message) in [
        (
            "HloModule m\nENTRY main { x = f32[2,3]{0,1} parameter(0) ROOT b = f32[3,2]{1,0} bitcast(x) }",
            "unimplemented: `bitcast` between other than row-major layouts",
        ),
        (
            "HloModule m\nENTRY main { ROOT r = u64[2] rng-get-and-update-state(), delta=1 }",
            "unimplemented: `rng-get-and-update-state` has no form",
        ),
    ] {
        let findings = export(&parse(source)).unwrap_err();
        assert!(findings[0].message.starts_with(message), "{findings:?}");
        assert!(findings[0].notes[0].contains('%'), "{findings:?}");
    }
}
