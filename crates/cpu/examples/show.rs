//! Prints the kernels of an HLO module, as emitted (`emitted`) or as the code generator gets them.

#![allow(clippy::print_stdout)]

fn main() {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().expect("a file");
    let emitted = arguments.next().is_some_and(|word| word == "emitted");
    let text = std::fs::read_to_string(&path).unwrap();
    let mut module = rxla_hlo::text::parse(&text, &Default::default())
        .unwrap_or_else(|e| panic!("{e:?}"))
        .module;
    rxla_cpu::optimize(&mut module).unwrap();
    let mut program = rxla_cpu::lower(&module).unwrap();
    if !emitted {
        rxla_cpu::vectorize(&mut program.kernels, 512);
    }
    println!("{}", program.kernels);
}
