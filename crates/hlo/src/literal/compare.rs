//! Whether two literals agree within a tolerance, and where they differ most if not.

use std::fmt;

use super::{ArrayLiteral, Element, Literal, Wide};
use crate::native::{C128, NativeType};
use crate::small_float::Format;
use crate::{ElementType, Shape, TypeClass, with_native};

#[cfg(test)]
mod tests;

/// How far an element may be from the expected one. It agrees if any of the measures allows it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Tolerance {
    /// |actual - expected| may be up to `absolute + relative × |expected|`.
    pub absolute: f64,
    pub relative: f64,
    /// Representable values between the two, for floats; for complex numbers in each part.
    pub ulps: u64,
    pub zeros: Zeros,
    pub nans: Nans,
}

/// Whether -0 agrees with +0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Zeros {
    SameSign,
    AnySign,
}

/// What agrees with an expected NaN. Nothing else agrees with an actual NaN.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Nans {
    SameBits,
    AnyNan,
    /// Everything: what happens outside a function's domain does not matter.
    Anything,
}

impl Tolerance {
    /// The same values; signs of zeros count, all NaNs are one.
    pub const EXACT: Tolerance = Tolerance {
        absolute: 0.0,
        relative: 0.0,
        ulps: 0,
        zeros: Zeros::SameSign,
        nans: Nans::AnyNan,
    };

    /// Within `absolute + relative × |expected|`.
    pub const fn within(absolute: f64, relative: f64) -> Tolerance {
        Tolerance { absolute, relative, zeros: Zeros::AnySign, ..Tolerance::EXACT }
    }

    /// At most so many representable values away.
    pub const fn within_ulps(ulps: u64) -> Tolerance {
        Tolerance { ulps, zeros: Zeros::AnySign, ..Tolerance::EXACT }
    }
}

/// What a comparison that succeeded has found.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Agreement {
    /// Elements compared.
    pub elements: usize,
    /// Elements whose bits differ.
    pub inexact: usize,
    pub max_absolute: f64,
    pub max_relative: f64,
    pub max_ulps: u64,
}

/// Why two literals do not agree. `Display` says it in a few lines.
#[derive(Clone, PartialEq, Debug)]
pub enum Disagreement {
    Shape { expected: Shape, actual: Shape },
    Values(Vec<ArrayDisagreement>),
}

