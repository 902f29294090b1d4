//! `rxla compile` and the examples of it: programs in C and Rust that call the model of `examples/aot`
//! give the bits that `rxla run` gives.
#![allow(clippy::print_stderr)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/aot")
}

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("rxla-compile-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("made");
    folder
}

fn rxla(folder: &Path, arguments: &[&str]) -> Output {
    command(Path::new(env!("CARGO_BIN_EXE_rxla")), folder, arguments)
}

fn command(program: &Path, folder: &Path, arguments: &[&str]) -> Output {
    Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .env_remove("RXLA_FLAGS")
        .env_remove("XLA_FLAGS")
        .output()
        .expect("runs")
}

fn works(folder: &Path, arguments: &[&str]) {
    let done = rxla(folder, arguments);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

/// Runs a tool; `false`, loudly, if it is not there.
fn tool(folder: &Path, name: &str, arguments: &[&str]) -> bool {
    let Ok(done) = Command::new(name).args(arguments).current_dir(folder).output() else {
        eprintln!("SKIPPED: there is no `{name}`");
        return false;
    };
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    true
}

fn path(file: &str) -> String {
    examples().join(file).to_string_lossy().into_owned()
}

/// The results that `rxla run` gives, as bytes.
fn expected(folder: &Path) -> Vec<u8> {
    let images = std::fs::read(examples().join("images.f32")).expect("there");
    let head = "{'descr': '<f4', 'fortran_order': False, 'shape': (64, 8, 8, 1), }";
    let mut file = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    file.extend(format!("{head:<117}\n").bytes());
    file.extend(images);
    std::fs::write(folder.join("images.npy"), file).expect("written");
    let model = path("digits.jax_export");
    works(folder, &["run", &model, "--input", "images.npy", "--output", "logits.npy"]);
    let logits = std::fs::read(folder.join("logits.npy")).expect("written");
    logits[logits.len() - 64 * 10 * 4..].to_vec()
}

#[test]
fn the_examples_recognise_digits() {
    let folder = folder("digits");
    let model = path("digits.jax_export");
    let expected = expected(&folder);
    works(&folder, &["compile", &model, "-o", "digits.o", "--header", "digits.h"]);
    works(&folder, &["compile", &model, "-o", "libdigits.a"]);
    let (c, rust) = (path("main.c"), path("main.rs"));
    let check = |program: &str| {
        let done = Command::new(folder.join(program))
            .args([path("images.f32"), path("labels.i32"), format!("{program}.f32")])
            .current_dir(&folder)
            .output()
            .expect("runs");
        let said = String::from_utf8_lossy(&done.stdout).into_owned();
        assert!(done.status.success(), "{program}: {done:?}");
        assert_eq!(said, "62 of 64 digits recognised\n", "{program}");
        let logits = std::fs::read(folder.join(format!("{program}.f32"))).expect("written");
        assert!(logits == expected, "{program} has other bits");
    };
    let common = ["-O2", "-Wall", "-Werror", "-I.", &c];
    let linked = |more: &[&str]| tool(&folder, "cc", &[&common[..], more].concat());
    if linked(&["digits.o", "-lm", "-lpthread", "-o", "by_object"]) {
        check("by_object");
        assert!(linked(&["libdigits.a", "-lm", "-lpthread", "-o", "by_library"]));
        check("by_library");
        works(&folder, &["compile", &model, "-o", "libdigits.so"]);
        assert!(linked(&["./libdigits.so", "-Wl,-rpath,$ORIGIN", "-o", "by_shared_library"]));
        check("by_shared_library");
        let library = ["-L.", "-lstatic=digits", "-lm"];
        let options = ["--edition=2024", "-O", &rust, "-o", "by_rust"];
        if tool(&folder, "rustc", &[&options[..], &library[..]].concat()) {
            check("by_rust");
        }
    }
    std::fs::remove_dir_all(&folder).expect("removed");
}

#[test]
fn a_command_that_stands_alone_makes_the_same_object() {
    let folder = folder("alone");
    let model = path("digits.jax_export");
    works(&folder, &["compile", &model, "-o", "digits.o"]);
    let alone = folder.join("bin");
    std::fs::create_dir_all(&alone).expect("made");
    let program = alone.join("rxla");
    std::fs::copy(env!("CARGO_BIN_EXE_rxla"), &program).expect("copied");
    let done = command(&program, &alone, &["compile", &model, "-o", "digits.o"]);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let read = |folder: &Path| std::fs::read(folder.join("digits.o")).expect("written");
    assert!(read(&folder) == read(&alone), "other objects");
    let arguments = ["compile", &*model, "-o", "digits.o", "--runtime", "nothing.a"];
    let done = rxla(&folder, &arguments);
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(
        !done.status.success() && said.contains("cannot read the library `nothing.a`"),
        "{said}"
    );
    std::fs::remove_dir_all(&folder).expect("removed");
}

#[test]
fn names_processors_and_forms() {
    let folder = folder("names");
    std::fs::write(
        folder.join("m.txt"),
        "HloModule m\nENTRY e { x = f32[4] parameter(0) ROOT y = f32[4] add(x, x) }\n",
    )
    .expect("written");
    let compile = |arguments: &[&str]| {
        let done = rxla(&folder, &[&["compile", "m.txt"], arguments].concat());
        (done.status.success(), String::from_utf8_lossy(&done.stderr).into_owned())
    };
    for (output, more, name) in [
        ("2-nets.o", &[][..], "_2_nets"),
        ("libnet.a", &[][..], "net"),
        ("a.o", &["--name", "other", "--target-cpu", "x86-64"][..], "other"),
    ] {
        let (done, said) = compile(&[&["-o", output, "--header", "m.h"], more].concat());
        assert!(done, "{said}");
        let header = std::fs::read_to_string(folder.join("m.h")).expect("written");
        assert!(header.contains(&format!("int {name}_run(")), "{header}");
    }
    for (arguments, word) in [
        (&["-o", "m.exe"][..], "should end in"),
        (&["-o", "m.o", "--name", "a b"][..], "no name in C"),
        (&["-o", "m.o", "--target-cpu", "pdp11"][..], "x86-64-v3"),
    ] {
        let (done, said) = compile(arguments);
        assert!(!done && said.contains(word), "{said}");
    }
    std::fs::remove_dir_all(&folder).expect("removed");
}
