//! Schedules the kernels of text files and prints them; or, after `--left`, only the functions
//! with loops marked `vector` of which none came to run in lanes.

#![allow(clippy::print_stdout)]

use rxla_kernel::schedule::{Copies, Target, pipeline};

fn main() {
    let mut left_only = false;
    for argument in std::env::args().skip(1) {
        if argument == "--left" {
            left_only = true;
            continue;
        }
        let text = std::fs::read_to_string(&argument).expect("a file of kernel text");
        let source = rxla_base::Source { name: &argument, text: &text };
        let mut module = match rxla_kernel::text::parse(&text) {
            Ok(module) => module,
            Err(finding) => {
                print!("{}", finding.render(Some(&source)));
                continue;
            }
        };
        let marked: Vec<String> = module.functions.iter().map(ToString::to_string).collect();
        for function in &mut module.functions {
            pipeline(function, &Target { vector_bits: 512, copies: Copies::Few });
        }
        if !left_only {
            print!("{module}");
            continue;
        }
        for (function, before) in module.functions.iter().zip(&marked) {
            let in_lanes = function.types.iter().any(|ty| ty.is_vector());
            if before.contains("for vector") && !in_lanes {
                println!("// {argument}\n{before}");
            }
        }
    }
}
