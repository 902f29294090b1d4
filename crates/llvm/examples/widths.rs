//! Compares vector widths on this machine: elements per nanosecond of some loops over arrays that
//! fit the first cache, the second one, or none.

#![allow(clippy::print_stdout)]

use std::time::Instant;

use rxla_kernel::{
    BinaryOp, Builder, Convert, Linkage, LoopKind, Module, Scalar, Type, UnaryOp, Value,
};
use rxla_llvm::{Compiler, Options};

type Body = fn(&mut Builder, Value, Value) -> Value;

fn main() {
    let compiler = Compiler::host().expect("a compiler for this machine");
    let bodies: [(&str, Body); 6] = [
        ("x * y + x", |b, x, y| {
            let product = b.mul(x, y);
            b.add(product, x)
        }),
        ("x / y", |b, x, y| b.binary(BinaryOp::FDiv, x, y)),
        ("sqrt(x)", |b, x, _| b.unary(UnaryOp::Sqrt, x)),
        ("max(x, y)", |b, x, y| b.binary(BinaryOp::FMax, x, y)),
        ("ten steps", |b, x, y| {
            (0..10).fold(x, |z, _| {
                let product = b.mul(z, y);
                b.add(product, x)
            })
        }),
        ("x / y of i32", |b, x, y| {
            let [x, y] = [x, y].map(|x| b.convert(Convert::Bitcast, x, Scalar::I32));
            let quotient = b.binary(BinaryOp::SDiv, x, y);
            b.convert(Convert::Bitcast, quotient, Scalar::F32)
        }),
    ];
    for (name, body) in bodies {
        for count in [4096usize, 65536, 16 << 20] {
            let rates = [4, 8, 16, 32].map(|lanes| rate(&compiler, body, lanes, count));
            println!("{name:14} {count:9} elements: 4, 8, 16, 32 lanes {rates:.2?} a ns");
        }
    }
}

fn rate(compiler: &Compiler, body: Body, lanes: u16, count: usize) -> f64 {
    let mut b = Builder::new("loop", Linkage::Kernel, None);
    let [x, y, out] = [0; 3].map(|_| b.buffer_parameter(4));
    let (zero, high) = (b.index(0), b.index(count as i64));
    let ty: Type = Scalar::F32.vector(lanes);
    b.for_loop(LoopKind::Sequential, (zero, high, i64::from(lanes)), &[], |b, i, _| {
        let (xs, ys) = (b.load(ty, x, i), b.load(ty, y, i));
        let result = body(b, xs, ys);
        b.store(out, i, result);
        vec![]
    });
    let module = Module { functions: vec![b.finish()] };
    let code = compiler.compile(&module, &Options::default(), &|_| None).expect("compiles");
    let x: Vec<f32> = (0..count).map(|i| i as f32 + 0.5).collect();
    let y: Vec<f32> = (0..count).map(|i| 3.0 + (i % 100) as f32).collect();
    let mut out = vec![0f32; count];
    // SAFETY: the kernel has this signature and these lengths.
    let kernel: extern "C" fn(*const f32, *const f32, *mut f32) =
        unsafe { std::mem::transmute(code.function("loop").expect("it is there")) };
    let repeats = ((8 << 20) / count).max(1);
    let mut best = f64::MAX;
    for _ in 0..12 {
        let start = Instant::now();
        for _ in 0..repeats {
            kernel(x.as_ptr(), y.as_ptr(), out.as_mut_ptr());
        }
        best = best.min(start.elapsed().as_secs_f64());
    }
    (count * repeats) as f64 / best / 1e9
}
