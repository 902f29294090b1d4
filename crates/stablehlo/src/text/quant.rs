//! Types of the quant dialect from text.

use std::sync::Arc;

use super::cursor::{NumberKind, Result};
use super::parser::Parser;
use crate::mlir::{
    Attribute, DenseElements, QuantizedType, Signedness, SubChannelType, Type, UniformType,
};

/// How values are stored.
struct Storage {
    signed: bool,
    ty: Type,
    min: i64,
    max: i64,
}

/// A scale as the bits of a double, and its zero point.
type Parameters = (u64, i64);

impl Parser<'_> {
    /// What follows `!quant.uniform`, `!quant.any` or `!quant.calibrated`.
    pub(super) fn quantized(&mut self, kind: &str) -> Result<Type> {
        self.expect("<")?;
        let quantized = match kind {
            "calibrated" => self.calibrated()?,
            "any" => self.any_quantized()?,
            _ => self.uniform()?,
        };
        self.expect(">")?;
        Ok(Type::Quantized(Arc::new(quantized)))
    }

    fn calibrated(&mut self) -> Result<QuantizedType> {
        let expressed = self.ty()?;
        self.expect("<")?;
        let min = self.double()?;
        self.expect(":")?;
        let max = self.double()?;
        self.expect(">")?;
        Ok(QuantizedType::Calibrated { expressed, min, max })
    }

    fn any_quantized(&mut self) -> Result<QuantizedType> {
        let Storage { signed, ty, min, max } = self.storage()?;
        let expressed = if self.eat(":") { Some(self.ty()?) } else { None };
        Ok(QuantizedType::Any {
            signed,
            storage: ty,
            expressed,
            storage_min: min,
            storage_max: max,
        })
    }

    fn uniform(&mut self) -> Result<QuantizedType> {
        let Storage { signed, ty: storage, min: storage_min, max: storage_max } = self.storage()?;
        self.expect(":")?;
        let expressed = self.ty()?;
        let mut axis = None;
        if self.eat(":") {
            if self.sees("{") {
                return self.sub_channel(signed, storage, storage_min, storage_max, expressed);
            }
            self.skip_space();
            let start = self.offset();
            let index = self.integer()?;
            let span = self.span_from(start);
            axis = match i32::try_from(index) {
                Ok(axis) if axis >= 0 => Some(axis),
                _ => return Err(self.error(span, "the quantised dimension is not an index")),
            };
        }
        self.expect(",")?;
        let parameters = if axis.is_some() {
            self.list("{", "}", |parser| parser.parameters())?
        } else {
            vec![self.parameters()?]
        };
        let (scales, zero_points) = parameters.into_iter().unzip();
        Ok(QuantizedType::Uniform(UniformType {
            signed,
            storage,
            expressed,
            storage_min,
            storage_max,
            axis,
            scales,
            zero_points,
        }))
    }

    /// `{0:2, 1:4}, {{…}, {…}}`.
    fn sub_channel(
        &mut self,
        signed: bool,
        storage: Type,
        storage_min: i64,
        storage_max: i64,
        expressed: Type,
    ) -> Result<QuantizedType> {
        let pairs = self.list("{", "}", |parser| {
            let dimension = parser.integer()?;
            parser.expect(":")?;
            Ok((dimension, parser.integer()?))
        })?;
        let (mut dimensions, mut block_sizes) = (Vec::new(), Vec::new());
        for (dimension, size) in pairs {
            let Ok(dimension) = i32::try_from(dimension) else {
                return Err(self.unexpected("quantised dimensions that fit 32 bits"));
            };
            dimensions.push(dimension);
            block_sizes.push(size);
        }
        self.expect(",")?;
        let mut values = Vec::new();
        let mut shape = Vec::new();
        self.skip_space();
        let start = self.offset();
        self.parameter_tensor(0, &mut shape, &mut values)?;
        let span = self.span_from(start);
        let scale_bytes = match expressed {
            Type::Float(float) => values.iter().try_fold(Vec::new(), |mut bytes, &(scale, _)| {
                let bits = super::float::encode(float, f64::from_bits(scale))?;
                bytes.extend_from_slice(&bits.to_le_bytes()[..float.bits().div_ceil(8) as usize]);
                Some(bytes)
            }),
            _ => None,
        };
        let zero_size = storage.dense_element_bytes().unwrap_or(8).min(8);
        let zero_bytes: Vec<u8> =
            values.iter().flat_map(|(_, zero)| zero.to_le_bytes()[..zero_size].to_vec()).collect();
        let scales = scale_bytes.and_then(|bytes| {
            DenseElements::new(Type::tensor(shape.clone(), expressed.clone()), bytes)
        });
        let zero_points = DenseElements::new(Type::tensor(shape, storage.clone()), zero_bytes);
        let (Some(scales), Some(zero_points)) = (scales, zero_points) else {
            return Err(self.error(span, "scales and zero points must form a full tensor"));
        };
        Ok(QuantizedType::SubChannel(SubChannelType {
            signed,
            storage,
            expressed,
            storage_min,
            storage_max,
            dimensions,
            block_sizes,
            scales: Attribute::DenseElements(Arc::new(scales)),
            zero_points: Attribute::DenseElements(Arc::new(zero_points)),
        }))
    }

    /// Nested braces of scales and zero points; `shape` learns the extents.
    fn parameter_tensor(
        &mut self,
        depth: usize,
        shape: &mut Vec<i64>,
        values: &mut Vec<Parameters>,
    ) -> Result<()> {
        if !self.eat("{") {
            values.push(self.parameters()?);
            return Ok(());
        }
        let start = self.offset() - 1;
        // The first list at each depth decides, which is the one met while `shape` is as short.
        let decides = shape.len() == depth;
        if decides {
            shape.push(0);
        }
        let mut count = 0;
        self.list_until("}", |parser| {
            count += 1;
            parser.nested(|parser| parser.parameter_tensor(depth + 1, shape, values))
        })?;
        if decides {
            shape[depth] = count;
        } else if shape[depth] != count {
            let span = self.span_from(start);
            return Err(
                self.error(span, format!("{count} entries where {} stood before", shape[depth]))
            );
        }
        Ok(())
    }

    /// `2.0` or `2.0:128`.
    fn parameters(&mut self) -> Result<Parameters> {
        let scale = self.double()?;
        let zero_point = if self.eat(":") { self.integer()? } else { 0 };
        Ok((scale, zero_point))
    }

    /// The bits of a double, given as a float or in hexadecimal.
    pub(super) fn double(&mut self) -> Result<u64> {
        let number = self.number()?;
        let bits = match number.kind {
            NumberKind::Float => number.to_f64().map(f64::to_bits),
            NumberKind::Hexadecimal => u64::from_str_radix(&number.digits[2..], 16).ok(),
            NumberKind::Decimal => None,
        };
        bits.ok_or_else(|| self.error(number.span, "expected a float such as `1.0`"))
    }

    /// `i8`, `u8`, or with a narrower range `i8<-127:127>`.
    fn storage(&mut self) -> Result<Storage> {
        let word = self.peek_word();
        let unsigned = word.strip_prefix("ui").or_else(|| word.strip_prefix('u'));
        let (signed, digits) = match unsigned {
            Some(digits) => (false, digits),
            None => (true, word.strip_prefix('i').unwrap_or("")),
        };
        let width: u32 = match digits.parse() {
            Ok(width) if (1..=32).contains(&width) => width,
            _ => return Err(self.unexpected("a storage type such as `i8` or `u8`")),
        };
        self.expect_word("a storage type")?;
        let full = 1i64 << width;
        let (mut min, mut max) = if signed { (-full / 2, full / 2 - 1) } else { (0, full - 1) };
        if self.eat("<") {
            min = self.integer()?;
            self.expect(":")?;
            max = self.integer()?;
            self.expect(">")?;
        }
        let ty = Type::Integer { width, signedness: Signedness::Signless };
        Ok(Storage { signed, ty, min, max })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mlir::Float;
    use crate::text::parse_type;

    #[test]
    fn ranges_and_axes() {
        let ty = parse_type("!quant.uniform<u8<1:200>:f32:1, {2.0:3, 0.5}>").unwrap();
        let Type::Quantized(quantized) = &ty else { panic!("{ty:?}") };
        let QuantizedType::Uniform(uniform) = &**quantized else { panic!("{ty:?}") };
        assert!(!uniform.signed);
        assert_eq!(uniform.expressed, Type::Float(Float::F32));
        assert_eq!((uniform.storage_min, uniform.storage_max), (1, 200));
        assert_eq!(uniform.axis, Some(1));
        assert_eq!(uniform.scales, [2f64.to_bits(), 0.5f64.to_bits()]);
        assert_eq!(uniform.zero_points, [3, 0]);
        assert!(parse_type("!quant.uniform<i8:f32, 2>").is_err());
    }
}
