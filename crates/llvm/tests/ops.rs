//! Every operation at every type it is defined for, compiled against evaluated, on all pairs of the
//! values where operations change their ways: alone, in lanes that fit registers, in odd ones.

mod common;

use common::{Buffer, Random, differences, interesting, kernel_on_buffers};
use rxla_kernel::verify::op::{binary_takes, is_float_comparison, unary_takes};
use rxla_kernel::{
    BinaryOp, Builder, ComparePredicate, Convert, LoopKind, Module, Op, Scalar, UnaryOp, Value,
};
use rxla_llvm::Compiler;

const LANES: [u16; 4] = [1, 3, 8, 16];

/// One result of a test kernel: what it is called, its type, and how it is computed of three
/// operands.
struct Case {
    name: String,
    result: Scalar,
    build: Box<dyn Fn(&mut Builder, [Value; 3]) -> Value>,
}

impl Case {
    fn new(
        name: impl Into<String>,
        result: Scalar,
        build: impl Fn(&mut Builder, [Value; 3]) -> Value + 'static,
    ) -> Case {
        Case { name: name.into(), result, build: Box::new(build) }
    }
}

fn cases(scalar: Scalar) -> Vec<Case> {
    let mut cases = Vec::new();
    for &op in UnaryOp::ALL {
        if unary_takes(op, scalar) && !op.is_maths() {
            cases.push(Case::new(op.name(), scalar, move |b, [x, ..]| b.unary(op, x)));
        }
    }
    for &op in BinaryOp::ALL {
        if binary_takes(op, scalar) && !op.is_maths() {
            cases.push(Case::new(op.name(), scalar, move |b, [x, y, _]| b.binary(op, x, y)));
        }
    }
    for &predicate in ComparePredicate::ALL {
        if is_float_comparison(predicate) == scalar.is_float() {
            let build = move |b: &mut Builder, [x, y, _]: [Value; 3]| b.compare(predicate, x, y);
            cases.push(Case::new(predicate.name(), Scalar::I1, build));
        }
    }
    for &convert in Convert::ALL {
        for to in Scalar::ALL {
            if convert.accepts(scalar, to) {
                let build = move |b: &mut Builder, [x, ..]: [Value; 3]| b.convert(convert, x, to);
                cases.push(Case::new(format!("{} to {}", convert.name(), to.name()), to, build));
            }
        }
    }
    if scalar.is_float() {
        cases.push(Case::new("fma", scalar, |b, [x, y, z]| b.fma(x, y, z)));
    }
    if scalar != Scalar::Ptr {
        cases.push(Case::new("select", scalar, |b, [x, y, z]| {
            let ty = b.ty(x);
            let zero = b.constant(ty, 0);
            let predicate =
                if ty.scalar.is_float() { ComparePredicate::FLt } else { ComparePredicate::Slt };
            let condition = b.compare(predicate, z, zero);
            b.select(condition, x, y)
        }));
    }
    // Constant divisors are compiled in their own ways.
    if scalar.is_integer() && scalar != Scalar::I1 {
        for divisor in [0, 1, 7, scalar_mask(scalar)] {
            for op in [BinaryOp::SDiv, BinaryOp::UDiv, BinaryOp::SRem, BinaryOp::URem] {
                let name = format!("{} by {divisor}", op.name());
                cases.push(Case::new(name, scalar, move |b, [x, ..]| {
                    let divisor = b.constant(b.ty(x), divisor);
                    b.binary(op, x, divisor)
                }));
            }
        }
    }
    cases
}

fn scalar_mask(scalar: Scalar) -> u64 {
    u64::MAX >> (64 - scalar.bits())
}

/// All pairs of interesting values, with a third, in a number that all lane counts divide.
fn operands(scalar: Scalar) -> [Vec<u64>; 3] {
    let values = interesting(scalar);
    let mut random = Random(42);
    let mut rows = [vec![], vec![], vec![]];
    for &x in &values {
        for &y in &values {
            rows[0].push(x);
            rows[1].push(y);
            rows[2].push(values[(random.next() % values.len() as u64) as usize]);
        }
    }
    let count = rows[0].len().next_multiple_of(48);
    rows.iter_mut().for_each(|row| row.resize(count, row[0]));
    rows
}

