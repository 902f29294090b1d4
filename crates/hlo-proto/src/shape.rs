//! Shapes and layouts to and from protos.

use std::sync::Arc;

use rxla_base::Diagnostic;
use rxla_hlo::{
    ArrayShape, DimLevel, DimLevelKind, Dims, ElementType, Layout, ProgramShape, Shape,
    SplitConfig, Tile,
};

use crate::proto::{LayoutProto, ProgramShapeProto, ShapeProto, SplitConfigProto, TileProto};

/// Numbers of `PrimitiveType` that are no element types.
const TUPLE: i32 = 13;
const OPAQUE: i32 = 14;
const TOKEN: i32 = 17;
const BUFFER: i32 = 34;

/// The shape as it is: without layout where it has none.
pub fn to_proto(shape: &Shape) -> ShapeProto {
    match shape {
        Shape::Array(array) => array_to_proto(array),
        Shape::Tuple(elements) => ShapeProto {
            element_type: TUPLE,
            tuple_shapes: elements.iter().map(to_proto).collect(),
            ..ShapeProto::default()
        },
        Shape::Token => ShapeProto { element_type: TOKEN, ..ShapeProto::default() },
        Shape::Opaque => ShapeProto { element_type: OPAQUE, ..ShapeProto::default() },
        Shape::Buffer(array) => ShapeProto {
            element_type: BUFFER,
            tuple_shapes: vec![array_to_proto(array)],
            ..ShapeProto::default()
        },
    }
}

pub(crate) fn array_to_proto(array: &ArrayShape) -> ShapeProto {
    ShapeProto {
        element_type: array.element_type.proto_number(),
        dimensions: array.dims.to_vec(),
        is_dynamic_dimension: (0..array.rank()).map(|d| array.is_dynamic_dimension(d)).collect(),
        tuple_shapes: Vec::new(),
        layout: array.layout.as_deref().map(layout_to_proto),
    }
}

fn layout_to_proto(layout: &Layout) -> LayoutProto {
    let number = |t: Option<ElementType>| t.map_or(0, ElementType::proto_number);
    LayoutProto {
        minor_to_major: layout.minor_to_major.to_vec(),
        dim_level_types: layout.dim_level_types.iter().map(|level| level.kind as i32).collect(),
        dim_unique: layout.dim_level_types.iter().map(|level| !level.not_unique).collect(),
        dim_ordered: layout.dim_level_types.iter().map(|level| !level.not_ordered).collect(),
        tiles: layout
            .tiles
            .iter()
            .map(|tile| TileProto { dimensions: tile.dimensions.to_vec() })
            .collect(),
        tail_padding_alignment_in_elements: layout.tail_padding_alignment_in_elements,
        element_size_in_bits: layout.element_size_in_bits,
        memory_space: layout.memory_space,
        index_primitive_type: number(layout.index_type),
        pointer_primitive_type: number(layout.pointer_type),
        physical_shape: layout.physical_shape.as_deref().map(|shape| Box::new(to_proto(shape))),
        dynamic_shape_metadata_prefix_bytes: layout.dynamic_shape_metadata_prefix_bytes,
        split_configs: layout
            .split_configs
            .iter()
            .map(|split| SplitConfigProto {
                dimension: split.dimension,
                split_indices: split.split_indices.clone(),
            })
            .collect(),
    }
}

/// The shape of a proto; an error names what no shape can be.
pub fn from_proto(proto: &ShapeProto) -> Result<Shape, Diagnostic> {
    match proto.element_type {
        TUPLE => Ok(Shape::Tuple(
            proto.tuple_shapes.iter().map(from_proto).collect::<Result<Arc<[Shape]>, _>>()?,
        )),
        OPAQUE => Ok(Shape::Opaque),
        TOKEN => Ok(Shape::Token),
        BUFFER => match &proto.tuple_shapes[..] {
            [array] => Ok(Shape::Buffer(Arc::new(array_from_proto(array)?))),
            others => Err(Diagnostic::error(format!(
                "a buffer holds one array, but the proto has {}",
                others.len()
            ))),
        },
        _ => array_from_proto(proto).map(Shape::Array),
    }
}

