//! `rxla bisect` finds faults that are planted, unaided, and shrinks what shows them.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A program with something for each fault to go wrong in, and much that has nothing to do with it.
const PROGRAM: &str = r#"HloModule model

add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT sum = f32[] add(a, b)
}

larger {
  c = f32[] parameter(0)
  d = f32[] parameter(1)
  ROOT max = f32[] maximum(c, d)
}

condition {
  state = (s32[], f32[19,19]) parameter(0)
  round = s32[] get-tuple-element(state), index=0
  rounds = s32[] constant(3)
  ROOT goes-on = pred[] compare(round, rounds), direction=LT
}

body {
  state.1 = (s32[], f32[19,19]) parameter(0)
  round.1 = s32[] get-tuple-element(state.1), index=0
  one = s32[] constant(1)
  next = s32[] add(round.1, one)
  h = f32[19,19] get-tuple-element(state.1), index=1
  grown = f32[19,19] sine(h)
  ROOT state.2 = (s32[], f32[19,19]) tuple(next, grown)
}

ENTRY main {
  x = f32[19,19] parameter(0)
  w = f32[19,19] parameter(1)
  zero = f32[] constant(0)
  zeros = f32[19,19] broadcast(zero), dimensions={}
  hidden = f32[19,19] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  active = f32[19,19] maximum(hidden, zeros)
  second = f32[19,19] dot(active, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  third = f32[19,19] dot(second, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  fourth = f32[19,19] dot(third, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  fifth = f32[19,19] dot(fourth, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  start = s32[] constant(0)
  initial = (s32[], f32[19,19]) tuple(start, fifth)
  loop = (s32[], f32[19,19]) while(initial), condition=condition, body=body
  last = f32[19,19] get-tuple-element(loop), index=1
  shifted = f32[19,19] add(last, x)
  rows = f32[19] reduce(shifted, zero), dimensions={1}, to_apply=add
  wide = f32[19,19] broadcast(rows), dimensions={0}
  scaled = f32[19,19] multiply(wide, active)
  turned = f32[19,19] transpose(scaled), dimensions={1,0}
  ROOT result = f32[19,19] add(turned, second)
}
"#;

struct Found {
    said: String,
    /// Instructions of the smallest module.
    instructions: usize,
    minimal: String,
}

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("rxla-bisect-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("made");
    folder
}

fn bisect(folder: &Path, program: &str, flags: &str) -> Found {
    let file = folder.join("model.txt");
    std::fs::write(&file, program).expect("written");
    let done = Command::new(env!("CARGO_BIN_EXE_rxla"))
        .args(["bisect", "--output"])
        .arg(folder.join("out"))
        .arg(&file)
        .env("RXLA_FLAGS", flags)
        .env_remove("XLA_FLAGS")
        .output()
        .expect("runs");
    let said =
        String::from_utf8_lossy(&done.stdout).into_owned() + &String::from_utf8_lossy(&done.stderr);
    let minimal = std::fs::read_to_string(folder.join("out/minimal.txt")).unwrap_or_default();
    let instructions = minimal.lines().filter(|line| line.contains(" = ")).count();
    Found { said, instructions, minimal }
}

/// What it finds has to be small, name its reason, and be what the fault is about.
fn finds(plant: &str, reason: &str, about: &str) {
    let folder = folder(plant);
    let found = bisect(&folder, PROGRAM, &format!("--rxla_plant={plant}"));
    let Found { said, instructions, minimal } = &found;
    assert!(said.contains("compiled code differs"), "{said}");
    assert_eq!(said.matches(reason).count(), 2, "before and after it is reduced: {said}");
    assert!((1..=10).contains(instructions), "{instructions} instructions: {said}");
    assert!(minimal.contains(about), "{said}");
    std::fs::remove_dir_all(&folder).expect("removed");
}

#[test]
fn a_broken_rewrite_rule_is_found() {
    finds(
        "rule",
        "which is by `algsimp`; right with `--xla_disable_hlo_passes=algsimp`",
        "maximum(",
    );
}

#[test]
fn a_wrong_schedule_is_found() {
    finds("schedule", "right with `--rxla_vectorize=false`", "reduce(");
}

#[test]
fn a_buffer_that_is_reused_too_early_is_found() {
    finds("reuse", "right with `--rxla_share_buffers=false`", "dot(");
}

#[test]
fn what_is_right_is_said_to_be_right() {
    let folder = folder("none");
    let found = bisect(&folder, PROGRAM, "");
    assert_eq!(found.said, "compiled code agrees with the interpreter\n");
    assert_eq!(found.minimal, "");
    std::fs::remove_dir_all(&folder).expect("removed");
}

/// Of numbers from -1 to 1 all that it computes is NaN: then others are made up.
const ROOTS: &str = r#"HloModule roots

FileNames
1 "model.py"

FunctionNames
1 "loss"

FileLocations
1 {file_name_id=1 function_name_id=1 line=7 end_line=7 column=3 end_column=9}

StackFrames
1 {file_location_id=1 parent_frame_id=1}

add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT sum = f32[] add(a, b)
}

ENTRY main {
  x = f32[50] parameter(0)
  roots = f32[50] sqrt(x)
  zero = f32[] constant(0)
  total = f32[] reduce(roots, zero), dimensions={0}, to_apply=add
  ROOT result = f32[] maximum(total, zero), metadata={stack_frame_id=1}
}
"#;

#[test]
fn results_of_nan_are_not_taken_for_right() {
    let folder = folder("roots");
    let found = bisect(&folder, ROOTS, "--rxla_plant=rule");
    let place = "maximum(total.1, zero.1), metadata={source_file=\"model.py\" source_line=7";
    assert!(found.minimal.replace('%', "").contains(place), "{}", found.minimal);
    assert!(!found.minimal.contains("FileNames"), "{}", found.minimal);
    let hopeless = ROOTS.replace("sqrt(x)", "log(minus)").replace(
        "  roots",
        "  square = f32[50] multiply(x, x)\n  minus = f32[50] negate(square)\n  roots",
    );
    let found = bisect(&folder, &hopeless, "--rxla_plant=rule");
    assert!(found.said.contains("no finite number to compare"), "{}", found.said);
    assert!(found.said.contains("--input"), "{}", found.said);
    std::fs::remove_dir_all(&folder).expect("removed");
}

/// Its result follows from the last bits of exponentials.
const SENSITIVE: &str = r#"HloModule sensitive

ENTRY main {
  x = f32[1000] parameter(0)
  zero = f32[] constant(0)
  zeros = f32[1000] broadcast(zero), dimensions={}
  positive = f32[1000] maximum(x, zeros)
  grown = f32[1000] exponential(positive)
  much = f32[] constant(1e7)
  factor = f32[1000] broadcast(much), dimensions={}
  large = f32[1000] multiply(grown, factor)
  ROOT result = f32[1000] sine(large)
}
"#;

#[test]
fn rounding_is_not_taken_for_a_fault() {
    let folder = folder("sensitive");
    let found = bisect(&folder, SENSITIVE, "");
    assert!(found.said.contains("rounding alone may do this"), "{}", found.said);
    assert!(found.said.contains("differs by more than rounding explains"), "{}", found.said);
    assert_eq!(found.minimal, "");
    // A fault in it is found all the same.
    let found = bisect(&folder, SENSITIVE, "--rxla_plant=rule");
    assert!(found.said.contains("which is by `algsimp`"), "{}", found.said);
    assert!(found.minimal.contains("maximum("), "{}", found.said);
    assert!(found.instructions <= 4, "{}", found.said);
    std::fs::remove_dir_all(&folder).expect("removed");
}
