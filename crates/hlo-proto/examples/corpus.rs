//! Reads every module of a directory, verifies it and takes it through a proto and back.
//!
//! `cargo run -p rxla-hlo-proto --example corpus -- DIR [OUT]`. Files may hold several modules
//! between lines of `// -----`. With `OUT`, each module is written there as `NAME.hlo`, its proto
//! as `NAME.pb`; `jaxlib_exchange.py` beside this file compares them with what jaxlib makes.

#![allow(clippy::print_stdout, reason = "a program for the terminal")]

use std::path::{Path, PathBuf};

use rxla_base::{Source, render_all};
use rxla_hlo::text::{MissingLayouts, ParseOptions, PrintOptions, parse, print};
use rxla_hlo_proto::Message;
use rxla_hlo_proto::proto::HloModuleProtoWithConfig;

fn files(directory: &Path, out: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(directory)
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    entries.sort();
    for entry in entries {
        if entry.is_dir() {
            files(&entry, out);
        } else if entry.extension().is_some_and(|extension| extension == "hlo") {
            out.push(entry);
        }
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let directory = arguments.next().unwrap_or_else(|| ".".to_owned());
    let out = arguments.next();
    let mut paths = Vec::new();
    files(Path::new(&directory), &mut paths);
    let (mut parsed_count, mut verified, mut same) = (0, 0, 0);
    let options =
        ParseOptions { missing_layouts: MissingLayouts::RowMajor, ..ParseOptions::default() };
    let mut count = 0;
    for path in &paths {
        let file = path.strip_prefix(&directory).unwrap_or(path).display().to_string();
        let Ok(whole) = std::fs::read_to_string(path) else {
            println!("UNREADABLE {file}");
            continue;
        };
        let parts: Vec<&str> = whole.split("// -----").collect();
        for (index, text) in parts.iter().enumerate() {
            if !text.contains("ENTRY") && parts.len() > 1 {
                continue;
            }
            count += 1;
            let name = if parts.len() == 1 { file.clone() } else { format!("{file}.{index}") };
            let source = Source { name: &name, text };
            let parsed = match parse(text, &options) {
                Ok(parsed) => parsed,
                Err(errors) => {
                    println!("PARSE {name}\n{}", render_all(&errors[..1], Some(&source)));
                    continue;
                }
            };
            parsed_count += 1;
            let findings = rxla_hlo::verify_with_spans(&parsed.module, &parsed.spans);
            if findings.is_empty() {
                verified += 1;
            } else {
                println!(
                    "VERIFY {name}: {}\n{}",
                    findings.len(),
                    findings[0].render(Some(&source))
                );
            }
            let before = print(&parsed.module, &PrintOptions::complete());
            let again = rxla_hlo_proto::to_proto_with_config(&parsed.module).and_then(|proto| {
                let bytes = proto.encode_to_vec();
                if let Some(out) = &out {
                    let module = proto.hlo_module.as_ref().map(Message::encode_to_vec);
                    let file = Path::new(out).join(name.replace(['/', '.'], "_") + ".pb");
                    _ = std::fs::write(&file, module.unwrap_or_default());
                    _ = std::fs::write(file.with_extension("hlo"), text);
                }
                let proto: HloModuleProtoWithConfig = rxla_hlo_proto::decode(&bytes)?;
                rxla_hlo_proto::from_proto_with_config(&proto)
            });
            match again {
                Ok(again) => {
                    let after = print(&again, &PrintOptions::complete());
                    if after == before {
                        same += 1;
                    } else {
                        let difference = before.lines().zip(after.lines()).find(|(a, b)| a != b);
                        let (a, b) = difference.unwrap_or(("(ends)", "(ends)"));
                        let at = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
                        let from = (0..=at.saturating_sub(40))
                            .rev()
                            .find(|&i| a.is_char_boundary(i) && b.is_char_boundary(i))
                            .unwrap_or(0);
                        let cut = |s: &str| s[from..].chars().take(160).collect::<String>();
                        println!("DIFFERS {name}\n  - {}\n  + {}", cut(a), cut(b));
                    }
                }
                Err(error) => println!("PROTO {name}\n{}", error.render(None)),
            }
        }
    }
    println!(
        "{} files, {count} modules, {parsed_count} parsed, {verified} verified, {same} the same after a \
         proto",
        paths.len()
    );
}
