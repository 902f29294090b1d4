//! Literals: values of any shape on the host.
//!
//! An array literal is dense and row-major whatever layout its shape names, with one element per
//! [`ElementType::byte_width`] bytes (sub-byte types take a byte each). Layouts and packing are
//! applied where values cross a border, never in here. Clones share storage until one is changed.

mod bitcast;
mod bytes;
mod compare;
mod convert;
mod element;
mod pack;
mod relayout;
mod strided;
mod text;

pub use bytes::Bytes;
pub use compare::{
    Agreement, ArrayDisagreement, Disagreement, Nans, Tolerance, WrongElement, Zeros, compare,
};
pub use element::{Element, Wide};
pub use pack::{canonicalize, is_canonical, pack, packed_bits, packed_byte_size, unpack};
pub use relayout::layout_byte_size;
pub use strided::gather;
pub use text::ElementText;

use std::sync::Arc;

use rxla_base::{Error, Result};

use crate::native::NativeType;
use crate::{ArrayShape, Dims, ElementType, Shape};

/// A value.
#[derive(Clone, PartialEq, Debug)]
pub enum Literal {
    Array(ArrayLiteral),
    Tuple(Vec<Literal>),
    Token,
}

/// An array value. Equality is of shape (layout aside) and bits.
#[derive(Clone, Debug)]
pub struct ArrayLiteral {
    /// Shared, since programs pass the same few shapes on and on.
    shape: Arc<ArrayShape>,
    bytes: Bytes,
}

impl PartialEq for ArrayLiteral {
    fn eq(&self, other: &ArrayLiteral) -> bool {
        self.shape.compatible(&other.shape) && self.bytes() == other.bytes()
    }
}

impl ArrayLiteral {
    /// All zero bits. Fails if the size overflows or memory runs out.
    pub fn zeros(shape: &ArrayShape) -> Result<ArrayLiteral> {
        let size = shape.byte_size().ok_or_else(|| {
            Error::resource_exhausted(format!("`{shape}` has no size that memory could hold"))
        })?;
        Ok(ArrayLiteral { shape: Arc::new(shape.clone()), bytes: Bytes::zeroed(size)? })
    }

    /// A literal over existing bytes: row-major, one element per byte width. Bits beyond the width
    /// of the type, which others leave as they like, are brought in order. Fails if the length does
    /// not fit the shape.
    pub fn from_bytes(shape: &ArrayShape, bytes: Bytes) -> Result<ArrayLiteral> {
        let ArrayLiteral { shape, mut bytes } =
            ArrayLiteral::from_values_in(Arc::new(shape.clone()), bytes)?;
        if let Some(canonical) = canonical_byte(shape.element_type)
            && bytes.as_slice().iter().any(|&byte| canonical(byte) != byte)
        {
            bytes = Bytes::copy_of(bytes.as_slice())?;
            bytes.make_mut().iter_mut().for_each(|byte| *byte = canonical(*byte));
        }
        Ok(ArrayLiteral { shape, bytes })
    }

    /// [`ArrayLiteral::from_bytes`] for bytes that hold values of the type as we write them, so that
    /// there is nothing to bring in order.
    pub fn from_values_in(shape: Arc<ArrayShape>, bytes: Bytes) -> Result<ArrayLiteral> {
        let (size, given) = (shape.byte_size(), bytes.len());
        if size != Some(given) {
            return Err(Error::invalid_argument(format!(
                "{given} bytes given for `{shape}`, which takes {}",
                size.map_or("too many".to_owned(), |size| size.to_string()),
            )));
        }
        // Complex numbers are also moved about as words of their whole width.
        let align = shape.element_type.byte_width().min(8);
        Ok(ArrayLiteral { bytes: bytes.aligned(align)?, shape })
    }

    /// A row-major array of `values`. Panics if their number is not the product of `dims`.
    pub fn from_values<T: NativeType>(
        dims: impl IntoIterator<Item = i64>,
        values: &[T],
    ) -> ArrayLiteral {
        let shape = ArrayShape::new(T::TYPE, dims);
        assert_eq!(shape.element_count(), Some(values.len()), "number of values for {shape}");
        let mut literal = ArrayLiteral::zeros(&shape).expect("values exist, so do their bytes");
        literal.values_mut::<T>().copy_from_slice(values);
        literal
    }

    pub fn scalar<T: NativeType>(value: T) -> ArrayLiteral {
        ArrayLiteral::from_values([], &[value])
    }

    pub fn shape(&self) -> &ArrayShape {
        &self.shape
    }

    pub fn element_type(&self) -> ElementType {
        self.shape.element_type
    }

