//! Literals to and from protos, whose elements stand in the order of the shape's layout.

use rxla_base::Diagnostic;
use rxla_hlo::literal::{Bytes, canonicalize};
use rxla_hlo::{ArrayLiteral, ArrayShape, ElementType, Layout, Literal, Shape, TypeClass};

use crate::proto::LiteralProto;
use crate::shape;

/// The literal in the order of `shape`'s layout, which is that of its instruction.
pub fn to_proto(literal: &Literal, shape: &Shape) -> Result<LiteralProto, Diagnostic> {
    match literal {
        Literal::Array(array) => {
            array_to_proto(array, shape.as_array().and_then(|shape| shape.layout.as_deref()))
        }
        Literal::Tuple(elements) => {
            let shapes = shape.as_tuple().unwrap_or_default();
            let own: Vec<Shape> = elements.iter().map(Literal::shape).collect();
            let parts = elements
                .iter()
                .enumerate()
                .map(|(index, element)| to_proto(element, shapes.get(index).unwrap_or(&own[index])))
                .collect::<Result<Vec<_>, _>>()?;
            Ok(LiteralProto {
                shape: Some(crate::proto::ShapeProto {
                    tuple_shapes: parts.iter().filter_map(|part| part.shape.clone()).collect(),
                    ..shape::to_proto(&Shape::nil())
                }),
                tuple_literals: parts,
                ..LiteralProto::default()
            })
        }
        Literal::Token => Ok(LiteralProto {
            shape: Some(shape::to_proto(&Shape::Token)),
            ..LiteralProto::default()
        }),
    }
}

/// Only the order of dimensions matters to the elements of a literal in a proto.
fn order(layout: Option<&Layout>, rank: usize) -> Layout {
    layout.map_or_else(
        || Layout::row_major(rank),
        |layout| Layout::new(layout.minor_to_major.iter().copied()),
    )
}

fn array_to_proto(
    literal: &ArrayLiteral,
    layout: Option<&Layout>,
) -> Result<LiteralProto, Diagnostic> {
    let shape = literal.shape();
    let order = order(layout, shape.rank());
    let bytes = if order.is_row_major() {
        literal.shared_bytes()
    } else {
        literal.to_layout(&order).map_err(|error| Diagnostic::error(error.message))?
    };
    let mut with_layout = shape.clone();
    with_layout.layout = Some(Box::new(layout.cloned().unwrap_or(order)));
    let mut proto = LiteralProto {
        shape: Some(shape::array_to_proto(&with_layout)),
        ..LiteralProto::default()
    };
    if !shape.is_static() {
        // A literal holds as many elements as the bound allows.
        proto.dynamic_sizes =
            shape.dims.iter().map(|&size| i32::try_from(size).unwrap_or(i32::MAX)).collect();
    }
    write(&mut proto, shape.element_type, bytes.as_slice());
    Ok(proto)
}

fn words<const N: usize>(bytes: &[u8]) -> impl Iterator<Item = [u8; N]> + '_ {
    bytes.as_chunks::<N>().0.iter().copied()
}

fn write(proto: &mut LiteralProto, element_type: ElementType, bytes: &[u8]) {
    match element_type {
        ElementType::Pred => proto.preds = bytes.iter().map(|&byte| byte != 0).collect(),
        ElementType::S32 => proto.s32s = words(bytes).map(i32::from_le_bytes).collect(),
        ElementType::S64 => proto.s64s = words(bytes).map(i64::from_le_bytes).collect(),
        ElementType::U32 => proto.u32s = words(bytes).map(u32::from_le_bytes).collect(),
        ElementType::U64 => proto.u64s = words(bytes).map(u64::from_le_bytes).collect(),
        ElementType::F32 => proto.f32s = words(bytes).map(f32::from_le_bytes).collect(),
        ElementType::F64 => proto.f64s = words(bytes).map(f64::from_le_bytes).collect(),
        ElementType::C64 => proto.c64s = words(bytes).map(f32::from_le_bytes).collect(),
        ElementType::C128 => proto.c128s = words(bytes).map(f64::from_le_bytes).collect(),
        _ => {
            let mut bytes = bytes.to_vec();
            if element_type.class() == TypeClass::Signed && element_type.bit_width() < 8 {
                // Sign bits beyond the type's own are cleared, as XLA writes them.
                let mask = (1u8 << element_type.bit_width()) - 1;
                bytes.iter_mut().for_each(|byte| *byte &= mask);
            }
            *byte_list(proto, element_type) = bytes;
        }
    }
}

