//! What holds of the sources as a whole: which crate may know which, that every file says what it is
//! for, that passes have their line and their tests, and that the map names what is there.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Which crates of the workspace a crate may depend on. A new edge is a line here, to be argued: by
/// what the crates are for (`ARCHITECTURE.md`), not by need of the moment.
const EDGES: &[(&str, &[&str])] = &[
    ("base", &[]),
    ("hlo", &["base"]),
    ("hlo-proto", &["base", "hlo"]),
    ("stablehlo", &["base", "hlo"]),
    // Reads what the compiler is told; knows nothing of us.
    ("embed", &[]),
    ("diff", &["hlo"]),
    ("view", &["base", "hlo", "diff"]),
    // The oracle: it shares nothing with what it judges.
    ("interpreter", &["base", "hlo"]),
    // What everything that can be watched tells it through.
    ("trace", &[]),
    ("flags", &[]),
    ("dump", &["base", "flags", "hlo", "hlo-proto", "trace", "view"]),
    ("passes", &["base", "hlo", "interpreter", "trace"]),
    ("spmd", &["base", "hlo", "passes"]),
    ("kernel", &["base"]),
    ("emit", &["base", "hlo", "kernel"]),
    // The one crate that links LLVM knows nothing of tensors.
    ("llvm", &["base", "kernel", "trace"]),
    ("fourier", &[]),
    ("runtime", &["base", "fourier"]),
    (
        "cpu",
        &[
            "base",
            "hlo",
            "dump",
            "flags",
            "trace",
            "interpreter",
            "passes",
            "spmd",
            "kernel",
            "emit",
            "llvm",
            "runtime",
        ],
    ),
    // A program with the runtime that it needs, for C. The runtime is told from the crate that only names it.
    ("aot", &["base", "hlo", "cpu", "embed"]),
    ("aot-runtime", &["runtime"]),
    ("gpu", &["base", "hlo", "interpreter", "passes", "spmd", "kernel", "emit", "llvm", "runtime"]),
    (
        "client",
        &[
            "base",
            "hlo",
            "hlo-proto",
            "stablehlo",
            "interpreter",
            "passes",
            "spmd",
            "dump",
            "flags",
            "trace",
            "runtime",
            "cpu",
            "gpu",
        ],
    ),
    ("pjrt", &["base", "hlo", "hlo-proto", "stablehlo", "flags", "trace", "client"]),
    (
        "cli",
        &[
            "base",
            "hlo",
            "hlo-proto",
            "stablehlo",
            "diff",
            "embed",
            "view",
            "interpreter",
            "passes",
            "spmd",
            "dump",
            "flags",
            "trace",
            "kernel",
            "emit",
            "aot",
            // Called by nobody: it is a library for what `compile` writes.
            "aot-runtime",
            // `run --backend cpu` says what stays interpreted, which no client tells.
            "cpu",
            "client",
        ],
    ),
    (
        "filetest",
        &[
            "base",
            "hlo",
            "diff",
            "hlo-proto",
            "stablehlo",
            "interpreter",
            "passes",
            "spmd",
            "kernel",
            "emit",
            "cpu",
            "client",
        ],
    ),
];

/// Lines of a file, tests included, beyond which it has to be cut. 300 is what we aim at.
const LONGEST: usize = 1000;

/// Files that a program writes.
const GENERATED: &[&str] = &["crates/pjrt/src/ffi.rs"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path)
        .unwrap_or_else(|error| panic!("cannot read {}: {error}", path.display()))
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let found = std::fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("cannot list {}: {error}", folder.display()));
    let mut found: Vec<PathBuf> = found.flatten().map(|entry| entry.path()).collect();
    found.sort();
    found
}

/// All Rust files below a folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut out = Vec::new();
    for path in entries(folder) {
        if path.is_dir() {
            out.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            out.push(path);
        }
    }
    out
}

fn name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn crates() -> Vec<PathBuf> {
    entries(&root().join("crates"))
        .into_iter()
        .filter(|path| path.join("Cargo.toml").exists())
        .collect()
}

