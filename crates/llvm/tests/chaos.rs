//! The disk cache of kernels and programs under attack: processes that compile and check their results are killed while
//! they write, files are damaged under them. No result may be wrong, and none may fail.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode};
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use libtest_mimic::{Arguments, Failed, Trial};
use rxla_kernel::{BinaryOp, Builder, Linkage, Module, Type};
use rxla_llvm::{Cache, Code, Compiler, DiskCache, Options, Target};

const PROGRAMS: u64 = 8;
/// The word that makes this program a writer.
const WRITER: &str = "write-until-killed";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().collect();
    if let [_, word, directory] = &arguments[..]
        && word == WRITER
    {
        loop {
            compile_and_check(Path::new(directory)).expect("a program is right");
        }
    }
    let trials = vec![Trial::test("killed_writers_and_damaged_files", attack)];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn attack() -> Result<(), Failed> {
    let directory = env::temp_dir().join(format!("rxla-cache-chaos-{}", std::process::id()));
    let result = attack_in(&directory);
    let _ = fs::remove_dir_all(&directory);
    result
}

fn attack_in(directory: &Path) -> Result<(), Failed> {
    let mut random = Random(2026);
    let mut writers: Vec<Child> = Vec::new();
    for round in 0..60 {
        while writers.len() < 3 {
            writers.push(Command::new(env::current_exe()?).arg(WRITER).arg(directory).spawn()?);
        }
        sleep(Duration::from_millis(random.below(20)));
        damage(directory, &mut random);
        let victim = random.below(3) as usize;
        if let Some(status) = writers[victim].try_wait()? {
            return Err(format!("a writer ended by itself in round {round}: {status}").into());
        }
        writers[victim].kill()?;
        writers.remove(victim).wait()?;
        if round % 10 == 0 {
            compile_and_check(directory)?;
        }
    }
    for mut writer in writers {
        writer.kill()?;
        writer.wait()?;
    }
    compile_and_check(directory)?;
    // What is damaged is replaced when it is read: once everything was damaged, everything is whole.
    // (Before, kernels of programs that were kept whole may lie damaged, since nobody has read them.)
    damage_all(directory)?;
    compile_and_check(directory)?;
    let whole = objects(directory)?;
    damage_all(directory)?;
    compile_and_check(directory)?;
    let again = objects(directory)?;
    if let Some((path, _)) = whole.iter().find(|file| !again.contains(file)) {
        return Err(format!("{} was not repaired as it was", path.display()).into());
    }
    Ok(())
}

/// The files that the cache keeps, in order.
fn objects(directory: &Path) -> Result<Vec<(PathBuf, Vec<u8>)>, Failed> {
    let mut paths: Vec<PathBuf> =
        files(directory).filter(|path| path.extension().is_some_and(|e| e == "obj")).collect();
    paths.sort();
    paths.into_iter().map(|path| Ok((path.clone(), fs::read(&path)?))).collect()
}

fn damage_all(directory: &Path) -> Result<(), Failed> {
    for (path, _) in objects(directory)? {
        fs::write(path, b"damaged")?;
    }
    Ok(())
}

/// Compiles all programs with nothing in memory, and runs them.
fn compile_and_check(directory: &Path) -> Result<(), Failed> {
    let target = Target::host().map_err(|error| error.to_string())?;
    let compiler = Compiler::new(target, Arc::new(Cache::new(0)));
    let options = Options {
        threads: 1,
        disk: Some(DiskCache::new(directory, 1 << 20)),
        ..Options::default()
    };
    for number in 0..PROGRAMS {
        let code = whole_program(&compiler, &options, number).map_err(|error| error.to_string())?;
        let address = code.function("program").ok_or("the kernel is missing")?;
        // SAFETY: the kernel writes one word to its argument.
        let got = unsafe {
            let kernel: extern "C" fn(*mut u64) = std::mem::transmute(address);
            let mut out = 5;
            kernel(&mut out);
            out
        };
        if got != 5 * (number + 3) + number {
            return Err(format!("program {number} computed {got}").into());
        }
    }
    Ok(())
}

/// The program as an earlier process left it, or compiled and kept. Every other one is compiled each
/// time, so that kernels are read, too.
fn whole_program(compiler: &Compiler, options: &Options, number: u64) -> rxla_base::Result<Code> {
    let disk = options.disk.as_ref().expect("there is a cache");
    let key = compiler.program_key(&[&number.to_le_bytes()]).filter(|_| number % 2 == 0);
    let kept = key.and_then(|key| disk.get(&key));
    if let Some(image) = kept
        && let Some(code) = Code::from_image(&image, &|_| None)?
    {
        return Ok(code);
    }
    let code = compiler.compile(&program(number), options, &|_| None)?;
    if let (Some(key), Some(image)) = (key, code.image()) {
        disk.put(&key, &image);
    }
    Ok(code)
}

fn program(number: u64) -> Module {
    let mut b = Builder::new("program", Linkage::Kernel, None);
    let out = b.parameter(Type::PTR);
    let zero = b.index(0);
    let x = b.load(Type::I64, out, zero);
    let [factor, more] = [number + 3, number].map(|value| b.constant(Type::I64, value));
    let product = b.binary(BinaryOp::Mul, x, factor);
    let sum = b.add(product, more);
    b.store(out, zero, sum);
    Module { functions: vec![b.finish()] }
}

/// Does to some file what a bad disk, a full one, or a careless person would.
fn damage(directory: &Path, random: &mut Random) {
    let files: Vec<PathBuf> = files(directory).collect();
    if files.is_empty() {
        return;
    }
    for _ in 0..3 {
        let path = &files[random.below(files.len() as u64) as usize];
        let Ok(mut bytes) = fs::read(path) else {
            continue;
        };
        match random.below(5) {
            0 => bytes.truncate(random.below(bytes.len() as u64 + 1) as usize),
            1 => bytes.clear(),
            2 if !bytes.is_empty() => {
                let at = random.below(bytes.len() as u64) as usize;
                bytes[at] ^= 1 << random.below(8);
            }
            3 => {
                let other = &files[random.below(files.len() as u64) as usize];
                bytes = fs::read(other).unwrap_or_default();
            }
            _ => {
                let _ = fs::remove_file(path);
                continue;
            }
        }
        let _ = fs::write(path, bytes);
    }
}

fn files(directory: &Path) -> impl Iterator<Item = PathBuf> {
    let list = |path: &Path| fs::read_dir(path).into_iter().flatten().filter_map(Result::ok);
    let files = list(directory).flat_map(move |entry| list(&entry.path()));
    files.map(|entry| entry.path())
}

struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) % bound
    }
}