/// One array that differs.
#[derive(Clone, PartialEq, Debug)]
pub struct ArrayDisagreement {
    /// Where the array is in the tuple; empty if there is none.
    pub tuple_index: Vec<i64>,
    pub shape: Shape,
    /// Over all elements, those that agree too.
    pub found: Agreement,
    /// Elements out of tolerance.
    pub wrong: usize,
    /// The worst of them by relative error, worst first; of equal ones the first.
    pub worst: Vec<WrongElement>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct WrongElement {
    pub index: Vec<i64>,
    /// As HLO text.
    pub expected: String,
    pub actual: String,
    pub absolute: f64,
    pub relative: f64,
    pub ulps: u64,
}

/// How many elements a report shows.
const SHOWN: usize = 5;

/// Compares two literals of the same shape, layout aside, leaf by leaf.
pub fn compare(
    expected: &Literal,
    actual: &Literal,
    tolerance: Tolerance,
) -> Result<Agreement, Box<Disagreement>> {
    let (expected_shape, actual_shape) = (expected.shape(), actual.shape());
    if !expected_shape.compatible(&actual_shape) {
        let disagreement = Disagreement::Shape { expected: expected_shape, actual: actual_shape };
        return Err(Box::new(disagreement));
    }
    let mut total = Agreement::default();
    let mut wrong = Vec::new();
    compare_at(&mut Vec::new(), expected, actual, tolerance, &mut total, &mut wrong);
    if wrong.is_empty() { Ok(total) } else { Err(Box::new(Disagreement::Values(wrong))) }
}

fn compare_at(
    tuple_index: &mut Vec<i64>,
    expected: &Literal,
    actual: &Literal,
    tolerance: Tolerance,
    total: &mut Agreement,
    wrong: &mut Vec<ArrayDisagreement>,
) {
    match (expected, actual) {
        (Literal::Array(expected), Literal::Array(actual)) => {
            match compare_arrays(expected, actual, tolerance) {
                Ok(found) => total.add(found),
                Err(mut disagreement) => {
                    disagreement.tuple_index.clone_from(tuple_index);
                    wrong.push(*disagreement);
                }
            }
        }
        (Literal::Tuple(expected), Literal::Tuple(actual)) => {
            for (index, (expected, actual)) in expected.iter().zip(actual).enumerate() {
                tuple_index.push(index as i64);
                compare_at(tuple_index, expected, actual, tolerance, total, wrong);
                tuple_index.pop();
            }
        }
        // Tokens have no value; the shapes have been compared.
        _ => {}
    }
}

/// Compares two arrays of the same shape; panics if it is not.
fn compare_arrays(
    expected: &ArrayLiteral,
    actual: &ArrayLiteral,
    tolerance: Tolerance,
) -> Result<Agreement, Box<ArrayDisagreement>> {
    assert!(expected.shape().compatible(actual.shape()), "shapes have been compared");
    if expected.bytes() == actual.bytes() {
        return Ok(Agreement { elements: expected.len(), ..Agreement::default() });
    }
    let (found, wrong, worst) = with_native!(expected.element_type(), T => {
        compare_values(expected.values::<T>(), actual.values::<T>(), tolerance)
    });
    if wrong == 0 {
        return Ok(found);
    }
    let text = |literal: &ArrayLiteral, place| {
        let mut text = String::new();
        literal.print_element(place, &mut text);
        text
    };
    let worst = worst
        .into_iter()
        .map(|(place, difference)| WrongElement {
            index: index_of(place, expected.dims()),
            expected: text(expected, place),
            actual: text(actual, place),
            absolute: difference.absolute,
            relative: difference.relative,
            ulps: difference.ulps,
        })
        .collect();
    let shape = Shape::Array(expected.shape().clone());
    Err(Box::new(ArrayDisagreement { tuple_index: Vec::new(), shape, found, wrong, worst }))
}

fn compare_values<T: Element>(
    expected: &[T],
    actual: &[T],
    tolerance: Tolerance,
) -> (Agreement, usize, Vec<(usize, Difference)>) {
    let mut found = Agreement { elements: expected.len(), ..Agreement::default() };
    let mut wrong = 0;
    let mut worst: Vec<(usize, Difference)> = Vec::new();
    for (place, (expected, actual)) in expected.iter().zip(actual).enumerate() {
        if bytemuck::bytes_of(expected) == bytemuck::bytes_of(actual) {
            continue;
        }
        found.inexact += 1;
        let Some(difference) = Difference::between(*expected, *actual, tolerance) else {
            continue;
        };
        found.max_absolute = found.max_absolute.max(difference.absolute);
        found.max_relative = found.max_relative.max(difference.relative);
        found.max_ulps = found.max_ulps.max(difference.ulps);
        if difference.agrees {
            continue;
        }
        wrong += 1;
        let at = worst.partition_point(|(_, other)| other.relative >= difference.relative);
        if at < SHOWN {
            worst.truncate(SHOWN - 1);
            worst.insert(at, (place, difference));
        }
    }
    (found, wrong, worst)
}

#[derive(Clone, Copy)]
struct Difference {
    absolute: f64,
    relative: f64,
    ulps: u64,
    agrees: bool,
}

impl Difference {
    /// Something without a distance: a NaN, or infinity beside a number.
    const INFINITE: Difference = Difference {
        absolute: f64::INFINITY,
        relative: f64::INFINITY,
        ulps: u64::MAX,
        agrees: false,
    };

    /// `None` for values that are the same although their bits differ.
    fn between<T: Element>(expected: T, actual: T, tolerance: Tolerance) -> Option<Difference> {
        match T::TYPE.class() {
            TypeClass::Pred | TypeClass::Signed => {
                let value = |x: T| i128::from(x.widen().narrow::<i64>());
                Some(Difference::of_integers(value(expected), value(actual), tolerance))
            }
            TypeClass::Unsigned => {
                let value = |x: T| i128::from(x.widen().narrow::<u64>());
                Some(Difference::of_integers(value(expected), value(actual), tolerance))
            }
            TypeClass::Float => {
                let format = Format::of(T::TYPE)?;
                Difference::of_floats(format, bits(expected), bits(actual), tolerance)
            }
            TypeClass::Complex => Difference::of_complex(expected, actual, tolerance),
        }
    }

    fn of_integers(expected: i128, actual: i128, tolerance: Tolerance) -> Difference {
        let distance = (expected - actual).unsigned_abs();
        Difference::new(
            distance as f64,
            expected.unsigned_abs() as f64,
            u64::try_from(distance).unwrap_or(u64::MAX),
            tolerance,
        )
    }

    fn of_floats(
        format: Format,
        expected: u64,
        actual: u64,
        tolerance: Tolerance,
    ) -> Option<Difference> {
        let (e, a) = (format.decode(expected), format.decode(actual));
        if e.is_nan() && (tolerance.nans == Nans::Anything || a.is_nan()) {
            let agrees = tolerance.nans != Nans::SameBits;
            return (!agrees).then_some(Difference::INFINITE);
        }
        if e == 0.0 && a == 0.0 {
            let agrees = tolerance.zeros == Zeros::AnySign;
            return (!agrees).then_some(Difference {
                absolute: 0.0,
                relative: 0.0,
                ulps: 0,
                agrees,
            });
        }
        if !e.is_finite() || !a.is_finite() {
            return (expected != actual).then_some(Difference::INFINITE);
        }
        let place = |bits: u64| {
            let magnitude = i128::from(bits & format.magnitude_mask());
            if bits & format.sign_bit() == 0 { magnitude } else { -magnitude }
        };
        let ulps = (place(expected) - place(actual)).unsigned_abs() as u64;
        Some(Difference::new((e - a).abs(), e.abs(), ulps, tolerance))
    }

