//! Programs that are kept on disk: what a later client finds there gives the same results, and what
//! is damaged there is compiled anew.
#![cfg(feature = "cpu")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rxla::hlo::Literal;
use rxla::{
    Client, ClientOptions, CodeCache, CompileOptions, Donation, Format, ReadOptions, Source,
};

/// Kernels in parallel, a loop, a constant in memory, a donated argument, and one passed through.
const PROGRAM: &str = "
HloModule kept, input_output_alias={ {1}: (1, {}, may-alias) }

sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] add(a, b)
}

below {
  c = (s32[], f32[300,700]) parameter(0)
  i = s32[] get-tuple-element(c), index=0
  n = s32[] constant(5)
  ROOT r = pred[] compare(i, n), direction=LT
}

step {
  c = (s32[], f32[300,700]) parameter(0)
  i = s32[] get-tuple-element(c), index=0
  x = f32[300,700] get-tuple-element(c), index=1
  one = s32[] constant(1)
  next = s32[] add(i, one)
  y = f32[300,700] tanh(x)
  ROOT r = (s32[], f32[300,700]) tuple(next, y)
}

ENTRY main {
  x = f32[300,700] parameter(0)
  y = f32[4] parameter(1)
  zero = s32[] constant(0)
  start = (s32[], f32[300,700]) tuple(zero, x)
  w = (s32[], f32[300,700]) while(start), condition=below, body=step
  z = f32[300,700] get-tuple-element(w), index=1
  f = f32[] constant(0)
  rows = f32[300] reduce(z, f), dimensions={1}, to_apply=sum
  c = f32[4] constant({1, 2, 3, 5})
  u = f32[4] add(y, c)
  ROOT result = (f32[300], f32[4], f32[300,700]) tuple(rows, u, x)
}
";

struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn client(directory: &Path) -> Client {
    let cache = CodeCache::new(directory, 1 << 24);
    let backends = rxla::backends("cpu", Some(cache)).unwrap();
    Client::new(ClientOptions { backends, ..ClientOptions::default() }).unwrap()
}

fn scratch(name: &str) -> Scratch {
    Scratch(std::env::temp_dir().join(format!("rxla-{name}-{}", std::process::id())))
}

fn compile(client: &Client, text: &str) -> rxla::LoadedExecutable {
    let bytes = Arc::from(text.as_bytes());
    let source = Source { format: Format::HloText, options: ReadOptions::default(), bytes };
    let executable = client.compile_source(source, CompileOptions::default()).unwrap();
    client.load(Arc::new(executable)).unwrap()
}

fn results(client: &Client) -> Vec<Literal> {
    let program = compile(client, PROGRAM);
    let executable = program.executable();
    assert_eq!(executable.name(), "kept");
    assert_eq!(executable.signature().parameters[1].donation, Donation::Alias(1));
    assert!(executable.code_size() > 0);
    assert_eq!(executable.module().name, "kept");
    let x: Vec<f32> = (0..300 * 700).map(|i| (i % 1013) as f32 / 500.0 - 1.0).collect();
    let x = client.buffer(Literal::from_values([300, 700], &x)).unwrap();
    let y = client.buffer(Literal::from_values([4], &[1f32, 2.0, 3.0, 4.0])).unwrap();
    let outputs = program.run(&[x, y]).unwrap();
    outputs.iter().map(|output| output.literal().unwrap()).collect()
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let list = |path: &Path| -> Vec<PathBuf> {
        fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
    };
    let mut files: Vec<PathBuf> = list(directory).iter().flat_map(|folder| list(folder)).collect();
    files.sort();
    files
}

#[test]
fn a_kept_program_is_the_program() {
    let scratch = scratch("kept");
    let directory = scratch.0.as_path();
    let first = results(&client(directory));
    let made = files(directory);
    let time = |path: &PathBuf| fs::metadata(path).unwrap().modified().unwrap();
    let times: Vec<_> = made.iter().map(time).collect();
    // Only the program is left, so that it is what answers.
    let largest = made.iter().max_by_key(|path| fs::metadata(path).unwrap().len()).unwrap();
    let program = fs::read(largest).unwrap();
    made.iter().filter(|path| *path != largest).for_each(|path| fs::remove_file(path).unwrap());
    assert_eq!(results(&client(directory)), first);
    assert_eq!(files(directory), [largest.clone()]);
    let index = made.iter().position(|path| path == largest).unwrap();
    assert_eq!(time(largest), times[index]);
    // Another program is not taken for it.
    let other = compile(&client(directory), &PROGRAM.replace("HloModule kept", "HloModule other"));
    assert_eq!(other.executable().name(), "other");
    // Damage is seen, and repaired.
    for at in (0..program.len()).step_by(program.len() / 40) {
        let mut damaged = program.clone();
        damaged[at] ^= 4;
        fs::write(largest, damaged).unwrap();
        assert_eq!(results(&client(directory)), first, "byte {at}");
        assert_eq!(fs::read(largest).unwrap(), program, "byte {at}");
        fs::write(largest, &program[..at]).unwrap();
        assert_eq!(results(&client(directory)), first, "cut at {at}");
    }
}

/// Of a program that is large, which is to say of large constants, only the code is kept.
#[test]
fn large_programs_are_not_kept_whole() {
    let scratch = scratch("large");
    let directory = scratch.0.as_path();
    // Not the other test's program, whose code this process has.
    let program = PROGRAM.replace("tanh", "cosine");
    compile(&client(directory), &format!("{program}/*{}*/", " ".repeat(16 << 20)));
    let code = files(directory);
    assert!(!code.is_empty());
    compile(&client(directory), &program);
    let both = files(directory);
    assert_eq!(both.len(), code.len() + 1);
    assert!(code.iter().all(|file| both.contains(file)));
}
