//! `next_after`, which works on the bits of floats.

use rxla_hlo::op::{BinaryKind, BitcastConvert, ComparisonDirection};
use rxla_hlo::{ElementType, InstructionId};

use super::super::attributes::View;
use super::super::importer::{Importer, Result};

/// The signed integer type with the bits of a float, and its least value, the sign bit.
fn integer_of(element_type: ElementType) -> Option<(ElementType, i64)> {
    Some(match element_type.is_float().then(|| element_type.bit_width())? {
        8 => (ElementType::S8, i8::MIN.into()),
        16 => (ElementType::S16, i16::MIN.into()),
        32 => (ElementType::S32, i32::MIN.into()),
        64 => (ElementType::S64, i64::MIN),
        _ => return None,
    })
}

/// `chlo.next_after`: the number next to x in the direction of y.
pub(in super::super) fn next_after<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let [x, y] = cx.exactly(view)?;
    let result = next_after_of(cx, view, x, y)?;
    cx.finish(view, result)
}

pub(super) fn next_after_of<'a>(
    cx: &mut Importer<'a>,
    view: View<'a>,
    x: InstructionId,
    y: InstructionId,
) -> Result<InstructionId> {
    let array = cx.array(view, x)?;
    if !cx.array(view, y)?.compatible(&array) {
        return Err(view.error("takes two arrays of one type"));
    }
    let Some((integer, sign_bit)) = integer_of(array.element_type) else {
        return Err(view.error(format_args!("takes floats, not `{}`", array.element_type)));
    };
    let bits_shape = array.with_element_type(integer);
    let cast = |cx: &mut Importer<'a>, value| {
        cx.add(BitcastConvert {}, bits_shape.clone().into(), &[value])
    };
    let number = |cx: &mut Importer<'a>, value: i64| {
        let scalar = cx.integer(integer, value);
        cx.splat(scalar, &bits_shape)
    };
    let (x_bits, y_bits) = (cast(cx, x), cast(cx, y));
    let x_nan = cx.compare(ComparisonDirection::Ne, x, x);
    let y_nan = cx.compare(ComparisonDirection::Ne, y, y);
    let any_nan = cx.binary(BinaryKind::Or, x_nan, y_nan);
    let nan = cx.full_like(x, f64::NAN);
    let nan_bits = cast(cx, nan);

    let (sign, magnitude) = (number(cx, sign_bit), number(cx, !sign_bit));
    let x_magnitude = cx.binary(BinaryKind::And, x_bits, magnitude);
    let y_magnitude = cx.binary(BinaryKind::And, y_bits, magnitude);
    let equal = cx.compare(ComparisonDirection::Eq, x, y);
    let (zero, one, minus_one) = (number(cx, 0), number(cx, 1), number(cx, -1));
    let x_zero = cx.compare(ComparisonDirection::Eq, x_magnitude, zero);
    let y_zero = cx.compare(ComparisonDirection::Eq, y_magnitude, zero);
    let x_sign = cx.binary(BinaryKind::And, x_bits, sign);
    let y_sign = cx.binary(BinaryKind::And, y_bits, sign);
    // From zero to the smallest number with the sign of y.
    let from_zero = cx.binary(BinaryKind::Or, y_sign, one);
    // Towards zero if the signs differ or x lies further out.
    let signs_differ = cx.compare(ComparisonDirection::Ne, x_sign, y_sign);
    let further = cx.compare(ComparisonDirection::Gt, x_magnitude, y_magnitude);
    let inwards = cx.binary(BinaryKind::Or, further, signs_differ);
    let step = cx.select(inwards, minus_one, one);
    let stepped = cx.binary(BinaryKind::Add, x_bits, step);
    let at_zero = cx.select(y_zero, y_bits, from_zero);
    let result = cx.select(x_zero, at_zero, stepped);
    let result = cx.select(equal, y_bits, result);
    let result = cx.select(any_nan, nan_bits, result);
    Ok(cx.add(BitcastConvert {}, array.into(), &[result]))
}