/// The list of bytes for a type that has one.
fn byte_list(proto: &mut LiteralProto, element_type: ElementType) -> &mut Vec<u8> {
    match element_type {
        ElementType::S1 => &mut proto.s1s,
        ElementType::S2 => &mut proto.s2s,
        ElementType::S4 => &mut proto.s4s,
        ElementType::S8 => &mut proto.s8s,
        ElementType::S16 => &mut proto.s16s,
        ElementType::U1 => &mut proto.u1s,
        ElementType::U2 => &mut proto.u2s,
        ElementType::U4 => &mut proto.u4s,
        ElementType::U8 => &mut proto.u8s,
        ElementType::U16 => &mut proto.u16s,
        ElementType::F16 => &mut proto.f16s,
        ElementType::Bf16 => &mut proto.bf16s,
        ElementType::F8e5m2 => &mut proto.f8e5m2s,
        ElementType::F8e4m3 => &mut proto.f8e4m3s,
        ElementType::F8e4m3fn => &mut proto.f8e4m3fns,
        ElementType::F8e4m3b11fnuz => &mut proto.f8e4m3b11fnuzs,
        ElementType::F8e3m4 => &mut proto.f8e3m4s,
        ElementType::F8e5m2fnuz => &mut proto.f8e5m2fnuzs,
        ElementType::F8e4m3fnuz => &mut proto.f8e4m3fnuzs,
        ElementType::F8e8m0fnu => &mut proto.f8e8m0fnus,
        ElementType::F6e3m2fn => &mut proto.f6e3m2fns,
        ElementType::F6e2m3fn => &mut proto.f6e2m3fns,
        ElementType::F4e2m1fn => &mut proto.f4e2m1fns,
        ElementType::Pred
        | ElementType::S32
        | ElementType::S64
        | ElementType::U32
        | ElementType::U64
        | ElementType::F32
        | ElementType::F64
        | ElementType::C64
        | ElementType::C128 => unreachable!("these types have lists of numbers"),
    }
}

/// The literal of a proto. Elements are counted before anything is allocated.
pub fn from_proto(proto: &LiteralProto) -> Result<Literal, Diagnostic> {
    let Some(shape_proto) = &proto.shape else {
        return Err(Diagnostic::error("a literal has no shape"));
    };
    match shape::from_proto(shape_proto)? {
        Shape::Array(shape) => array_from_proto(proto, &shape).map(Literal::Array),
        Shape::Buffer(shape) => array_from_proto(proto, &shape).map(Literal::Array),
        Shape::Tuple(shapes) => {
            if proto.tuple_literals.len() != shapes.len() {
                return Err(Diagnostic::error(format!(
                    "a literal of `{}` has {} parts",
                    Shape::Tuple(shapes.clone()),
                    proto.tuple_literals.len()
                )));
            }
            let parts = proto.tuple_literals.iter().map(from_proto);
            Ok(Literal::Tuple(parts.collect::<Result<_, _>>()?))
        }
        Shape::Token => Ok(Literal::Token),
        Shape::Opaque => Err(Diagnostic::error("`opaque[]` has no literal")),
    }
}

