//! Times the way from kernel IR to runnable code, cold, warm, and from the disk cache.

#![allow(clippy::print_stdout)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use rxla_kernel::{BinaryOp, Builder, Function, Linkage, LoopKind, Module, Scalar, Type};
use rxla_llvm::{Cache, Compiler, DiskCache, Options, Target};

fn main() {
    let start = Instant::now();
    let compiler = Compiler::host().expect("a compiler for this machine");
    println!("start of LLVM {:?}", start.elapsed());
    let start = Instant::now();
    compiler.compile(&module(0), &Options::default(), &|_| None).expect("compiles");
    println!("first kernel {:?}, all of the process so far {:?}", start.elapsed(), cpu_time());

    let compiles = (1..40).map(|i| {
        let module = module(i);
        let start = Instant::now();
        compiler.compile(&module, &Options::default(), &|_| None).expect("compiles");
        start.elapsed()
    });
    let before = cpu_time();
    println!("next kernels {:?}", median(compiles));
    println!("  of all threads' time {:?} each", (cpu_time() - before) / 39);
    let known = module(1);
    let again = (0..40).map(|_| {
        let start = Instant::now();
        compiler.compile(&known, &Options::default(), &|_| None).expect("compiles");
        start.elapsed()
    });
    println!("from memory {:?}", median(again));

    for (name, module) in [
        ("2000 calls", calls(2000, false)),
        ("2000 calls in a loop", calls(2000, true)),
        ("a loop body of 2000 operations", body(2000, Type::F32)),
        ("a loop body of 2000 operations on vectors", body(2000, Scalar::F32.vector(16))),
        ("a loop body of 20000 operations", body(20000, Type::F32)),
    ] {
        let before = cpu_time();
        compiler.compile(&module, &Options::default(), &|_| None).expect("compiles");
        println!("{name} {:?}", cpu_time() - before);
    }

    let directory = std::env::temp_dir().join(format!("rxla-compile-time-{}", std::process::id()));
    let options = Options { disk: Some(DiskCache::new(&directory, 1 << 30)), ..Options::default() };
    let forgetful = Compiler::new(Target::host().expect("a host"), Arc::new(Cache::new(0)));
    let stores = (100..120).map(|i| {
        let module = module(i);
        let start = Instant::now();
        forgetful.compile(&module, &options, &|_| None).expect("compiles");
        start.elapsed()
    });
    println!("compiled and kept on disk {:?}", median(stores));
    let loads = (100..120).map(|i| {
        let module = module(i);
        let start = Instant::now();
        forgetful.compile(&module, &options, &|_| None).expect("compiles");
        start.elapsed()
    });
    println!("from disk {:?}", median(loads));
    let _ = std::fs::remove_dir_all(directory);
}

/// What all threads of the process have used, which other processes do not disturb.
fn cpu_time() -> Duration {
    // SAFETY: the system fills in the time.
    unsafe {
        let mut time: libc::timespec = std::mem::zeroed();
        libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time);
        Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
    }
}

fn median(times: impl Iterator<Item = Duration>) -> Duration {
    let mut times: Vec<Duration> = times.collect();
    times.sort();
    times[times.len() / 2]
}

/// A driver that calls an elementwise kernel: `out[i] = x[i] * y[i] + constant`.
fn module(constant: u32) -> Module {
    let mut b = Builder::new("driver", Linkage::Kernel, Some(Type::I32));
    let table = b.parameter(Type::PTR);
    let addresses = (0..3).map(|i| {
        let index = b.index(i);
        b.load(Type::PTR, table, index)
    });
    let mut arguments: Vec<_> = addresses.collect();
    arguments.extend([b.index(0), b.index(1000)]);
    b.call(rxla_kernel::FunctionId(1), arguments);
    Module { functions: vec![b.finish(), kernel(constant)] }
}

fn kernel(constant: u32) -> Function {
    let mut b = Builder::new("kernel", Linkage::Kernel, None);
    let [x, y, out] = [0; 3].map(|_| b.buffer_parameter(64));
    let (begin, end) = (b.parameter(Type::I64), b.parameter(Type::I64));
    let lanes = b.index(16);
    let span = b.sub(end, begin);
    let blocks = b.binary(BinaryOp::SDiv, span, lanes);
    let whole = b.mul(blocks, lanes);
    let middle = b.add(begin, whole);
    for (ty, bounds) in
        [(Scalar::F32.vector(16), (begin, middle, 16)), (Type::F32, (middle, end, 1))]
    {
        b.for_loop(LoopKind::Sequential, bounds, &[], |b, i, _| {
            let (xs, ys) = (b.load(ty, x, i), b.load(ty, y, i));
            let product = b.mul(xs, ys);
            let one = b.constant(ty, u64::from((constant as f32).to_bits()));
            let sum = b.add(product, one);
            b.store(out, i, sum);
            vec![]
        });
    }
    b.finish()
}

/// A driver of many calls.
fn calls(count: i64, in_loop: bool) -> Module {
    let mut b = Builder::new("driver", Linkage::Kernel, Some(Type::I32));
    let arena = b.parameter(Type::PTR);
    let repeats = b.parameter(Type::I64);
    let call_all = |b: &mut Builder| {
        for i in 0..count {
            let mut arguments: Vec<_> = (0..3)
                .map(|part| {
                    let bytes = b.index(4096 * (i + part));
                    b.offset(arena, bytes)
                })
                .collect();
            arguments.extend([b.index(0), b.index(1000)]);
            b.call(rxla_kernel::FunctionId(1), arguments);
        }
    };
    if in_loop {
        let zero = b.index(0);
        b.for_loop(LoopKind::Sequential, (zero, repeats, 1), &[], |b, _, _| {
            call_all(b);
            vec![]
        });
    } else {
        call_all(&mut b);
    }
    Module { functions: vec![b.finish(), kernel(7)] }
}

/// A loop with sixty carried values and many operations on them.
fn body(count: usize, ty: Type) -> Module {
    let mut b = Builder::new("body", Linkage::Kernel, None);
    let data = b.buffer_parameter(64);
    let (zero, high) = (b.index(0), b.index(1000));
    let start = b.load(ty, data, zero);
    let results =
        b.for_loop(LoopKind::Sequential, (zero, high, 1), &[start; 60], |b, i, carried| {
            let mut values = carried.to_vec();
            for op in 0..count {
                let (x, y) = (values[op % 60], values[(op * 7 + 11) % 60]);
                values[op % 60] = match op % 5 {
                    0 => b.mul(x, y),
                    1 => b.sub(x, y),
                    2 => {
                        let loaded = b.load(ty, data, i);
                        b.add(x, loaded)
                    }
                    3 => b.binary(BinaryOp::FMax, x, y),
                    _ => b.add(x, y),
                };
            }
            values
        });
    for (i, result) in results.into_iter().enumerate() {
        let index = b.index(16 * i as i64);
        b.store(data, index, result);
    }
    Module { functions: vec![b.finish()] }
}
