//! Reads the cases in `tests/text/*.hlo` and compares what comes out with what stands there.
//!
//! Cases are parted by lines `// ----- name`. A case is HLO text, then a line `// prints` and the
//! text that is printed, or a line `// fails` and the diagnostics. A line `// options: …` before
//! the text names a style of printing and `row-major`. What is printed must print the same again.
//!
//! With `RXLA_BLESS=1` in the environment the expectations are rewritten.

use std::fmt::Write;
use std::path::Path;

use rxla_base::{Source, render_all};
use rxla_hlo::text::{MissingLayouts, ParseOptions, PrintOptions, parse, print};

struct Case {
    name: String,
    options: Vec<String>,
    input: String,
    expected: String,
}

/// What is on the right of `// prints` or `// fails`, with that line.
fn run(case: &Case) -> String {
    let mut parse_options = ParseOptions::default();
    let mut options = PrintOptions::complete();
    let mut is_fixpoint = true;
    for option in &case.options {
        match &option[..] {
            "row-major" => parse_options.missing_layouts = MissingLayouts::RowMajor,
            "auto-layouts" => parse_options.keep_auto_entry_layouts = true,
            "xla" => options = PrintOptions::default(),
            "short" => options = PrintOptions::short_parsable(),
            "canonical" => options = PrintOptions::canonical(),
            "fingerprint" => options = PrintOptions::fingerprint(),
            "module-fingerprint" => options = PrintOptions::module_fingerprint(),
            "compact" => options.compact_tuple_elements = true,
            "compact-operands" => options.compact_operands = true,
            "no-sugar" => options.async_sugar = false,
            "inline-frames" => options.inline_stack_frames = true,
            "operand-shapes" => options.operand_shapes = true,
            "names-after-braces" => options.name_after_closing_brace = true,
            "small-budget" => parse_options.max_literal_bytes = 1 << 20,
            other => panic!("unknown option `{other}` in case `{}`", case.name),
        }
        // These leave out what is needed to read the text again.
        is_fixpoint &= !matches!(
            &option[..],
            "xla"
                | "canonical"
                | "fingerprint"
                | "module-fingerprint"
                | "compact"
                | "compact-operands"
        );
    }
    match parse(&case.input, &parse_options) {
        Err(diagnostics) => {
            let source = Source { name: "case", text: &case.input };
            format!("// fails\n{}", render_all(&diagnostics, Some(&source)))
        }
        Ok(parsed) => {
            let mut out = "// prints\n".to_owned();
            for warning in &parsed.warnings {
                let _ = writeln!(out, "// warning: {}", warning.message);
                if let Some(hint) = &warning.hint {
                    let _ = writeln!(out, "// hint: {hint}");
                }
            }
            let text = print(&parsed.module, &options);
            if is_fixpoint {
                match parse(&text, &parse_options) {
                    Ok(again) => {
                        let again = print(&again.module, &options);
                        assert_eq!(text, again, "case `{}` is no fixpoint", case.name);
                    }
                    Err(diagnostics) => {
                        let source = Source { name: "printed", text: &text };
                        let found = render_all(&diagnostics, Some(&source));
                        panic!("what case `{}` prints is not read again:\n{found}", case.name);
                    }
                }
            }
            out.push_str(text.trim_end());
            out.push('\n');
            out
        }
    }
}

fn cases(text: &str) -> (String, Vec<Case>) {
    let mut preamble = String::new();
    let mut cases: Vec<Case> = Vec::new();
    let mut in_expected = false;
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("// ----- ") {
            in_expected = false;
            cases.push(Case {
                name: name.to_owned(),
                options: Vec::new(),
                input: String::new(),
                expected: String::new(),
            });
            continue;
        }
        let Some(case) = cases.last_mut() else {
            preamble.push_str(line);
            preamble.push('\n');
            continue;
        };
        in_expected |= line == "// prints" || line == "// fails";
        if let Some(options) = line.strip_prefix("// options: ") {
            case.options = options.split_whitespace().map(str::to_owned).collect();
        } else {
            let part = if in_expected { &mut case.expected } else { &mut case.input };
            part.push_str(line);
            part.push('\n');
        }
    }
    (preamble, cases)
}

fn trimmed(text: &str) -> String {
    text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n").trim_end().to_owned()
}

#[test]
fn cases_print_what_they_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/text");
    let bless = std::env::var_os("RXLA_BLESS").is_some();
    let mut files: Vec<_> =
        std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty(), "no cases in {}", folder.display());
    let mut failures = String::new();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let (mut blessed, cases) = cases(&text);
        assert!(!cases.is_empty(), "no cases in {}", file.display());
        for case in cases {
            let actual = run(&case);
            if !bless && trimmed(&actual) != trimmed(&case.expected) {
                let _ = writeln!(
                    failures,
                    "{}, case `{}`: expected\n{}\ngot\n{}",
                    file.display(),
                    case.name,
                    trimmed(&case.expected),
                    trimmed(&actual)
                );
            }
            let _ = writeln!(blessed, "// ----- {}", case.name);
            if !case.options.is_empty() {
                let _ = writeln!(blessed, "// options: {}", case.options.join(" "));
            }
            let _ = writeln!(blessed, "{}\n{}\n", case.input.trim_end(), trimmed(&actual));
        }
        if bless {
            std::fs::write(&file, blessed).unwrap();
        }
    }
    assert!(failures.is_empty(), "{failures}");
}
