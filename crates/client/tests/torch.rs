//! Programs as PyTorch/XLA writes them (see `tools/torch_programs.py`) and as its tests do, on both backends.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rxla::hlo::{ArrayLiteral, ArrayShape, ElementType, Literal, Shape};
use rxla::{
    Client, ClientOptions, CompileOptions, ExecuteOptions, Format, Parameter, ReadOptions,
    backends, read_module,
};
use rxla_interpreter::{Options, evaluate};
use zip::ZipArchive;

/// Numbers that differ from element to element and from argument to argument, the same each time:
/// fractions above zero for floats, small ones for integers, which may be indices.
fn argument(number: usize, shape: &Shape) -> Literal {
    let array = shape.as_array().expect("arguments are arrays");
    let count: i64 = array.dims.iter().product();
    let text = format!(
        "HloModule numbers
ENTRY main {{
  i = u32[{count}] iota(), iota_dimension=0
  k = u32[] constant({})
  ks = u32[{count}] broadcast(k), dimensions={{}}
  spread = u32[{count}] multiply(i, ks)
  bits = u32[] constant(1021)
  bound = u32[{count}] broadcast(bits), dimensions={{}}
  small = u32[{count}] remainder(spread, bound)
  one = u32[] constant(1)
  ones = u32[{count}] broadcast(one), dimensions={{}}
  next = u32[{count}] add(small, ones)
  {}
  ROOT shaped = {shape} reshape(value)
}}",
        2_654_435_761_u32.wrapping_add(2 * number as u32),
        value(array, count),
    );
    let module = read_module(Format::HloText, text.as_bytes(), ReadOptions::default()).unwrap();
    evaluate(&module, Vec::new(), &Options::default()).unwrap()
}

/// The instruction `value` made of `small`, whose numbers are below 1021, or of `next`, one more.
fn value(array: &ArrayShape, count: i64) -> String {
    let element = array.element_type;
    let scalar = |value: &str| {
        format!(
            "s = {element}[] constant({value})\n  ss = {element}[{count}] broadcast(s), dimensions={{}}"
        )
    };
    match element {
        element if element == ElementType::Pred || element.is_complex() => {
            format!("value = {element}[{count}] convert(small)")
        }
        element if element.is_float() => format!(
            "wide = {element}[{count}] convert(next)\n  {}\n  value = {element}[{count}] divide(wide, ss)",
            scalar("1021")
        ),
        _ => format!(
            "wide = {element}[{count}] convert(small)\n  {}\n  value = {element}[{count}] remainder(wide, ss)",
            scalar("3")
        ),
    }
}

/// The largest difference, beside the size of what is compared; infinite for other shapes.
fn difference(found: &Literal, wanted: &Literal) -> f64 {
    let (Literal::Array(found), Literal::Array(wanted)) = (found, wanted) else {
        return if found == wanted { 0.0 } else { f64::INFINITY };
    };
    if found.shape().without_layout() != wanted.shape().without_layout() {
        return f64::INFINITY;
    }
    if found.bytes() == wanted.bytes() {
        return 0.0;
    }
    match found.element_type() {
        ElementType::F32 => {
            let pairs = found.values::<f32>().iter().zip(wanted.values::<f32>());
            // NaN beside NaN is as it should be, and NaN beside a number is infinitely far.
            let distance = |(&found, &wanted): (&f32, &f32)| match (found.is_nan(), wanted.is_nan())
            {
                (true, true) => 0.0,
                (false, false) if found == wanted => 0.0,
                (false, false) => f64::from((found - wanted).abs() / wanted.abs().max(1.0)),
                (_, _) => f64::INFINITY,
            };
            pairs.map(distance).fold(0.0, f64::max)
        }
        ElementType::C64 => {
            let parts = |array: &ArrayLiteral| -> Vec<f32> {
                let words = array.bytes().chunks(4);
                words.map(|word| f32::from_le_bytes(word.try_into().unwrap())).collect()
            };
            let pairs = parts(found).into_iter().zip(parts(wanted));
            pairs.map(|(found, wanted)| f64::from((found - wanted).abs())).fold(0.0, f64::max)
        }
        ElementType::F64 => {
            let pairs = found.values::<f64>().iter().zip(wanted.values::<f64>());
            pairs.map(|(found, wanted)| (found - wanted).abs()).fold(0.0, f64::max)
        }
        // Results of narrow types in these programs are rounded once, but sums in them are not.
        ElementType::F16 | ElementType::Bf16 => {
            let unit = |bytes: &[u8]| i32::from(i16::from_le_bytes([bytes[0], bytes[1]]));
            let pairs = found.bytes().chunks(2).zip(wanted.bytes().chunks(2));
            let most = pairs.map(|(f, w)| (unit(f) - unit(w)).abs()).max().unwrap_or(0);
            if most <= 2 { 0.0 } else { f64::INFINITY }
        }
        _ => f64::INFINITY,
    }
}

