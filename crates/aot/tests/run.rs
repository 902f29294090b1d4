//! Programs compiled ahead of time, linked into programs in C, against the same programs run here: all
//! bits of all results are the same.
#![allow(clippy::print_stderr)]

use std::borrow::Cow;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use rxla_aot::{Compiled, compile};
use rxla_base::{Code, Error};
use rxla_cpu::{Cpu, Options};
use rxla_hlo::literal::Bytes;
use rxla_hlo::text::{ParseOptions, parse};
use rxla_hlo::{ArrayLiteral, ElementType, Literal, Module};
use rxla_interpreter::Options as World;

/// The library with the kernels.
fn library() -> Result<Cow<'static, [u8]>, Error> {
    Ok(Cow::Borrowed(rxla_embed::static_library!("rxla_aot_runtime").expect("built")))
}

fn module(text: &str) -> Arc<Module> {
    let parsed = parse(text, &ParseOptions::default()).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
    let findings = rxla_hlo::verify(&parsed.module);
    assert!(findings.is_empty(), "{findings:?}");
    Arc::new(parsed.module)
}

fn ahead(text: &str, options: &Options) -> Result<Compiled, Error> {
    compile(&module(text), "model", options, library)
}

/// The C compiler; says so where there is none.
fn compiler(name: &str) -> bool {
    let there = Command::new(name).arg("--version").output().is_ok();
    if !there {
        eprintln!("SKIPPED: there is no `{name}` to link a program with");
    }
    there
}

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("rxla-aot-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("made");
    folder
}

/// Numbers between -1 and 1 that look like none in particular; integers of all bits but the highest.
fn values(shape: &rxla_hlo::ArrayShape, seed: u64) -> ArrayLiteral {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u32
    };
    let count = shape.element_count().expect("static");
    let real = |bits: u32| f64::from(bits & 0xffff) / 32768.0 - 1.0;
    let bytes: Vec<u8> = (0..count)
        .flat_map(|_| match shape.element_type {
            ElementType::F32 => (real(next()) as f32).to_le_bytes().to_vec(),
            ElementType::F64 => real(next()).to_le_bytes().to_vec(),
            ElementType::Bf16 => {
                ((real(next()) as f32).to_bits() >> 16).to_le_bytes()[..2].to_vec()
            }
            ElementType::S32 => (next() as i32 % 1000).to_le_bytes().to_vec(),
            other => panic!("no values of type {other:?}"),
        })
        .collect();
    ArrayLiteral::from_bytes(shape, Bytes::copy_of(&bytes).unwrap()).unwrap()
}

/// A program that reads all inputs from a file, runs the model and writes all outputs to another.
fn driver(header: &str, inputs: usize, outputs: usize) -> String {
    let list = |what: &str, count: usize| -> String {
        (0..count).map(|i| format!("MODEL_{what}_{i}_BYTES, ")).collect()
    };
    let mut text = String::new();
    let _ = write!(
        text,
        r#"#include "{header}"
#include <stdio.h>
#include <stdlib.h>
static const size_t in_bytes[] = {{{}0}}, out_bytes[] = {{{}0}};
static void *memory(size_t bytes) {{
  return aligned_alloc(MODEL_ALIGNMENT, (bytes + MODEL_ALIGNMENT) / MODEL_ALIGNMENT * MODEL_ALIGNMENT);
}}
int main(int count, char **arguments) {{
  void *inputs[MODEL_INPUTS + 1], *outputs[MODEL_OUTPUTS + 1], *workspace = memory(MODEL_WORKSPACE_BYTES);
  FILE *file = fopen(arguments[1], "rb");
  for (int i = 0; i < MODEL_INPUTS; i++) {{
    inputs[i] = memory(in_bytes[i]);
    if (fread(inputs[i], 1, in_bytes[i], file) != in_bytes[i]) return 100;
  }}
  fclose(file);
  if (count > 3) model_set_threads(atoi(arguments[3]));
  for (int i = 0; i < MODEL_OUTPUTS; i++) outputs[i] = memory(out_bytes[i]);
  if (model_run((const void *const *)inputs, outputs, (char *)workspace + 1) != MODEL_INVALID_ARGUMENT
      && MODEL_WORKSPACE_BYTES > 0) return 101;
  if (MODEL_INPUTS > 0 && model_run(0, outputs, workspace) != MODEL_INVALID_ARGUMENT) return 102;
  for (int i = 0; i < 2; i++) {{
    int status = model_run((const void *const *)inputs, outputs, workspace);
    if (status != MODEL_OK) return status;
  }}
  file = fopen(arguments[2], "wb");
  for (int i = 0; i < MODEL_OUTPUTS; i++) fwrite(outputs[i], 1, out_bytes[i], file);
  return fclose(file);
}}
"#,
        list("INPUT", inputs),
        list("OUTPUT", outputs)
    );
    text
}

