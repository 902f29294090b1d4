//! Random kernels, compiled against evaluated: as they are, and scheduled for this machine.

use rxla_kernel::evaluate::{Memory, evaluate_alone};
use rxla_kernel::maths::expand;
use rxla_kernel::random::{Argument, Maths, Options, Sample, same_elements, sample};
use rxla_kernel::schedule::{Copies, Target, pipeline};
use rxla_kernel::{Builder, FunctionId, Linkage, Module, Type};
use rxla_llvm::Compiler;

#[test]
fn random_kernels_agree() {
    check_seeds(0..150);
}

/// `cargo test -p rxla-llvm --release --test random -- --ignored`
#[test]
#[ignore = "takes many minutes"]
fn many_random_kernels_agree() {
    check_seeds(1000..100_000);
}

fn check_seeds(seeds: std::ops::Range<u64>) {
    let compiler = Compiler::host().unwrap();
    for seed in seeds {
        let size = 5 + (seed % 40) as u32;
        // Evaluated and compiled after their functions are expanded, so that bits agree.
        let maths = if seed % 3 == 0 { Maths::With } else { Maths::Without };
        let mut sample = sample(seed, &Options { maths, size });
        for function in &mut sample.module.functions {
            expand(function);
        }
        let want = evaluated(&sample);
        check(&compiler, &sample, &want, &format!("seed {seed}"));
        let target = Target { vector_bits: compiler.target().vector_bits(), copies: Copies::Many };
        for function in &mut sample.module.functions {
            pipeline(function, &target);
        }
        check(&compiler, &sample, &want, &format!("seed {seed}, scheduled"));
    }
}

/// What each buffer holds after the evaluator ran the kernel.
fn evaluated(sample: &Sample) -> Vec<Vec<u8>> {
    let mut memory = Memory::default();
    let mut arguments: Vec<u64> = Vec::new();
    for argument in &sample.arguments {
        arguments.push(match argument {
            Argument::Buffer(_, bytes) => memory.add(bytes.clone()),
            Argument::Scalar(_, bits) => *bits,
        });
    }
    evaluate_alone(&sample.module, FunctionId(0), &arguments, &mut memory).unwrap();
    let after = sample.arguments.iter().zip(arguments).map(|(argument, address)| match argument {
        Argument::Buffer(..) => memory.region(address).to_vec(),
        Argument::Scalar(..) => Vec::new(),
    });
    after.collect()
}

/// Memory of the alignment that buffers have.
#[repr(align(64))]
#[derive(Clone, Copy)]
struct Line([u8; 64]);

fn check(compiler: &Compiler, sample: &Sample, want: &[Vec<u8>], what: &str) {
    let mut module = sample.module.clone();
    module.functions.push(entry(&sample.module));
    let code = compiler.compile(&module, &rxla_llvm::Options::default(), &|_| None);
    let code = code.unwrap_or_else(|error| panic!("{what}: {error}"));
    let mut buffers: Vec<Vec<Line>> = Vec::new();
    let mut words: Vec<u64> = Vec::new();
    for argument in &sample.arguments {
        match argument {
            Argument::Buffer(_, bytes) => {
                let mut lines = vec![Line([0; 64]); bytes.len().div_ceil(64)];
                for (line, bytes) in lines.iter_mut().zip(bytes.chunks(64)) {
                    line.0[..bytes.len()].copy_from_slice(bytes);
                }
                words.push(lines.as_mut_ptr() as u64);
                buffers.push(lines);
            }
            Argument::Scalar(_, bits) => {
                words.push(*bits);
                buffers.push(Vec::new());
            }
        }
    }
    // SAFETY: the entry takes the words; the evaluator showed that the kernel stays in its buffers.
    unsafe {
        let entry: extern "C" fn(*const u64) = std::mem::transmute(code.function("entry").unwrap());
        entry(words.as_ptr());
    }
    for (index, argument) in sample.arguments.iter().enumerate() {
        let Argument::Buffer(scalar, bytes) = argument else {
            continue;
        };
        let got: Vec<u8> =
            buffers[index].iter().flat_map(|line| line.0).take(bytes.len()).collect();
        assert!(same_elements(*scalar, &got, &want[index]), "{what}: argument {index} differs");
    }
}

/// Calls the first function with arguments from an array of words.
fn entry(module: &Module) -> rxla_kernel::Function {
    let callee = &module.functions[0];
    let mut b = Builder::new("entry", Linkage::Kernel, None);
    let words = b.parameter(Type::PTR);
    let mut arguments = Vec::new();
    for (index, parameter) in callee.parameters.iter().enumerate() {
        let bytes = b.index(8 * index as i64);
        let place = b.offset(words, bytes);
        let zero = b.index(0);
        arguments.push(b.load(callee.ty(parameter.value), place, zero));
    }
    b.call(FunctionId(0), arguments);
    b.finish()
}
