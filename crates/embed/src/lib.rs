//! `static_library!("rxla_aot_runtime")`: the static library that cargo builds of a dependency, as
//! `Some` of its bytes.
//!
//! Cargo puts a dependency's library where only it knows, under a name with a hash, and a build script may
//! run before it is there. The compiler knows: it is told by `--extern NAME=…/libNAME-HASH.rlib`, and
//! the static library lies beside that. It is there when a program or a test is compiled, which wait
//! for all that they are linked of. `cargo check` makes no libraries; for it this is `None`, which
//! nobody runs.

use std::path::{Path, PathBuf};

use proc_macro::TokenStream;

/// Takes the dependency's name as a string.
#[proc_macro]
pub fn static_library(name: TokenStream) -> TokenStream {
    let name = name.to_string().trim().trim_matches('"').to_owned();
    let arguments: Vec<String> = std::env::args().collect();
    let code = match find(&name, &arguments) {
        Some(path) if path.is_file() => {
            format!(
                "::core::option::Option::Some(::core::include_bytes!({path:?}) as &'static [u8])"
            )
        }
        Some(_) if only_checks(&name, &arguments) => nothing(),
        // An editor, not the compiler.
        None if !arguments.iter().any(|argument| argument == "--extern") => nothing(),
        Some(path) => format!("::core::compile_error!(\"there is no {}\")", path.display()),
        None => format!("::core::compile_error!(\"`{name}` is no dependency of this crate\")"),
    };
    code.parse().expect("this is Rust")
}

fn nothing() -> String {
    "::core::option::Option::<&'static [u8]>::None".to_owned()
}

/// What the compiler is told of where a dependency is.
fn told<'a>(name: &str, arguments: &'a [String]) -> impl Iterator<Item = &'a Path> {
    let start = format!("{name}=");
    let values = arguments.iter().zip(arguments.iter().skip(1));
    let values = values.filter_map(|(option, value)| (option == "--extern").then_some(value));
    // Options of the dependency may stand before its name, as `priv:`.
    values.filter_map(move |value| value.rsplit(':').next()?.strip_prefix(&start)).map(Path::new)
}

fn find(name: &str, arguments: &[String]) -> Option<PathBuf> {
    told(name, arguments).next().map(|path| path.with_extension("a"))
}

fn only_checks(name: &str, arguments: &[String]) -> bool {
    told(name, arguments).all(|path| path.extension().is_some_and(|ending| ending == "rmeta"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_lies_beside_what_is_linked() {
        let arguments =
            |text: &str| -> Vec<String> { text.split(' ').map(str::to_owned).collect() };
        let build =
            arguments("rustc main.rs --extern a=/d/liba-1.rlib --extern priv:bc=/d/libbc-2.rlib");
        assert_eq!(find("bc", &build), Some(PathBuf::from("/d/libbc-2.a")));
        assert!(!only_checks("bc", &build));
        assert_eq!(find("b", &build), None);
        let check = arguments("rustc main.rs --extern a=/d/liba-1.rmeta");
        assert!(only_checks("a", &check));
    }
}
