//! Mutates HLO texts and reads them: `fuzz_text [--seconds N] [--seed N]`. Seeds are the cases of
//! the tests. What is accepted must print to text that is accepted and prints the same. A finding
//! panics, after the text was written to `fuzz_text_finding.hlo`. Each text stands in
//! `fuzz_text_current.hlo` while it is read: run it under `ulimit -v 4000000`, and what takes too
//! much memory, which ends the process, is found there.

#![allow(clippy::print_stdout, reason = "it is a program")]

use std::path::Path;
use std::time::{Duration, Instant};

use rxla_hlo::text::{ParseOptions, PrintOptions, parse, print};

/// A small generator of random numbers (xorshift), so that runs can be repeated.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }
}

/// What is put into texts: things that mean something.
const WORDS: &[&str] = &[
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    ",",
    "=",
    "%",
    "->",
    "<=",
    "...",
    ":",
    "?",
    "*",
    "\"",
    "'",
    "\\",
    "/*",
    "*/",
    "//",
    "\n",
    "-",
    "-1",
    "0",
    "9223372036854775807",
    "1e999",
    "nan",
    "inf",
    "f32",
    "s4",
    "token[]",
    "ROOT ",
    "ENTRY ",
    "parameter(0)",
    "parameter(7)",
    "constant({...})",
    "T(1,0)",
    "f32[1000000000000]",
    "add-start",
    "calls=",
    "to_apply=",
    "sharding=",
    "metadata=",
    "origin=",
    "x",
    "é",
];

fn mutate(seeds: &[String], random: &mut Random) -> String {
    let mut text = seeds[random.below(seeds.len())].clone().into_bytes();
    for _ in 0..1 + random.below(4) {
        let at = random.below(text.len() + 1);
        let length = random.below(20).min(text.len() - at);
        match random.below(5) {
            0 => drop(text.drain(at..at + length)),
            1 => {
                let word = WORDS[random.below(WORDS.len())].bytes();
                drop(text.splice(at..at, word));
            }
            2 => {
                let word = WORDS[random.below(WORDS.len())].bytes();
                drop(text.splice(at..at + length, word));
            }
            3 => {
                let other = seeds[random.below(seeds.len())].as_bytes();
                let from = random.below(other.len());
                let to = (from + random.below(80)).min(other.len());
                drop(text.splice(at..at, other[from..to].iter().copied()));
            }
            _ => {
                let copy = text[at..at + length].to_vec();
                drop(text.splice(at..at, copy));
            }
        }
    }
    String::from_utf8_lossy(&text).into_owned()
}

fn check(text: &str, options: &ParseOptions) -> bool {
    let Ok(parsed) = parse(text, options) else { return false };
    for print_options in [PrintOptions::default(), PrintOptions::canonical()] {
        let _ = print(&parsed.module, &print_options);
    }
    let once = print(&parsed.module, &PrintOptions::complete());
    let again = parse(&once, options).expect("printed text is accepted");
    assert_eq!(print(&again.module, &PrintOptions::complete()), once, "printing is a fixpoint");
    true
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let number = |name: &str, default: u64| {
        let at = arguments.iter().position(|argument| argument == name);
        at.and_then(|at| arguments.get(at + 1)?.parse().ok()).unwrap_or(default)
    };
    let mut random = Random(number("--seed", 1).max(1));
    let end = Instant::now() + Duration::from_secs(number("--seconds", 10));
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/text");
    let mut seeds = Vec::new();
    let mut files: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    for file in files {
        let text = std::fs::read_to_string(file).unwrap();
        seeds.extend(text.split("// ----- ").skip(1).map(|case| {
            let body = case.split_once('\n').map_or("", |(_, body)| body);
            let input = body.split("// prints").next().unwrap_or("");
            input.split("// fails").next().unwrap_or("").to_owned()
        }));
    }
    let options = ParseOptions { max_literal_bytes: 1 << 16, ..ParseOptions::default() };
    let (mut runs, mut accepted) = (0u64, 0u64);
    while Instant::now() < end {
        let text = mutate(&seeds, &mut random);
        std::fs::write("fuzz_text_current.hlo", &text).unwrap();
        let result = std::panic::catch_unwind(|| check(&text, &options));
        match result {
            Ok(ok) => accepted += u64::from(ok),
            Err(_) => {
                std::fs::write("fuzz_text_finding.hlo", &text).unwrap();
                println!("finding after {runs} runs: fuzz_text_finding.hlo");
                std::process::exit(1);
            }
        }
        runs += 1;
    }
    println!("{runs} texts, {accepted} of them accepted, no finding");
}
