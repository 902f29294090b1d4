//! The tools that look into a program, on a small one.

use std::path::PathBuf;
use std::process::Command;

const PROGRAM: &str = "HloModule model

ENTRY main {
  x = f32[64,64] parameter(0)
  w = f32[64,64] parameter(1)
  h = f32[64,64] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}, metadata={op_name=\"jit(model)/dot_general\" source_file=\"/home/me/model.py\" source_line=7}
  t = f32[64,64] tanh(h)
  ROOT y = f32[64,64] add(t, x)
}
";

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("rxla-tools-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("made");
    std::fs::write(folder.join("model.txt"), PROGRAM).expect("written");
    folder
}

fn rxla(folder: &PathBuf, flags: &str, arguments: &[&str]) -> String {
    let done = Command::new(env!("CARGO_BIN_EXE_rxla"))
        .args(arguments)
        .current_dir(folder)
        .env("RXLA_FLAGS", flags)
        .env_remove("XLA_FLAGS")
        .output()
        .expect("runs");
    let text =
        String::from_utf8_lossy(&done.stdout).into_owned() + &String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{text}");
    text
}

#[test]
fn fusions_stand_alone() {
    let folder = folder("isolate");
    let said = rxla(&folder, "", &["isolate", "model.txt", "--output", "parts"]);
    assert!(said.contains("model.h.txt  dot_general model.py:7 [h]"), "{said}");
    let mut parts = 0;
    for part in std::fs::read_dir(folder.join("parts")).expect("made") {
        let path = part.expect("readable").path();
        let path = path.to_string_lossy();
        rxla(&folder, "", &["run", &path, "--random-inputs", "1"]);
        parts += 1;
    }
    assert_eq!(parts, 2, "{said}");
    std::fs::remove_dir_all(&folder).expect("removed");
}

#[test]
fn compilations_and_kernels_are_timed() {
    let folder = folder("time");
    let said = rxla(&folder, "", &["profile-compile", "model.txt"]);
    for part in ["  phase", "buffer assignment", "  pass", "algsimp", "kernel through LLVM"] {
        assert!(said.contains(part), "{said}");
    }
    let said = rxla(&folder, "", &["bench", "model.txt", "--seconds", "0.05"]);
    assert!(said.contains("dot_general model.py:7 [h]"), "{said}");
    assert!(said.contains("the machine: "), "{said}");
    std::fs::remove_dir_all(&folder).expect("removed");
}

#[test]
fn flags_dump_and_trace() {
    let folder = folder("flags");
    let flags = "--xla_dump_to=dump --xla_dump_hlo_snapshots --xla_dumb_to=x";
    let arguments = ["run", "model.txt", "--random-inputs", "1", "--trace", "trace.json"];
    let said = rxla(&folder, flags, &arguments);
    assert!(said.contains("did you mean `--xla_dump_to`?"), "{said}");
    let trace = std::fs::read_to_string(folder.join("trace.json")).expect("written");
    assert!(trace.contains("dot_general model.py:7 [h]"), "{trace}");
    let snapshot = std::fs::read_dir(folder.join("dump"))
        .expect("made")
        .map(|entry| entry.expect("readable").path())
        .find(|path| path.to_string_lossy().ends_with("hlo_snapshot.pb"))
        .expect("a snapshot");
    // A snapshot brings its arguments.
    let again = rxla(&folder, "", &["run", &snapshot.to_string_lossy()]);
    assert!(said.contains(&again), "{said}\n{again}");
    std::fs::remove_dir_all(&folder).expect("removed");
}
