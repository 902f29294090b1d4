//! Attributes and types in VHLO's encodings. What VHLO has no form for is `None`.

use rxla_base::{Error, Result};

use super::attributes::{Encoded, Encoding, bits, blob, integer_width};
use super::emitter::Tables;
use crate::mlir::{
    Attribute, AxisRef, EnumValue, Float, Mesh, MeshAxis, QuantizedType, Signedness, SubAxisInfo,
    TensorType, Type, UniformType,
};

const VERSIONED: Encoding = Encoding::Versioned;

pub(super) fn attribute(tables: &mut Tables, attribute: &Attribute) -> Result<Option<Encoded>> {
    let new = |code| Encoded::new("vhlo", code);
    let mut encoded;
    match attribute {
        Attribute::Array(items) => {
            encoded = new(1);
            let items = tables.attribute_list(items, VERSIONED)?;
            encoded.data.indices(&items);
        }
        Attribute::Bool(value) => {
            encoded = new(2);
            encoded.data.varint(u64::from(*value));
        }
        Attribute::Enum(attribute) => {
            let (code, number) = match attribute.value {
                EnumValue::ComparisonDirection(value) => (3, value.number()),
                EnumValue::ComparisonType(value) => (4, value.number()),
                EnumValue::CustomCallApiVersion(value) => (5, value.number()),
                EnumValue::FftType(value) => (7, value.number()),
                EnumValue::Precision(value) => (11, value.number()),
                EnumValue::RngAlgorithm(value) => (12, value.number()),
                EnumValue::RngDistribution(value) => (13, value.number()),
                EnumValue::Transpose(value) => (16, value.number()),
                EnumValue::ResultAccuracyMode(value) => (19, value.number()),
            };
            encoded = new(code);
            encoded.data.varint(u64::from(number));
        }
        Attribute::Dictionary(entries) => {
            encoded = new(6);
            encoded.data.length(entries.len());
            for entry in entries.iter() {
                let name = tables.attribute(&Attribute::String(entry.name.clone()), VERSIONED)?;
                let value = tables.attribute(&entry.value, VERSIONED)?;
                encoded.data.length(name);
                encoded.data.length(value);
            }
        }
        Attribute::Float { ty, bits: value } => {
            encoded = new(8);
            let index = tables.ty(&Type::Float(*ty), VERSIONED)?;
            encoded.data.length(index);
            bits(&mut encoded.data, ty.bits(), *value)?;
        }
        Attribute::Integer { ty, value } => {
            encoded = new(9);
            let index = tables.ty(ty, VERSIONED)?;
            encoded.data.length(index);
            bits(&mut encoded.data, integer_width(ty)?, *value as u64)?;
        }
        Attribute::OutputOperandAlias(alias) => {
            encoded = new(10);
            encoded.data.signed_list(&alias.output_tuple_indices);
            encoded.data.signed(alias.operand_index);
            encoded.data.signed_list(&alias.operand_tuple_indices);
        }
        Attribute::String(text) => {
            encoded = new(14);
            let text = tables.string(text);
            encoded.data.length(text);
        }
        Attribute::DenseElements(elements) => {
            encoded = new(15);
            let ty = tables.ty(elements.ty(), VERSIONED)?;
            encoded.data.length(ty);
            encoded.data.blob(&blob(elements));
        }
        Attribute::Type(ty) => {
            encoded = new(17);
            let ty = tables.ty(ty, VERSIONED)?;
            encoded.data.length(ty);
        }
        Attribute::TypeExtensions(bounds) => {
            encoded = new(18);
            encoded.data.signed_list(bounds);
        }
        Attribute::ResultAccuracy(accuracy) => {
            encoded = new(20);
            encoded.data.signed(accuracy.atol as i64);
            encoded.data.signed(accuracy.rtol as i64);
            encoded.data.signed(accuracy.ulps);
            let mode = EnumValue::ResultAccuracyMode(accuracy.mode);
            let mode = Attribute::Enum(crate::mlir::EnumAttribute::stablehlo(mode));
            let mode = tables.attribute(&mode, VERSIONED)?;
            encoded.data.length(mode);
        }
        Attribute::SubAxisInfo(part) => encoded = sub_axis(*part),
        Attribute::AxisRef(axis) => encoded = axis_ref(tables, axis)?,
        Attribute::ReplicaGroupMeshAxes(groups) => {
            encoded = new(23);
            let mesh = match groups.mesh.as_flat_symbol() {
                Some(name) => tables.attribute(&Attribute::String(name.clone()), VERSIONED)?,
                None => tables.attribute(&groups.mesh, VERSIONED)?,
            };
            let axes = tables.attribute(&Attribute::Array(groups.axes.clone()), VERSIONED)?;
            encoded.data.length(mesh);
            encoded.data.length(axes);
        }
        Attribute::MeshAxis(axis) => encoded = mesh_axis(tables, axis)?,
        Attribute::Mesh(mesh) => encoded = mesh_attribute(tables, mesh)?,
        Attribute::Unit
        | Attribute::TypedString(_)
        | Attribute::SymbolRef(_)
        | Attribute::DenseStrings(_)
        | Attribute::DenseArray(_)
        | Attribute::DenseResource(_)
        | Attribute::Location(_)
        | Attribute::ScatterDimensionNumbers(_)
        | Attribute::GatherDimensionNumbers(_)
        | Attribute::DotDimensionNumbers(_)
        | Attribute::DotAlgorithm(_)
        | Attribute::ConvDimensionNumbers(_)
        | Attribute::RaggedDotDimensionNumbers(_)
        | Attribute::ChannelHandle { .. }
        | Attribute::Sdy(_)
        | Attribute::Opaque(_) => return Ok(None),
    }
    Ok(Some(encoded))
}

