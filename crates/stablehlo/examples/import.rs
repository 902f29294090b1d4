//! Reads StableHLO programs and translates them to HLO: `import FILE…` says which files fail and
//! why.
#![allow(clippy::print_stdout, reason = "a command's output")]

fn main() {
    let (mut good, mut bad) = (0, 0);
    for path in std::env::args().skip(1) {
        let result = std::fs::read(&path)
            .map_err(|error| error.to_string())
            .and_then(|bytes| rxla_stablehlo::to_hlo(&bytes).map_err(|error| error.to_string()));
        match result {
            Ok(_) => good += 1,
            Err(error) => {
                bad += 1;
                println!("{path}: {error}");
            }
        }
    }
    println!("{good} translated, {bad} failed");
}
