//! Programs as PyTorch/XLA writes them (see `tools/torch_programs.py`), on both backends.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use rxla::hlo::{ArrayLiteral, ArrayShape, ElementType, Literal, Shape};
use rxla::{Client, ClientOptions, CompileOptions, Format, ReadOptions, backends, read_module};
use rxla_interpreter::{Options, evaluate};

/// Numbers that differ from element to element and from argument to argument, the same each time:
/// fractions for floats, small ones for integers, which may be indices.
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
  {}
  ROOT shaped = {shape} reshape(value)
}}",
        2_654_435_761_u32.wrapping_add(2 * number as u32),
        value(array, count),
    );
    let module = read_module(Format::HloText, text.as_bytes(), ReadOptions::default()).unwrap();
    evaluate(&module, Vec::new(), &Options::default()).unwrap()
}

/// The instruction `value` made of `small`, whose numbers are below 1021.
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
            "wide = {element}[{count}] convert(small)\n  {}\n  value = {element}[{count}] divide(wide, ss)",
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

fn run(path: &Path, backend: &str) -> Vec<Literal> {
    let client = Client::new(ClientOptions {
        backends: backends(backend, None).unwrap(),
        ..ClientOptions::default()
    })
    .unwrap();
    let bytes = fs::read(path).unwrap();
    let module = read_module(Format::HloProto, &bytes, ReadOptions::default()).unwrap();
    let program = client.compile(module, CompileOptions::default()).unwrap();
    assert_eq!(program.executable().backend(), backend);
    let parameters = &program.executable().signature().parameters;
    let arguments: Vec<_> = parameters
        .iter()
        .enumerate()
        .map(|(number, parameter)| client.buffer(argument(number, &parameter.shape)).unwrap())
        .collect();
    let outputs = program.run(&arguments).unwrap();
    assert!(program.executable().signature().tuple_result);
    for (argument, parameter) in arguments.iter().zip(parameters) {
        assert_eq!(argument.is_deleted(), parameter.donation != rxla::Donation::Kept);
    }
    outputs.iter().map(|output| Arc::clone(output).literal().unwrap()).collect()
}

#[test]
fn both_backends_agree_on_programs_of_torch_xla() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/torch");
    let mut paths: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert_eq!(paths.len(), 8);
    for path in paths {
        let (compiled, plain) = (run(&path, "cpu"), run(&path, "interpreter"));
        assert_eq!(compiled.len(), plain.len(), "{}", path.display());
        assert!(!plain.is_empty());
        for (output, (compiled, plain)) in compiled.iter().zip(&plain).enumerate() {
            let difference = difference(compiled, plain);
            assert!(
                difference < 2e-5,
                "output {output} of {} is {difference} off: {compiled:?} instead of {plain:?}",
                path.display()
            );
        }
    }
}