fn sub_axis(part: SubAxisInfo) -> Encoded {
    let mut encoded = Encoded::new("vhlo", 21);
    encoded.data.signed(part.pre_size);
    encoded.data.signed(part.size);
    encoded
}

fn axis_ref(tables: &mut Tables, axis: &AxisRef) -> Result<Encoded> {
    let mut encoded = Encoded::new("vhlo", 22);
    let name = tables.attribute(&Attribute::String(axis.name.clone()), VERSIONED)?;
    encoded.data.length(name);
    encoded.data.varint(u64::from(axis.sub_axis.is_some()));
    if let Some(part) = axis.sub_axis {
        let part = tables.attribute(&Attribute::SubAxisInfo(part), VERSIONED)?;
        encoded.data.length(part);
    }
    Ok(encoded)
}

fn mesh_axis(tables: &mut Tables, axis: &MeshAxis) -> Result<Encoded> {
    let mut encoded = Encoded::new("vhlo", 24);
    let name = tables.attribute(&Attribute::String(axis.name.clone()), VERSIONED)?;
    encoded.data.length(name);
    encoded.data.signed(axis.size);
    Ok(encoded)
}

fn mesh_attribute(tables: &mut Tables, mesh: &Mesh) -> Result<Encoded> {
    let mut encoded = Encoded::new("vhlo", 25);
    let axes = mesh.axes.iter().map(|axis| Attribute::MeshAxis(axis.clone().into())).collect();
    let axes = tables.attribute(&Attribute::array(axes), VERSIONED)?;
    encoded.data.length(axes);
    match &mesh.device_ids {
        None => encoded.data.flagged(0, false),
        Some(ids) => {
            let ids = tables.attribute(&Attribute::DenseElements(ids.clone()), VERSIONED)?;
            encoded.data.flagged(ids, true);
        }
    }
    Ok(encoded)
}

