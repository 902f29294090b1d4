//! Checks that many ops share: ranks, dimension numbers, sizes, called computations. Their errors
//! name no op; [`super::infer`] puts its name in front.

use rxla_base::Diagnostic;
use smallvec::SmallVec;

use crate::{ArrayShape, ComputationId, Dims, ElementType, Module, Shape};

pub(super) type Result<T, E = Diagnostic> = std::result::Result<T, E>;

/// Returns an error with the formatted message unless the condition holds.
macro_rules! ensure {
    ($condition:expr, $($message:tt)+) => {
        if !$condition {
            return Err(rxla_base::Diagnostic::error(format!($($message)+)));
        }
    };
}
pub(super) use ensure;

pub(super) fn error(message: impl Into<String>) -> Diagnostic {
    Diagnostic::error(message)
}

/// The array that `what` has to be.
pub(super) fn array<'a>(shape: &'a Shape, what: &str) -> Result<&'a ArrayShape> {
    match shape {
        Shape::Array(array) => Ok(array),
        Shape::Tuple(_) | Shape::Token | Shape::Opaque | Shape::Buffer(_) => {
            Err(error(format!("{what} has to be an array, but is `{shape}`")))
        }
    }
}

pub(super) fn arrays<'a>(shapes: &[&'a Shape], what: &str) -> Result<Vec<&'a ArrayShape>> {
    shapes
        .iter()
        .enumerate()
        .map(|(index, shape)| array(shape, &format!("{what} {index}")))
        .collect()
}

/// The declared shape of an op whose operands do not say it.
pub(super) fn needed(declared: Option<&Shape>) -> Result<&Shape> {
    declared.ok_or_else(|| error("the result's shape has to be given, operands do not say it"))
}

pub(super) fn scalar<'a>(shape: &'a Shape, what: &str) -> Result<&'a ArrayShape> {
    let array = array(shape, what)?;
    ensure!(array.rank() == 0, "{what} has to be a scalar, but is `{array}`");
    Ok(array)
}

/// Whether sizes agree; an unbounded one agrees with all.
pub(super) fn same_size(a: i64, b: i64) -> bool {
    a == b || a == ArrayShape::UNBOUNDED || b == ArrayShape::UNBOUNDED
}

/// Whether ranks and sizes agree, dynamic or not.
pub(super) fn same_sizes(a: &ArrayShape, b: &ArrayShape) -> bool {
    a.rank() == b.rank() && a.dims.iter().zip(&b.dims).all(|(&a, &b)| same_size(a, b))
}

/// Sizes agree and element types too, but for the precision of floats.
pub(super) fn same_but_precision(a: &ArrayShape, b: &ArrayShape) -> bool {
    same_sizes(a, b) && promote(a.element_type, b.element_type).is_some()
}

/// Equal types, or the wider of two floats.
pub(super) fn promote(a: ElementType, b: ElementType) -> Option<ElementType> {
    if a == b {
        Some(a)
    } else if a.is_float() && b.is_float() {
        // Between equal widths the one with the larger range, as XLA picks `bf16` over `f16`.
        let rank = |t: ElementType| (t.bit_width(), t == ElementType::Bf16);
        Some(if rank(a) >= rank(b) { a } else { b })
    } else {
        None
    }
}

/// A dimension number as an index, if it is one of `rank`.
pub(super) fn dimension(number: i64, rank: usize, what: &str) -> Result<usize> {
    usize::try_from(number).ok().filter(|&number| number < rank).ok_or_else(|| {
        error(format!("{what} names dimension {number}, but there are {rank} dimensions"))
    })
}

/// Dimension numbers as indices, each one of `rank` and named once.
pub(super) fn dimensions(numbers: &[i64], rank: usize, what: &str) -> Result<SmallVec<[usize; 4]>> {
    let mut seen: SmallVec<[bool; 8]> = SmallVec::from_elem(false, rank);
    let mut out = SmallVec::new();
    for &number in numbers {
        let index = dimension(number, rank, what)?;
        ensure!(!seen[index], "{what} names dimension {number} twice");
        seen[index] = true;
        out.push(index);
    }
    Ok(out)
}

/// The one dimension number of an attribute that is written as a list.
pub(super) fn one_dimension(numbers: &[i64], rank: usize, what: &str) -> Result<usize> {
    ensure!(numbers.len() == 1, "{what} has to name one dimension, but names {}", numbers.len());
    dimension(numbers[0], rank, what)
}

/// An array of sizes, each with whether it is dynamic.
pub(super) fn with_sizes(
    element_type: ElementType,
    sizes: impl IntoIterator<Item = (i64, bool)>,
) -> ArrayShape {
    let (dims, dynamic): (Dims, SmallVec<[bool; 4]>) = sizes.into_iter().unzip();
    let mut shape = ArrayShape::new(element_type, dims);
    for (dimension, dynamic) in dynamic.into_iter().enumerate() {
        if dynamic {
            shape.set_dynamic(dimension, true);
        }
    }
    shape
}

