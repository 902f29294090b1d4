//! Shapes: values that are cheap to clone, compare and hash, meaningful without a module.

use std::fmt;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::{ElementType, Layout};

/// Sizes or dimension numbers.
pub type Dims = SmallVec<[i64; 4]>;

/// The type of a value.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Shape {
    Array(ArrayShape),
    Tuple(Arc<[Shape]>),
    /// An ordering edge without data.
    Token,
    /// Something only a custom call knows.
    Opaque,
    /// A named piece of memory, `b(f32[4])`.
    Buffer(Arc<ArrayShape>),
}

/// Element type, sizes and, after layout assignment, the layout.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ArrayShape {
    pub element_type: ElementType,
    /// Static sizes; the bound for a bounded dynamic dimension, [`ArrayShape::UNBOUNDED`] for `?`.
    pub dims: Dims,
    /// Which dimensions are dynamic; empty when none is.
    dynamic: SmallVec<[bool; 4]>,
    pub layout: Option<Box<Layout>>,
}

impl ArrayShape {
    /// The size of a dimension that may be anything, printed `?`.
    pub const UNBOUNDED: i64 = i64::MIN;

    pub fn new(element_type: ElementType, dims: impl IntoIterator<Item = i64>) -> ArrayShape {
        let dims: Dims = dims.into_iter().collect();
        let mut shape = ArrayShape { element_type, dims, dynamic: SmallVec::new(), layout: None };
        for dimension in 0..shape.rank() {
            if shape.dims[dimension] == ArrayShape::UNBOUNDED {
                shape.set_dynamic(dimension, true);
            }
        }
        shape
    }

    pub fn scalar(element_type: ElementType) -> ArrayShape {
        ArrayShape::new(element_type, [])
    }

    pub fn rank(&self) -> usize {
        self.dims.len()
    }

    /// Whether the size of the dimension is known only at run time.
    pub fn is_dynamic_dimension(&self, dimension: usize) -> bool {
        self.dynamic.get(dimension).copied().unwrap_or(false)
    }

    pub fn set_dynamic(&mut self, dimension: usize, dynamic: bool) {
        if dynamic || !self.dynamic.is_empty() {
            self.dynamic.resize(self.dims.len(), false);
            self.dynamic[dimension] = dynamic;
            if !self.dynamic.contains(&true) {
                self.dynamic.clear();
            }
        }
    }

    pub fn is_static(&self) -> bool {
        self.dynamic.is_empty()
    }

    /// Number of elements, or `None` if it overflows or is unbounded. Bounds count as sizes.
    pub fn element_count(&self) -> Option<usize> {
        let mut count = 1usize;
        let mut zero = false;
        for &dim in &self.dims {
            let dim = usize::try_from(dim).ok()?;
            zero |= dim == 0;
            // Sizes beside a zero must still be representable, as XLA demands.
            count = count.checked_mul(dim.max(1))?;
        }
        Some(if zero { 0 } else { count })
    }

    /// Bytes of a dense buffer with one element per [`ElementType::byte_width`].
    pub fn byte_size(&self) -> Option<usize> {
        let size = self.element_count()?.checked_mul(self.element_type.byte_width())?;
        (size <= isize::MAX as usize).then_some(size)
    }

    /// The same type and sizes, layout aside.
    pub fn compatible(&self, other: &ArrayShape) -> bool {
        self.element_type == other.element_type && self.same_dims(other)
    }

    /// The same sizes, element type and layout aside.
    pub fn same_dims(&self, other: &ArrayShape) -> bool {
        self.dims == other.dims && self.dynamic == other.dynamic
    }

    /// The same sizes with another element type; the layout is kept but for packing.
    pub fn with_element_type(&self, element_type: ElementType) -> ArrayShape {
        let mut shape = self.clone();
        shape.element_type = element_type;
        if let Some(layout) = &mut shape.layout {
            layout.element_size_in_bits = 0;
        }
        shape
    }

    pub fn without_layout(&self) -> ArrayShape {
        ArrayShape { layout: None, ..self.clone() }
    }
}

impl Shape {
    pub fn array(element_type: ElementType, dims: impl IntoIterator<Item = i64>) -> Shape {
        Shape::Array(ArrayShape::new(element_type, dims))
    }

    pub fn scalar(element_type: ElementType) -> Shape {
        Shape::array(element_type, [])
    }

    pub fn tuple(elements: impl IntoIterator<Item = Shape>) -> Shape {
        Shape::Tuple(elements.into_iter().collect())
    }

    /// The empty tuple.
    pub fn nil() -> Shape {
        Shape::tuple([])
    }

    /// The array shape, looking through a buffer's `b(…)` too.
    pub fn as_array(&self) -> Option<&ArrayShape> {
        match self {
            Shape::Array(array) => Some(array),
            Shape::Buffer(array) => Some(array),
            Shape::Tuple(_) | Shape::Token | Shape::Opaque => None,
        }
    }