    pub fn dims(&self) -> &Dims {
        &self.shape.dims
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.bytes.len() / self.shape.element_type.byte_width()
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub fn bytes(&self) -> &[u8] {
        self.bytes.as_slice()
    }

    /// The storage, to share it without a copy.
    pub fn shared_bytes(&self) -> Bytes {
        self.bytes.clone()
    }

    /// See [`Bytes::show`].
    pub fn show(&mut self) -> Result<()> {
        self.bytes.show()
    }

    /// See [`Bytes::is_shown`].
    pub fn is_shown(&self) -> bool {
        self.bytes.is_shown()
    }

    /// Whether writing to this literal needs no copy first.
    pub fn is_unique(&self) -> bool {
        self.bytes.is_unique()
    }

    pub fn bytes_mut(&mut self) -> &mut [u8] {
        self.bytes.make_mut()
    }

    /// The elements in row-major order. Panics if `T` is not the element type.
    pub fn values<T: NativeType>(&self) -> &[T] {
        assert_eq!(T::TYPE, self.shape.element_type, "element type of the literal");
        bytemuck::cast_slice(self.bytes.as_slice())
    }

    pub fn values_mut<T: NativeType>(&mut self) -> &mut [T] {
        assert_eq!(T::TYPE, self.shape.element_type, "element type of the literal");
        bytemuck::cast_slice_mut(self.bytes.make_mut())
    }

    /// The same elements under other dimensions (or another layout). Fails if the element type or
    /// the number of elements differs.
    pub fn with_shape(self, shape: &ArrayShape) -> Result<ArrayLiteral> {
        self.with_shared_shape(Arc::new(shape.clone()))
    }

    /// [`ArrayLiteral::with_shape`] for a shape that many share.
    pub fn with_shared_shape(mut self, shape: Arc<ArrayShape>) -> Result<ArrayLiteral> {
        if shape.element_type != self.shape.element_type
            || shape.element_count() != Some(self.len())
        {
            return Err(Error::invalid_argument(format!(
                "`{}` cannot be seen as `{shape}`",
                self.shape
            )));
        }
        self.shape = shape;
        Ok(self)
    }
}

/// What a byte of a type narrower than a byte has to be.
fn canonical_byte(element_type: ElementType) -> Option<fn(u8) -> u8> {
    use ElementType::*;
    match element_type {
        Pred => Some(|byte| u8::from(byte != 0)),
        S1 => Some(|byte| ((byte << 7) as i8 >> 7) as u8),
        S2 => Some(|byte| ((byte << 6) as i8 >> 6) as u8),
        S4 => Some(|byte| ((byte << 4) as i8 >> 4) as u8),
        U1 => Some(|byte| byte & 0x1),
        U2 => Some(|byte| byte & 0x3),
        U4 | F4e2m1fn => Some(|byte| byte & 0xf),
        F6e3m2fn | F6e2m3fn => Some(|byte| byte & 0x3f),
        S8 | S16 | S32 | S64 | U8 | U16 | U32 | U64 | F16 | Bf16 | F32 | F64 | F8e5m2 | F8e4m3
        | F8e4m3fn | F8e4m3b11fnuz | F8e3m4 | F8e5m2fnuz | F8e4m3fnuz | F8e8m0fnu | C64 | C128 => {
            None
        }
    }
}

impl Literal {
    pub fn scalar<T: NativeType>(value: T) -> Literal {
        Literal::Array(ArrayLiteral::scalar(value))
    }

    pub fn from_values<T: NativeType>(
        dims: impl IntoIterator<Item = i64>,
        values: &[T],
    ) -> Literal {
        Literal::Array(ArrayLiteral::from_values(dims, values))
    }

    /// All zero bits in every leaf. Opaque shapes have no literal.
    pub fn zeros(shape: &Shape) -> Result<Literal> {
        Ok(match shape {
            Shape::Array(array) => Literal::Array(ArrayLiteral::zeros(array)?),
            Shape::Buffer(array) => Literal::Array(ArrayLiteral::zeros(array)?),
            Shape::Tuple(elements) => {
                Literal::Tuple(elements.iter().map(Literal::zeros).collect::<Result<_>>()?)
            }
            Shape::Token => Literal::Token,
            Shape::Opaque => {
                return Err(Error::invalid_argument("`opaque[]` has no literal"));
            }
        })
    }

    pub fn shape(&self) -> Shape {
        match self {
            Literal::Array(array) => Shape::Array(array.shape().clone()),
            Literal::Tuple(elements) => Shape::tuple(elements.iter().map(Literal::shape)),
            Literal::Token => Shape::Token,
        }
    }

    pub fn as_array(&self) -> Option<&ArrayLiteral> {
        match self {
            Literal::Array(array) => Some(array),
            Literal::Tuple(_) | Literal::Token => None,
        }
    }

    pub fn as_tuple(&self) -> Option<&[Literal]> {
        match self {
            Literal::Tuple(elements) => Some(elements),
            Literal::Array(_) | Literal::Token => None,
        }
    }

    /// The array. Panics on a tuple or token: for callers that have checked the shape.
    pub fn array(&self) -> &ArrayLiteral {
        self.as_array().expect("an array literal")
    }

    /// The elements in row-major order. Panics if this is no array of `T`.
    pub fn values<T: NativeType>(&self) -> &[T] {
        self.array().values()
    }
}

impl From<ArrayLiteral> for Literal {
    fn from(array: ArrayLiteral) -> Literal {
        Literal::Array(array)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::native::{Pred, S4, U2};

    #[test]
    fn bits_beyond_the_type_are_brought_in_order() {
        let bytes = |bytes: &[u8]| Bytes::copy_of(bytes).unwrap();
        let shape = ArrayShape::new(ElementType::S4, [3]);
        let literal = ArrayLiteral::from_bytes(&shape, bytes(&[0x08, 0xf8, 0x17])).unwrap();
        assert_eq!(literal.values::<S4>(), [S4(-8), S4(-8), S4(7)]);
        let shape = ArrayShape::new(ElementType::U2, [1]);
        let literal = ArrayLiteral::from_bytes(&shape, bytes(&[0xff])).unwrap();
        assert_eq!(literal.values::<U2>(), [U2(3)]);
        let shape = ArrayShape::new(ElementType::Pred, [1]);
        let literal = ArrayLiteral::from_bytes(&shape, bytes(&[2])).unwrap();
        assert_eq!(literal.values::<Pred>(), [Pred::TRUE]);
    }
}
