//! Finds LLVM through `llvm-config` and says how to link it.
//!
//! Linked statically, with only the components that are used, where LLVM's archives are installed;
//! else against its shared library. `LLVM_CONFIG` names an `llvm-config` to use in place of the
//! first one found with a major version that the crate knows.

#![allow(clippy::print_stdout)]

use std::env;
use std::path::Path;
use std::process::{Command, exit};

const MAJORS: std::ops::RangeInclusive<u32> = 19..=22;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=LLVM_CONFIG");
    println!("cargo::rerun-if-env-changed=PATH");
    let Some((config, major)) = find() else {
        println!(
            "cargo::error=LLVM {} to {} is needed and was not found.",
            MAJORS.start(),
            MAJORS.end()
        );
        println!(
            "cargo::error=On Debian and Ubuntu: apt-get install g++ llvm-22-dev libzstd-dev zlib1g-dev"
        );
        println!(
            "cargo::error=(or llvm-19-dev where 22 is not offered). LLVM_CONFIG may name an llvm-config."
        );
        exit(1);
    };
    println!("cargo::rustc-env=RXLA_LLVM_MAJOR={major}");
    let version = ask(&config, &["--version"]).unwrap_or_default();
    println!("cargo::rustc-env=RXLA_LLVM_VERSION={}", version.trim());

    let target = env::var("CARGO_CFG_TARGET_ARCH").unwrap_or_default();
    let codegen = match target.as_str() {
        "x86_64" => "x86codegen",
        "aarch64" => "aarch64codegen",
        other => {
            println!("cargo::error=rxla-llvm generates no code for {other}");
            exit(1);
        }
    };
    let components = ["passes", "irreader", codegen];
    let mut link = vec!["--link-static", "--libnames"];
    link.extend(components);
    let directory = ask(&config, &["--libdir"]).unwrap_or_default();
    let directory = directory.trim();
    let archives = ask(&config, &link).unwrap_or_default();
    let archives: Vec<&str> = archives.split_whitespace().collect();
    let there = |name: &&str| Path::new(directory).join(name).exists();
    println!("cargo::rustc-link-search=native={directory}");
    if !archives.is_empty() && archives.iter().all(there) {
        for archive in &archives {
            let name = archive.trim_start_matches("lib").trim_end_matches(".a");
            // Not bundled: copying the archives into the rlib would make it hundreds of megabytes.
            println!("cargo::rustc-link-lib=static:-bundle={name}");
        }
        link_system_libraries(&config);
    } else {
        link_shared(&config, directory);
    }
}

/// What LLVM's archives need in turn. Of what `llvm-config` lists, libxml2 and z3 serve parts of LLVM
/// that are not linked.
fn link_system_libraries(config: &str) {
    let listed = ask(config, &["--link-static", "--system-libs"]).unwrap_or_default();
    for library in listed.split_whitespace() {
        let name = library.strip_prefix("-l").unwrap_or(library);
        let is_path = name.contains('/');
        let unused = ["xml2", "z3", "edit", "ffi"].iter().any(|unused| name.contains(unused));
        if !is_path && !unused {
            println!("cargo::rustc-link-lib=dylib={name}");
        }
    }
    println!("cargo::rustc-link-lib=dylib=stdc++");
}

fn link_shared(config: &str, directory: &str) {
    let names = ask(config, &["--link-shared", "--libnames"]).unwrap_or_default();
    for library in names.split_whitespace() {
        let name = library.trim_start_matches("lib").split(".so").next().unwrap_or(library);
        println!("cargo::rustc-link-lib=dylib={name}");
        println!("cargo::rustc-link-arg=-Wl,-rpath,{directory}");
    }
}

/// The `llvm-config` to use and its major version.
fn find() -> Option<(String, u32)> {
    if let Ok(named) = env::var("LLVM_CONFIG") {
        return usable(&named);
    }
    let versioned = MAJORS.rev().flat_map(|major| {
        [
            format!("llvm-config-{major}"),
            format!("/usr/lib/llvm-{major}/bin/llvm-config"),
            format!("/usr/lib/llvm{major}/bin/llvm-config"),
            format!("/opt/homebrew/opt/llvm@{major}/bin/llvm-config"),
        ]
    });
    versioned.chain(["llvm-config".to_owned()]).find_map(|candidate| usable(&candidate))
}

fn usable(config: &str) -> Option<(String, u32)> {
    let version = ask(config, &["--version"])?;
    let major = version.trim().split('.').next()?.parse().ok()?;
    MAJORS.contains(&major).then(|| (config.to_owned(), major))
}

fn ask(config: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(config).args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}
