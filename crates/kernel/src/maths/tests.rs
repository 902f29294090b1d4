//! The pass: operations on kernel values give the bits that plain numbers give. How good those are
//! is tested in `tests/maths.rs` of the crate.

use super::lanes::Float;
use super::{binary, expand, unary};
use crate::evaluate::{Memory, evaluate_alone};
use crate::ir::{BinaryOp, FunctionId, Linkage, LoopKind, Module, Op, UnaryOp, Value};
use crate::types::{Scalar, Type};
use crate::{Builder, verify};

const UNARY: [UnaryOp; 23] = [
    UnaryOp::Exp,
    UnaryOp::Exp2,
    UnaryOp::Expm1,
    UnaryOp::Log,
    UnaryOp::Log2,
    UnaryOp::Log1p,
    UnaryOp::Sin,
    UnaryOp::Cos,
    UnaryOp::Tan,
    UnaryOp::Asin,
    UnaryOp::Acos,
    UnaryOp::Atan,
    UnaryOp::Sinh,
    UnaryOp::Cosh,
    UnaryOp::Tanh,
    UnaryOp::Asinh,
    UnaryOp::Acosh,
    UnaryOp::Atanh,
    UnaryOp::Erf,
    UnaryOp::Erfc,
    UnaryOp::Cbrt,
    UnaryOp::Rsqrt,
    UnaryOp::Logistic,
];

/// Applies an operation, written inside a loop, to two buffers of numbers.
fn run(op: impl Fn(Value, Value) -> Op, ty: Type, a: &[f64], b: &[f64]) -> Vec<f64> {
    let mut builder = Builder::new("f", Linkage::Kernel, None);
    let [from, other, to] = [0; 3].map(|_| builder.buffer_parameter(1));
    let low = builder.index(0);
    let high = builder.index(a.len() as i64);
    let range = (low, high, i64::from(ty.lanes));
    builder.for_loop(LoopKind::Sequential, range, &[], |builder, at, _| {
        let [x, y] = [from, other].map(|base| builder.load(ty, base, at));
        let result = builder.op(ty, op(x, y));
        builder.store(to, at, result);
        Vec::new()
    });
    let mut function = builder.finish();
    expand(&mut function);
    let module = Module { functions: vec![function] };
    verify(&module).unwrap_or_else(|findings| panic!("{findings:?}"));
    let mut is_left = false;
    module.functions[0].body.walk(&mut |statement| {
        if let crate::Statement::Let { op: Op::Unary(op, _), .. } = statement {
            is_left |= op.is_maths();
        }
    });
    assert!(!is_left);

    let mut memory = Memory::default();
    let [a, b] = [a, b].map(|numbers| memory.add(to_bytes(ty.scalar, numbers)));
    let out = memory.add(vec![0; memory.region(a).len()]);
    evaluate_alone(&module, FunctionId(0), &[a, b, out], &mut memory).unwrap();
    from_bytes(ty.scalar, memory.region(out))
}

fn to_bytes(scalar: Scalar, numbers: &[f64]) -> Vec<u8> {
    let bytes = |&x: &f64| match scalar {
        Scalar::F64 => x.to_le_bytes().to_vec(),
        Scalar::F32 => (x as f32).to_le_bytes().to_vec(),
        Scalar::F16 => half::f16::from_f32(x as f32).to_le_bytes().to_vec(),
        other => panic!("{other:?}"),
    };
    numbers.iter().flat_map(bytes).collect()
}

fn from_bytes(scalar: Scalar, bytes: &[u8]) -> Vec<f64> {
    let number = |bytes: &[u8]| match scalar {
        Scalar::F64 => f64::from_le_bytes(bytes.try_into().unwrap()),
        Scalar::F32 => f32::from_le_bytes(bytes.try_into().unwrap()).into(),
        Scalar::F16 => half::f16::from_le_bytes(bytes.try_into().unwrap()).into(),
        other => panic!("{other:?}"),
    };
    bytes.chunks_exact(scalar.byte_width()).map(number).collect()
}

const NUMBERS: [f64; 24] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.3,
    -0.7,
    2.5,
    -3.0,
    1e-40,
    -1e-310,
    88.5,
    -103.5,
    709.5,
    1e5,
    1e30,
    -1e200,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
    0.5,
    1e-9,
    7.0,
    -0.25,
    12345.678,
];

fn assert_same(op: &dyn std::fmt::Debug, got: &[f64], want: &[f64]) {
    for ((got, want), x) in got.iter().zip(want).zip(NUMBERS) {
        let same = got.to_bits() == want.to_bits() || (got.is_nan() && want.is_nan());
        assert!(same, "{op:?} of {x}: {got} in lanes, {want} plainly");
    }
}

#[test]
fn vectors_and_scalars_give_the_bits_of_plain_numbers() {
    for op in UNARY {
        let call = |a, _| Op::Unary(op, a);
        let single = NUMBERS.map(|x| unary(op, x as f32).unwrap().widen());
        let double = NUMBERS.map(|x| unary(op, x).unwrap());
        for lanes in [1, 8] {
            assert_same(&op, &run(call, Scalar::F32.vector(lanes), &NUMBERS, &NUMBERS), &single);
            assert_same(&op, &run(call, Scalar::F64.vector(lanes), &NUMBERS, &NUMBERS), &double);
        }
    }
}

#[test]
fn binary_operations_too() {
    for op in [BinaryOp::Pow, BinaryOp::Atan2] {
        let call = |a, b| Op::Binary(op, a, b);
        for shift in 0..NUMBERS.len() {
            let mut others = NUMBERS;
            others.rotate_left(shift);
            let pairs = std::array::from_fn::<_, 24, _>(|i| (NUMBERS[i], others[i]));
            let single = pairs.map(|(a, b)| binary(op, a as f32, b as f32).unwrap().widen());
            let double = pairs.map(|(a, b)| binary(op, a, b).unwrap());
            assert_same(&op, &run(call, Scalar::F32.vector(4), &NUMBERS, &others), &single);
            assert_same(&op, &run(call, Scalar::F64.vector(4), &NUMBERS, &others), &double);
        }
    }
}

#[test]
fn the_same_function_of_several_vectors_takes_turns() {
    let text = "kernel @f(%in: ptr, %out: ptr) {
           %zero: i64 = constant 0
           %eight: i64 = constant 8
           %x: f32x8 = load %in[%zero]
           %y: f32x8 = load %in[%eight]
           %a: f32x8 = exp %x
           %b: f32x8 = exp %y
           store %out[%zero], %a
           store %out[%eight], %b
         }";
    let mut module = crate::text::parse(text).unwrap();
    expand(&mut module.functions[0]);
    verify(&module).unwrap_or_else(|findings| panic!("{findings:?}"));
    let body = &module.functions[0].body.statements;
    let fmas = body.iter().enumerate().filter(|(_, statement)| {
        matches!(statement, crate::Statement::Let { op: Op::Fma(..), .. })
    });
    let fmas: Vec<usize> = fmas.map(|(position, _)| position).collect();
    assert!(fmas.chunks(2).all(|pair| pair[1] == pair[0] + 1), "{module}");
}

#[test]
fn sixteen_bits_are_rounded_once() {
    let call = |a, _| Op::Unary(UnaryOp::Tanh, a);
    let half = |x: f64| half::f16::from_f32(x as f32);
    let want = NUMBERS.map(|x| unary(UnaryOp::Tanh, half(x).to_f32()).unwrap());
    let got = run(call, Scalar::F16.vector(8), &NUMBERS, &NUMBERS);
    assert_same(&"tanh in f16", &got, &want.map(|x| half::f16::from_f32(x).into()));
}