/// The outputs of the first device where a program runs on several.
fn run(bytes: &[u8], devices: usize, backend: &str) -> Vec<Literal> {
    let client = client(devices, backend);
    let module = read_module(Format::HloProto, bytes, ReadOptions::default()).unwrap();
    let options = CompileOptions { replicas: devices, ..CompileOptions::default() };
    let program = client.compile(module, options).unwrap();
    assert_eq!(program.executable().backend(), backend);
    let parameters = &program.executable().signature().parameters;
    let arguments: Vec<Vec<_>> = (0..devices)
        .map(|device| {
            let memory = client.devices()[device].default_memory();
            let numbered = parameters.iter().enumerate();
            let literal = |(number, parameter): (usize, &Parameter)| {
                let value = argument(number + device, &parameter.shape);
                client.buffer_in(value, memory).unwrap()
            };
            numbered.map(literal).collect()
        })
        .collect();
    let outputs = program.execute(&arguments, &ExecuteOptions::default()).unwrap();
    assert!(program.executable().signature().tuple_result);
    for (argument, parameter) in arguments[0].iter().zip(parameters) {
        assert_eq!(argument.is_deleted(), parameter.donation != rxla::Donation::Kept);
    }
    outputs[0].iter().map(|output| Arc::clone(output).literal().unwrap()).collect()
}

fn client(devices: usize, backend: &str) -> Client {
    let backends = backends(backend, None).unwrap();
    Client::new(ClientOptions {
        backends,
        device_count: devices,
        memory_limit: 1 << 34,
        ..ClientOptions::default()
    })
    .unwrap()
}

/// Runs a program on both backends, whose results may be so far apart.
fn check(name: &str, bytes: &[u8], devices: usize, apart: f64) {
    let (compiled, plain) = (run(bytes, devices, "cpu"), run(bytes, devices, "interpreter"));
    assert_eq!(compiled.len(), plain.len(), "{name}");
    for (output, (compiled, plain)) in compiled.iter().zip(&plain).enumerate() {
        let difference = difference(compiled, plain);
        assert!(
            difference < apart,
            "output {output} of {name} is {difference} off: {compiled:?} instead of {plain:?}"
        );
    }
}

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data")
}

#[test]
fn both_backends_agree_on_programs_of_torch_xla() {
    let files = fs::read_dir(data().join("torch")).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> = files.filter(|path| path.is_file()).collect();
    paths.sort();
    assert_eq!(paths.len(), 9);
    for path in paths {
        check(&path.display().to_string(), &fs::read(&path).unwrap(), 1, 2e-5);
    }
}

/// Recorded by `tools/torch_record.py`.
#[test]
fn both_backends_agree_on_programs_of_its_own_tests() {
    let file = File::open(data().join("torch_tests.zip")).unwrap();
    let mut archive = ZipArchive::new(file).unwrap();
    assert!(archive.len() > 40);
    for index in 0..archive.len() {
        let mut entry = archive.by_index(index).unwrap();
        let (name, mut bytes) = (entry.name().unwrap().into_owned(), Vec::new());
        entry.read_to_end(&mut bytes).unwrap();
        let devices = name.split('.').next().unwrap().parse().unwrap();
        check(&name, &bytes, devices, 1e-4);
    }
}

#[test]
fn what_cannot_run_names_the_op_and_the_users_line_and_others_run_on() {
    for backend in ["cpu", "interpreter"] {
        let client = client(1, backend);
        let attempt = |name: &str| {
            let bytes = fs::read(data().join("torch").join(name)).unwrap();
            let module = read_module(Format::HloProto, &bytes, ReadOptions::default()).unwrap();
            let program = client.compile(module, CompileOptions::default())?;
            let parameters = program.executable().signature().parameters.iter().enumerate();
            let arguments: Vec<_> = parameters
                .map(|(number, p)| client.buffer(argument(number, &p.shape)).unwrap())
                .collect();
            let outputs = program.run(&arguments)?;
            outputs.iter().map(|output| Arc::clone(output).literal()).collect::<Result<Vec<_>, _>>()
        };
        let error = attempt("wrong/unknown_kernel.pb").unwrap_err();
        assert_eq!(error.code, rxla::Code::Unimplemented);
        let message = error.to_string();
        for part in ["kernel_that_nobody_has", "custom-call", "called from torch_programs.py:"] {
            assert!(message.contains(part), "{message}");
        }
        let error = attempt("wrong/memory_without_end.pb").unwrap_err();
        assert_eq!(error.code, rxla::Code::ResourceExhausted, "{error}");
        assert!(!attempt("transposes.pb").unwrap().is_empty());
    }
}
