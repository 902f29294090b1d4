//! How long each phase of compiling a program takes: `phases FILE [rounds]`.

#![allow(clippy::print_stdout)]

use std::time::Instant;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().expect("a file");
    let rounds: usize = arguments.next().map_or(1, |n| n.parse().expect("a number"));
    let bytes = std::fs::read(&path).unwrap();
    for _ in 0..rounds {
        let start = Instant::now();
        let lap = |name: &str, from: &mut Instant| {
            println!("{name:24} {:9.3} ms", from.elapsed().as_secs_f64() * 1e3);
            *from = Instant::now();
        };
        let mut from = Instant::now();
        let mut module =
            rxla::read_module(rxla::Format::StableHlo, &bytes, Default::default()).unwrap();
        lap("read", &mut from);
        assert!(rxla_hlo::verify(&module).is_empty());
        lap("verify", &mut from);
        let copy = module.clone();
        lap("clone", &mut from);
        drop(copy);
        from = Instant::now();
        let options =
            rxla_passes::RunOptions { verify: rxla_passes::Verify::Never, ..Default::default() };
        let report = rxla_passes::run(&mut module, &rxla_cpu::pipeline::steps(), options).unwrap();
        lap("passes", &mut from);
        for pass in &report.passes {
            println!(
                "    {:28} runs {:3} rewrites {:6} {:9.3} ms",
                pass.name,
                pass.runs,
                pass.rewrites,
                pass.time.as_secs_f64() * 1e3
            );
        }
        from = Instant::now();
        rxla_hlo::verify(&module);
        lap("verify", &mut from);
        let order = |computation| rxla_cpu::schedule::order(&module, computation);
        rxla_cpu::plan::Plan::new(&module, &order).unwrap();
        lap("plan (again)", &mut from);
        let mut program = rxla_cpu::lower(&module).unwrap();
        lap("lower", &mut from);
        println!("    {} functions", program.kernels.functions.len());
        if let Ok(path) = std::env::var("DUMPK") {
            std::fs::write(path, program.kernels.to_string()).unwrap();
        }
        rxla_cpu::vectorize(&mut program.kernels, 512);
        lap("vectorize", &mut from);
        let compiler = rxla_llvm::Compiler::host().unwrap();
        lap("compiler", &mut from);
        let texts = compiler.llvm_ir(&program.kernels).unwrap();
        lap("llvm text (again)", &mut from);
        let mut sizes: Vec<usize> = texts.iter().map(|(_, text)| text.len()).collect();
        sizes.sort_unstable_by(|a, b| b.cmp(a));
        println!("    {} units, bytes {:?}", sizes.len(), &sizes[..sizes.len().min(20)]);
        let code = compiler
            .compile(&program.kernels, &Default::default(), &rxla_cpu::executable::resolve)
            .unwrap();
        lap("llvm", &mut from);
        println!("    {} bytes of code", code.size());
        let _ = compiler
            .compile(&program.kernels, &Default::default(), &rxla_cpu::executable::resolve)
            .unwrap();
        lap("llvm, cached", &mut from);
        println!("{:24} {:9.3} ms", "all", start.elapsed().as_secs_f64() * 1e3);
    }
}
