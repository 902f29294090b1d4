//! `// test: verify`: parser and verifier, whose findings stand as `// error: message` on the line
//! that each points to. Findings about the module as a whole stand as `// module error: message`
//! below the header.

use std::collections::BTreeMap;

use rxla_base::{Diagnostic, Severity, Source};
use rxla_hlo::text::{ParseOptions, parse};
use rxla_hlo::verify_with_spans;

use crate::Case;

const MODULE: &str = "// module error: ";

pub(crate) fn run(case: &Case) -> Result<String, String> {
    // Annotations are comments, so places are those of the file as it is.
    let findings = match parse(&case.input, &ParseOptions::default()) {
        Ok(parsed) => {
            let mut findings = parsed.warnings;
            findings.extend(verify_with_spans(&parsed.module, &parsed.spans));
            findings
        }
        Err(errors) => errors,
    };
    let source = Source { name: "input", text: &case.input };
    let mut by_line: BTreeMap<usize, Vec<&Diagnostic>> = BTreeMap::new();
    for finding in &findings {
        let line =
            finding.labels.first().map_or(0, |(span, _)| source.position(span.start as usize).0);
        by_line.entry(line).or_default().push(finding);
    }
    let mut out = String::new();
    let mut header = true;
    for (index, line) in case.input.lines().enumerate() {
        if line.starts_with(MODULE) {
            continue;
        }
        if header && !line.starts_with("// ") {
            header = false;
            for finding in by_line.get(&0).into_iter().flatten() {
                out.push_str(MODULE);
                out.push_str(&finding.message);
                out.push('\n');
            }
        }
        out.push_str(without_annotation(line));
        for finding in by_line.get(&(index + 1)).into_iter().flatten() {
            let severity = match finding.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
            };
            out.push_str(&format!("  // {severity}: {}", finding.message));
        }
        out.push('\n');
    }
    Ok(out)
}

/// The line as it is without what a finding added.
fn without_annotation(line: &str) -> &str {
    let at = [line.find("  // error: "), line.find("  // warning: ")].into_iter().flatten().min();
    at.map_or(line, |at| &line[..at])
}