/// The workspace's crates that a manifest's section names.
fn workspace_dependencies(manifest: &str, section: &str) -> Vec<String> {
    let lines = manifest.lines().skip_while(|line| *line != section).skip(1);
    lines
        .take_while(|line| !line.starts_with('['))
        .filter_map(|line| line.split(['.', ' ', '=']).next())
        .filter_map(|dependency| match dependency {
            "rxla" => Some("client".to_owned()),
            other => other.strip_prefix("rxla-").map(str::to_owned),
        })
        .collect()
}

#[test]
fn crates_know_only_what_they_may() {
    let mut wrong = Vec::new();
    for path in crates() {
        let name = name(&path);
        let Some((_, allowed)) = EDGES.iter().find(|(known, _)| *known == name) else {
            wrong.push(format!("`{name}` is not in the table of crates"));
            continue;
        };
        let manifest = read(&path.join("Cargo.toml"));
        for dependency in workspace_dependencies(&manifest, "[dependencies]") {
            if !allowed.contains(&dependency.as_str()) {
                wrong.push(format!("`{name}` may not depend on `{dependency}`"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn dependencies_are_found_in_manifests() {
    let manifest = "[package]\nname = \"x\"\n\n[dependencies]\nrxla-hlo.workspace = true\nhalf = \"2\"\n\
                    rxla = { path = \"..\" }\n\n[dev-dependencies]\nrxla-cpu.workspace = true\n";
    assert_eq!(workspace_dependencies(manifest, "[dependencies]"), ["hlo", "client"]);
    assert_eq!(workspace_dependencies(manifest, "[dev-dependencies]"), ["cpu"]);
}

#[test]
fn files_say_what_they_are_for_and_stay_short() {
    let mut wrong = Vec::new();
    for path in crates().iter().flat_map(|path| sources(&path.join("src"))) {
        let relative = path.strip_prefix(root()).unwrap_or(&path).display().to_string();
        if GENERATED.contains(&relative.as_str()) {
            continue;
        }
        let text = read(&path);
        if !text.starts_with("//!") && name(&path) != "tests.rs" {
            wrong.push(format!("{relative} does not begin with `//!`"));
        }
        let lines = text.lines().count();
        if lines > LONGEST {
            wrong.push(format!("{relative} has {lines} lines, more than {LONGEST}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The types in the registry with the paths of their modules: `simplify::hlo_dce::HloDce`.
fn registered() -> Vec<(PathBuf, String)> {
    let registry = read(&root().join("crates/passes/src/registry.rs"));
    let body = registry.split("pub const ALL").nth(1).and_then(|rest| rest.split("];").next());
    let lines = body.expect("the registry has a list").lines();
    lines
        .filter_map(|line| line.trim().strip_prefix('&'))
        .filter_map(|entry| entry.split([',', '(', '{']).next())
        .filter_map(|entry| entry.trim().strip_suffix("::DEFAULT").or(Some(entry.trim())))
        .filter_map(|entry| entry.rsplit_once("::"))
        .map(|(module, pass)| (module.split("::").collect(), pass.to_owned()))
        .collect()
}

#[test]
fn passes_have_a_line_a_file_and_tests() {
    let src = root().join("crates/passes/src");
    let mut wrong = Vec::new();
    let mut listed = BTreeSet::new();
    for (module, pass) in registered() {
        let file = src.join(module.with_extension("rs"));
        let file = if file.exists() { file } else { src.join(module).join("mod.rs") };
        if !file.exists() || !read(&file).contains(&format!("impl Pass for {pass} ")) {
            wrong.push(format!("`{pass}` of the registry is not in {}", file.display()));
        }
        listed.insert((file, pass));
    }
    assert_eq!(listed.len(), rxla_passes::ALL.len(), "one line for each pass in the registry");
    for file in sources(&src) {
        let text = read(&file);
        // Passes of tests stand after the first `cfg(test)`.
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        for pass in code.split("impl Pass for ").skip(1) {
            let pass = pass.split([' ', '{']).next().unwrap_or_default().to_owned();
            if !listed.contains(&(file.clone(), pass.clone())) {
                wrong.push(format!("`{pass}` of {} is not in the registry", file.display()));
            }
        }
    }
    let tests = root().join("tests/hlo/passes");
    for pass in rxla_passes::ALL {
        if rxla_filetest::files(&tests.join(pass.name())).is_empty() {
            wrong.push(format!("`{}` has no tests in tests/hlo/passes", pass.name()));
        }
    }
    for folder in entries(&tests) {
        if rxla_passes::lookup(&name(&folder)).is_none() {
            wrong.push(format!("{} belongs to no pass", folder.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The first paragraph of a file's `//!`, on one line.
fn purpose(file: &Path) -> String {
    let text = read(file);
    let lines = text.lines().map_while(|line| line.strip_prefix("//!")).map(str::trim);
    lines.take_while(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}

/// What `docs/passes.md` says.
fn page_of_passes() -> String {
    let src = root().join("crates/passes/src");
    let mut out = String::from(
        "# Passes and pipelines\n\nWritten by `RXLA_BLESS=1 cargo test -p rxla-filetest --test tidy` from \
         `crates/passes/src`; do not edit.\n\n",
    );
    for (pass, (module, _)) in rxla_passes::ALL.iter().zip(registered()) {
        let file = src.join(module.with_extension("rs"));
        let file = if file.exists() { file } else { src.join(module).join("mod.rs") };
        out.push_str(&format!("- {}\n", purpose(&file)));
        assert!(
            purpose(&file).starts_with(&format!("`{}`", pass.name())),
            "{} does not begin with the pass's name",
            file.display()
        );
    }
    for pipeline in rxla_passes::PIPELINES {
        out.push_str(&format!("\n## Pipeline `{}`\n\n{}.\n\n```\n", pipeline.name, pipeline.about));
        out.push_str(&(pipeline.build)().describe());
        out.push_str("```\n");
    }
    out.push_str("\n## What has to stand before what\n\n| before | after | why |\n|---|---|---|\n");
    for order in rxla_passes::pipeline::ORDER {
        out.push_str(&format!("| {} | {} | {} |\n", order.before, order.after, order.why));
    }
    out
}

#[test]
fn the_page_of_passes_is_fresh() {
    let path = root().join("docs/passes.md");
    let expected = page_of_passes();
    if std::env::var_os("RXLA_BLESS").is_some_and(|value| value == "1") {
        std::fs::write(&path, &expected).expect("docs can be written");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == expected,
        "docs/passes.md is not what the sources say: run RXLA_BLESS=1 cargo test -p rxla-filetest \
         --test tidy\n{}",
        rxla_filetest::difference(&found, &expected)
    );
}

#[test]
fn every_pipeline_has_tests() {
    for pipeline in rxla_passes::PIPELINES {
        let tests = root().join("tests/hlo/pipeline").join(pipeline.name);
        assert!(!rxla_filetest::files(&tests).is_empty(), "no tests in {}", tests.display());
    }
}

#[test]
fn the_map_names_every_crate_and_only_what_is_there() {
    let map = read(&root().join("ARCHITECTURE.md"));
    let mut wrong = Vec::new();
    for path in crates() {
        let relative = format!("crates/{}", name(&path));
        if !map.contains(&format!("`{relative}`")) {
            wrong.push(format!("ARCHITECTURE.md does not say what `{relative}` is"));
        }
    }
    wrong.extend(missing_paths("ARCHITECTURE.md", &map));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn recipes_name_only_what_is_there() {
    let mut wrong = Vec::new();
    for path in entries(&root().join("docs")) {
        if path.extension().is_some_and(|extension| extension == "md") {
            wrong.extend(missing_paths(&name(&path), &read(&path)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What stands in backquotes and begins with a folder of the repository has to exist.
fn missing_paths(file: &str, text: &str) -> Vec<String> {
    let folders = ["crates/", "tests/", "docs/", "tools/", "python/", "examples/"];
    // Code in fences is no list of paths.
    let prose: String = text.split("```").step_by(2).collect();
    let quoted = prose.split('`').skip(1).step_by(2);
    quoted
        .filter(|quoted| folders.iter().any(|folder| quoted.starts_with(folder)))
        .filter(|quoted| !quoted.contains(['*', '<', ' ', '…']))
        .filter(|quoted| !root().join(quoted.split(':').next().unwrap_or_default()).exists())
        .map(|quoted| format!("{file} names `{quoted}`, which is not there"))
        .collect()
}
