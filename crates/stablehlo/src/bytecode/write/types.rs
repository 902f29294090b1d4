//! Types of the builtin dialect, StableHLO and quant, and the choice of the encoding.

use std::sync::Arc;

use rxla_base::{Error, Result};

use super::attributes::{Encoded, Encoding};
use super::emitter::{Entry, Kept, Tables};
use super::vhlo;
use crate::mlir::{Attribute, ByteString, Float, Opaque, QuantizedType, Signedness, Type};

const PLAIN: Encoding = Encoding::Plain;

impl Tables {
    pub(super) fn ty(&mut self, ty: &Type, encoding: Encoding) -> Result<usize> {
        let address = match ty {
            Type::Tensor(tensor) => Arc::as_ptr(tensor) as usize,
            Type::Function(function) => Arc::as_ptr(function) as usize,
            Type::Tuple(types) | Type::Future(types) if !types.is_empty() => {
                Arc::as_ptr(types).cast::<()>() as usize
            }
            _ => 0,
        };
        let key = (address, encoding == Encoding::Versioned);
        if address != 0
            && let Some(index) = self.known(key)
        {
            return Ok(index);
        }
        let versioned = match encoding {
            Encoding::Versioned => vhlo::ty(self, ty)?,
            Encoding::Plain => None,
        };
        let index = match versioned {
            Some(encoded) => self.add_type(encoded),
            None => self.plain_type(ty)?,
        };
        if address != 0 {
            self.remember(key, index, Kept::Type { _value: ty.clone() });
        }
        Ok(index)
    }

    pub(super) fn type_list(&mut self, types: &[Type], encoding: Encoding) -> Result<Vec<usize>> {
        types.iter().map(|ty| self.ty(ty, encoding)).collect()
    }

    fn add_type(&mut self, encoded: Encoded) -> usize {
        let dialect = self.dialect(&encoded.dialect.into());
        self.types.add(Entry { dialect, data: encoded.data.finish(), custom: true })
    }

    fn text_type(&mut self, opaque: &Opaque, text: Vec<u8>) -> usize {
        self.text_entry(opaque, text, |tables, entry| tables.types.add(entry))
    }

    fn plain_type(&mut self, ty: &Type) -> Result<usize> {
        let new = |code| Encoded::new("builtin", code);
        let mut encoded;
        match ty {
            Type::Integer { width, signedness } => {
                encoded = new(0);
                let sign = match signedness {
                    Signedness::Signless => 0,
                    Signedness::Signed => 1,
                    Signedness::Unsigned => 2,
                };
                encoded.data.varint(u64::from(*width) << 2 | sign);
            }
            Type::Index => encoded = new(1),
            Type::Float(float) => {
                encoded = new(match float {
                    Float::BF16 => 3,
                    Float::F16 => 4,
                    Float::F32 => 5,
                    Float::F64 => 6,
                    Float::F80 => 7,
                    Float::F128 => 8,
                    // Their codes are new; every reader knows the text.
                    Float::F4E2M1FN
                    | Float::F6E2M3FN
                    | Float::F6E3M2FN
                    | Float::F8E5M2
                    | Float::F8E4M3
                    | Float::F8E4M3FN
                    | Float::F8E5M2FNUZ
                    | Float::F8E4M3FNUZ
                    | Float::F8E4M3B11FNUZ
                    | Float::F8E3M4
                    | Float::F8E8M0FNU
                    | Float::TF32 => {
                        let name = ByteString::from(float.name());
                        let opaque = Opaque { dialect: ByteString::default(), text: name };
                        return Ok(self.text_type(&opaque, float.name().into()));
                    }
                });
            }
            Type::Complex(element) => {
                encoded = new(9);
                let element = self.ty(element, PLAIN)?;
                encoded.data.length(element);
            }
            Type::Tensor(tensor) => {
                encoded = new(if tensor.encoding.is_some() { 14 } else { 13 });
                if let Some(encoding) = &tensor.encoding {
                    let encoding = self.attribute(encoding, PLAIN)?;
                    encoded.data.length(encoding);
                }
                encoded.data.signed_list(&tensor.shape);
                let element = self.ty(&tensor.element, PLAIN)?;
                encoded.data.length(element);
            }
            Type::UnrankedTensor(element) => {
                encoded = new(18);
                let element = self.ty(element, PLAIN)?;
                encoded.data.length(element);
            }
            Type::Vector(vector) => {
                if !vector.scalable.is_empty() {
                    return Err(Error::unimplemented("vectors with scalable dimensions"));
                }
                encoded = new(19);
                encoded.data.signed_list(&vector.shape);
                let element = self.ty(&vector.element, PLAIN)?;
                encoded.data.length(element);
            }
            Type::MemRef(memref) => {
                encoded = new(if memref.memory_space.is_some() { 11 } else { 10 });
                if let Some(space) = &memref.memory_space {
                    let space = self.attribute(space, PLAIN)?;
                    encoded.data.length(space);
                }
                encoded.data.signed_list(&memref.shape);
                let element = self.ty(&memref.element, PLAIN)?;
                let identity = || identity_map(memref.shape.len());
                let layout = memref.layout.clone().unwrap_or_else(identity);
                let layout = self.attribute(&layout, PLAIN)?;
                encoded.data.length(element);
                encoded.data.length(layout);
            }
            Type::UnrankedMemRef(parts) => {
                encoded = new(if parts.1.is_some() { 17 } else { 16 });
                if let Some(space) = &parts.1 {
                    let space = self.attribute(space, PLAIN)?;
                    encoded.data.length(space);
                }
                let element = self.ty(&parts.0, PLAIN)?;
                encoded.data.length(element);
            }
            Type::Tuple(types) => {
                encoded = new(15);
                let types = self.type_list(types, PLAIN)?;
                encoded.data.indices(&types);
            }
            Type::Function(function) => {
                encoded = new(2);
                let inputs = self.type_list(&function.inputs, PLAIN)?;
                let results = self.type_list(&function.results, PLAIN)?;
                encoded.data.indices(&inputs);
                encoded.data.indices(&results);
            }
            Type::None => encoded = new(12),
            Type::Token => encoded = Encoded::new("stablehlo", 0),
            Type::Future(types) => {
                encoded = Encoded::new("stablehlo", 1);
                let types = self.type_list(types, PLAIN)?;
                encoded.data.indices(&types);
            }
            Type::Quantized(quantized) => encoded = self.quantized_type(quantized)?,
            Type::Opaque(opaque) => {
                let text = match opaque.dialect.as_bytes() {
                    [] => opaque.text.as_bytes().to_vec(),
                    dialect => [b"!", dialect, b".", opaque.text.as_bytes()].concat(),
                };
                return Ok(self.text_type(opaque, text));
            }
        }
        Ok(self.add_type(encoded))
    }

