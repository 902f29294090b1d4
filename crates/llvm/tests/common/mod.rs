//! Runs a kernel compiled and evaluated, and compares what both leave in memory.

// Each test crate uses some of it.
#![allow(dead_code, unreachable_pub)]

use rxla_kernel::evaluate::{Memory, evaluate_alone};
use rxla_kernel::{Builder, Linkage, Module, Scalar, Type, Value};
use rxla_llvm::{Compiler, Options};

/// Memory that a kernel works on, with the type that its elements are compared as.
#[derive(Clone)]
pub struct Buffer {
    pub scalar: Scalar,
    pub bytes: Vec<u8>,
}

impl Buffer {
    pub fn new(scalar: Scalar, values: impl IntoIterator<Item = u64>) -> Buffer {
        let width = scalar.byte_width();
        let bytes = values.into_iter().flat_map(|bits| bits.to_le_bytes().into_iter().take(width));
        Buffer { scalar, bytes: bytes.collect() }
    }

    pub fn zeros(scalar: Scalar, count: usize) -> Buffer {
        Buffer { scalar, bytes: vec![0; count * scalar.byte_width()] }
    }

    fn values(&self) -> Vec<u64> {
        let chunks = self.bytes.chunks_exact(self.scalar.byte_width());
        let value =
            |chunk: &[u8]| chunk.iter().rev().fold(0, |bits, &byte| bits << 8 | u64::from(byte));
        chunks.map(value).collect()
    }
}

/// Starts a kernel whose one parameter points to the addresses of `count` buffers.
pub fn kernel_on_buffers(name: &str, count: usize) -> (Builder, Vec<Value>) {
    kernel_with_result(name, count, None)
}

pub fn kernel_with_result(name: &str, count: usize, result: Option<Type>) -> (Builder, Vec<Value>) {
    let mut b = Builder::new(name, Linkage::Kernel, result);
    let table = b.parameter(Type::PTR);
    let address = |i| {
        let index = b.index(i as i64);
        b.load(Type::PTR, table, index)
    };
    let buffers = (0..count).map(address).collect();
    (b, buffers)
}

/// Runs the first function of the module on copies of the buffers, both ways. What differs, in
/// words, with `describe(buffer, element)` for each of the first ones.
pub fn differences(
    compiler: &Compiler,
    module: &Module,
    buffers: &[Buffer],
    describe: impl Fn(usize, usize) -> String,
) -> Vec<String> {
    differences_with(compiler, module, buffers, describe, &|_| None)
}

/// As [`differences`], for kernels that call the runtime.
pub fn differences_with(
    compiler: &Compiler,
    module: &Module,
    buffers: &[Buffer],
    describe: impl Fn(usize, usize) -> String,
    resolve: &dyn Fn(&str) -> Option<*const u8>,
) -> Vec<String> {
    if let Err(errors) = rxla_kernel::verify(module) {
        panic!("the test's kernel is wrong: {errors:?}");
    }
    let mut memory = Memory::default();
    let addresses: Vec<u64> =
        buffers.iter().map(|buffer| memory.add(buffer.bytes.clone())).collect();
    let table = memory.add(addresses.iter().flat_map(|address| address.to_le_bytes()).collect());
    let function = rxla_kernel::FunctionId(0);
    let want = evaluate_alone(module, function, &[table], &mut memory).unwrap();

    let code = compiler.compile(module, &Options::default(), resolve).unwrap();
    let mut compiled: Vec<Vec<u8>> = buffers.iter().map(|buffer| buffer.bytes.clone()).collect();
    let table: Vec<*mut u8> = compiled.iter_mut().map(|bytes| bytes.as_mut_ptr()).collect();
    let address = code.function(&module.functions[0].name).unwrap();
    // SAFETY: the kernel takes the table and stays inside its buffers, as evaluating it showed.
    let got = unsafe {
        match module.functions[0].result {
            None => {
                let kernel: extern "C" fn(*const *mut u8) = std::mem::transmute(address);
                kernel(table.as_ptr());
                None
            }
            Some(Type::I32) => {
                let kernel: extern "C" fn(*const *mut u8) -> u32 = std::mem::transmute(address);
                Some(u64::from(kernel(table.as_ptr())))
            }
            Some(other) => panic!("no test needs a result {other}"),
        }
    };

    let mut found = Vec::new();
    if want != got {
        found.push(format!("the result is {got:?}, evaluated {want:?}"));
    }
    for (index, buffer) in buffers.iter().enumerate() {
        let bytes = memory.region(addresses[index]).to_vec();
        let want = Buffer { scalar: buffer.scalar, bytes }.values();
        let got = Buffer { scalar: buffer.scalar, bytes: compiled[index].clone() }.values();
        for (element, (want, got)) in want.into_iter().zip(got).enumerate() {
            if !same(buffer.scalar, want, got) && found.len() < 20 {
                let what = describe(index, element);
                found.push(format!("{what}: {got:#x}, evaluated {want:#x}"));
            }
        }
    }
    found
}

