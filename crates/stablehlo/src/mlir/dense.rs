//! Constants with many elements: dense tensors, arrays and references to resources.

use std::sync::Arc;

use super::{ByteString, Type};

/// `dense<…> : tensor<…>`: elements in row-major order, little endian, each taking
/// [`Type::dense_element_bytes`] bytes (so one for `i1`, holding 0 or 1, and one for `i4`; bits above
/// an element's width are zero).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DenseElements {
    ty: Type,
    /// One element if a splat, otherwise all.
    bytes: Arc<[u8]>,
    splat: bool,
}

impl DenseElements {
    /// Checks that `bytes` holds all elements of the shaped type `ty`, or just one (a splat). Equal
    /// elements become a splat, as in MLIR. `None` if the length is neither or the type has no
    /// static shape or no dense elements.
    pub fn new(ty: Type, bytes: impl Into<Arc<[u8]>>) -> Option<DenseElements> {
        let bytes = bytes.into();
        let (_, element) = ty.shaped()?;
        let size = element.dense_element_bytes()?;
        let count = ty.element_count()?;
        let all = usize::try_from(count).ok()?.checked_mul(size)?;
        if bytes.len() == all && count != 1 {
            let uniform = count > 1 && bytes.chunks_exact(size).all(|e| e == &bytes[..size]);
            let bytes = if uniform { bytes[..size].into() } else { bytes };
            return Some(DenseElements { ty, bytes, splat: uniform });
        }
        // A splat of no elements is the same constant as no elements.
        let bytes = if count == 0 && bytes.len() == size { [].into() } else { bytes };
        let splat = bytes.len() == size;
        (splat || bytes.is_empty() && count == 0).then_some(DenseElements { ty, bytes, splat })
    }

    pub fn ty(&self) -> &Type {
        &self.ty
    }

    /// One element if [`DenseElements::is_splat`], otherwise all of them.
    pub fn bytes(&self) -> &Arc<[u8]> {
        &self.bytes
    }

    /// Whether all elements are equal (and there is at least one).
    pub fn is_splat(&self) -> bool {
        self.splat
    }

    /// Number of elements of the tensor, not of those stored.
    pub fn len(&self) -> u64 {
        self.ty.element_count().unwrap_or(0)
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The elements of an integer or index tensor of at most 64 bits, extended by the signedness of
    /// the type; a splat is repeated if `limit` allows so many elements.
    pub fn to_i64s(&self, limit: usize) -> Option<Vec<i64>> {
        let element = self.ty.element()?;
        let (width, unsigned) = match element {
            Type::Integer { width, signedness } => {
                (*width, *signedness == super::Signedness::Unsigned || *width == 1)
            }
            Type::Index => (64, false),
            _ => return None,
        };
        if width == 0 || width > 64 {
            return None;
        }
        let shift = 64 - width;
        let read = |bytes: &[u8]| {
            let mut word = [0; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            let raw = u64::from_le_bytes(word) << shift;
            if unsigned { (raw >> shift) as i64 } else { (raw as i64) >> shift }
        };
        let count = usize::try_from(self.len()).ok()?;
        if count > limit {
            return None;
        }
        let size = element.dense_element_bytes()?;
        if self.splat {
            return Some(vec![read(&self.bytes); count]);
        }
        Some(self.bytes.chunks_exact(size).map(read).collect())
    }
}

/// `dense<["a", "b"]> : tensor<2x!dialect.string>`. A single value stands for all.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DenseStrings {
    pub ty: Type,
    pub splat: bool,
    pub values: Vec<ByteString>,
}

/// `array<i64: 1, 2>`. Floats are held as their bits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DenseArray {
    I1(Arc<[bool]>),
    I8(Arc<[i8]>),
    I16(Arc<[i16]>),
    I32(Arc<[i32]>),
    I64(Arc<[i64]>),
    F32(Arc<[u32]>),
    F64(Arc<[u64]>),
}

impl DenseArray {
    pub fn len(&self) -> usize {
        match self {
            DenseArray::I1(values) => values.len(),
            DenseArray::I8(values) => values.len(),
            DenseArray::I16(values) => values.len(),
            DenseArray::I32(values) => values.len(),
            DenseArray::I64(values) => values.len(),
            DenseArray::F32(values) => values.len(),
            DenseArray::F64(values) => values.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// `dense_resource<key> : tensor<…>`: a constant whose bytes stand in the module's resources.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DenseResource {
    pub ty: Type,
    pub key: ByteString,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_elements_are_a_splat() {
        let elements =
            DenseElements::new(Type::tensor([3], Type::signless(16)), vec![7, 1, 7, 1, 7, 1]);
        let elements = elements.unwrap();
        assert!(elements.is_splat());
        assert_eq!(&**elements.bytes(), [7, 1]);
        assert_eq!(elements.to_i64s(3), Some(vec![263; 3]));
        assert_eq!(elements.to_i64s(2), None);
    }

    #[test]
    fn lengths_are_checked() {
        let ty = Type::tensor([2, 2], Type::I8);
        assert!(DenseElements::new(ty.clone(), vec![1, 2, 3]).is_none());
        assert!(!DenseElements::new(ty, vec![1, 2, 3, 4]).unwrap().is_splat());
        let empty = Type::tensor([0], Type::I8);
        assert!(!DenseElements::new(empty.clone(), vec![]).unwrap().is_splat());
        assert_eq!(DenseElements::new(empty.clone(), vec![1]), DenseElements::new(empty, vec![]));
        assert!(
            DenseElements::new(Type::tensor([super::super::DYNAMIC], Type::I8), vec![1]).is_none()
        );
    }

    #[test]
    fn integers_are_extended_by_their_type() {
        let four = |ty| DenseElements::new(Type::tensor([2], ty), vec![0xf, 1]).unwrap().to_i64s(9);
        assert_eq!(four(Type::signless(4)), Some(vec![-1, 1]));
        assert_eq!(four(Type::unsigned(4)), Some(vec![15, 1]));
    }
}
