//! `sort` and `topk`. Every sort is stable.
//!
//! With a recognised comparator ([`crate::comparator`]) keys become integers of the same order,
//! which are sorted. Any other comparator drives a merge sort in which all merges of a level run
//! at once: the place of an element is found by binary search in the neighbouring run, one
//! comparison of all elements per step.

use rxla_base::{Error, Result};
use rxla_hlo::op::{ComparisonType, Sort, TopK};
use rxla_hlo::{ArrayLiteral, ArrayShape, ComputationId, Dims, ElementType};

use crate::comparator::{Comparator, Key};
use crate::context::Context;
use crate::lift::{apply, apply_expression};
use crate::matmul::to_type;
use crate::movement::{take, transpose};

/// The operands sorted along one dimension, all by the same comparator.
pub(crate) fn sort(
    cx: &Context<'_>,
    operands: Vec<ArrayLiteral>,
    op: &Sort,
) -> Result<Vec<ArrayLiteral>> {
    let dimension = crate::dispatch::one_dimension(&op.dimensions)?;
    let rank = operands[0].dims().len();
    if operands[0].is_empty() || operands[0].dims()[dimension] < 2 {
        return Ok(operands);
    }
    // The sorted dimension last: rows of n.
    let mut order: Vec<i64> = (0..rank as i64).filter(|&d| d as usize != dimension).collect();
    order.push(dimension as i64);
    let mut inverse = vec![0; rank];
    order.iter().enumerate().for_each(|(i, &d)| inverse[d as usize] = i as i64);
    let n = operands[0].dims()[dimension] as usize;
    let rows: Vec<ArrayLiteral> =
        operands.into_iter().map(|operand| transpose(operand, &order)).collect::<Result<_>>()?;
    let places = match cx.plans.comparator(cx.module, op.to_apply) {
        Comparator::Keys(keys) => {
            let keys: Vec<Vec<u64>> =
                keys.iter().map(|key| ordered_key(cx, key, &rows)).collect::<Result<_>>()?;
            sorted_by_keys(&keys, n)
        }
        Comparator::General => merge_sorted(cx, &rows, n, op.to_apply)?,
    };
    rows.iter()
        .map(|row| {
            let dims: Dims = row.dims().clone();
            let sorted = take(row, &places)?;
            transpose(sorted.with_shape(&ArrayShape::new(row.element_type(), dims))?, &inverse)
        })
        .collect()
}

/// The `k` first elements of each row by total order, and where they were.
pub(crate) fn topk(operand: &ArrayLiteral, op: &TopK) -> Result<(ArrayLiteral, ArrayLiteral)> {
    let n = operand.dims().last().copied().unwrap_or(1);
    if !(0..=n).contains(&op.k) {
        return Err(Error::invalid_argument(format!("`topk` of {} elements among {n}", op.k)));
    }
    let (n, k) = (n as usize, op.k as usize);
    let keys = ordered(operand, Some(ComparisonType::TotalOrder), op.largest.0)?;
    let places = if n == 0 { Vec::new() } else { sorted_by_keys(&[keys], n) };
    let first: Vec<usize> =
        places.chunks(n.max(1)).flat_map(|row| row[..k].iter().copied()).collect();
    let indices: Vec<i32> = first.iter().map(|&place| (place % n) as i32).collect();
    let mut dims = operand.dims().clone();
    if let Some(last) = dims.last_mut() {
        *last = k as i64;
    }
    let shape = ArrayShape::new(operand.element_type(), dims.iter().copied());
    let values = take(operand, &first)?.with_shape(&shape)?;
    Ok((values, ArrayLiteral::from_values(dims, &indices)))
}

fn ordered_key(cx: &Context<'_>, key: &Key, rows: &[ArrayLiteral]) -> Result<Vec<u64>> {
    let n = rows[0].len();
    // Parameter 2i is the left side of operand i.
    let arguments: Vec<ArrayLiteral> =
        rows.iter().flat_map(|row| [row.clone(), row.clone()]).collect();
    let values = apply_expression(cx, key.root, &arguments, n)?;
    ordered(&values, key.comparison_type, key.descending)
}

/// Unsigned integers in the same order as the values.
fn ordered(
    values: &ArrayLiteral,
    comparison_type: Option<ComparisonType>,
    descending: bool,
) -> Result<Vec<u64>> {
    const SIGN: u64 = 1 << 63;
    let element_type = values.element_type();
    let mut keys: Vec<u64> = if element_type.is_float() {
        let wide = to_type(values.clone(), ElementType::F64)?;
        let total = comparison_type == Some(ComparisonType::TotalOrder);
        let key = |&value: &f64| {
            // Where -0 equals 0 and NaN has no place: zeros are one, and NaN goes last.
            let value = match value {
                _ if total => value,
                _ if value.is_nan() => f64::NAN.copysign(1.0),
                _ => value + 0.0,
            };
            let bits = value.to_bits();
            if bits & SIGN == 0 { bits | SIGN } else { !bits }
        };
        wide.values::<f64>().iter().map(key).collect()
    } else if element_type == ElementType::U64 {
        values.values::<u64>().to_vec()
    } else if element_type.is_complex() {
        return Err(Error::invalid_argument(format!(
            "an order is not defined for element type `{element_type}`"
        )));
    } else {
        let wide = crate::movement::to_i64s(values)?;
        wide.into_iter().map(|value| value as u64 ^ SIGN).collect()
    };
    if descending {
        keys.iter_mut().for_each(|key| *key = !*key);
    }
    Ok(keys)
}