/// Links the object with its driver by what the documentation says, and nothing else.
fn link(folder: &Path, compiler: &str, source: &str) -> PathBuf {
    let program = folder.join("program");
    let done = Command::new(compiler)
        .args(["-Wall", "-Werror", source, "model.o", "-lm", "-lpthread", "-o"])
        .arg(&program)
        .current_dir(folder)
        .output()
        .expect("runs");
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.success(), "{said}");
    program
}

/// What a linked program is loaded with.
fn needed(program: &Path) -> Vec<String> {
    let bytes = std::fs::read(program).expect("linked");
    let file = object::read::elf::ElfFile64::<object::Endianness>::parse(&*bytes).expect("ELF");
    use object::read::elf::{Dyn, FileHeader};
    let endian = object::Endianness::Little;
    let header = file.elf_header();
    let sections = header.sections(endian, &*bytes).expect("sections");
    let (dynamic, link) = sections.dynamic(endian, &*bytes).expect("readable").expect("dynamic");
    let strings = sections.strings(endian, &*bytes, link).expect("strings");
    dynamic
        .iter()
        .filter(|entry| entry.tag32(endian) == Some(object::elf::DT_NEEDED))
        .map(|entry| {
            let name = entry.string(endian, strings).expect("a name");
            String::from_utf8_lossy(name).into_owned()
        })
        .collect()
}

/// Compiles a program both ways for a processor and compares all results.
fn check_for(name: &str, text: &str, cpu: Cpu, most_bytes: usize) {
    if !compiler("cc") {
        return;
    }
    let options = Options { cpu, ..Options::default() };
    let compiled = ahead(text, &options).unwrap_or_else(|error| panic!("{name}: {error}"));
    let module = module(text);
    let shapes =
        module[module.entry()].parameters().iter().map(|&parameter| &module[parameter].shape);
    let inputs: Vec<Literal> = shapes
        .enumerate()
        .map(|(seed, shape)| {
            Literal::Array(values(shape.as_array().expect("an array"), seed as u64))
        })
        .collect();
    let executable = rxla_cpu::compile(&module, &options).unwrap();
    let expected = executable.run(inputs.clone(), World::default).unwrap();
    let bytes = |literals: &[Literal]| -> Vec<u8> {
        literals.iter().flat_map(|l| l.as_array().unwrap().bytes().to_vec()).collect()
    };

    let folder = folder(name);
    std::fs::write(folder.join("model.o"), &compiled.object).expect("written");
    std::fs::write(folder.join("model.h"), &compiled.header).expect("written");
    let source = driver("model.h", inputs.len(), expected.len());
    std::fs::write(folder.join("main.c"), source).expect("written");
    std::fs::write(folder.join("in"), bytes(&inputs)).expect("written");
    let program = link(&folder, "cc", "main.c");
    for library in needed(&program) {
        let allowed = ["libc.so", "libm.so", "libpthread.so", "ld-linux"];
        assert!(allowed.iter().any(|name| library.starts_with(name)), "{name} needs {library}");
    }
    for threads in ["0", "1", "3"] {
        let done = Command::new(&program)
            .args(["in", "out", threads])
            .current_dir(&folder)
            .status()
            .expect("runs");
        assert_eq!(done.code(), Some(0), "{name} with {threads} threads");
        let found = std::fs::read(folder.join("out")).expect("written");
        assert!(found == bytes(&expected), "{name} with {threads} threads has other bits");
    }
    let size = compiled.object.len();
    // Without optimisation the runtime's part is larger.
    let most_bytes = if cfg!(debug_assertions) { 4 * most_bytes } else { most_bytes };
    assert!(size < most_bytes, "{name} has {size} bytes");
    std::fs::remove_dir_all(&folder).expect("removed");
}

fn check(name: &str, text: &str, most_bytes: usize) {
    check_for(name, text, Cpu::Native, most_bytes);
}

