//! Differences of texts, for failing tests.

use std::fmt::Write;

use similar::{ChangeTag, TextDiff};

/// The lines that differ, with some round them.
pub fn show(expected: &str, found: &str) -> String {
    let mut out = String::new();
    let diff = TextDiff::from_lines(expected, found);
    for (index, group) in diff.grouped_ops(2).iter().enumerate() {
        if index > 0 {
            out.push_str("  …\n");
        }
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let sign = match change.tag() {
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
                ChangeTag::Equal => ' ',
            };
            _ = writeln!(out, "{sign} {}", change.value().trim_end_matches('\n'));
        }
    }
    out
}
