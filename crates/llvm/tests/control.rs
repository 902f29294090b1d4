//! Loops, branches, calls and returns, compiled against evaluated.

mod common;

use common::{Buffer, differences, kernel_on_buffers, kernel_with_result};
use rxla_kernel::{
    BinaryOp, Builder, ComparePredicate, FunctionId, Linkage, LoopKind, Module, Scalar, Statement,
    Type, Value,
};
use rxla_llvm::{Compiler, Options};

fn agree(module: &Module, buffers: &[Buffer]) {
    let compiler = Compiler::host().unwrap();
    let found = differences(&compiler, module, buffers, |buffer, element| {
        format!("buffer {buffer}, element {element}")
    });
    assert!(found.is_empty(), "{}", found.join("\n"));
}

fn agree_alone(builder: Builder, buffers: &[Buffer]) {
    agree(&Module { functions: vec![builder.finish()] }, buffers);
}

/// Counts iterations and sums the variable for bounds of all kinds, the extremes of i64 included.
#[test]
fn loops_run_as_often_as_they_should() {
    let (max, min) = (i64::MAX, i64::MIN);
    let bounds = [
        (0, 10, 1),
        (0, 10, 3),
        (3, 4, 100),
        (5, 5, 1),
        (7, 2, 1),
        (-10, 10, 7),
        (max - 5, max, 2),
        (max - 5, max, 1),
        (max - 5, max, i64::MAX),
        (min, min + 9, 4),
        (min, max, 1 << 62),
        (max, min, 1),
    ];
    for &(low, high, step) in &bounds {
        let (mut b, a) = kernel_on_buffers("loops", 2);
        let [at_low, at_high, zero] = [0, 1, 0].map(|i| b.index(i));
        // Once with bounds that LLVM knows, once with bounds that it does not.
        let known = (b.index(low), b.index(high), step);
        let loaded = [at_low, at_high].map(|i| b.load(Type::I64, a[0], i));
        for (place, bounds) in [(0, known), (1, (loaded[0], loaded[1], step))] {
            let init = [zero, zero];
            let results = b.for_loop(LoopKind::Sequential, bounds, &init, |b, i, carried| {
                let one = b.index(1);
                vec![b.add(carried[0], one), b.add(carried[1], i)]
            });
            for (part, result) in results.into_iter().enumerate() {
                let index = b.index(2 * place + part as i64);
                b.store(a[1], index, result);
            }
        }
        let input = Buffer::new(Scalar::I64, [low as u64, high as u64]);
        agree_alone(b, &[input, Buffer::zeros(Scalar::I64, 4)]);
    }
}

#[test]
fn loops_nest_and_carry_vectors() {
    let (mut b, a) = kernel_on_buffers("nest", 2);
    let [zero, five, sixteen] = [0, 5, 16].map(|i| b.index(i));
    let ty = Scalar::F32.vector(4);
    let start = b.constant(ty, 0);
    let sums = b.for_loop(LoopKind::Sequential, (zero, five, 1), &[start], |b, i, outer| {
        let scale = b.add(i, five);
        let inner = b.for_loop(LoopKind::Sequential, (zero, sixteen, 4), outer, |b, j, carried| {
            let x = b.load(ty, a[0], j);
            let scale = b.convert(rxla_kernel::Convert::SignedToFloat, scale, Scalar::F32);
            let scale = b.op(ty, rxla_kernel::Op::Splat(scale));
            let product = b.mul(x, scale);
            vec![b.add(carried[0], product)]
        });
        b.store(a[1], i, inner[0]);
        inner
    });
    b.store(a[1], sixteen, sums[0]);
    let input = Buffer::new(Scalar::F32, (0..16).map(|i| u64::from((i as f32 * 0.1).to_bits())));
    agree_alone(b, &[input, Buffer::zeros(Scalar::F32, 20)]);
}