const LARGEST: usize = 1 << 20;

const MLP: &str = "HloModule mlp
  ENTRY e {
    x = f32[64,784] parameter(0)
    w = f32[784,256] parameter(1)
    b = f32[256] parameter(2)
    v = f32[256,10] parameter(3)
    h = f32[64,256] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
    bb = f32[64,256] broadcast(b), dimensions={1}
    s = f32[64,256] add(h, bb)
    t = f32[64,256] tanh(s)
    ROOT y = f32[64,10] dot(t, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  }";

#[test]
fn a_multilayer_perceptron() {
    check("mlp", MLP, LARGEST);
}

#[test]
fn for_other_processors() {
    for cpu in Cpu::ALL {
        let here = match cpu {
            Cpu::Native | Cpu::X86_64 | Cpu::X86_64V2 => true,
            #[cfg(target_arch = "x86_64")]
            Cpu::X86_64V3 => is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"),
            #[cfg(target_arch = "x86_64")]
            Cpu::X86_64V4 => {
                is_x86_feature_detected!("avx512dq") && is_x86_feature_detected!("avx512vl")
            }
            #[cfg(not(target_arch = "x86_64"))]
            Cpu::X86_64V3 | Cpu::X86_64V4 => false,
        };
        if here && (cpu == Cpu::Native || cfg!(target_arch = "x86_64")) {
            check_for(&format!("mlp-{}", cpu.name()), MLP, cpu, LARGEST);
        } else {
            eprintln!("SKIPPED: this machine runs no code for {}", cpu.name());
        }
    }
}

#[test]
fn a_convolutional_net() {
    let text = "HloModule net
      maximum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT m = f32[] maximum(a, b) }
      ENTRY e {
        x = f32[8,28,28,3] parameter(0)
        k = f32[3,3,3,32] parameter(1)
        w = f32[6272,10] parameter(2)
        c = f32[8,28,28,32] convolution(x, k), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f
        lowest = f32[] constant(-inf)
        p = f32[8,14,14,32] reduce-window(c, lowest), window={size=1x2x2x1 stride=1x2x2x1}, to_apply=maximum
        f = f32[8,6272] reshape(p)
        y = f32[8,10] dot(f, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
        ROOT r = (f32[8,10], f32[8,28,28,32]) tuple(y, c)
      }";
    check("net", text, LARGEST);
}

#[test]
fn a_loop_needs_nothing_of_the_runtime() {
    let text = "HloModule loop
      condition { s = (s32[], f32[33]) parameter(0) i = s32[] get-tuple-element(s), index=0
        n = s32[] constant(100) ROOT c = pred[] compare(i, n), direction=LT }
      body { s = (s32[], f32[33]) parameter(0) i = s32[] get-tuple-element(s), index=0
        x = f32[33] get-tuple-element(s), index=1 one = s32[] constant(1) j = s32[] add(i, one)
        y = f32[33] sine(x) z = f32[33] add(y, x) ROOT t = (s32[], f32[33]) tuple(j, z) }
      ENTRY e { x = f32[33] parameter(0) zero = s32[] constant(0) s = (s32[], f32[33]) tuple(zero, x)
        ROOT w = (s32[], f32[33]) while(s), condition=condition, body=body }";
    check("loop", text, 16 << 10);
    let nothing = || Err(Error::internal("nobody should ask"));
    assert!(compile(&module(text), "model", &Options::default(), nothing).is_ok());
}

/// As in memory, they are zero, whichever thread computes them.
#[test]
fn results_too_small_for_normal_numbers() {
    let text = "HloModule small
      ENTRY e {
        x = f32[300000] parameter(0)
        s = f32[] constant(1e-20)
        small = f32[300000] broadcast(s), dimensions={}
        y = f32[300000] multiply(x, small)
        ROOT z = f32[300000] multiply(y, y)
      }";
    check("small", text, LARGEST);
}

#[test]
fn a_sort() {
    let text = "HloModule sorted
      less { a = f32[] parameter(0) b = f32[] parameter(1) p = s32[] parameter(2) q = s32[] parameter(3)
        ROOT c = pred[] compare(a, b), direction=LT }
      ENTRY e { k = f32[50,777] parameter(0) v = s32[50,777] parameter(1)
        ROOT s = (f32[50,777], s32[50,777]) sort(k, v), dimensions={1}, is_stable=true, to_apply=less }";
    check("sort", text, LARGEST);
}

#[test]
fn large_arrays_are_shared_by_threads() {
    let text = "HloModule large
      sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }
      ENTRY e { x = f32[512,1024] parameter(0) y = f32[512,1024] exponential(x) zero = f32[] constant(0)
        s = f32[1024] reduce(y, zero), dimensions={0}, to_apply=sum
        ROOT r = (f32[512,1024], f32[1024]) tuple(y, s) }";
    check("large", text, 256 << 10);
}