    /// By the distance in the plane while all parts are finite, else part by part.
    fn of_complex<T: Element>(expected: T, actual: T, tolerance: Tolerance) -> Option<Difference> {
        let format = Format::of(T::TYPE.real_part())?;
        let (e, a): (C128, C128) = (expected.widen().narrow(), actual.widen().narrow());
        let (e_re, e_im) = part_bits(expected);
        let (a_re, a_im) = part_bits(actual);
        let re = Difference::of_floats(format, e_re, a_re, tolerance);
        let im = Difference::of_floats(format, e_im, a_im, tolerance);
        let (re, im) = match (re, im) {
            (None, None) => return None,
            (Some(one), None) | (None, Some(one)) => (one, one),
            (Some(re), Some(im)) => (re, im),
        };
        if !e.is_finite() || !a.is_finite() {
            return Some(if re.relative >= im.relative { re } else { im });
        }
        let ulps = re.ulps.max(im.ulps);
        let mut whole = Difference::new((e - a).norm(), e.norm(), ulps, tolerance);
        whole.agrees |= re.agrees && im.agrees;
        Some(whole)
    }

    fn new(absolute: f64, expected: f64, ulps: u64, tolerance: Tolerance) -> Difference {
        let relative = if expected > 0.0 { absolute / expected } else { f64::INFINITY };
        let near = absolute > 0.0 && absolute <= tolerance.absolute + tolerance.relative * expected;
        Difference { absolute, relative, ulps, agrees: near || ulps <= tolerance.ulps }
    }
}

fn bits<T: NativeType>(value: T) -> u64 {
    let mut bits = [0; 8];
    bits[..size_of::<T>()].copy_from_slice(bytemuck::bytes_of(&value));
    u64::from_le_bytes(bits)
}

fn part_bits<T: NativeType>(value: T) -> (u64, u64) {
    let bytes = bytemuck::bytes_of(&value);
    let half = bytes.len() / 2;
    let read = |part: &[u8]| {
        let mut bits = [0; 8];
        bits[..half].copy_from_slice(part);
        u64::from_le_bytes(bits)
    };
    (read(&bytes[..half]), read(&bytes[half..]))
}

/// The index of a place in row-major order.
fn index_of(place: usize, dims: &[i64]) -> Vec<i64> {
    let mut rest = place as i64;
    let mut index: Vec<i64> = dims
        .iter()
        .rev()
        .map(|&dim| {
            let i = rest % dim.max(1);
            rest /= dim.max(1);
            i
        })
        .collect();
    index.reverse();
    index
}

impl Agreement {
    fn add(&mut self, other: Agreement) {
        self.elements += other.elements;
        self.inexact += other.inexact;
        self.max_absolute = self.max_absolute.max(other.max_absolute);
        self.max_relative = self.max_relative.max(other.max_relative);
        self.max_ulps = self.max_ulps.max(other.max_ulps);
    }
}

impl fmt::Display for Disagreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Disagreement::Shape { expected, actual } => {
                write!(f, "expected shape `{expected}`, got `{actual}`")
            }
            Disagreement::Values(arrays) => {
                for (place, array) in arrays.iter().enumerate() {
                    if place > 0 {
                        f.write_str("\n")?;
                    }
                    array.fmt(f)?;
                }
                Ok(())
            }
        }
    }
}

impl std::error::Error for Disagreement {}

impl fmt::Display for ArrayDisagreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} elements of `{}`", self.wrong, self.found.elements, self.shape)?;
        if !self.tuple_index.is_empty() {
            write!(f, " at {}", braced(&self.tuple_index))?;
        }
        f.write_str(" differ")?;
        let is_inexact = match &self.shape {
            Shape::Array(shape) => has_distance(shape.element_type),
            _ => false,
        };
        for element in &self.worst {
            let WrongElement { index, expected, actual, absolute, relative, ulps } = element;
            write!(f, "\n  {}: expected {expected}, got {actual}", braced(index))?;
            if is_inexact && absolute.is_finite() {
                write!(f, " (off by {absolute:.3e}, relative {relative:.3e}, {ulps} ulps)")?;
            }
        }
        if self.wrong > self.worst.len() {
            write!(f, "\n  and {} more", self.wrong - self.worst.len())?;
        }
        Ok(())
    }
}

fn has_distance(element_type: ElementType) -> bool {
    element_type.is_float() || element_type.is_complex()
}

fn braced(index: &[i64]) -> String {
    let numbers: Vec<String> = index.iter().map(i64::to_string).collect();
    format!("{{{}}}", numbers.join(","))
}