/// Collatz: a while loop with a branch in it, whose values are swapped around as well.
#[test]
fn while_loops_and_branches() {
    let (mut b, a) = kernel_on_buffers("collatz", 1);
    let [zero, one, forty] = [0, 1, 40].map(|i| b.index(i));
    b.for_loop(LoopKind::Sequential, (zero, forty, 1), &[], |b, i, _| {
        let first = b.add(i, one);
        let results = b.while_loop(
            &[first, zero, one, zero],
            |b, carried| {
                let one = b.index(1);
                b.compare(ComparePredicate::Ne, carried[0], one)
            },
            |b, carried| {
                let one = b.index(1);
                let odd = b.binary(BinaryOp::And, carried[0], one);
                let is_odd = b.compare(ComparePredicate::Eq, odd, one);
                let next = b.if_else(
                    is_odd,
                    |b| {
                        let three = b.index(3);
                        let tripled = b.mul(carried[0], three);
                        vec![b.add(tripled, one)]
                    },
                    |b| vec![b.binary(BinaryOp::LShr, carried[0], one)],
                );
                let steps = b.add(carried[1], one);
                vec![next[0], steps, carried[3], carried[2]]
            },
        );
        let four = b.index(4);
        let place = b.mul(i, four);
        for (part, result) in results.into_iter().enumerate() {
            let part = b.index(part as i64);
            let place = b.add(place, part);
            b.store(a[0], place, result);
        }
        vec![]
    });
    agree_alone(b, &[Buffer::zeros(Scalar::I64, 160)]);
}

#[test]
fn returns_leave_loops_and_branches() {
    for limit in [0u64, 3, 100] {
        let (mut b, a) = kernel_with_result("returns", 2, Some(Type::I32));
        let [zero, ten] = [0, 10].map(|i| b.index(i));
        let limit_value = b.load(Type::I64, a[0], zero);
        b.for_loop(LoopKind::Sequential, (zero, ten, 1), &[], |b, i, _| {
            b.store(a[1], i, i);
            let reached = b.compare(ComparePredicate::Eq, i, limit_value);
            b.if_else(
                reached,
                |b| {
                    let status = b.convert(rxla_kernel::Convert::Truncate, i, Scalar::I32);
                    let seventy = b.constant(Type::I32, 70);
                    let status = b.add(status, seventy);
                    b.return_if_nonzero(status);
                    vec![]
                },
                |_| vec![],
            );
            vec![]
        });
        let buffers = [Buffer::new(Scalar::I64, [limit]), Buffer::new(Scalar::I64, vec![99; 10])];
        agree_alone(b, &buffers);
    }
}

/// An inline function with memory of its own, called in a loop; and a kernel called with values of
/// all types.
#[test]
fn calls_pass_everything() {
    let (mut b, a) = kernel_on_buffers("calls", 2);
    let [zero, twenty] = [0, 20].map(|i| b.index(i));
    b.for_loop(LoopKind::Sequential, (zero, twenty, 1), &[], |b, i, _| {
        b.call(FunctionId(1), vec![a[0], i]);
        vec![]
    });
    let scalars = [
        Scalar::I1,
        Scalar::I8,
        Scalar::I16,
        Scalar::I32,
        Scalar::I64,
        Scalar::F16,
        Scalar::BF16,
        Scalar::F32,
        Scalar::F64,
    ];
    let mut arguments = vec![a[1]];
    for scalar in scalars {
        arguments.push(b.constant(scalar, 1));
    }
    arguments.push(b.constant(Scalar::F32.vector(8), u64::from(2.5f32.to_bits())));
    arguments.push(b.constant(Scalar::I1.vector(16), 1));
    let in_pieces: Vec<Value> = arguments[..10].to_vec();
    b.call(FunctionId(2), arguments);
    b.push(Statement::ParallelCall {
        context: a[0],
        callee: FunctionId(3),
        arguments: in_pieces,
        count: twenty,
        grain: 4,
    });
    let main = b.finish();

    let mut b = Builder::new("inline", Linkage::Inline, None);
    let (out, i) = (b.parameter(Type::PTR), b.parameter(Type::I64));
    let scratch = b.alloca(64, 16);
    let zero = b.index(0);
    b.store(scratch, zero, i);
    let value = b.load(Type::I64, scratch, zero);
    let squared = b.mul(value, value);
    b.store(out, i, squared);
    let inline = b.finish();

    let takes_all = |name: &str, more: &[Type]| {
        let mut b = Builder::new(name, Linkage::Kernel, None);
        let out = b.buffer_parameter(1);
        let mut values: Vec<Value> = scalars.iter().map(|&s| b.parameter(s.into())).collect();
        values.extend(more.iter().map(|&ty| b.parameter(ty)));
        (b, out, values)
    };
    let store_all = |b: &mut Builder, out: Value, at: Value, values: &[Value]| {
        let step = b.index(16);
        let mut at = b.mul(at, step);
        for &value in values {
            let address = b.offset(out, at);
            let zero = b.index(0);
            b.store(address, zero, value);
            let width = b.index(8 * i64::from(b.ty(value).lanes));
            at = b.add(at, width);
        }
    };
    let (mut b, out, values) = takes_all("kernel", &[Scalar::F32.vector(8), Scalar::I1.vector(16)]);
    let zero = b.index(0);
    store_all(&mut b, out, zero, &values);
    let kernel = b.finish();

    let (mut b, out, values) = takes_all("pieces", &[]);
    let (begin, end) = (b.parameter(Type::I64), b.parameter(Type::I64));
    b.for_loop(LoopKind::Sequential, (begin, end, 1), &[], |b, i, _| {
        let twenty = b.index(20);
        let at = b.add(i, twenty);
        store_all(b, out, at, &values);
        vec![]
    });
    let pieces = b.finish();

    let module = Module { functions: vec![main, inline, kernel, pieces] };
    let buffers = [Buffer::zeros(Scalar::I64, 20), Buffer::zeros(Scalar::I8, 1000)];
    agree_with_runtime(&module, &buffers);
}