#[test]
fn factors_of_matrices() {
    let text = "HloModule factors
      ENTRY e { a = f32[24,40,40] parameter(0) b = f32[24,40,7] parameter(1)
        t = f32[24,40,40] transpose(a), dimensions={0,2,1}
        p = f32[24,40,40] dot(a, t), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}
        c = f32[24,40,40] cholesky(p), lower=true
        x = f32[24,40,7] triangular-solve(c, b), left_side=true, lower=true, unit_diagonal=false, transpose_a=NO_TRANSPOSE
        ROOT r = (f32[24,40,40], f32[24,40,7]) tuple(c, x) }";
    check("factors", text, 3 << 20);
}

#[test]
fn transforms() {
    let text = "HloModule transforms
      ENTRY e { a = f32[16,60] parameter(0)
        f = c64[16,31] fft(a), fft_type=RFFT, fft_length={60}
        ROOT r = f32[16,60] fft(f), fft_type=IRFFT, fft_length={60} }";
    check("transforms", text, 3 << 20);
}

#[test]
fn other_types_of_products() {
    let text = "HloModule products
      ENTRY e { a = bf16[96,96] parameter(0) b = bf16[96,96] parameter(1) c = f64[96,96] parameter(2)
        d = bf16[96,96] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
        f = f64[96,96] cholesky(c), lower=true
        g = f64[96,96] dot(c, c), lhs_contracting_dims={1}, rhs_contracting_dims={1}
        i = s32[96,96] parameter(3)
        j = s32[96,96] dot(i, i), lhs_contracting_dims={1}, rhs_contracting_dims={1}
        ROOT r = (bf16[96,96], f64[96,96], f64[96,96], s32[96,96]) tuple(d, f, g, j) }";
    check("products", text, 3 << 20);
}

#[test]
fn inputs_that_are_outputs() {
    let text = "HloModule same, input_output_alias={ {0}: (0, {}, may-alias) }
      ENTRY e { x = f32[70] parameter(0) y = f32[70] parameter(1) i = s32[] parameter(2)
        v = f32[1] constant({7}) z = f32[70] dynamic-update-slice(x, v, i)
        c = f32[3] constant({1, 2, 3})
        ROOT r = (f32[70], f32[70], f32[3]) tuple(z, y, c) }";
    check("same", text, 64 << 10);
}

#[test]
fn constants_are_data() {
    let numbers: Vec<String> = (0..1000).map(|i| format!("{}", f64::from(i) * 0.37)).collect();
    let text = format!(
        "HloModule constants
        ENTRY e {{ x = f32[1000] parameter(0) c = f32[1000] constant({{{}}})
          ROOT y = f32[1000] multiply(x, c) }}",
        numbers.join(", ")
    );
    check("constants", &text, 64 << 10);
    assert!(ahead(&text, &Options::default()).unwrap().constant_bytes >= 4000);
}

#[test]
fn two_models_and_cpp_in_one_program() {
    if !compiler("c++") {
        return;
    }
    let folder = folder("two");
    for name in ["one", "two"] {
        let compiled = compile(&module(MLP), name, &Options::default(), library).unwrap();
        std::fs::write(folder.join(format!("{name}.o")), compiled.object).expect("written");
        std::fs::write(folder.join(format!("{name}.h")), compiled.header).expect("written");
    }
    let source = "#include \"one.h\"\n#include \"two.h\"\nint main() { one_set_threads(1); two_set_threads(2);\n\
                  return one_run(0, 0, 0) == TWO_INVALID_ARGUMENT && two_run(0, 0, 0) == 3 ? 0 : 1; }\n";
    std::fs::write(folder.join("main.cc"), source).expect("written");
    let done = Command::new("c++")
        .args([
            "-Wall",
            "-Werror",
            "main.cc",
            "one.o",
            "two.o",
            "-lm",
            "-lpthread",
            "-o",
            "program",
        ])
        .current_dir(&folder)
        .output()
        .expect("runs");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    assert!(Command::new(folder.join("program")).status().expect("runs").success());
    std::fs::remove_dir_all(&folder).expect("removed");
}

