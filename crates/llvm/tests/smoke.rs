//! Small kernels from the builder to results.

use rxla_kernel::{
    BinaryOp, Builder, Function, Linkage, LoopKind, Module, Scalar, Statement, Type,
};
use rxla_llvm::{Compiler, Options};

/// `out[i] = x[i] * y[i] + 1` for `begin..end`, eight at a time and then one by one.
fn scale_add() -> Function {
    let mut b = Builder::new("scale_add", Linkage::Kernel, None);
    let [x, y, out] = [0; 3].map(|_| b.buffer_parameter(4));
    let (begin, end) = (b.parameter(Type::I64), b.parameter(Type::I64));
    let eight = b.index(8);
    let span = b.sub(end, begin);
    let blocks = b.binary(BinaryOp::SDiv, span, eight);
    let whole = b.mul(blocks, eight);
    let middle = b.add(begin, whole);
    for (ty, bounds) in [(Scalar::F32.vector(8), (begin, middle, 8)), (Type::F32, (middle, end, 1))]
    {
        b.for_loop(LoopKind::Sequential, bounds, &[], |b, i, _| {
            let (xs, ys) = (b.load(ty, x, i), b.load(ty, y, i));
            let product = b.mul(xs, ys);
            let one = b.constant(ty, u64::from(1f32.to_bits()));
            let sum = b.add(product, one);
            b.store(out, i, sum);
            vec![]
        });
    }
    b.finish()
}

fn no_runtime(_: &str) -> Option<*const u8> {
    None
}

#[test]
fn elementwise_kernel_runs() {
    let module = Module { functions: vec![scale_add()] };
    let compiler = Compiler::host().unwrap();
    let code = compiler.compile(&module, &Options::default(), &no_runtime).unwrap();
    let x: Vec<f32> = (0..77).map(|i| i as f32 * 0.5).collect();
    let y: Vec<f32> = (0..77).map(|i| 3.0 - i as f32).collect();
    let mut out = vec![-1f32; 80];
    // SAFETY: the kernel has this signature and stays within 1..77.
    unsafe {
        let kernel: extern "C" fn(*const f32, *const f32, *mut f32, i64, i64) =
            std::mem::transmute(code.function("scale_add").unwrap());
        kernel(x.as_ptr(), y.as_ptr(), out.as_mut_ptr(), 1, 77);
    }
    assert_eq!(out[0], -1.0);
    for i in 1..77 {
        assert_eq!(out[i], x[i] * y[i] + 1.0);
    }
    assert_eq!(out[77..], [-1.0; 3]);
}

/// Runs the pieces last to first, on this thread.
extern "C" fn parallel_for(
    context: *const u8,
    thunk: extern "C" fn(*const u8, i64, i64),
    arguments: *const u8,
    count: i64,
    grain: i64,
) {
    assert_eq!(context as usize, 7);
    for piece in (0..(count + grain - 1) / grain).rev() {
        let begin = piece * grain;
        thunk(arguments, begin, (begin + grain).min(count));
    }
}

#[test]
fn parallel_call_covers_the_range() {
    let mut b = Builder::new("driver", Linkage::Kernel, Some(Type::I32));
    let [x, y, out] = [0; 3].map(|_| b.buffer_parameter(4));
    let count = b.parameter(Type::I64);
    let context = b.constant(Type::PTR, 7);
    let callee = rxla_kernel::FunctionId(1);
    let arguments = vec![x, y, out];
    b.push(Statement::ParallelCall { context, callee, arguments, count, grain: 16 });
    let driver = b.finish();
    let module = Module { functions: vec![driver, scale_add()] };
    let resolve = |name: &str| (name == "rxla_parallel_for").then_some(parallel_for as *const u8);
    let compiler = Compiler::host().unwrap();
    let code = compiler.compile(&module, &Options::default(), &resolve).unwrap();
    let x = vec![2f32; 100];
    let mut out = vec![0f32; 100];
    // SAFETY: the driver has this signature, and the buffers 100 elements.
    let status = unsafe {
        let driver: extern "C" fn(*const f32, *const f32, *mut f32, i64) -> i32 =
            std::mem::transmute(code.function("driver").unwrap());
        driver(x.as_ptr(), x.as_ptr(), out.as_mut_ptr(), 100)
    };
    assert_eq!(status, 0);
    assert_eq!(out, vec![5f32; 100]);
}

#[test]
fn missing_runtime_functions_are_errors() {
    let mut b = Builder::new("calls", Linkage::Kernel, None);
    b.call_runtime("rxla_not_there", vec![], None);
    let module = Module { functions: vec![b.finish()] };
    let error = Compiler::host().unwrap().compile(&module, &Options::default(), &no_runtime);
    let message = error.err().unwrap().to_string();
    assert_eq!(message, "a kernel calls rxla_not_there, which nothing defines");
}

#[test]
fn stacks_do_not_overflow() {
    let mut b = Builder::new("greedy", Linkage::Kernel, None);
    let memory = b.alloca(1 << 40, 64);
    let zero = b.index(0);
    b.store(memory, zero, zero);
    let module = Module { functions: vec![b.finish()] };
    let error = Compiler::host().unwrap().compile(&module, &Options::default(), &no_runtime);
    let message = error.err().unwrap().to_string();
    assert!(message.starts_with("unimplemented: a kernel with 1099511627776 bytes"), "{message}");
}
