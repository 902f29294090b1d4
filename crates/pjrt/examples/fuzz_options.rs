//! Compiles a small program with mutated compile options, as a framework would through the C API, and
//! loads mutated serialized executables: `fuzz_options [--seconds N] [--seed N]`. Seeds are the options
//! in `tests/options`, which JAX wrote. A panic in the plugin comes back as INTERNAL, which is a
//! finding, as is a call that takes longer than a second; what caused it is saved as
//! `fuzz_options_finding.N`.

#![allow(clippy::print_stdout, reason = "a program for the terminal")]
#![allow(unsafe_code, reason = "it calls the C API")]

use std::ffi::c_char;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

const PROGRAM: &[u8] = b"module attributes {mhlo.num_partitions = 1 : i32} {
  func.func public @main(%a: tensor<4x6xf32>) -> (tensor<4x6xf32>) {
    %0 = stablehlo.add %a, %a : tensor<4x6xf32>
    return %0 : tensor<4x6xf32>
  }
}";

/// PJRT's number of INTERNAL.
const INTERNAL: usize = 13;

/// Calls a function of the table with the words of its argument struct behind the struct's size. If it
/// returns an error, its code is returned and the error destroyed.
macro_rules! call {
    ($name:ident($words:expr)) => {{
        let words: &mut [usize] = &mut $words;
        words[0] = size_of_val(words);
        let arguments = words.as_mut_ptr();
        // SAFETY: the table lives as long as the program, and the words are the function's arguments.
        unsafe {
            let api = &*rxla_pjrt::GetPjrtApi();
            let error = api.$name.expect("the function is there")(arguments.cast());
            if error.is_null() {
                None
            } else {
                let mut code = [32, 0, error.expose_provenance(), 0];
                let get_code = api.PJRT_Error_GetCode.expect("the function is there");
                get_code(code.as_mut_ptr().cast());
                let mut destroy = [24, 0, error.expose_provenance()];
                let free = api.PJRT_Error_Destroy.expect("the function is there");
                free(destroy.as_mut_ptr().cast());
                Some(code[3] & 0xffff_ffff)
            }
        }
    }};
}

