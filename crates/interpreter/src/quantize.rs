//! `uniform_quantize` and `uniform_dequantize` as PyTorch/XLA writes them into HLO: custom calls whose
//! configuration says scales and zero points. The arithmetic is StableHLO's, in `f32`, or in `f64` where
//! the values are.

use rxla_base::{Error, Result};
use rxla_hlo::{ArrayLiteral, ElementType, Shape};

use crate::dispatch::array_shape;
use crate::matmul::to_type;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    Quantize,
    Dequantize,
}

/// The op that a target names.
pub fn direction(target: &str) -> Option<Direction> {
    match target {
        "mhlo.uniform_quantize" | "stablehlo.uniform_quantize" => Some(Direction::Quantize),
        "mhlo.uniform_dequantize" | "stablehlo.uniform_dequantize" => Some(Direction::Dequantize),
        _ => None,
    }
}

/// How numbers are stored: `stored = round(number / scale + zero_point)`, held in the storage's range.
#[derive(Clone, PartialEq, Debug)]
pub struct Quantization {
    /// The dimension whose indices have scales and zero points of their own.
    pub dimension: Option<usize>,
    /// One, or one of each index of `dimension`.
    pub scales: Vec<f64>,
    /// As many as scales.
    pub zero_points: Vec<f64>,
    /// Least and largest number that is stored, if it is told.
    pub storage: Option<[f64; 2]>,
}

impl Quantization {
    /// What a call's configuration says of an array of these sizes.
    pub fn read(config: &str, dims: &[i64]) -> Result<Quantization> {
        let scales = numbers(config, "scale")?;
        let zero_points = numbers(config, "zero_point")?;
        let dimension = match numbers(config, "quantization_dimension") {
            Ok(dimension) => {
                let dimension = dimension.first().map_or(-1.0, |&d| d);
                let known = (0..dims.len()).find(|&d| d as f64 == dimension);
                Some(
                    known
                        .filter(|&d| dims[d] == scales.len() as i64)
                        .ok_or_else(|| wrong(config))?,
                )
            }
            Err(_) if scales.len() == 1 => None,
            Err(error) => return Err(error),
        };
        if scales.len() != zero_points.len() {
            return Err(wrong(config));
        }
        let bound = |name: &str| numbers(config, name).ok()?.first().copied();
        let storage = match (bound("storage_min"), bound("storage_max")) {
            (Some(least), Some(most)) if least <= most => Some([least, most]),
            (None, None) => None,
            _ => return Err(wrong(config)),
        };
        Ok(Quantization { dimension, scales, zero_points, storage })
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
    let dims = operand.dims().clone();
    if dims != result.dims {
        return Err(wrong(config));
    }
    let how = Quantization::read(config, &dims)?;
    // Elements between two of the same channel's neighbours.
    let after = how.dimension.map_or(&[][..], |dimension| &dims[dimension + 1..]);
    let inner: usize = after.iter().map(|&size| size as usize).product();
    let channel = |element: usize| element / inner.max(1) % how.scales.len();
    let is_wide = from == ElementType::F64 || to == ElementType::F64;
    // An operation in f64 rounded to f32 is the operation in f32.
    let rounded = |value: f64| if is_wide { value } else { f64::from(value as f32) };
    let of =
        |element: usize| (rounded(how.scales[channel(element)]), how.zero_points[channel(element)]);
    let mut values = to_type(operand, ElementType::F64)?;
    match direction {
        Direction::Quantize => {
            let [least, most] = how.storage.ok_or_else(|| wrong(config))?;
            for (element, value) in values.values_mut::<f64>().iter_mut().enumerate() {
                let (scale, zero) = of(element);
                let moved = rounded(rounded(*value / scale) + zero);
                *value = moved.clamp(least, most).round_ties_even();
            }
        }
        Direction::Dequantize => {
            for (element, value) in values.values_mut::<f64>().iter_mut().enumerate() {
                let (scale, zero) = of(element);
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