pub(super) fn ty(tables: &mut Tables, ty: &Type) -> Result<Option<Encoded>> {
    let new = |code| Encoded::new("vhlo", code);
    let mut encoded;
    match ty {
        Type::Integer { width, signedness } => {
            encoded = new(match (signedness, width) {
                (Signedness::Signless, 1) => 0,
                (Signedness::Signless, 4) => 10,
                (Signedness::Signless, 8) => 11,
                (Signedness::Signless, 16) => 12,
                (Signedness::Signless, 32) => 13,
                (Signedness::Signless, 64) => 14,
                (Signedness::Unsigned, 4) => 15,
                (Signedness::Unsigned, 8) => 16,
                (Signedness::Unsigned, 16) => 17,
                (Signedness::Unsigned, 32) => 18,
                (Signedness::Unsigned, 64) => 19,
                (Signedness::Signless, 2) => 31,
                (Signedness::Unsigned, 2) => 32,
                _ => {
                    return Err(Error::invalid_argument(format!(
                        "VHLO has no {signedness:?} integer type of {width} bits"
                    )));
                }
            });
        }
        Type::Index => encoded = new(9),
        Type::Float(float) => {
            encoded = new(match float {
                Float::BF16 => 2,
                Float::F16 => 3,
                Float::F32 => 4,
                Float::F64 => 5,
                Float::F8E4M3FN => 6,
                Float::F8E5M2 => 7,
                Float::F8E4M3FNUZ => 27,
                Float::F8E5M2FNUZ => 28,
                Float::F8E4M3B11FNUZ => 29,
                Float::TF32 => 34,
                Float::F8E4M3 => 35,
                Float::F8E3M4 => 36,
                Float::F4E2M1FN => 37,
                Float::F6E2M3FN => 38,
                Float::F6E3M2FN => 39,
                Float::F8E8M0FNU => 40,
                Float::F80 | Float::F128 => {
                    let name = float.name();
                    return Err(Error::invalid_argument(format!("VHLO has no type `{name}`")));
                }
            });
        }
        Type::Complex(element) => {
            encoded = new(1);
            let element = tables.ty(element, VERSIONED)?;
            encoded.data.length(element);
        }
        Type::Tensor(tensor) => encoded = tensor_type(tables, tensor)?,
        Type::UnrankedTensor(element) => {
            encoded = new(25);
            let element = tables.ty(element, VERSIONED)?;
            encoded.data.length(element);
        }
        Type::MemRef(memref) => {
            if memref.layout.is_some() || memref.memory_space.is_some() {
                return Err(Error::invalid_argument(
                    "VHLO's buffers have no layout or memory space",
                ));
            }
            encoded = new(41);
            encoded.data.signed_list(&memref.shape);
            let element = tables.ty(&memref.element, VERSIONED)?;
            encoded.data.length(element);
        }
        Type::Tuple(types) => {
            encoded = new(23);
            let types = tables.type_list(types, VERSIONED)?;
            encoded.data.indices(&types);
        }
        Type::Function(function) => {
            encoded = new(8);
            let inputs = tables.type_list(&function.inputs, VERSIONED)?;
            let results = tables.type_list(&function.results, VERSIONED)?;
            encoded.data.indices(&inputs);
            encoded.data.indices(&results);
        }
        Type::None => encoded = new(33),
        Type::Token => encoded = new(22),
        Type::Future(types) => {
            encoded = new(42);
            let types = tables.type_list(types, VERSIONED)?;
            encoded.data.indices(&types);
        }
        Type::Quantized(quantized) => match &**quantized {
            QuantizedType::Uniform(uniform) => encoded = uniform_type(tables, uniform)?,
            QuantizedType::Any { .. }
            | QuantizedType::SubChannel(_)
            | QuantizedType::Calibrated { .. } => {
                return Err(Error::invalid_argument("VHLO has no such quantised type"));
            }
        },
        Type::Opaque(opaque) if opaque.dialect == "shape" && opaque.text == "witness" => {
            encoded = new(26);
        }
        Type::Vector(_) | Type::UnrankedMemRef(_) | Type::Opaque(_) => return Ok(None),
    }
    Ok(Some(encoded))
}

fn tensor_type(tables: &mut Tables, tensor: &TensorType) -> Result<Encoded> {
    let mut encoded = Encoded::new("vhlo", if tensor.encoding.is_some() { 21 } else { 20 });
    if let Some(encoding) = &tensor.encoding {
        let encoding = tables.attribute(encoding, VERSIONED)?;
        encoded.data.length(encoding);
    }
    encoded.data.signed_list(&tensor.shape);
    let element = tables.ty(&tensor.element, VERSIONED)?;
    encoded.data.length(element);
    Ok(encoded)
}

fn uniform_type(tables: &mut Tables, uniform: &UniformType) -> Result<Encoded> {
    let storage = tables.ty(&uniform.storage, VERSIONED)?;
    let expressed = tables.ty(&uniform.expressed, VERSIONED)?;
    let mut encoded = Encoded::new("vhlo", if uniform.axis.is_some() { 30 } else { 24 });
    let data = &mut encoded.data;
    data.varint(u64::from(uniform.signed));
    data.length(storage);
    data.length(expressed);
    match uniform.axis {
        None => {
            let scale = uniform.scales.first().copied().unwrap_or(0);
            data.signed(scale as i64);
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
    Ok(encoded)
}
