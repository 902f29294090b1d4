//! CHLO's family of operations that broadcast their operands as NumPy does.

use rxla_hlo::op::{BinaryKind, Compare, Select};
use rxla_hlo::{ArrayShape, Dims, ElementType, InstructionId, Op};

use super::super::attributes::View;
use super::super::elementwise::{comparison_type, direction};
use super::super::importer::{Importer, Result};
use super::super::shapes::broadcast_to;
use super::bits::next_after_of;

fn kind(name: &str) -> Option<BinaryKind> {
    Some(match name {
        "chlo.broadcast_add" => BinaryKind::Add,
        "chlo.broadcast_and" => BinaryKind::And,
        "chlo.broadcast_atan2" => BinaryKind::Atan2,
        "chlo.broadcast_complex" => BinaryKind::Complex,
        "chlo.broadcast_divide" => BinaryKind::Divide,
        "chlo.broadcast_maximum" => BinaryKind::Maximum,
        "chlo.broadcast_minimum" => BinaryKind::Minimum,
        "chlo.broadcast_multiply" => BinaryKind::Multiply,
        "chlo.broadcast_or" => BinaryKind::Or,
        "chlo.broadcast_power" => BinaryKind::Power,
        "chlo.broadcast_remainder" => BinaryKind::Remainder,
        "chlo.broadcast_shift_left" => BinaryKind::ShiftLeft,
        "chlo.broadcast_shift_right_arithmetic" => BinaryKind::ShiftRightArithmetic,
        "chlo.broadcast_shift_right_logical" => BinaryKind::ShiftRightLogical,
        "chlo.broadcast_subtract" => BinaryKind::Subtract,
        "chlo.broadcast_xor" => BinaryKind::Xor,
        _ => return None,
    })
}

/// The sizes that arrays have in common, aligned at the last dimension.
fn common_dims(view: View<'_>, arrays: &[ArrayShape]) -> Result<Dims> {
    let rank = arrays.iter().map(ArrayShape::rank).max().unwrap_or(0);
    let mut dims = Dims::from_elem(1, rank);
    for array in arrays {
        let first = rank - array.rank();
        for (dimension, &size) in array.dims.iter().enumerate() {
            let common = &mut dims[first + dimension];
            if *common == 1 {
                *common = size;
            } else if size != 1 && size != *common {
                return Err(view.error(format_args!(
                    "sizes {size} and {common} of dimension {} do not broadcast",
                    first + dimension
                )));
            }
        }
    }
    Ok(dims)
}

/// All operands spread over their common sizes. `broadcast_dimensions`, if given, says where the
/// dimensions of the operand of lower rank lie.
pub(super) fn spread<'a>(
    cx: &mut Importer<'a>,
    view: View<'a>,
    operands: &mut [InstructionId],
) -> Result<()> {
    let arrays =
        operands.iter().map(|&operand| cx.array(view, operand)).collect::<Result<Vec<_>>>()?;
    let given = match view.get("broadcast_dimensions") {
        Some(_) => Some(view.integers("broadcast_dimensions")?),
        None => None,
    };
    if let (Some(dimensions), [left, right]) = (&given, &arrays[..])
        && left.rank() != right.rank()
    {
        let (low, high) = if left.rank() < right.rank() { (0, 1) } else { (1, 0) };
        let whole = arrays[high].with_element_type(arrays[low].element_type);
        operands[low] = broadcast_to(cx, view, operands[low], whole.into(), dimensions)?;
        return Ok(());
    }
    let dims = common_dims(view, &arrays)?;
    for (operand, array) in operands.iter_mut().zip(&arrays) {
        if array.dims == dims {
            continue;
        }
        let first = (dims.len() - array.rank()) as i64;
        let dimensions: Dims = (0..array.rank() as i64).map(|d| d + first).collect();
        let shape = ArrayShape::new(array.element_type, dims.iter().copied());
        *operand = broadcast_to(cx, view, *operand, shape.into(), &dimensions)?;
    }
    Ok(())
}

/// Every operation that [`kind`] lists, and `chlo.broadcast_next_after`.
pub(in super::super) fn binary<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let mut operands = cx.exactly::<2>(view)?;
    spread(cx, view, &mut operands)?;
    let [left, right] = operands;
    let instruction = match kind(view.name) {
        Some(kind) => cx.binary(kind, left, right),
        None if view.name == "chlo.broadcast_next_after" => next_after_of(cx, view, left, right)?,
        None => return Err(view.error("is no operation with two operands")),
    };
    cx.finish(view, instruction)
}

/// `chlo.broadcast_compare`.
pub(in super::super) fn compare<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let mut operands = cx.exactly::<2>(view)?;
    spread(cx, view, &mut operands)?;
    let array = cx.array(view, operands[0])?;
    let op = Compare {
        direction: direction(view, "comparison_direction")?,
        comparison_type: comparison_type(view, "compare_type", array.element_type)?,
    };
    let shape = array.with_element_type(ElementType::Pred);
    let instruction = cx.add(op, shape.into(), &operands);
    cx.finish(view, instruction)
}

/// `chlo.broadcast_select`.
pub(in super::super) fn select<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let mut operands = cx.exactly::<3>(view)?;
    spread(cx, view, &mut operands)?;
    let shape = cx.logical_shape(operands[1]);
    let instruction = cx.add(Op::Select(Select {}), shape, &operands);
    cx.finish(view, instruction)
}