fn array_from_proto(proto: &LiteralProto, shape: &ArrayShape) -> Result<ArrayLiteral, Diagnostic> {
    let element_type = shape.element_type;
    let mut bytes = read(proto, element_type);
    let expected = shape.byte_size();
    if expected != Some(bytes.len()) {
        return Err(Diagnostic::error(format!(
            "a literal of `{shape}` has {} elements",
            bytes.len() / element_type.byte_width()
        )));
    }
    let said = proto.dynamic_sizes.iter().map(|&size| i64::from(size));
    if !proto.dynamic_sizes.is_empty() && !said.eq(shape.dims.iter().copied()) {
        return Err(Diagnostic::error(format!(
            "unimplemented: a literal of `{shape}` with fewer elements than the bound"
        )));
    }
    canonicalize(element_type, &mut bytes);
    let failed = |error: rxla_base::Error| Diagnostic::error(error.message);
    let order = order(shape.layout.as_deref(), shape.rank());
    let mut plain = shape.without_layout();
    if order.is_row_major() {
        let bytes = Bytes::copy_of(&bytes).map_err(failed)?;
        return ArrayLiteral::from_bytes(&plain, bytes).map_err(failed);
    }
    plain.layout = Some(Box::new(order));
    let literal = ArrayLiteral::from_layout(&plain, &bytes).map_err(failed)?;
    literal.with_shape(&shape.without_layout()).map_err(failed)
}

fn read(proto: &LiteralProto, element_type: ElementType) -> Vec<u8> {
    fn flat<T: Copy, const N: usize>(list: &[T], bytes: fn(T) -> [u8; N]) -> Vec<u8> {
        list.iter().flat_map(|&value| bytes(value)).collect()
    }
    match element_type {
        ElementType::Pred => proto.preds.iter().map(|&value| u8::from(value)).collect(),
        ElementType::S32 => flat(&proto.s32s, i32::to_le_bytes),
        ElementType::S64 => flat(&proto.s64s, i64::to_le_bytes),
        ElementType::U32 => flat(&proto.u32s, u32::to_le_bytes),
        ElementType::U64 => flat(&proto.u64s, u64::to_le_bytes),
        ElementType::F32 => flat(&proto.f32s, f32::to_le_bytes),
        ElementType::F64 => flat(&proto.f64s, f64::to_le_bytes),
        ElementType::C64 => flat(&proto.c64s, f32::to_le_bytes),
        ElementType::C128 => flat(&proto.c128s, f64::to_le_bytes),
        ElementType::S1 => proto.s1s.clone(),
        ElementType::S2 => proto.s2s.clone(),
        ElementType::S4 => proto.s4s.clone(),
        ElementType::S8 => proto.s8s.clone(),
        ElementType::S16 => proto.s16s.clone(),
        ElementType::U1 => proto.u1s.clone(),
        ElementType::U2 => proto.u2s.clone(),
        ElementType::U4 => proto.u4s.clone(),
        ElementType::U8 => proto.u8s.clone(),
        ElementType::U16 => proto.u16s.clone(),
        ElementType::F16 => proto.f16s.clone(),
        ElementType::Bf16 => proto.bf16s.clone(),
        ElementType::F8e5m2 => proto.f8e5m2s.clone(),
        ElementType::F8e4m3 => proto.f8e4m3s.clone(),
        ElementType::F8e4m3fn => proto.f8e4m3fns.clone(),
        ElementType::F8e4m3b11fnuz => proto.f8e4m3b11fnuzs.clone(),
        ElementType::F8e3m4 => proto.f8e3m4s.clone(),
        ElementType::F8e5m2fnuz => proto.f8e5m2fnuzs.clone(),
        ElementType::F8e4m3fnuz => proto.f8e4m3fnuzs.clone(),
        ElementType::F8e8m0fnu => proto.f8e8m0fnus.clone(),
        ElementType::F6e3m2fn => proto.f6e3m2fns.clone(),
        ElementType::F6e2m3fn => proto.f6e2m3fns.clone(),
        ElementType::F4e2m1fn => proto.f4e2m1fns.clone(),
    }
}
