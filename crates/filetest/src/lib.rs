//! Tests that are files. Each file under `tests/` whose name ends in `.hlo` says in its first
//! lines what is done with it:
//!
//! ```text
//! // test: print
//! HloModule m …
//!
//! // ---- expect
//! // HloModule m, entry_computation_layout=…
//! ```
//!
//! * `cpu` prints the module as the CPU's passes leave it; `cpu program` its driver in kernel IR;
//! * `diff` compares the module with a second one, after a line `// ---- against`;
//! * `print` prints the module; `print canonical` and so on with other options;
//! * `verify` checks it, and each finding has to stand on its line as `// error: message`;
//! * `passes=dce,cse` runs passes and prints the module that comes out, `pipeline=simplify` the
//!   passes of a pipeline; `// rewrites: 2` limits them;
//! * `run` evaluates it on the literals of `// input:` lines and prints the result.
//!
//! The expectation stands in the file itself, in comments after a line `// ---- expect` or on the
//! line that is wrong. With `RXLA_BLESS=1` in the environment the harness writes what it found into the
//! file, for the author to read before it is committed.
//!
//! A new mode is one file here and one line in [`MODES`].

mod case;
mod cpu;
mod diff;
mod difference;
pub mod generate;
mod passes;
mod print;
pub mod run;
mod verify;

use std::path::{Path, PathBuf};

pub use case::{Case, Expectation};
pub use diff::show as difference;

/// What is done with a file: returns the whole text that the file should have.
pub struct Mode {
    pub name: &'static str,
    /// The text of the file with what was found in place of what is expected.
    pub run: fn(&Case) -> Result<String, String>,
}

/// Every mode, by the word after `// test:`.
pub const MODES: &[Mode] = &[
    Mode { name: "cpu", run: cpu::run },
    Mode { name: "diff", run: difference::run },
    Mode { name: "passes", run: passes::run },
    Mode { name: "pipeline", run: passes::run_pipeline },
    Mode { name: "print", run: print::run },
    Mode { name: "run", run: run::run },
    Mode { name: "verify", run: verify::run },
];

/// Whether the author asked for files to be rewritten.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bless {
    Write,
    Compare,
}

/// All test files below `root`, sorted by path.
pub fn files(root: &Path) -> Vec<PathBuf> {
    let mut out = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for entry in entries.flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "hlo") {
                out.push(path);
            }
        }
    }
    out.sort();
    out
}

/// Runs one file. The error says what differs and how to accept it.
pub fn check(path: &Path, bless: Bless) -> Result<(), String> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let case = Case::parse(&text)?;
    let Some(mode) = MODES.iter().find(|mode| mode.name == case.mode) else {
        let known: Vec<&str> = MODES.iter().map(|mode| mode.name).collect();
        return Err(format!("there is no mode `{}`, only {}", case.mode, known.join(", ")));
    };
    let found = (mode.run)(&case)?;
    if found == text {
        return Ok(());
    }
    match bless {
        Bless::Write => std::fs::write(path, found)
            .map_err(|error| format!("cannot write {}: {error}", path.display())),
        Bless::Compare => Err(format!(
            "{}\n  if the new text is right, accept it with: RXLA_BLESS=1 cargo test -p \
             rxla-filetest",
            diff::show(&text, &found)
        )),
    }
}