/// Four threads run the model at once, each with outputs and a workspace of its own, many times.
const AT_ONCE: &str = r#"#include "model.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
static float x[MODEL_INPUT_0_ELEMENTS], w[MODEL_INPUT_1_ELEMENTS], b[MODEL_INPUT_2_ELEMENTS];
static float v[MODEL_INPUT_3_ELEMENTS], first[MODEL_OUTPUT_0_ELEMENTS];
static void *memory(size_t bytes) {
  return aligned_alloc(MODEL_ALIGNMENT, (bytes + MODEL_ALIGNMENT) / MODEL_ALIGNMENT * MODEL_ALIGNMENT);
}
static void *run(void *into) {
  const void *inputs[] = {x, w, b, v};
  void *output = memory(MODEL_OUTPUT_0_BYTES), *workspace = memory(MODEL_WORKSPACE_BYTES);
  void *outputs[] = {output};
  long wrong = 0;
  for (int i = 0; i < (into ? 1 : 50); i++) {
    memset(output, 7, MODEL_OUTPUT_0_BYTES);
    wrong += model_run(inputs, outputs, workspace) != MODEL_OK;
    if (into) memcpy(into, output, MODEL_OUTPUT_0_BYTES);
    wrong += memcmp(output, first, MODEL_OUTPUT_0_BYTES) != 0;
  }
  return (void *)wrong;
}
static void fill(float *to, size_t count) {
  for (size_t i = 0; i < count; i++) to[i] = (float)(i * 7919 % 1000) / 500.0f - 1.0f;
}
int main(void) {
  pthread_t threads[4];
  long wrong = 0;
  fill(x, MODEL_INPUT_0_ELEMENTS);
  fill(w, MODEL_INPUT_1_ELEMENTS);
  fill(b, MODEL_INPUT_2_ELEMENTS);
  fill(v, MODEL_INPUT_3_ELEMENTS);
  model_set_threads(3);
  run(first);
  for (int i = 0; i < 4; i++) pthread_create(&threads[i], 0, run, 0);
  for (int i = 0; i < 4; i++) {
    void *result;
    pthread_join(threads[i], &result);
    wrong += (long)result;
  }
  return wrong != 0;
}
"#;

#[test]
fn runs_may_happen_at_once() {
    if !compiler("cc") {
        return;
    }
    let folder = folder("at-once");
    let compiled = ahead(MLP, &Options::default()).unwrap();
    std::fs::write(folder.join("model.o"), compiled.object).expect("written");
    std::fs::write(folder.join("model.h"), compiled.header).expect("written");
    std::fs::write(folder.join("main.c"), AT_ONCE).expect("written");
    let program = link(&folder, "cc", "main.c");
    assert!(Command::new(program).status().expect("runs").success());
    std::fs::remove_dir_all(&folder).expect("removed");
}

#[test]
fn what_cannot_be_is_refused() {
    let refused = |text: &str, words: &[&str]| {
        let error = ahead(text, &Options::default()).err().unwrap_or_else(|| panic!("{text}"));
        assert_eq!(error.code, Code::Unimplemented, "{error}");
        for word in words {
            assert!(error.message.contains(word), "{error}");
        }
    };
    refused(
        "HloModule m
        ENTRY e { x = f32[2] parameter(0)
          ROOT y = f32[2] custom-call(x), custom_call_target=\"mine\", metadata={op_name=\"jit(f)/mine\" source_file=\"f.py\" source_line=12} }",
        &["custom-call", "`mine`", "f.py:12"],
    );
    refused("HloModule m\n ENTRY e { ROOT t = token[] after-all() }", &["token"]);
    refused(
        "HloModule m, replica_count=2\n ENTRY e { ROOT x = f32[2] parameter(0) }",
        &["2 devices"],
    );
    refused("HloModule m\n ENTRY e { ROOT x = f32[<=4] parameter(0) }", &["dynamic"]);
    let error = compile(&module(MLP), "a-b", &Options::default(), library).err().unwrap();
    assert_eq!(error.code, Code::InvalidArgument);
}
