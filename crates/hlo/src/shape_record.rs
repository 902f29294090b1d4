//! Shapes in records of compiled programs: those that programs take and give, which are tokens and
//! arrays with plain layouts. Others have no record, and programs with them are not kept.

use rxla_base::{RecordReader, RecordWriter};

use crate::layout::Layout;
use crate::shape::{ArrayShape, Shape};
use crate::{Dims, ElementType};

const TOKEN: u64 = 0;
const ARRAY: u64 = 1;

/// Appends a shape; `None` if it has no record.
pub fn write_shape(writer: &mut RecordWriter, shape: &Shape) -> Option<()> {
    match shape {
        Shape::Token => {
            writer.number(TOKEN);
            Some(())
        }
        Shape::Array(array) => {
            writer.number(ARRAY);
            write_array(writer, array)
        }
        Shape::Tuple(_) | Shape::Opaque | Shape::Buffer(_) => None,
    }
}

pub fn read_shape(reader: &mut RecordReader<'_>) -> Option<Shape> {
    match reader.number()? {
        TOKEN => Some(Shape::Token),
        ARRAY => Some(Shape::Array(read_array(reader)?)),
        _ => None,
    }
}

/// Appends the shape of an array; `None` if its layout says more than an order and a memory.
pub fn write_array(writer: &mut RecordWriter, array: &ArrayShape) -> Option<()> {
    let number = ElementType::ALL.iter().position(|known| *known == array.element_type)?;
    writer.count(number);
    write_dims(writer, &array.dims);
    for dimension in 0..array.rank() {
        writer.number(u64::from(array.is_dynamic_dimension(dimension)));
    }
    let Some(layout) = &array.layout else {
        writer.number(0);
        return Some(());
    };
    if **layout != plain(layout.minor_to_major.clone(), layout.memory_space) {
        return None;
    }
    writer.number(1);
    write_dims(writer, &layout.minor_to_major);
    writer.signed(layout.memory_space);
    Some(())
}

pub fn read_array(reader: &mut RecordReader<'_>) -> Option<ArrayShape> {
    let element_type = *ElementType::ALL.get(reader.size()?)?;
    let mut array = ArrayShape::new(element_type, read_dims(reader)?);
    for dimension in 0..array.rank() {
        let dynamic = reader.number()? != 0;
        array.set_dynamic(dimension, dynamic);
    }
    if reader.number()? != 0 {
        let order = read_dims(reader)?;
        array.layout = Some(Box::new(plain(order, reader.signed()?)));
    }
    Some(array)
}

fn plain(minor_to_major: Dims, memory_space: i64) -> Layout {
    Layout { memory_space, ..Layout::new(minor_to_major) }
}

fn write_dims(writer: &mut RecordWriter, dims: &Dims) {
    writer.count(dims.len());
    dims.iter().for_each(|&dim| writer.signed(dim));
}

fn read_dims(reader: &mut RecordReader<'_>) -> Option<Dims> {
    let count = reader.count()?;
    (0..count).map(|_| reader.signed()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn again(shape: &Shape) -> Option<Shape> {
        let mut writer = RecordWriter::new();
        write_shape(&mut writer, shape)?;
        let record = writer.finish();
        let mut reader = RecordReader::new(&record);
        let shape = read_shape(&mut reader);
        assert!(reader.is_empty());
        shape
    }

    #[test]
    fn arrays_and_tokens_come_back() {
        let mut bounded = ArrayShape::new(ElementType::Bf16, [3, 4]);
        bounded.set_dynamic(1, true);
        let mut laid_out = ArrayShape::new(ElementType::S4, [3, 4]);
        laid_out.layout = Some(Box::new(plain([0, 1].into_iter().collect(), 5)));
        let scalar = ArrayShape::new(ElementType::Pred, []);
        for shape in [bounded, laid_out, scalar].map(Shape::Array).iter().chain([&Shape::Token]) {
            assert_eq!(again(shape).as_ref(), Some(shape));
        }
    }

    #[test]
    fn what_has_no_record_says_so() {
        assert_eq!(again(&Shape::Opaque), None);
        assert_eq!(again(&Shape::tuple([Shape::Token])), None);
        let mut packed = ArrayShape::new(ElementType::S4, [4]);
        let layout = Layout { element_size_in_bits: 4, ..Layout::new([0]) };
        packed.layout = Some(Box::new(layout));
        assert_eq!(again(&Shape::Array(packed)), None);
    }
}