/// As [`agree`], for modules with parallel calls, whose pieces run here one after another.
fn agree_with_runtime(module: &Module, buffers: &[Buffer]) {
    extern "C" fn parallel_for(
        _: *const u8,
        thunk: extern "C" fn(*const u8, i64, i64),
        arguments: *const u8,
        count: i64,
        grain: i64,
    ) {
        let mut begin = 0;
        while begin < count {
            thunk(arguments, begin, (begin + grain).min(count));
            begin += grain;
        }
    }
    let resolve = |name: &str| (name == "rxla_parallel_for").then_some(parallel_for as *const u8);
    let compiler = Compiler::host().unwrap();
    let found = common::differences_with(
        &compiler,
        module,
        buffers,
        |buffer, element| format!("buffer {buffer}, element {element}"),
        &resolve,
    );
    assert!(found.is_empty(), "{}", found.join("\n"));
}

extern "C" fn mixed(a: u8, b: u16, c: u32, d: u64, e: f32, f: f64, g: *const u8) -> u8 {
    let sum = u64::from(a) + u64::from(b) + u64::from(c) + d + e as u64 + f as u64 + g as u64;
    (sum % 251) as u8
}

/// Narrow arguments arrive with zeros above them, whatever was there.
#[test]
fn runtime_calls_follow_c() {
    let mut b = Builder::new("calls", Linkage::Kernel, Some(Type::I32));
    let wide = b.parameter(Type::I64);
    let narrow = |b: &mut Builder, to| b.convert(rxla_kernel::Convert::Truncate, wide, to);
    let arguments = vec![
        narrow(&mut b, Scalar::I8),
        narrow(&mut b, Scalar::I16),
        narrow(&mut b, Scalar::I32),
        wide,
        b.f32(3.0),
        b.f64(4.0),
        b.constant(Type::PTR, 5),
    ];
    let result = b.call_runtime("mixed", arguments, Some(Type::I8)).unwrap();
    let status = b.convert(rxla_kernel::Convert::ZeroExtend, result, Scalar::I32);
    b.return_if_nonzero(status);
    let module = Module { functions: vec![b.finish()] };
    let resolve = |name: &str| (name == "mixed").then_some(mixed as *const u8);
    let compiler = Compiler::host().unwrap();
    let code = compiler.compile(&module, &Options::default(), &resolve).unwrap();
    for wide in [0u64, 0x1234_5678_9abc_def0, 0xffff_ffff_ffff] {
        // SAFETY: the kernel has this signature.
        let got = unsafe {
            let kernel: extern "C" fn(u64) -> u32 =
                std::mem::transmute(code.function("calls").unwrap());
            kernel(wide)
        };
        let want = mixed(wide as u8, wide as u16, wide as u32, wide, 3.0, 4.0, 5 as *const u8);
        assert_eq!(got, u32::from(want));
    }
}