fn check_all(compiler: &Compiler, scalar: Scalar) {
    let operands = operands(scalar);
    let count = operands[0].len();
    let cases = cases(scalar);
    let inputs = operands.iter().map(|row| Buffer::new(scalar, row.iter().copied()));
    let outputs = cases.iter().map(|case| Buffer::zeros(case.result, count));
    let buffers: Vec<Buffer> = inputs.chain(outputs).collect();
    for lanes in LANES {
        if scalar == Scalar::Ptr && lanes > 1 {
            continue;
        }
        let (mut b, addresses) = kernel_on_buffers("cases", buffers.len());
        let (low, high) = (b.index(0), b.index(count as i64));
        let bounds = (low, high, i64::from(lanes));
        b.for_loop(LoopKind::Sequential, bounds, &[], |b, i, _| {
            let loaded = [0, 1, 2].map(|input| b.load(scalar.vector(lanes), addresses[input], i));
            for (case, &output) in cases.iter().zip(&addresses[3..]) {
                if case.result == Scalar::Ptr && lanes > 1 {
                    // There are no vectors of addresses.
                    continue;
                }
                let result = (case.build)(b, loaded);
                b.store(output, i, result);
            }
            vec![]
        });
        let module = Module { functions: vec![b.finish()] };
        let found = differences(compiler, &module, &buffers, |buffer, element| {
            let [x, y, z] = [0, 1, 2].map(|row: usize| operands[row][element]);
            let name = &cases[buffer - 3].name;
            format!("{name} {} x{lanes} of {x:#x}, {y:#x}, {z:#x}", scalar.name())
        });
        assert!(found.is_empty(), "{}", found.join("\n"));
    }
}

macro_rules! all_types {
    ($($name:ident $scalar:ident)*) => {$(
        #[test]
        fn $name() {
            check_all(&Compiler::host().unwrap(), Scalar::$scalar);
        }
    )*};
}

all_types! {
    ops_on_i1 I1
    ops_on_i8 I8
    ops_on_i16 I16
    ops_on_i32 I32
    ops_on_i64 I64
    ops_on_f16 F16
    ops_on_bf16 BF16
    ops_on_f32 F32
    ops_on_f64 F64
    ops_on_ptr Ptr
}

#[test]
fn reductions_are_trees() {
    let compiler = Compiler::host().unwrap();
    for scalar in Scalar::ALL {
        let ops: Vec<BinaryOp> = BinaryOp::ALL
            .iter()
            .copied()
            .filter(|op| op.is_reducer() && binary_takes(*op, scalar))
            .collect();
        if ops.is_empty() {
            continue;
        }
        let mut random = Random(7);
        let values = interesting(scalar);
        let input: Vec<u64> =
            (0..64).map(|_| values[(random.next() % values.len() as u64) as usize]).collect();
        let lane_counts = [2, 3, 5, 8, 13, 16, 32];
        let count = ops.len() * lane_counts.len();
        let (mut b, addresses) = kernel_on_buffers("reductions", 2);
        let zero = b.index(0);
        let mut out = 0;
        for lanes in lane_counts {
            let vector = b.load(scalar.vector(lanes), addresses[0], zero);
            for &op in &ops {
                let result = b.op(scalar.into(), Op::Reduce(op, vector));
                let index = b.index(out);
                b.store(addresses[1], index, result);
                out += 1;
            }
        }
        let module = Module { functions: vec![b.finish()] };
        let buffers = [Buffer::new(scalar, input), Buffer::zeros(scalar, count)];
        let found = differences(&compiler, &module, &buffers, |_, element| {
            let lanes = lane_counts[element / ops.len()];
            format!("{} {}x{lanes}", ops[element % ops.len()].name(), scalar.name())
        });
        assert!(found.is_empty(), "{}", found.join("\n"));
    }
}

#[test]
fn lanes_move() {
    let compiler = Compiler::host().unwrap();
    for scalar in Scalar::ALL {
        if scalar == Scalar::Ptr {
            continue;
        }
        let values = interesting(scalar);
        let input: Vec<u64> = (0..32).map(|i| values[i % values.len()]).collect();
        let (mut b, addresses) = kernel_on_buffers("lanes", 2);
        let mut out = 0;
        let mut put = |b: &mut Builder, value: Value| {
            let index = b.index(out);
            b.store(addresses[1], index, value);
            out += i64::from(b.ty(value).lanes);
        };
        let (zero, eight) = (b.index(0), b.index(8));
        let x = b.load(scalar.vector(8), addresses[0], zero);
        let y = b.load(scalar.vector(8), addresses[0], eight);
        let picks: [&[u16]; 4] = [&[7, 8, 0, 15], &[3], &[12], &[1, 1, 9, 9, 2, 2, 10, 10, 0]];
        for pick in picks {
            let ty = scalar.vector(pick.len() as u16);
            let result = b.op(ty, Op::Shuffle(x, y, pick.to_vec()));
            put(&mut b, result);
        }
        let lane = b.op(scalar.into(), Op::Extract(x, 5));
        put(&mut b, lane);
        for lanes in [2, 7, 8, 16] {
            let splat = b.op(scalar.vector(lanes), Op::Splat(lane));
            put(&mut b, splat);
        }
        // From scalars too: two of them are the lanes to pick from.
        let other = b.op(scalar.into(), Op::Extract(y, 2));
        let pair = b.op(scalar.vector(3), Op::Shuffle(lane, other, vec![1, 0, 1]));
        put(&mut b, pair);
        if scalar.is_integer() {
            for lanes in [1, 5, 16] {
                let index = b.op(scalar.vector(lanes), Op::LaneIndex);
                put(&mut b, index);
            }
        }
        let module = Module { functions: vec![b.finish()] };
        let buffers = [Buffer::new(scalar, input), Buffer::zeros(scalar, out as usize)];
        let found = differences(&compiler, &module, &buffers, |_, element| {
            format!("element {element} of {}", scalar.name())
        });
        assert!(found.is_empty(), "{}", found.join("\n"));
    }
}