/// For rows of `n`: the position that each place of the sorted rows takes its element from.
fn sorted_by_keys(keys: &[Vec<u64>], n: usize) -> Vec<usize> {
    let count = keys[0].len();
    let mut places = Vec::with_capacity(count);
    if let [keys] = keys {
        let mut row: Vec<(u64, u32)> = Vec::with_capacity(n);
        for start in (0..count).step_by(n) {
            row.clear();
            row.extend(keys[start..start + n].iter().zip(0..).map(|(&key, i)| (key, i)));
            row.sort_unstable();
            places.extend(row.iter().map(|&(_, i)| start + i as usize));
        }
        return places;
    }
    for start in (0..count).step_by(n) {
        let mut row: Vec<usize> = (start..start + n).collect();
        row.sort_by(|&a, &b| {
            let orders = keys.iter().map(|keys| keys[a].cmp(&keys[b]));
            orders.fold(std::cmp::Ordering::Equal, std::cmp::Ordering::then)
        });
        places.extend(row);
    }
    places
}

/// As [`sorted_by_keys`], by any comparator.
fn merge_sorted(
    cx: &Context<'_>,
    rows: &[ArrayLiteral],
    n: usize,
    comparator: ComputationId,
) -> Result<Vec<usize>> {
    let count = rows[0].len();
    let mut places: Vec<usize> = (0..count).collect();
    let mut width = 1;
    while width < n {
        cx.check_limits()?;
        places = merge_level(cx, rows, n, width, places, comparator)?;
        width *= 2;
    }
    Ok(places)
}

/// Whether each `right` goes before the `left` beside it.
fn goes_first(
    cx: &Context<'_>,
    rows: &[ArrayLiteral],
    right: &[usize],
    left: &[usize],
    comparator: ComputationId,
) -> Result<ArrayLiteral> {
    let mut arguments = Vec::with_capacity(2 * rows.len());
    for row in rows {
        arguments.push(take(row, right)?);
        arguments.push(take(row, left)?);
    }
    let [result] = crate::lift::take(apply(cx, comparator, arguments, right.len())?)?;
    Ok(result)
}

/// Merges runs of `width` pairwise.
fn merge_level(
    cx: &Context<'_>,
    rows: &[ArrayLiteral],
    n: usize,
    width: usize,
    places: Vec<usize>,
    comparator: ComputationId,
) -> Result<Vec<usize>> {
    struct Search {
        slot: usize,
        /// Start of the merged pair plus the index in the own run.
        base: usize,
        /// The neighbouring run and what of it is still in question.
        other: usize,
        low: usize,
        high: usize,
        is_left: bool,
    }
    let mut open = Vec::with_capacity(places.len());
    for slot in 0..places.len() {
        let (row, column) = (slot / n * n, slot % n);
        let pair = column / (2 * width) * (2 * width);
        let middle = (pair + width).min(n);
        let is_left = column < middle;
        let (own, other, end) = if is_left {
            (pair, middle, (pair + 2 * width).min(n))
        } else {
            (middle, pair, middle)
        };
        open.push(Search {
            slot,
            base: row + pair + (column - own),
            other: row + other,
            low: 0,
            high: end - other,
            is_left,
        });
    }
    let mut merged = vec![usize::MAX; places.len()];
    let mut is_order = true;
    while !open.is_empty() {
        let (mut right, mut left) = (Vec::new(), Vec::new());
        let mut rest = Vec::with_capacity(open.len());
        for search in open {
            if search.low >= search.high {
                let target = &mut merged[search.base + search.low];
                is_order &= *target == usize::MAX;
                *target = places[search.slot];
                continue;
            }
            let middle = places[search.other + (search.low + search.high) / 2];
            let own = places[search.slot];
            let (r, l) = if search.is_left { (middle, own) } else { (own, middle) };
            right.push(r);
            left.push(l);
            rest.push(search);
        }
        open = rest;
        let first = goes_first(cx, rows, &right, &left, comparator)?;
        for (search, &first) in open.iter_mut().zip(first.bytes()) {
            let middle = (search.low + search.high) / 2;
            // A left one stands after the right ones that go before it; a right one stands after
            // the left ones that it does not go before.
            if (first != 0) == search.is_left {
                search.low = middle + 1;
            } else {
                search.high = middle;
            }
        }
    }
    if is_order { Ok(merged) } else { merge_in_turn(cx, rows, n, width, &places, comparator) }
}

/// The same merges, one element after the other: for comparators that are no order (of NaNs, say),
/// which every merge must survive without losing elements.
fn merge_in_turn(
    cx: &Context<'_>,
    rows: &[ArrayLiteral],
    n: usize,
    width: usize,
    places: &[usize],
    comparator: ComputationId,
) -> Result<Vec<usize>> {
    let mut merged = Vec::with_capacity(places.len());
    for row in places.chunks(n) {
        for pair in row.chunks(2 * width) {
            let (mut left, mut right) = pair.split_at(width.min(pair.len()));
            while let ([l, left_rest @ ..], [r, right_rest @ ..]) = (left, right) {
                let first = goes_first(cx, rows, &[*r], &[*l], comparator)?;
                if first.bytes()[0] != 0 {
                    merged.push(*r);
                    right = right_rest;
                } else {
                    merged.push(*l);
                    left = left_rest;
                }
            }
            merged.extend_from_slice(left);
            merged.extend_from_slice(right);
        }
    }
    Ok(merged)
}
