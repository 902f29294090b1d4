//! Random kernels, compiled and evaluated, as they are and scheduled.

use rxla_kernel::evaluate::{Memory, evaluate_alone};
use rxla_kernel::random::{Argument, Maths, Options, Sample, same_elements, sample};
use rxla_kernel::schedule::{Target, pipeline};
use rxla_kernel::{Builder, FunctionId, Linkage, Module, Op, Statement, Type};
use rxla_llvm::Compiler;

/// The module with another function, first, that takes the address of a table of arguments: for
/// each buffer its address, for each scalar the address of its value.
fn with_entry(module: &Module, arguments: &[Argument]) -> Module {
    let mut b = Builder::new("entry", Linkage::Kernel, None);
    let table = b.parameter(Type::PTR);
    let mut values = Vec::new();
    for (position, argument) in arguments.iter().enumerate() {
        let index = b.index(position as i64);
        let address = b.load(Type::PTR, table, index);
        values.push(match argument {
            Argument::Buffer(..) => address,
            Argument::Scalar(scalar, _) => {
                let zero = b.index(0);
                b.op((*scalar).into(), Op::Load { base: address, index: zero, mask: None })
            }
        });
    }
    b.push(Statement::Call { callee: FunctionId(1), arguments: values });
    let mut functions = vec![b.finish()];
    functions.extend(module.functions.iter().cloned());
    Module { functions }
}

#[repr(C, align(64))]
#[derive(Clone)]
struct Line([u8; 64]);

/// Bytes at an address that 64 divides.
fn aligned(bytes: &[u8]) -> Vec<Line> {
    let line = |chunk: &[u8]| {
        let mut line = Line([0; 64]);
        line.0[..chunk.len()].copy_from_slice(chunk);
        line
    };
    bytes.chunks(64).map(line).collect()
}

fn bytes_of(argument: &Argument) -> Vec<u8> {
    match argument {
        Argument::Buffer(_, bytes) => bytes.clone(),
        Argument::Scalar(_, bits) => bits.to_le_bytes().to_vec(),
    }
}

fn evaluated(module: &Module, arguments: &[Argument]) -> Vec<Vec<u8>> {
    let mut memory = Memory::default();
    let addresses: Vec<u64> =
        arguments.iter().map(|argument| memory.add(bytes_of(argument))).collect();
    let table = memory.add(addresses.iter().flat_map(|address| address.to_le_bytes()).collect());
    evaluate_alone(module, FunctionId(0), &[table], &mut memory).unwrap();
    addresses.iter().map(|&address| memory.region(address).to_vec()).collect()
}

fn compiled(compiler: &Compiler, module: &Module, arguments: &[Argument]) -> Vec<Vec<u8>> {
    let code = compiler.compile(module, &rxla_llvm::Options::default(), &|_| None).unwrap();
    let contents: Vec<Vec<u8>> = arguments.iter().map(bytes_of).collect();
    let mut buffers: Vec<Vec<Line>> = contents.iter().map(|bytes| aligned(bytes)).collect();
    let table: Vec<*mut Line> = buffers.iter_mut().map(|lines| lines.as_mut_ptr()).collect();
    // SAFETY: the kernel takes the table and stays inside its buffers, as evaluating it showed.
    unsafe {
        let address = code.function("entry").unwrap();
        let kernel: extern "C" fn(*const *mut Line) = std::mem::transmute(address);
        kernel(table.as_ptr());
    }
    let all = buffers.iter().zip(&contents).map(|(lines, content)| {
        let bytes = lines.iter().flat_map(|line| line.0);
        bytes.take(content.len()).collect()
    });
    all.collect()
}

fn check(seeds: std::ops::Range<u64>) {
    let compiler = Compiler::host().unwrap();
    for seed in seeds {
        let options = Options { maths: Maths::Without, size: 12 + (seed % 40) as u32 };
        let Sample { module, arguments } = sample(seed, &options);
        let module = with_entry(&module, &arguments);
        let want = evaluated(&module, &arguments);
        for vector_bits in [None, Some(256), Some(512)] {
            let mut module = module.clone();
            if let Some(vector_bits) = vector_bits {
                let target = Target { vector_bits };
                module.functions.iter_mut().for_each(|function| pipeline(function, &target));
            }
            let got = compiled(&compiler, &module, &arguments);
            for (position, (want, got)) in want.iter().zip(&got).enumerate() {
                let Argument::Buffer(scalar, _) = arguments[position] else { continue };
                let width = scalar.byte_width();
                let first = want.chunks(width).zip(got.chunks(width)).enumerate();
                let first =
                    first.into_iter().find(|(_, (want, got))| !same_elements(scalar, want, got));
                if let Some((element, (want, got))) = first {
                    panic!(
                        "seed {seed}, {vector_bits:?}: element {element} of %{position} of {} is \
                         {got:x?}, evaluated {want:x?}\n{module}",
                        scalar.name()
                    );
                }
            }
        }
    }
}

#[test]
fn random_kernels_compile_to_what_they_say() {
    check(0..30);
}

#[test]
#[ignore = "minutes"]
fn many_random_kernels_compile_to_what_they_say() {
    check(1000..3000);
}