fn main() -> ExitCode {
    let number = |flag: &str, otherwise: u64| {
        let mut arguments = std::env::args().skip_while(|argument| argument != flag).skip(1);
        arguments.next().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
    };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/options");
    let mut paths: Vec<_> = std::fs::read_dir(&folder)
        .expect("the seeds are there")
        .map(|entry| entry.expect("the folder can be read").path())
        .collect();
    paths.sort();
    let seeds: Vec<_> =
        paths.iter().map(|path| std::fs::read(path).expect("a seed can be read")).collect();
    // The whole trace of every panic would be too much.
    std::panic::set_hook(Box::new(|panic| println!("{panic}")));
    // Options may name folders to write to, such as that of dumps: they are made where nothing else is.
    let here = std::env::current_dir().expect("the current folder is there");
    let scratch = std::env::temp_dir().join(format!("rxla-fuzz-{}", std::process::id()));
    std::fs::create_dir_all(&scratch).expect("a folder can be made");
    std::env::set_current_dir(&scratch).expect("it can be gone to");
    let client = client();
    let envelope = serialize(compile(client, PROGRAM, &[]).expect("the program compiles"));
    let mut random = Random(number("--seed", 1));
    let end = Instant::now() + Duration::from_secs(number("--seconds", 10));
    let (mut runs, mut accepted, mut findings) = (0u64, 0u64, 0u32);
    let mut slowest = Duration::ZERO;
    while Instant::now() < end {
        runs += 1;
        let from_disk = random.below(4) == 0;
        let seed = if from_disk { &envelope } else { &seeds[random.below(seeds.len())] };
        let input = mutate(seed, &seeds, &mut random);
        let began = Instant::now();
        let outcome =
            if from_disk { load(client, &input) } else { compile(client, PROGRAM, &input) };
        let took = began.elapsed();
        slowest = slowest.max(took);
        let bad = match outcome {
            Ok(loaded) => {
                accepted += 1;
                let mut assignment = [0, 0, loaded, 0, 0, 0, 0];
                let failed = call!(PJRT_LoadedExecutable_GetDeviceAssignment(assignment)).is_some();
                if !failed {
                    // SAFETY: the deleter that came with the bytes.
                    unsafe {
                        let free: unsafe extern "C" fn(usize) = std::mem::transmute(assignment[6]);
                        free(assignment[5]);
                    }
                }
                failed | call!(PJRT_LoadedExecutable_Destroy([0, 0, loaded])).is_some()
            }
            Err(code) => code == INTERNAL,
        };
        if bad || took > Duration::from_secs(1) {
            findings += 1;
            std::fs::write(here.join(format!("fuzz_options_finding.{findings}")), &input)
                .expect("the finding can be written");
            println!("finding {findings} after {took:?}, {} bytes", input.len());
        }
    }
    std::fs::remove_dir_all(&scratch).expect("the folder can be removed");
    println!("{runs} inputs, {accepted} accepted, slowest {slowest:?}, {findings} findings");
    if findings == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn client() -> usize {
    let mut arguments = [0; 11];
    assert_eq!(call!(PJRT_Client_Create(arguments)), None, "a client can be made");
    arguments[8]
}

fn compile(client: usize, code: &[u8], options: &[u8]) -> Result<usize, usize> {
    let format = "mlir";
    let address = |bytes: &[u8]| bytes.as_ptr().cast::<c_char>().expose_provenance();
    let program = [48, 0, address(code), code.len(), address(format.as_bytes()), format.len()];
    let program = program.as_ptr().expose_provenance();
    let mut arguments = [0, 0, client, program, address(options), options.len(), 0];
    call!(PJRT_Client_Compile(arguments)).map_or(Ok(arguments[6]), Err)
}

/// The bytes of an executable as a framework keeps them on disk.
fn serialize(loaded: usize) -> Vec<u8> {
    let mut get = [0, 0, loaded, 0];
    assert_eq!(call!(PJRT_LoadedExecutable_GetExecutable(get)), None);
    let mut arguments = [0, 0, get[3], 0, 0, 0, 0];
    assert_eq!(call!(PJRT_Executable_Serialize(arguments)), None);
    // SAFETY: the plugin's bytes, which live until they are freed, and they never are.
    unsafe {
        let bytes = std::ptr::with_exposed_provenance::<u8>(arguments[3]);
        std::slice::from_raw_parts(bytes, arguments[4]).to_vec()
    }
}

fn load(client: usize, bytes: &[u8]) -> Result<usize, usize> {
    let mut arguments = [0, 0, client, bytes.as_ptr().expose_provenance(), bytes.len(), 0, 0, 0, 0];
    call!(PJRT_Executable_DeserializeAndLoad(arguments)).map_or(Ok(arguments[5]), Err)
}

/// Xorshift.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit.max(1) as u64) as usize
    }
}

fn mutate(seed: &[u8], seeds: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut input = seed.to_vec();
    for _ in 0..=random.below(4) {
        let length = input.len();
        if length == 0 {
            break;
        }
        let at = random.below(length);
        match random.below(8) {
            0 => input[at] ^= 1 << random.below(8),
            1 => input[at] = random.below(256) as u8,
            // Small steps move field numbers, lengths and counts to their neighbours.
            2 => input[at] = input[at].wrapping_add(1),
            3 => input[at] = input[at].wrapping_sub(1),
            4 => {
                let huge = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f];
                input.splice(at..=at, huge);
            }
            5 => input.truncate(at),
            6 => {
                let other = &seeds[random.below(seeds.len())];
                let from = random.below(other.len());
                let to = (from + 1 + random.below(60)).min(other.len());
                let end = (at + random.below(40)).min(length);
                input.splice(at..end, other[from..to].iter().copied());
            }
            _ => {
                let end = (at + 1 + random.below(16)).min(length);
                let piece = input[at..end].to_vec();
                input.splice(at..at, piece);
            }
        }
    }
    input
}
