//! How long reading, verifying and converting take: `cargo run --example timing -- FILE…`.

#![allow(clippy::print_stdout, reason = "a program for the terminal")]

use std::time::Instant;

use rxla_hlo::text::{PrintOptions, print};
use rxla_hlo_proto::{Message, read_module, to_proto};

fn main() {
    for path in std::env::args().skip(1) {
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) => {
                println!("{path}: {error}");
                continue;
            }
        };
        let start = Instant::now();
        let Ok(read) = read_module(&bytes) else {
            println!("{path}: no module");
            continue;
        };
        let read_time = start.elapsed();
        let start = Instant::now();
        let findings = rxla_hlo::verify(&read.module).len();
        let verify_time = start.elapsed();
        let start = Instant::now();
        let text = print(&read.module, &PrintOptions::complete()).len();
        let print_time = start.elapsed();
        let start = Instant::now();
        let proto = to_proto(&read.module).map(|proto| proto.encode_to_vec()).unwrap_or_default();
        let write_time = start.elapsed();
        let start = Instant::now();
        let again = read_module(&proto).is_ok();
        let again_time = start.elapsed();
        let instructions = read.module.instruction_ids().count();
        println!(
            "{path}: {} bytes, {instructions} instructions; read {read_time:.1?}, verified \
             {verify_time:.1?} ({findings} findings), {text} bytes printed {print_time:.1?}, {} \
             bytes of proto {write_time:.1?}, read again {again_time:.1?} ({again})",
            bytes.len(),
            proto.len()
        );
    }
}
