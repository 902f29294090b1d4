//! Reads HLO text from files and prints it again: `reprint [--short|--canonical|--fingerprint]
//! [--row-major] [--check] FILE…`. With `--check` it prints a line per file instead: `ok` if the
//! text read again prints the same, else the reason.

#![allow(clippy::print_stdout, reason = "it is a program")]

use rxla_base::{Source, render_all};
use rxla_hlo::text::{MissingLayouts, ParseOptions, PrintOptions, parse, print};

fn main() {
    let mut options = PrintOptions::complete();
    let mut parse_options = ParseOptions::default();
    let mut checks = false;
    for argument in std::env::args().skip(1) {
        match &argument[..] {
            "--default" => options = PrintOptions::default(),
            "--short" => options = PrintOptions::short_parsable(),
            "--canonical" => options = PrintOptions::canonical(),
            "--fingerprint" => options = PrintOptions::fingerprint(),
            "--row-major" => parse_options.missing_layouts = MissingLayouts::RowMajor,
            "--check" => checks = true,
            path => {
                let text = match std::fs::read_to_string(path) {
                    Ok(text) => text,
                    Err(error) => {
                        println!("{path}: {error}");
                        continue;
                    }
                };
                let start = std::time::Instant::now();
                let result = parse(&text, &parse_options);
                let time = start.elapsed();
                match result {
                    Err(diagnostics) if checks => {
                        println!("{path}: error: {}", diagnostics[0].message);
                    }
                    Err(diagnostics) => {
                        let source = Source { name: path, text: &text };
                        println!("{}", render_all(&diagnostics, Some(&source)));
                    }
                    Ok(parsed) if checks => {
                        let once = print(&parsed.module, &options);
                        let printed = start.elapsed() - time;
                        let verdict = match parse(&once, &parse_options) {
                            Err(diagnostics) => {
                                format!("not read again: {}", diagnostics[0].message)
                            }
                            Ok(again) if print(&again.module, &options) == once => "ok".to_owned(),
                            Ok(_) => "not a fixpoint".to_owned(),
                        };
                        println!("{path}: {verdict} ({time:.0?}, {printed:.0?})");
                    }
                    Ok(parsed) => println!("{}", print(&parsed.module, &options)),
                }
            }
        }
    }
}
