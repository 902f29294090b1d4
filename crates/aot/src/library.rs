//! Where the library is that programs take their kernels from.

use std::path::{Path, PathBuf};

use rxla_base::{Error, Result};

/// The file that cargo builds of `crates/aot-runtime`.
const NAME: &str = "librxla_aot_runtime";

/// The library: the one that is named, or that lies with this command, or where cargo leaves it.
pub fn library(named: Option<&Path>) -> Result<Vec<u8>> {
    let path = match named {
        Some(path) => path.to_owned(),
        None => find().ok_or_else(|| {
            Error::invalid_argument(format!(
                "the program calls kernels of rxla's, whose library `{NAME}.a` does not lie with this \
                 command; `cargo build --release` builds both, and --runtime names it"
            ))
        })?,
    };
    std::fs::read(&path).map_err(|error| {
        Error::invalid_argument(format!("cannot read `{}`: {error}", path.display()))
    })
}

fn find() -> Option<PathBuf> {
    let own = std::env::current_exe().ok()?;
    let folder = own.parent()?;
    let installed = [folder.to_owned(), folder.join("../lib")].map(|f| f.join(format!("{NAME}.a")));
    // Cargo leaves libraries of other crates beside tests, and below commands.
    let built = [folder.to_owned(), folder.join("deps")];
    let built =
        built.iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten().flatten();
    let built = built.map(|entry| entry.path()).filter(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.strip_prefix(NAME).is_some_and(|rest| rest.starts_with('-') && rest.ends_with(".a"))
    });
    // The newest, since cargo keeps those of other versions and features.
    installed
        .into_iter()
        .chain(built)
        .filter_map(|path| Some((std::fs::metadata(&path).ok()?.modified().ok()?, path)))
        .max_by_key(|(modified, _)| *modified)
        .map(|(_, path)| path)
}
