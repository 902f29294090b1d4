//! Names that somebody may have meant, and XLA's own options.

use crate::parse::Mistake;
use crate::table::ROWS;
use crate::value::Value;

/// The fields of `DebugOptions` in XLA's `xla.proto`, sorted; what jaxlib calls an invalid Boolean, integer or float if
/// it is any text comes with its type.
const XLA_OPTIONS: &str = include_str!("xla_options.txt");

/// XLA's options, each with its type.
fn xla_options() -> impl Iterator<Item = (&'static str, &'static str)> {
    let typed = XLA_OPTIONS.lines().map(|line| line.split_once(' ').unwrap_or((line, "")));
    typed.chain(OTHER_XLA_FLAGS.iter().map(|&name| (name, "")))
}

/// Flags that XLA takes from the environment beside its options.
const OTHER_XLA_FLAGS: &[&str] =
    &["xla_fuel", "xla_hlo_profile", "xla_test_all_input_layouts", "xla_test_all_output_layouts"];

/// Whether XLA has an option of this name, honoured here or not.
pub fn is_xla_option(name: &str) -> bool {
    xla_options().any(|(known, _)| known == name)
}

/// Whether one of XLA's options can have this value.
pub(crate) fn check_xla_option(name: &str, value: &str) -> Result<(), Mistake> {
    let (_, value_type) = xla_options()
        .find(|(known, _)| *known == name)
        .ok_or_else(|| Mistake::Unknown(nearest(name)))?;
    match value_type {
        "bool" => bool::parse(value).map(drop),
        "integer" => i64::parse(value).map(drop),
        "number" => value.parse::<f64>().map(drop).map_err(|_| "a number".to_owned()),
        _ => Ok(()),
    }
    .map_err(|wanted| Mistake::Value { value_type, wanted })
}

/// Whether a compilation can be given an option of this name.
pub fn is_option(name: &str) -> bool {
    is_xla_option(name) || ROWS.iter().any(|row| row.name == name)
}

/// The known name that is most like this one, if any is like it.
pub fn nearest(name: &str) -> Option<&'static str> {
    let ours = ROWS.iter().map(|row| row.name);
    let known = ours.chain(xla_options().map(|(name, _)| name));
    let (distance, found) =
        known.map(|known| (distance(name, known), known)).min_by_key(|(distance, _)| *distance)?;
    (distance <= 1 + name.len() / 3).then_some(found)
}

/// How many letters have to be changed, put in or left out to make one of the other.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, &to) in b.iter().enumerate() {
            let changed = diagonal + usize::from(from != to);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistyped_names_are_recognised() {
        for (typed, meant) in [
            ("xla_dumb_to", "xla_dump_to"),
            ("xla_dump_hlo_as_txt", "xla_dump_hlo_as_text"),
            ("rxla_trce_to", "rxla_trace_to"),
            ("xla_cpu_enable_fastmath", "xla_cpu_enable_fast_math"),
        ] {
            assert_eq!(nearest(typed), Some(meant));
        }
        assert_eq!(nearest("completely_different"), None);
        assert_eq!(nearest(""), None);
    }

    #[test]
    fn distances_count_letters() {
        assert_eq!(
            (distance("kitten", "sitting"), distance("", "abc"), distance("a", "a")),
            (3, 3, 0)
        );
    }
}