    pub fn as_tuple(&self) -> Option<&[Shape]> {
        match self {
            Shape::Tuple(elements) => Some(elements),
            Shape::Array(_) | Shape::Buffer(_) | Shape::Token | Shape::Opaque => None,
        }
    }

    /// Equal but for layouts, at every depth.
    pub fn compatible(&self, other: &Shape) -> bool {
        match (self, other) {
            (Shape::Array(a), Shape::Array(b)) => a.compatible(b),
            (Shape::Buffer(a), Shape::Buffer(b)) => a.compatible(b),
            (Shape::Tuple(a), Shape::Tuple(b)) => {
                a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| a.compatible(b))
            }
            (Shape::Token, Shape::Token) | (Shape::Opaque, Shape::Opaque) => true,
            _ => false,
        }
    }

    /// The part at a tuple index path.
    pub fn subshape(&self, index: &[i64]) -> Option<&Shape> {
        let mut shape = self;
        for &element in index {
            shape = shape.as_tuple()?.get(usize::try_from(element).ok()?)?;
        }
        Some(shape)
    }

    /// The leaves (everything but tuples) in order, each with its index path.
    pub fn leaves(&self) -> Vec<(Dims, &Shape)> {
        fn walk<'a>(shape: &'a Shape, path: &mut Dims, out: &mut Vec<(Dims, &'a Shape)>) {
            match shape {
                Shape::Tuple(elements) => {
                    for (index, element) in elements.iter().enumerate() {
                        path.push(index as i64);
                        walk(element, path, out);
                        path.pop();
                    }
                }
                Shape::Array(_) | Shape::Buffer(_) | Shape::Token | Shape::Opaque => {
                    out.push((path.clone(), shape));
                }
            }
        }
        let mut out = Vec::new();
        walk(self, &mut Dims::new(), &mut out);
        out
    }

    /// The same shape without layouts, at every depth.
    pub fn without_layout(&self) -> Shape {
        match self {
            Shape::Array(array) => Shape::Array(array.without_layout()),
            Shape::Buffer(array) => Shape::Buffer(Arc::new(array.without_layout())),
            Shape::Tuple(elements) => Shape::tuple(elements.iter().map(Shape::without_layout)),
            Shape::Token => Shape::Token,
            Shape::Opaque => Shape::Opaque,
        }
    }

    /// The same shape with row-major layouts where none is given.
    pub fn with_default_layout(&self) -> Shape {
        let fill = |array: &ArrayShape| {
            let mut array = array.clone();
            let rank = array.rank();
            array.layout.get_or_insert_with(|| Box::new(Layout::row_major(rank)));
            array
        };
        match self {
            Shape::Array(array) => Shape::Array(fill(array)),
            Shape::Buffer(array) => Shape::Buffer(Arc::new(fill(array))),
            Shape::Tuple(elements) => Shape::tuple(elements.iter().map(Shape::with_default_layout)),
            Shape::Token => Shape::Token,
            Shape::Opaque => Shape::Opaque,
        }
    }

    /// Bytes of all array leaves, or `None` on overflow or an unbounded size.
    pub fn byte_size(&self) -> Option<usize> {
        match self {
            Shape::Array(array) => array.byte_size(),
            Shape::Buffer(array) => array.byte_size(),
            Shape::Tuple(elements) => {
                elements.iter().try_fold(0usize, |sum, e| sum.checked_add(e.byte_size()?))
            }
            Shape::Token | Shape::Opaque => Some(0),
        }
    }
}

impl From<ArrayShape> for Shape {
    fn from(array: ArrayShape) -> Shape {
        Shape::Array(array)
    }
}

/// Parameter shapes and result shape of a computation.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ProgramShape {
    pub parameters: Vec<(String, Shape)>,
    pub result: Shape,
}

impl fmt::Display for ArrayShape {
    /// `f32[2,<=3,?]`, without layout; [`crate::text`] prints layouts where asked to.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[", self.element_type)?;
        for (dimension, &size) in self.dims.iter().enumerate() {
            if dimension > 0 {
                f.write_str(",")?;
            }
            if size == ArrayShape::UNBOUNDED {
                f.write_str("?")?;
            } else if self.is_dynamic_dimension(dimension) {
                write!(f, "<={size}")?;
            } else {
                write!(f, "{size}")?;
            }
        }
        f.write_str("]")
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Shape::Array(array) => array.fmt(f),
            Shape::Buffer(array) => write!(f, "b({array})"),
            Shape::Tuple(elements) => {
                f.write_str("(")?;
                for (index, element) in elements.iter().enumerate() {
                    if index > 0 {
                        f.write_str(", ")?;
                    }
                    element.fmt(f)?;
                }
                f.write_str(")")
            }
            Shape::Token => f.write_str("token[]"),
            Shape::Opaque => f.write_str("opaque[]"),
        }
    }
}
