//! Shardy's sharding rule of a custom call, which arrives as text in a frontend attribute:
//! `#sdy.op_sharding_rule<([ik, j])->([i]) {i=2, j=2, k=2} need_replication={k}, custom>`.

use crate::factors::{Factor, Rule};
use rxla_hlo::op::BinaryKind;

/// Where XLA's export of Shardy keeps the rule.
pub(crate) const ATTRIBUTE: &str = "xla.sdy.sharding_rule";

/// Gives `rule` the factors that the text names; `None` if the text does not fit it.
pub(crate) fn read(text: &str, mut rule: Rule) -> Option<Rule> {
    let body = text.strip_prefix("#sdy.op_sharding_rule<")?.strip_suffix('>')?;
    let (operands, rest) = body.split_once("->")?;
    let (results, rest) = rest.split_once(')')?;
    let operands = mappings(operands)?;
    let results = mappings(results)?;
    let sizes = sizes(rest)?;
    let fits = |mappings: &[Vec<Vec<usize>>], values: &[crate::factors::Value]| {
        mappings.len() == values.len()
            && mappings.iter().zip(values).all(|(mapping, value)| mapping.len() == value.dims.len())
    };
    if !fits(&operands, &rule.operands) || !fits(&results, &rule.results) {
        return None;
    }
    let sums = factors_after(rest, "reduction=")?;
    let whole = [factors_after(rest, "need_replication=")?, factors_after(rest, "permutation=")?];
    for (factor, &size) in sizes.iter().enumerate() {
        // Only the outermost factor of a dimension can be cut into rows of equal size.
        let places = |mappings: &[Vec<Vec<usize>>]| -> Option<Vec<(usize, usize)>> {
            let mut places = Vec::new();
            for (value, mapping) in mappings.iter().enumerate() {
                for (dimension, factors) in mapping.iter().enumerate() {
                    match factors.iter().position(|&f| f == factor) {
                        None => {}
                        Some(0) => places.push((value, dimension)),
                        Some(_) => return None,
                    }
                }
            }
            Some(places)
        };
        let (Some(in_operands), Some(in_results)) = (places(&operands), places(&results)) else {
            continue;
        };
        if whole.iter().any(|list| list.contains(&factor)) {
            continue;
        }
        let kind = match sums.contains(&factor) || in_results.is_empty() {
            true => Factor::Combined(BinaryKind::Add),
            false => Factor::Outer(size),
        };
        rule.join(kind, in_operands, in_results);
    }
    Some(rule)
}

/// `([ij, k], [])`: per value, per dimension, its factors.
fn mappings(text: &str) -> Option<Vec<Vec<Vec<usize>>>> {
    let mut values = Vec::new();
    let mut rest = text.trim().strip_prefix('(')?.trim_end_matches(')');
    while let Some((_, after)) = rest.split_once('[') {
        let (dimensions, after) = after.split_once(']')?;
        let dimensions = match dimensions.trim() {
            "" => Vec::new(),
            list => list.split(',').map(|word| factors(word.trim())).collect::<Option<_>>()?,
        };
        values.push(dimensions);
        rest = after;
    }
    Some(values)
}

/// `{i=2, j=4}`, the first braces of the text.
fn sizes(text: &str) -> Option<Vec<i64>> {
    let Some(list) = text.trim_start().strip_prefix('{') else { return Some(Vec::new()) };
    let (list, _) = list.split_once('}')?;
    list.split(',').map(|item| item.split_once('=')?.1.trim().parse().ok()).collect()
}

fn factors_after(text: &str, word: &str) -> Option<Vec<usize>> {
    let Some((_, list)) = text.split_once(word) else { return Some(Vec::new()) };
    let (list, _) = list.strip_prefix('{')?.split_once('}')?;
    let lists = list.split(',').map(|item| factors(item.trim())).collect::<Option<Vec<_>>>()?;
    Some(lists.concat())
}

/// Factors written without anything between: `ij`, `z_1z_2`.
fn factors(mut word: &str) -> Option<Vec<usize>> {
    const Z: usize = (b'z' - b'i') as usize;
    let mut factors = Vec::new();
    while let Some(&letter) = word.as_bytes().first() {
        if let Some(rest) = word.strip_prefix("z_") {
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            factors.push(Z + rest[..digits].parse::<usize>().ok()?);
            word = &rest[digits..];
        } else {
            factors.push(usize::from(letter.checked_sub(b'i')?));
            word = word.get(1..)?;
        }
    }
    Some(factors)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_of_a_custom_call() {
        let rule = Rule::new(&[&[4, 2], &[8]], &[&[8]]);
        let text = "#sdy.op_sharding_rule<([ik, j], [ikj])->([ikj]) {i=2, j=2, k=2} \
                    need_replication={k}, custom>";
        let rule = read(text, rule).unwrap();
        // `j` is outermost in one dimension only, `k` in none.
        assert_eq!(rule.factors, [Factor::Outer(2)]);
        assert_eq!(rule.operands[0].factors, [Some(0), None]);
        assert_eq!(rule.results[0].factors, [Some(0)]);
        let rule = Rule::new(&[&[4, 2], &[2, 3]], &[&[4, 3]]);
        let text = "#sdy.op_sharding_rule<([i, j], [j, z_1])->([i, z_1]) \
                    {i=4, j=2, k=1, l=1, m=1, n=1, o=1, p=1, q=1, r=1, s=1, t=1, u=1, v=1, w=1, \
                    x=1, y=1, z=1, z_1=3} reduction={j}>";
        let rule = read(text, rule).unwrap();
        assert_eq!(rule.factors[1], Factor::Combined(BinaryKind::Add));
        assert_eq!(rule.operands[1].factors[1], rule.results[0].factors[1]);
        assert!(read("#sdy.op_sharding_rule<([i])->([i]) {i=4}>", rule).is_none());
    }
}
