//! Runs the files in `tests/stablehlo/text`: each part (split by `// -----`) is read and must print
//! as told after its line `// prints`, and printing must lose nothing. A part with `// error: …` must
//! be refused on that line with that message. With `RXLA_BLESS` set, expectations are rewritten.

use std::fs;
use std::path::{Path, PathBuf};

use rxla_base::Source;
use rxla_stablehlo::text::{self, Form, Locations, PrintOptions};

const PRINTS: &str = "// prints\n";
const ERROR: &str = "// error: ";

#[test]
fn files() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/stablehlo/text");
    let mut files: Vec<PathBuf> =
        fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty(), "no files in {}", directory.display());
    let mut failures = Vec::new();
    for file in &files {
        let source = fs::read_to_string(file).unwrap();
        let mut blessed = Vec::new();
        for (_, part) in text::split(&source) {
            match check(part) {
                Ok(part) => blessed.push(part),
                Err(message) => {
                    blessed.push(part.to_owned());
                    failures.push(format!("{}: {message}", file.display()));
                }
            }
        }
        let blessed = blessed.join("// -----\n");
        if blessed != source {
            if std::env::var_os("RXLA_BLESS").is_some() {
                fs::write(file, blessed).unwrap();
            } else {
                failures.push(format!("{}: prints something else:\n{blessed}", file.display()));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// The part with the expectation that holds.
fn check(part: &str) -> Result<String, String> {
    if let Some(at) = part.find(ERROR) {
        return check_error(part, at).map(|()| part.to_owned());
    }
    let Some((input, _)) = part.split_once(PRINTS) else {
        return Err("a part has neither `// prints` nor `// error: `".to_owned());
    };
    let parse = |input: &str| {
        text::parse(input).map_err(|diagnostics| {
            rxla_base::render_all(&diagnostics, Some(&Source { name: "input", text: input }))
        })
    };
    let module = parse(input)?;
    let pretty = text::print(&module, PrintOptions::default());
    for form in [Form::Pretty, Form::Generic] {
        for locations in [Locations::Left, Locations::Printed] {
            let options = PrintOptions { form, locations };
            let printed = text::print(&module, options);
            let again = parse(&printed)?;
            if text::print(&again, options) != printed {
                return Err(format!("printed with {options:?}, it prints otherwise next time"));
            }
            if text::print(&again, PrintOptions::default()) != pretty {
                return Err(format!("printing with {options:?} loses something"));
            }
        }
    }
    Ok(format!("{input}{PRINTS}{pretty}"))
}

fn check_error(part: &str, at: usize) -> Result<(), String> {
    let wanted = part[at + ERROR.len()..].lines().next().unwrap_or("");
    let line = part[..at].matches('\n').count();
    let Err(diagnostics) = text::parse(part) else {
        return Err(format!("`{wanted}` is not reported"));
    };
    let [diagnostic] = &diagnostics[..] else {
        return Err(format!("{} errors are reported", diagnostics.len()));
    };
    let start = diagnostic.labels.first().map_or(0, |(span, _)| span.start as usize);
    let found = part[..start].matches('\n').count();
    // What is missing at the end of a part is told behind its last line.
    let at_end = start == part.len();
    if !diagnostic.message.contains(wanted) || found != line && !at_end {
        return Err(format!("found on line {}: {}", found + 1, diagnostic.message));
    }
    Ok(())
}

#[test]
fn depth_is_limited() {
    for (open, close) in [
        ("[", "]"),
        ("tuple<", ">"),
        ("loc(\"a\"(", "))"),
        ("{a = ", "}"),
        ("(", ") -> ()"),
        ("complex<", ">"),
    ] {
        let inner = if open == "complex<" { "f32" } else { "" };
        let deep = |count: usize| format!("{}{inner}{}", open.repeat(count), close.repeat(count));
        let error = text::parse_attribute(&deep(100_000)).unwrap_err();
        assert!(error[0].message.contains("levels deep"), "{open}: {}", error[0].message);
    }
    let nested = |count: usize| {
        format!("{}{}", "\"a.b\"() ({ ".repeat(count), "}) : () -> ()\n".repeat(count))
    };
    assert!(text::parse(&nested(250)).is_ok());
    assert!(text::parse(&nested(100_000)).is_err());
}

#[test]
fn truth_values_may_be_packed() {
    let packed = text::parse_attribute("dense<\"0x0580\"> : tensor<16xi1>").unwrap();
    let mut values = vec![0; 16];
    for index in [0, 2, 15] {
        values[index] = 1;
    }
    assert_eq!(packed.as_dense_elements().unwrap().to_i64s(16), Some(values));
}

#[test]
fn huge_constants_stay_small() {
    let splat = "dense<1.0> : tensor<1000000x1000000x1000xf32>";
    let attribute = text::parse_attribute(splat).unwrap();
    assert_eq!(attribute.as_dense_elements().unwrap().bytes().len(), 4);
    assert!(text::parse_attribute("dense<1> : tensor<9999999999x9999999999xi8>").is_err());
    assert!(text::parse_attribute("dense<[1, 2]> : tensor<4000000000xi8>").is_err());
}

#[test]
fn aliases_cannot_multiply_without_end() {
    for (first, next) in [("#a0 = \"text\"", "[#a{}, #a{}]"), ("!a0 = f32", "tuple<!a{}, !a{}>")] {
        let sigil = &first[..1];
        let mut source = format!("{first}\n");
        for level in 1..60 {
            let body = next.replace("{}", &(level - 1).to_string());
            source.push_str(&format!("{sigil}a{level} = {body}\n"));
        }
        let error = text::parse(&source).unwrap_err();
        assert!(error[0].message.contains("bytes of text"), "{}", error[0].message);
    }
    // Locations may: each is kept and printed once.
    let mut source = "#loc0 = loc(\"text\")\n".to_owned();
    for level in 1..60 {
        let inner = level - 1;
        source.push_str(&format!("#loc{level} = loc(callsite(#loc{inner} at #loc{inner}))\n"));
    }
    source.push_str("module {} loc(#loc59)");
    let module = text::parse(&source).unwrap();
    let options = PrintOptions { locations: Locations::Printed, ..PrintOptions::default() };
    let printed = text::print(&module, options);
    assert_eq!(text::print(&text::parse(&printed).unwrap(), options), printed);
}

#[test]
fn attributes_and_types_print_as_they_are_written() {
    for spelling in [
        "#stablehlo<comparison_direction EQ>",
        "#stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>",
        "#stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 0, \
         input_spatial_dimensions = [], kernel_input_feature_dimension = 0, \
         kernel_output_feature_dimension = 0, kernel_spatial_dimensions = [1], \
         output_batch_dimension = 0, output_feature_dimension = 0, output_spatial_dimensions = []>",
        "#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 1, \
         operand_tuple_indices = []>",
        "#stablehlo.replica_group_mesh_axes<mesh = @m, axes = [#stablehlo.axis_ref<name = \"a\", \
         sub_axis_info = (1)2>]>",
        "#stablehlo.mesh<axes=[<name = \"a\", size = 2>], device_ids=dense<[1, 0]> : tensor<2xi64>>",
        "#sdy<list_of_axis_ref_lists[{\"a\"}, {}]>",
        "#sdy.propagation_edges<[{step-0 = [{\"a\" = operand-0 -> [result-0]}]}]>",
        "#sdy.mesh<[], device_ids=[5]>",
        "#other.thing<\"]\" -> [1]>",
        "dense<[\"a\", \"b\"]> : tensor<2x!stablehlo.token>",
        "array<i1: true, false>",
        "array<f64>",
        "@a::@\"b c\"",
        "18446744073709551615 : ui64",
        "0x7F800000 : f32",
        "affine_map<(d0, d1) -> (d1, d0)>",
        "!stablehlo.future<tensor<2xf32>, tensor<f32>>",
        "!quant.calibrated<f32<-1.000000e+00:1.000000e+00>>",
        "!quant.any<i8<-8:7>:f32>",
        "!quant.uniform<i8:f32:{0:1, 1:2}, {{2.000000e+00:3, 5.000000e-01}, {1.000000e+00, \
         4.000000e+00:1}}>",
        "memref<2x?xf32, strided<[3, 1], offset: ?>, 1 : i64>",
        "vector<[4]x2xf32>",
        "(tensor<f32>) -> (() -> ())",
        "tuple<>",
        "loc(\"a\":1:2 to 3:4)",
    ] {
        let attribute =
            text::parse_attribute(spelling).unwrap_or_else(|e| panic!("{spelling}: {e:?}"));
        assert_eq!(text::print_attribute(&attribute), spelling);
    }
}
