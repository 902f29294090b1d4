//! Runs every file below the workspace's `tests/`. A filter is part of a path:
//! `cargo test -p rxla-filetest verify/dot`.

use std::path::Path;

use libtest_mimic::{Arguments, Trial};
use rxla_filetest::{Bless, check, files};

fn main() {
    let arguments = Arguments::from_args();
    let bless = if std::env::var_os("RXLA_BLESS").is_some_and(|value| value == "1") {
        Bless::Write
    } else {
        Bless::Compare
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests");
    let trials = files(&root).into_iter().map(|path| {
        let name = path.strip_prefix(&root).unwrap_or(&path).display().to_string();
        Trial::test(name, move || check(&path, bless).map_err(Into::into))
    });
    libtest_mimic::run(&arguments, trials.collect()).exit();
}