pub(crate) fn array_from_proto(proto: &ShapeProto) -> Result<ArrayShape, Diagnostic> {
    let Some(element_type) = ElementType::from_proto_number(proto.element_type) else {
        return Err(Diagnostic::error(format!("there is no element type {}", proto.element_type)));
    };
    if let Some(size) =
        proto.dimensions.iter().find(|&&size| size < 0 && size != ArrayShape::UNBOUNDED)
    {
        return Err(Diagnostic::error(format!("a dimension has the size {size}")));
    }
    let dynamic = &proto.is_dynamic_dimension;
    if !dynamic.is_empty() && dynamic.len() != proto.dimensions.len() {
        return Err(Diagnostic::error(format!(
            "a shape has {} dimensions, but says of {} whether they are dynamic",
            proto.dimensions.len(),
            dynamic.len()
        )));
    }
    let mut shape = ArrayShape::new(element_type, proto.dimensions.iter().copied());
    for (dimension, &dynamic) in dynamic.iter().enumerate() {
        if dynamic {
            shape.set_dynamic(dimension, true);
        }
    }
    shape.layout = proto.layout.as_ref().map(layout_from_proto).transpose()?.map(Box::new);
    Ok(shape)
}

fn layout_from_proto(proto: &LayoutProto) -> Result<Layout, Diagnostic> {
    let element_type = |number: i32| match number {
        0 => Ok(None),
        _ => ElementType::from_proto_number(number)
            .map(Some)
            .ok_or_else(|| Diagnostic::error(format!("there is no element type {number}"))),
    };
    let mut layout = Layout::new(proto.minor_to_major.iter().copied());
    for (dimension, &kind) in proto.dim_level_types.iter().enumerate() {
        let kind = match kind {
            0 => DimLevelKind::Dense,
            1 => DimLevelKind::Compressed,
            2 => DimLevelKind::Singleton,
            3 => DimLevelKind::LooseCompressed,
            _ => return Err(Diagnostic::error(format!("there is no dimension level type {kind}"))),
        };
        let said = |list: &[bool]| list.get(dimension).copied().unwrap_or(true);
        layout.dim_level_types.push(DimLevel {
            kind,
            not_unique: !said(&proto.dim_unique),
            not_ordered: !said(&proto.dim_ordered),
        });
    }
    layout.tiles = proto
        .tiles
        .iter()
        .map(|tile| Tile { dimensions: tile.dimensions.iter().copied().collect() })
        .collect();
    // Both 0 and 1 mean that nothing is padded.
    layout.tail_padding_alignment_in_elements = proto.tail_padding_alignment_in_elements.max(1);
    layout.index_type = element_type(proto.index_primitive_type)?;
    layout.pointer_type = element_type(proto.pointer_primitive_type)?;
    layout.element_size_in_bits = proto.element_size_in_bits;
    layout.memory_space = proto.memory_space;
    layout.split_configs = proto
        .split_configs
        .iter()
        .map(|split| SplitConfig {
            dimension: split.dimension,
            split_indices: split.split_indices.clone(),
        })
        .collect();
    layout.physical_shape =
        proto.physical_shape.as_deref().map(from_proto).transpose()?.map(Box::new);
    layout.dynamic_shape_metadata_prefix_bytes = proto.dynamic_shape_metadata_prefix_bytes;
    Ok(layout)
}

pub fn program_to_proto(program: &ProgramShape) -> ProgramShapeProto {
    ProgramShapeProto {
        parameters: program.parameters.iter().map(|(_, shape)| to_proto(shape)).collect(),
        result: Some(to_proto(&program.result)),
        parameter_names: program.parameters.iter().map(|(name, _)| name.clone()).collect(),
    }
}

pub fn program_from_proto(proto: &ProgramShapeProto) -> Result<ProgramShape, Diagnostic> {
    let names = proto.parameter_names.iter().cloned().chain(std::iter::repeat(String::new()));
    let parameters = proto
        .parameters
        .iter()
        .zip(names)
        .map(|(shape, name)| Ok((name, from_proto(shape)?)))
        .collect::<Result<Vec<_>, Diagnostic>>()?;
    let Some(result) = &proto.result else {
        return Err(Diagnostic::error("a program shape says no result"));
    };
    Ok(ProgramShape { parameters, result: from_proto(result)? })
}

pub(crate) fn dims(numbers: &[i64]) -> Dims {
    Dims::from_slice(numbers)
}
