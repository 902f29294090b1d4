//! Mutates real bytecode, reads it and writes what could be read, looking for panics and slow inputs.
//!
//! `fuzz_bytecode [--seconds N] [--seed N] [--import] [--save DIR] SEED_DIR`; with `--import`, accepted
//! programs are also translated to HLO. What fails is saved under a name
//! that says why, and the exit status is 1. Run it under `ulimit -v` to catch allocations as well.

use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use rxla_stablehlo::vhlo::Version;
use rxla_stablehlo::{bytecode, import};

fn main() -> ExitCode {
    let mut seconds = 60;
    let mut state = 1;
    let mut and_import = false;
    let mut save = PathBuf::from(".");
    let mut directory = PathBuf::from("tests/stablehlo/bytecode");
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().unwrap_or_default();
        match argument.as_str() {
            "--seconds" => seconds = value().parse().unwrap_or(seconds),
            "--seed" => state = value().parse().unwrap_or(state),
            "--import" => and_import = true,
            "--save" => save = value().into(),
            _ => directory = argument.into(),
        }
    }
    let seeds = match read_seeds(&directory) {
        Ok(seeds) if !seeds.is_empty() => seeds,
        outcome => {
            _ = writeln!(io::stderr(), "no seeds in {}: {outcome:?}", directory.display());
            return ExitCode::FAILURE;
        }
    };
    // The hook would print every panic; the input says enough.
    std::panic::set_hook(Box::new(|_| {}));
    let mut random = Random(state);
    let start = Instant::now();
    let (mut runs, mut accepted, mut findings, mut slowest) = (0u64, 0u64, 0, Duration::ZERO);
    while start.elapsed() < Duration::from_secs(seconds) {
        let input = mutate(&seeds, &mut random);
        let began = Instant::now();
        let outcome = catch_unwind(AssertUnwindSafe(|| run(&input, and_import)));
        let took = began.elapsed();
        runs += 1;
        slowest = slowest.max(took);
        let problem = match outcome {
            Err(_) => "panic",
            Ok(_) if took > Duration::from_secs(1) => "slow",
            Ok(ok) => {
                accepted += u64::from(ok);
                continue;
            }
        };
        findings += 1;
        let path = save.join(format!("{problem}-{findings}.mlirbc"));
        _ = std::fs::write(&path, &input);
        _ = writeln!(io::stderr(), "{problem}: {}", path.display());
    }
    _ = writeln!(
        io::stdout(),
        "{runs} inputs in {seconds} s, {accepted} accepted, slowest {slowest:?}, {findings} findings"
    );
    if findings == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Whether the input is accepted.
fn run(input: &[u8], and_import: bool) -> bool {
    match rxla_stablehlo::read(rxla_stablehlo::UNNAMED, input) {
        Ok(module) => {
            // What can be read is also written.
            _ = bytecode::portable_artifact(&module, Version::new(1, 17));
            if and_import {
                _ = import(&module, &import::Options::default());
            }
            true
        }
        // Messages are made from the input too.
        Err(error) => error.to_string().is_empty(),
    }
}

fn read_seeds(directory: &PathBuf) -> io::Result<Vec<Vec<u8>>> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(directory)?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "mlirbc"))
        .collect();
    paths.sort();
    paths.iter().map(std::fs::read).collect()
}

/// Xorshift.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit.max(1) as u64) as usize
    }
}

fn mutate(seeds: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut input = seeds[random.below(seeds.len())].clone();
    for _ in 0..=random.below(4) {
        let length = input.len();
        if length == 0 {
            break;
        }
        let at = random.below(length);
        match random.below(8) {
            0 => input[at] ^= 1 << random.below(8),
            1 => input[at] = random.below(256) as u8,
            // Small steps move indices and lengths to their neighbours.
            2 => input[at] = input[at].wrapping_add(2),
            3 => input[at] = input[at].wrapping_sub(2),
            4 => {
                let huge = [0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f];
                let place = at..(at + 1).min(length);
                input.splice(place, huge);
            }
            5 => input.truncate(at),
            6 => {
                let other = &seeds[random.below(seeds.len())];
                let from = random.below(other.len());
                let to = (from + 1 + random.below(40)).min(other.len());
                let end = (at + random.below(40)).min(length);
                input.splice(at..end, other[from..to].iter().copied());
            }
            _ => {
                let end = (at + 1 + random.below(16)).min(length);
                let piece = input[at..end].to_vec();
                input.splice(at..at, piece);
            }
        }
    }
    input
}