/// Size of a dimension and whether it is dynamic.
pub(super) fn size_of(shape: &ArrayShape, dimension: usize) -> (i64, bool) {
    (shape.dims[dimension], shape.is_dynamic_dimension(dimension))
}

/// All sizes of a shape, each with whether it is dynamic.
pub(super) fn sizes_of(shape: &ArrayShape) -> impl Iterator<Item = (i64, bool)> + '_ {
    (0..shape.rank()).map(|dimension| size_of(shape, dimension))
}

/// A copy with one size changed.
pub(super) fn resized(shape: &ArrayShape, dimension: usize, size: i64) -> ArrayShape {
    let sizes = sizes_of(shape)
        .enumerate()
        .map(|(i, (old, dynamic))| if i == dimension { (size, dynamic) } else { (old, dynamic) });
    with_sizes(shape.element_type, sizes)
}

/// One array as itself, several as a tuple: how ops with a variable number of results say them.
pub(super) fn one_or_tuple(mut shapes: Vec<Shape>) -> Shape {
    if shapes.len() == 1 { shapes.remove(0) } else { Shape::tuple(shapes) }
}

/// Multiplies sizes; an unbounded one stays so.
pub(super) fn multiply(size: i64, factor: i64) -> Result<i64> {
    if size == ArrayShape::UNBOUNDED {
        return Ok(size);
    }
    size.checked_mul(factor)
        .ok_or_else(|| error(format!("size {size} times {factor} is more than 64 bits hold")))
}

/// `1 parameter`, `2 parameters`.
pub(super) fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// What a called computation takes and gives.
pub(super) struct Callee<'m> {
    pub(super) name: &'m str,
    pub(super) parameters: SmallVec<[&'m Shape; 4]>,
    pub(super) result: &'m Shape,
}

/// Looks up a called computation. Modules that are being read may have any gap.
pub(super) fn callee<'m>(module: &'m Module, id: ComputationId, what: &str) -> Result<Callee<'m>> {
    let Some(computation) = module.get_computation(id) else {
        return Err(error(format!("{what} names no computation of the module")));
    };
    let name = computation.name();
    let Some(root) = computation.try_root().and_then(|root| module.get_instruction(root)) else {
        return Err(error(format!("{what} `{name}` has no root")));
    };
    let mut parameters = SmallVec::new();
    for (number, &parameter) in computation.parameters().iter().enumerate() {
        let Some(parameter) = module.get_instruction(parameter) else {
            return Err(error(format!("{what} `{name}` has no parameter {number}")));
        };
        parameters.push(&parameter.shape);
    }
    Ok(Callee { name, parameters, result: &root.shape })
}

impl Callee<'_> {
    pub(super) fn expect_parameters(&self, count: usize) -> Result<()> {
        ensure!(
            self.parameters.len() == count,
            "`{}` has to take {}, but takes {}",
            self.name,
            counted(count, "parameter"),
            self.parameters.len()
        );
        Ok(())
    }

    /// The parameters take exactly these shapes.
    pub(super) fn expect_arguments(&self, arguments: &[&Shape]) -> Result<()> {
        self.expect_parameters(arguments.len())?;
        for (number, (parameter, argument)) in self.parameters.iter().zip(arguments).enumerate() {
            ensure!(
                agree(parameter, argument),
                "operand {number} is `{argument}`, but parameter {number} of `{}` is `{parameter}`",
                self.name
            );
        }
        Ok(())
    }
}

/// Whether two shapes are the same but for layouts and for what is dynamic.
pub(crate) fn agree(a: &Shape, b: &Shape) -> bool {
    agree_by(a, b, &|a, b| a == b)
}

/// As [`agree`], with element types compared by `types`.
pub(super) fn agree_by(
    a: &Shape,
    b: &Shape,
    types: &dyn Fn(ElementType, ElementType) -> bool,
) -> bool {
    match (a, b) {
        (Shape::Array(a), Shape::Array(b)) => {
            types(a.element_type, b.element_type) && same_sizes(a, b)
        }
        (Shape::Buffer(a), Shape::Buffer(b)) => {
            types(a.element_type, b.element_type) && same_sizes(a, b)
        }
        (Shape::Tuple(a), Shape::Tuple(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| agree_by(a, b, types))
        }
        (Shape::Token, Shape::Token) | (Shape::Opaque, Shape::Opaque) => true,
        (
            Shape::Array(_) | Shape::Buffer(_) | Shape::Tuple(_) | Shape::Token | Shape::Opaque,
            _,
        ) => false,
    }
}
