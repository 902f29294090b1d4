//! Shows what becomes of kernels: reads kernel IR as text from stdin, prints assembly, or with
//! `ir` or `optimized` as argument LLVM IR before or after the passes.

#![allow(clippy::print_stdout)]

use std::io::Read;

use rxla_llvm::Compiler;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    let module = rxla_kernel::text::parse(&text).map_err(|error| format!("{error:?}"))?;
    rxla_kernel::verify(&module).map_err(|errors| format!("{errors:?}"))?;
    let compiler = Compiler::host()?;
    let shown = match std::env::args().nth(1).as_deref() {
        Some("ir") => compiler.llvm_ir(&module)?,
        Some("optimized") => compiler.optimized_llvm_ir(&module)?,
        _ => compiler.assembly(&module)?,
    };
    for (name, text) in shown {
        println!("; {name}\n{text}");
    }
    Ok(())
}
