//! `__onednn$layernorm`, which XLA's CPU backend makes of layer normalisation: each row of the last
//! dimension brought to mean 0 and variance 1, scaled and shifted. Computed in double precision.

use rxla_base::{Error, Result};
use rxla_hlo::{ArrayLiteral, ElementType};

use crate::matmul::to_type;

/// `operands` are the array and, as `config` says, scale and shift of each column.
pub(crate) fn layer_norm(operands: &[ArrayLiteral], config: &str) -> Result<ArrayLiteral> {
    let (scales, shifts) = match after(config, "\"rescale\"") {
        Some(rest) if rest.starts_with("\"SCALE_AND_SHIFT\"") => (true, true),
        Some(rest) if rest.starts_with("\"SCALE\"") => (true, false),
        Some(rest) if rest.starts_with("\"SHIFT\"") => (false, true),
        Some(_) | None => (false, false),
    };
    if after(config, "\"fusions\"").is_some() {
        return Err(Error::unimplemented("custom call `__onednn$layernorm` with what is fused"));
    }
    let doubles = |number: usize| {
        let operand = operands.get(number).ok_or_else(|| {
            Error::invalid_argument(format!("`__onednn$layernorm` needs an operand {number}"))
        })?;
        to_type(operand.clone(), ElementType::F64)
    };
    let x = doubles(0)?;
    let width = x.dims().last().map_or(1, |&size| size as usize);
    let column = |given: bool, number: usize, otherwise: f64| {
        let values = if given { doubles(number)?.values::<f64>().to_vec() } else { Vec::new() };
        match values.len() {
            0 if !given => Ok(vec![otherwise; width]),
            count if count == width => Ok(values),
            count => Err(Error::invalid_argument(format!(
                "`__onednn$layernorm` of rows of {width} has {count} values in operand {number}"
            ))),
        }
    };
    let scale = column(scales, 1, 1.0)?;
    let shift = column(shifts, if scales { 2 } else { 1 }, 0.0)?;
    let epsilon = f64::from(epsilon(config));
    let mut values = x.values::<f64>().to_vec();
    for row in values.chunks_exact_mut(width.max(1)) {
        let count = row.len() as f64;
        let mean = row.iter().sum::<f64>() / count;
        let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / count;
        let deviation = (variance + epsilon).sqrt();
        for ((x, scale), shift) in row.iter_mut().zip(&scale).zip(&shift) {
            *x = (*x - mean) / deviation * scale + shift;
        }
    }
    let result = ArrayLiteral::from_values(x.dims().iter().copied(), &values);
    to_type(result, operands[0].element_type())
}

/// The bits of the epsilon, which are written as an integer.
fn epsilon(config: &str) -> f32 {
    let Some(rest) = after(config, "\"epsilon_typecast\"") else { return 0.0 };
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(rest.len());
    rest[..end].parse::<i32>().map_or(0.0, |bits| f32::from_bits(bits as u32))
}

/// What stands after a key and its colon.
fn after<'a>(config: &'a str, key: &str) -> Option<&'a str> {
    let rest = &config[config.find(key)? + key.len()..];
    Some(rest.trim_start().strip_prefix(':')?.trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_normalised() {
        let x = ArrayLiteral::from_values([2, 2], &[1f32, 3.0, -4.0, 0.0]);
        let scale = ArrayLiteral::from_values([2], &[1f32, 10.0]);
        let shift = ArrayLiteral::from_values([2], &[0.5f32, 0.0]);
        let plain = layer_norm(std::slice::from_ref(&x), "{}").expect("valid");
        assert_eq!(plain.values::<f32>(), [-1.0, 1.0, -1.0, 1.0]);
        // 3.0 added to the variances 1 and 4.
        let config = r#"{"rescale": "SCALE_AND_SHIFT", "epsilon_typecast": 1077936128}"#;
        let all = [x.clone(), scale, shift];
        let found = layer_norm(&all, config).expect("valid");
        let second = 2.0 / 7f64.sqrt();
        assert_eq!(found.values::<f32>()[..2], [0.0, 5.0]);
        assert_eq!(found.values::<f32>()[3], (second * 10.0) as f32);
        assert!(layer_norm(&[x], config).is_err());
    }
}