/// The same bits, or two NaNs.
fn same(scalar: Scalar, a: u64, b: u64) -> bool {
    a == b || (is_nan(scalar, a) && is_nan(scalar, b))
}

pub fn is_nan(scalar: Scalar, bits: u64) -> bool {
    match scalar {
        Scalar::F16 => bits & 0x7fff > 0x7c00,
        Scalar::BF16 => bits & 0x7fff > 0x7f80,
        Scalar::F32 => f32::from_bits(bits as u32).is_nan(),
        Scalar::F64 => f64::from_bits(bits).is_nan(),
        Scalar::I1 | Scalar::I8 | Scalar::I16 | Scalar::I32 | Scalar::I64 | Scalar::Ptr => false,
    }
}

/// Numbers without a pattern (xorshift).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
}

/// Values at which operations of a type change their ways, and some others.
pub fn interesting(scalar: Scalar) -> Vec<u64> {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mask = u64::MAX >> (64 - scalar.bits());
    let mut values: Vec<u64> = match scalar {
        Scalar::I1 => vec![0, 1],
        Scalar::I8 | Scalar::I16 | Scalar::I32 | Scalar::I64 | Scalar::Ptr => {
            let bits = u64::from(scalar.bits());
            let high = 1 << (bits - 1);
            let near = [0, high]
                .into_iter()
                .flat_map(|x: u64| (0..5).map(move |i| x.wrapping_add(i).wrapping_sub(2)));
            near.chain([5, 7, 10, bits - 1, bits, bits + 1, 100, (high >> 1) + 1, 0x55 & mask])
                .collect()
        }
        Scalar::F16 | Scalar::BF16 | Scalar::F32 | Scalar::F64 => {
            let values = [
                0.0,
                1.0,
                0.5,
                1.5,
                2.5,
                3.5,
                0.1,
                7.0,
                100.25,
                127.5,
                128.0,
                255.5,
                256.0,
                32768.0,
                65504.0,
                65520.0,
                2147483647.0,
                2147483648.0,
                4294967296.0,
                9.223372036854776e18,
                1.8446744073709552e19,
                1e-40,
                1e-45,
                6e-8,
                1.1754944e-38,
                3.4028235e38,
                1e300,
                5e-324,
                0.499_999_999,
                f64::INFINITY,
            ];
            let bits = |value: f64| rxla_kernel::evaluate::float::from_f64(scalar, value);
            let mut bits: Vec<u64> = values.into_iter().flat_map(|v| [bits(v), bits(-v)]).collect();
            bits.push(rxla_kernel::evaluate::float::from_f64(scalar, f64::NAN));
            bits
        }
    };
    if scalar != Scalar::I1 {
        values.extend((0..12).map(|_| random.next()));
    }
    values.iter_mut().for_each(|value| *value &= mask);
    values.sort_unstable();
    values.dedup();
    values
}
