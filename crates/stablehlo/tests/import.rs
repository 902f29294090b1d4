//! Translation of StableHLO to HLO, by files whose expectations stand in them.
//!
//! Programs in a file stand between lines `// -----`. A program with lines `// hlo: …` is
//! translated, and these lines stand in its HLO text in this order. One with lines `// error: …` is
//! refused, and the message holds them. Every program that checks something with
//! `@check.expect_eq` or `@check.expect_almost_eq` is run by the interpreter, too.

use std::path::Path;
use std::sync::Mutex;

use rxla_base::{Result, Severity, render_all};
use rxla_hlo::literal::{Nans, Tolerance, Zeros, compare};
use rxla_hlo::text::{PrintOptions, print};
use rxla_hlo::{Literal, Module, verify};
use rxla_interpreter::{CustomCallRequest, CustomCalls, Options, evaluate_spmd};
use rxla_stablehlo::import;

#[derive(Default)]
struct Checks(Mutex<Vec<Option<String>>>);

impl CustomCalls for Checks {
    fn call(
        &self,
        request: &CustomCallRequest<'_>,
        operands: Vec<Literal>,
    ) -> Option<Result<Literal>> {
        let absolute = match request.target {
            "check.expect_eq" => 0.0,
            "check.expect_almost_eq" => 1e-4,
            _ => return None,
        };
        let tolerance =
            Tolerance { absolute, zeros: Zeros::AnySign, nans: Nans::AnyNan, ..Tolerance::EXACT };
        let found = compare(&operands[1], &operands[0], tolerance);
        self.0.lock().unwrap().push(found.err().map(|wrong| wrong.to_string()));
        Some(Ok(Literal::Tuple(Vec::new())))
    }
}

fn translate(text: &str) -> Result<Module> {
    let hlo = rxla_stablehlo::to_hlo("test", text.as_bytes(), &import::Options::default())?;
    let findings = verify(&hlo);
    let valid = findings.iter().all(|finding| finding.severity != Severity::Error);
    assert!(valid, "invalid HLO: {}", render_all(&findings, None));
    Ok(hlo)
}

fn run(module: &Module) -> Vec<Option<String>> {
    let checks = std::sync::Arc::new(Checks::default());
    let options = Options { custom_calls: Some(checks.clone()), ..Options::default() };
    let devices = (module.config.replica_count * module.config.num_partitions) as usize;
    evaluate_spmd(module, vec![Vec::new(); devices], &options).unwrap();
    std::mem::take(&mut *checks.0.lock().unwrap())
}

fn expectations<'t>(text: &'t str, mark: &str) -> Vec<&'t str> {
    text.lines().filter_map(|line| line.trim().strip_prefix(mark)).map(str::trim).collect()
}

fn check(name: &str, text: &str) {
    let errors = expectations(text, "// error:");
    let lines = expectations(text, "// hlo:");
    match translate(text) {
        Err(error) => {
            let message = error.to_string();
            assert!(!errors.is_empty(), "{name} is refused: {message}");
            for expected in errors {
                assert!(message.contains(expected), "{name}: no `{expected}` in: {message}");
            }
        }
        Ok(module) => {
            assert!(errors.is_empty(), "{name} is not refused");
            let printed = print(&module, &PrintOptions::default());
            let mut rest = printed.as_str();
            for line in &lines {
                let Some(at) = rest.find(line) else {
                    panic!("{name}: no `{line}` in what is left of:\n{printed}");
                };
                rest = &rest[at + line.len()..];
            }
            if text.contains("@check.") {
                let found = run(&module);
                assert!(!found.is_empty(), "{name}: nothing was checked");
                for wrong in found.into_iter().flatten() {
                    panic!("{name}: {wrong}");
                }
            } else {
                assert!(!lines.is_empty(), "{name} expects nothing");
            }
        }
    }
}

#[test]
fn files() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/stablehlo/import");
    let mut paths: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(!paths.is_empty());
    for path in paths {
        let text = std::fs::read_to_string(&path).unwrap();
        let file = path.file_name().unwrap().to_string_lossy().into_owned();
        for (start, part) in rxla_stablehlo::text::split(&text) {
            let line = text[..start].matches('\n').count() + 1;
            check(&format!("{file}:{line}"), part);
        }
    }
}

/// Bytes changed at random give a translation, or a diagnostic, but nothing worse.
#[test]
fn broken_programs_do_no_harm() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/stablehlo/import");
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as usize % below
    };
    let mut translated = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        for (_, part) in rxla_stablehlo::text::split(&text) {
            for _ in 0..40 {
                let mut bytes = part.as_bytes().to_vec();
                for _ in 0..=random(2) {
                    let at = random(bytes.len());
                    let digit = (at..bytes.len()).find(|&k| bytes[k].is_ascii_digit());
                    match digit {
                        Some(digit) => bytes[digit] = b"0123456789-?"[random(12)],
                        None => bytes[at] = b' ',
                    }
                }
                let Ok(module) = rxla_stablehlo::read(rxla_stablehlo::UNNAMED, &bytes) else {
                    continue;
                };
                translated += usize::from(import(&module, &import::Options::default()).is_ok());
            }
        }
    }
    assert!(translated > 0);
}

#[test]
fn a_finding_points_into_the_text() {
    let text = "func.func @main(%x: tensor<4x6xf32>, %w: tensor<5x3xf32>) -> tensor<4x3xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x6xf32>, tensor<5x3xf32>) -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}";
    let error = translate(text).unwrap_err().to_string();
    assert!(error.contains("--> test:2:8"), "{error}");
    assert!(error.contains("contracting dimension 1 of `f32[4,6]` is 6"), "{error}");
    // What has a location of its own is found by that.
    let located = text
        .replace("tensor<4x3xf32>\n  return", "tensor<4x3xf32> loc(\"model.py\":7:3)\n  return");
    let error = translate(&located).unwrap_err().to_string();
    assert!(error.contains("at model.py:7"), "{error}");
    assert!(!error.contains("-->"), "{error}");
}
