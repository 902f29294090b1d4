//! Reads modules of any format and prints each as HLO text beside its file.
//!
//! `cargo run -p rxla-hlo-proto --example text -- FILE…` writes `FILE.txt` for each.

#![allow(clippy::print_stdout, reason = "a program for the terminal")]

use rxla_base::render_all;
use rxla_hlo::text::{PrintOptions, print};

fn main() {
    for path in std::env::args().skip(1) {
        let read = std::fs::read(&path).map_err(|error| error.to_string()).and_then(|bytes| {
            rxla_hlo_proto::read_module(&bytes).map_err(|errors| render_all(&errors, None))
        });
        match read {
            Ok(read) => {
                let text = print(&read.module, &PrintOptions::complete());
                if let Err(error) = std::fs::write(format!("{path}.txt"), text) {
                    println!("{path}: {error}");
                }
            }
            Err(error) => println!("{path}: {error}"),
        }
    }
}