/// Masked, gathered and scattered accesses; scattered ones overlap, and the last lane wins.
#[test]
fn memory_is_reached_in_all_ways() {
    let compiler = Compiler::host().unwrap();
    for scalar in Scalar::ALL {
        if scalar == Scalar::Ptr {
            continue;
        }
        for lanes in [1u16, 3, 8, 16] {
            let ty = scalar.vector(lanes);
            let values = interesting(scalar);
            let count = 64;
            let input: Vec<u64> = (0..count).map(|i| values[i % values.len()]).collect();
            let mut random = Random(u64::from(lanes) + 3);
            let masks: Vec<u64> = (0..count).map(|_| random.next() & 1).collect();
            // Masked-out lanes point outside.
            let inside: Vec<u64> = (0..count).map(|_| random.next() % count as u64).collect();
            let outside: Vec<u64> = inside
                .iter()
                .zip(&masks)
                .map(|(&index, &mask)| if mask == 1 { index } else { 1 << 45 })
                .collect();
            let (mut b, addresses) = kernel_on_buffers("accesses", 9);
            let [data, mask, inside_at, outside_at] = [0, 1, 2, 3].map(|i| addresses[i]);
            let (low, high) = (b.index(0), b.index(48));
            b.for_loop(LoopKind::Sequential, (low, high, i64::from(lanes)), &[], |b, i, _| {
                let mask = b.load(Scalar::I1.vector(lanes), mask, i);
                let inside = b.load(Scalar::I64.vector(lanes), inside_at, i);
                let outside = b.load(Scalar::I64.vector(lanes), outside_at, i);
                let load =
                    |b: &mut Builder, index, mask| b.op(ty, Op::Load { base: data, index, mask });
                let masked = load(b, i, Some(mask));
                b.store(addresses[4], i, masked);
                let gathered = load(b, inside, None);
                b.store(addresses[5], i, gathered);
                let gathered = load(b, outside, Some(mask));
                b.store(addresses[6], i, gathered);
                let plain = load(b, i, None);
                let store = |b: &mut Builder, base, index, mask| {
                    let store = rxla_kernel::Statement::Store { base, index, value: plain, mask };
                    b.push(store);
                };
                store(b, addresses[7], inside, None);
                store(b, addresses[8], outside, Some(mask));
                store(b, addresses[8], i, Some(mask));
                vec![]
            });
            let module = Module { functions: vec![b.finish()] };
            let mut buffers = vec![
                Buffer::new(scalar, input),
                Buffer::new(Scalar::I1, masks),
                Buffer::new(Scalar::I64, inside),
                Buffer::new(Scalar::I64, outside),
            ];
            buffers.extend((0..5).map(|_| Buffer::zeros(scalar, count)));
            let found = differences(&compiler, &module, &buffers, |buffer, element| {
                format!("buffer {buffer}, element {element} of {ty}")
            });
            assert!(found.is_empty(), "{}", found.join("\n"));
        }
    }
}

/// The same results on CPUs that lack what the host has.
#[cfg(target_arch = "x86_64")]
#[test]
fn older_cpus_agree() {
    for cpu in ["x86-64", "x86-64-v3"] {
        let target = rxla_llvm::Target::with_cpu(cpu, "").unwrap();
        let memory = std::sync::Arc::new(rxla_llvm::Cache::new(0));
        let compiler = Compiler::new(target, memory);
        if cpu == "x86-64-v3" && !std::is_x86_feature_detected!("avx2") {
            continue;
        }
        for scalar in [Scalar::I32, Scalar::F16, Scalar::BF16, Scalar::F32, Scalar::F64] {
            check_all(&compiler, scalar);
        }
    }
}
