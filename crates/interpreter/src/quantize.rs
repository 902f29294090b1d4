//! `uniform_quantize` and `uniform_dequantize` as PyTorch/XLA writes them into HLO: custom calls whose
//! configuration says scales and zero points. The arithmetic is StableHLO's, in `f32`, or in `f64` where
//! the values are.

use rxla_base::{Error, Result};
use rxla_hlo::{ArrayLiteral, ElementType, Shape};

use crate::dispatch::array_shape;
use crate::matmul::to_type;

#[derive(Clone, Copy)]
pub(crate) enum Direction {
    Quantize,
    Dequantize,
}

/// The op that a target names.
pub(crate) fn direction(target: &str) -> Option<Direction> {
    match target {
        "mhlo.uniform_quantize" | "stablehlo.uniform_quantize" => Some(Direction::Quantize),
        "mhlo.uniform_dequantize" | "stablehlo.uniform_dequantize" => Some(Direction::Dequantize),
        _ => None,
    }
}

pub(crate) fn quantize(
    operand: ArrayLiteral,
    config: &str,
    direction: Direction,
    result: &Shape,
) -> Result<ArrayLiteral> {
    let result = array_shape(result)?;
    let (from, to) = (operand.element_type(), result.element_type);
    let scales = numbers(config, "scale")?;
    let zero_points = numbers(config, "zero_point")?;
    let dims = operand.dims().clone();
    if dims != result.dims || scales.len() != zero_points.len() {
        return Err(wrong(config));
    }
    // Elements between two of the same channel's neighbours, and the number of channels.
    let inner = match numbers(config, "quantization_dimension") {
        Ok(dimension) => {
            let dimension = dimension.first().map_or(-1.0, |&d| d) as usize;
            if dims.get(dimension) != Some(&(scales.len() as i64)) {
                return Err(wrong(config));
            }
            dims[dimension + 1..].iter().map(|&size| size as usize).product()
        }
        Err(_) if scales.len() == 1 => 1,
        Err(error) => return Err(error),
    };
    let is_wide = from == ElementType::F64 || to == ElementType::F64;
    // An operation in f64 rounded to f32 is the operation in f32.
    let rounded = |value: f64| if is_wide { value } else { f64::from(value as f32) };
    let bound = |name: &str| numbers(config, name)?.first().copied().ok_or_else(|| wrong(config));
    let mut values = to_type(operand, ElementType::F64)?;
    let channel = |element: usize| element / inner.max(1) % scales.len().max(1);
    match direction {
        Direction::Quantize => {
            let (least, most) = (bound("storage_min")?, bound("storage_max")?);
            if least > most || least.is_nan() || most.is_nan() {
                return Err(wrong(config));
            }
            for (element, value) in values.values_mut::<f64>().iter_mut().enumerate() {
                let (scale, zero) =
                    (rounded(scales[channel(element)]), zero_points[channel(element)]);
                let moved = rounded(rounded(*value / scale) + zero);
                *value = moved.clamp(least, most).round_ties_even();
            }
        }
        Direction::Dequantize => {
            for (element, value) in values.values_mut::<f64>().iter_mut().enumerate() {
                let (scale, zero) =
                    (rounded(scales[channel(element)]), zero_points[channel(element)]);
                *value = rounded(rounded(*value - zero) * scale);
            }
        }
    }
    to_type(values, to)
}

fn wrong(config: &str) -> Error {
    Error::invalid_argument(format!("`{config}` does not say how the array is quantised"))
}

/// The numbers of `name=[1,2]` or `name=1`.
fn numbers(config: &str, name: &str) -> Result<Vec<f64>> {
    let find = || {
        let inside = config.trim().strip_prefix('{')?.strip_suffix('}')?;
        let mut rest = inside;
        // Commas stand between entries and in lists.
        while !rest.is_empty() {
            let (key, after) = rest.split_once('=')?;
            let (list, next) = match after.strip_prefix('[') {
                Some(list) => list.split_once(']')?,
                None => after.split_at(after.find(',').unwrap_or(after.len())),
            };
            if key.trim() == name {
                return list.split(',').map(|number| number.trim().parse().ok()).collect();
            }
            rest = next.strip_prefix(',').unwrap_or(next).trim_start();
        }
        None
    };
    find().filter(|numbers: &Vec<f64>| !numbers.is_empty()).ok_or_else(|| wrong(config))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: &str = "{scale=[0.5],zero_point=[3],storage_type=i8,expressed_type=f32,storage_min=-128,storage_max=127}";

    #[test]
    fn values_are_scaled_moved_held_in_range_and_rounded_to_even() {
        let x = ArrayLiteral::from_values([5], &[0.25f32, 0.75, -1.0, 1000.0, f32::NEG_INFINITY]);
        let bytes = Shape::array(ElementType::S8, [5]);
        let q = quantize(x, CONFIG, Direction::Quantize, &bytes).expect("valid");
        assert_eq!(q.values::<i8>(), [4, 4, 1, 127, -128]);
        let floats = Shape::array(ElementType::F32, [5]);
        let back = quantize(q, CONFIG, Direction::Dequantize, &floats).expect("valid");
        assert_eq!(back.values::<f32>(), [0.5, 0.5, -1.0, 62.0, -65.5]);
    }

    #[test]
    fn channels_have_scales_of_their_own() {
        let config = "{quantization_dimension=1,scale=[1,0.5],zero_point=[0,10],storage_type=ui8,expressed_type=f32,storage_min=0,storage_max=255}";
        let x = ArrayLiteral::from_values([2, 2], &[1f32, 1.0, 2.0, -7.0]);
        let bytes = Shape::array(ElementType::U8, [2, 2]);
        let q = quantize(x, config, Direction::Quantize, &bytes).expect("valid");
        assert_eq!(q.values::<u8>(), [1, 12, 2, 0]);
    }

    #[test]
    fn what_does_not_fit_is_an_error() {
        let x = || ArrayLiteral::from_values([3], &[1f32, 2.0, 3.0]);
        let bytes = Shape::array(ElementType::S8, [3]);
        let channels = CONFIG.replace("[0.5]", "[0.5,1]").replace("[3]", "[3,3]");
        let missing = CONFIG.replace("zero_point", "zero");
        let number = CONFIG.replace("0.5", "half");
        let turned = CONFIG.replace("storage_min=-128", "storage_min=200");
        for config in ["", "{}", "{scale=[", &channels, &missing, &number, &turned] {
            assert!(quantize(x(), config, Direction::Quantize, &bytes).is_err(), "{config}");
        }
    }
}