    fn quantized_type(&mut self, quantized: &QuantizedType) -> Result<Encoded> {
        let new = |code| Encoded::new("quant", code);
        let mut encoded;
        match quantized {
            QuantizedType::Any { signed, storage, expressed, storage_min, storage_max } => {
                encoded = new(if expressed.is_some() { 1 } else { 0 });
                encoded.data.varint(u64::from(*signed));
                let storage = self.ty(storage, PLAIN)?;
                encoded.data.length(storage);
                if let Some(expressed) = expressed {
                    let expressed = self.ty(expressed, PLAIN)?;
                    encoded.data.length(expressed);
                }
                encoded.data.signed(*storage_min);
                encoded.data.signed(*storage_max);
            }
            QuantizedType::Calibrated { expressed, min, max } => {
                encoded = new(2);
                let expressed = self.ty(expressed, PLAIN)?;
                encoded.data.length(expressed);
                encoded.data.signed(*min as i64);
                encoded.data.signed(*max as i64);
            }
            QuantizedType::Uniform(uniform) => {
                encoded = new(if uniform.axis.is_some() { 4 } else { 3 });
                encoded.data.varint(u64::from(uniform.signed));
                let storage = self.ty(&uniform.storage, PLAIN)?;
                let expressed = self.ty(&uniform.expressed, PLAIN)?;
                let data = &mut encoded.data;
                data.length(storage);
                data.length(expressed);
                match uniform.axis {
                    None => {
                        data.signed(uniform.scales.first().copied().unwrap_or(0) as i64);
                        data.signed(uniform.zero_points.first().copied().unwrap_or(0));
                        data.signed(uniform.storage_min);
                        data.signed(uniform.storage_max);
                    }
                    Some(axis) => {
                        data.varint(axis.max(0) as u64);
                        data.signed(uniform.storage_min);
                        data.signed(uniform.storage_max);
                        data.length(uniform.scales.len());
                        uniform.scales.iter().for_each(|&scale| data.signed(scale as i64));
                        data.signed_list(&uniform.zero_points);
                    }
                }
            }
            QuantizedType::SubChannel(sub) => {
                encoded = new(5);
                encoded.data.varint(u64::from(sub.signed));
                let storage = self.ty(&sub.storage, PLAIN)?;
                let expressed = self.ty(&sub.expressed, PLAIN)?;
                let scales = self.attribute(&sub.scales, PLAIN)?;
                let zero_points = self.attribute(&sub.zero_points, PLAIN)?;
                let dimensions: Vec<i64> = sub.dimensions.iter().map(|&d| i64::from(d)).collect();
                encoded.data.length(storage);
                encoded.data.length(expressed);
                encoded.data.signed(sub.storage_min);
                encoded.data.signed(sub.storage_max);
                encoded.data.signed_list(&dimensions);
                encoded.data.signed_list(&sub.block_sizes);
                encoded.data.length(scales);
                encoded.data.length(zero_points);
            }
        }
        Ok(encoded)
    }
}

/// The layout of a plain buffer.
fn identity_map(rank: usize) -> Attribute {
    let names = (0..rank).map(|index| format!("d{index}")).collect::<Vec<_>>().join(", ");
    Attribute::opaque("", format!("affine_map<({names}) -> ({names})>"))
}
