//! [`View`]: strict reading of an operation. Every accessor checks presence and type of what it
//! reads and answers with a diagnostic that names the operation and the user's source line, so
//! that a malformed module is refused, never trusted.

use rxla_base::Diagnostic;
use rxla_hlo::{Dims, Shape};

use super::importer::Result;
use super::types;
use crate::mlir::{
    Attribute, BlockId, DenseArray, EnumValue, Module, OpId, Operation, Type, ValueId,
};

/// More elements than any attribute of dimension numbers has.
const MAX_LIST: usize = 1 << 22;

/// An operation to read from.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) source: &'a Module,
    pub(super) id: OpId,
    pub(super) op: &'a Operation,
    /// What the operation is, which for a composite may be another operation in disguise.
    pub(super) name: &'a str,
    /// The attributes of the operation in disguise.
    disguised: Option<&'a Attribute>,
    /// Whether quantised operands and results are seen as the floats they express.
    pub(super) expressed: bool,
}

impl<'a> View<'a> {
    pub(super) fn new(source: &'a Module, id: OpId) -> View<'a> {
        let op = &source.operations[id];
        View { source, id, op, name: &op.name, disguised: None, expressed: false }
    }

    /// The operation seen as another one, whose attributes stand in a dictionary.
    pub(super) fn disguised_as(self, name: &'a str, attributes: &'a Attribute) -> View<'a> {
        View { name, disguised: Some(attributes), ..self }
    }

    /// A diagnostic about this operation.
    pub(super) fn error(&self, message: impl std::fmt::Display) -> Diagnostic {
        self.place(Diagnostic::error(format!("`{}`: {message}", self.name)))
    }

    /// Something correct that we cannot do yet.
    pub(super) fn unimplemented(&self, what: impl std::fmt::Display) -> Diagnostic {
        self.place(Diagnostic::error(format!("unimplemented: `{}`: {what}", self.name)))
    }

    fn place(&self, mut diagnostic: Diagnostic) -> Diagnostic {
        if let Some(name) = self.op.location.op_name() {
            diagnostic = diagnostic.note(format!("in `{name}`"));
        }
        match (self.op.location.source_line(), self.source.spans[self.id]) {
            (Some(line), _) => diagnostic.note(format!("at {line}")),
            (None, Some(span)) => diagnostic.at(span),
            (None, None) => diagnostic,
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<&'a Attribute> {
        match self.disguised {
            Some(attributes) => attributes.entry(name),
            None => self.op.attributes.get(name),
        }
    }

    pub(super) fn require(&self, name: &str) -> Result<&'a Attribute> {
        self.get(name).ok_or_else(|| self.error(format_args!("attribute `{name}` is missing")))
    }

    /// A diagnostic about an attribute that is not what it must be.
    pub(super) fn wrong(&self, name: &str, expected: &str) -> Diagnostic {
        self.error(format_args!("attribute `{name}` is not {expected}"))
    }

    pub(super) fn integer(&self, name: &str) -> Result<i64> {
        self.require(name)?.as_integer().ok_or_else(|| self.wrong(name, "an integer"))
    }

    pub(super) fn integer_or(&self, name: &str, default: i64) -> Result<i64> {
        match self.get(name) {
            Some(_) => self.integer(name),
            None => Ok(default),
        }
    }

    pub(super) fn bool(&self, name: &str) -> Result<bool> {
        self.require(name)?.as_bool().ok_or_else(|| self.wrong(name, "a boolean"))
    }

    pub(super) fn bool_or(&self, name: &str, default: bool) -> Result<bool> {
        match self.get(name) {
            // A unit attribute is present or not.
            Some(Attribute::Unit) => Ok(true),
            Some(_) => self.bool(name),
            None => Ok(default),
        }
    }

    pub(super) fn str(&self, name: &str) -> Result<&'a str> {
        self.require(name)?.as_str().ok_or_else(|| self.wrong(name, "a string of UTF-8"))
    }

    pub(super) fn str_or(&self, name: &str, default: &'a str) -> Result<&'a str> {
        match self.get(name) {
            Some(_) => self.str(name),
            None => Ok(default),
        }
    }

    /// The bits of a float attribute as a double.
    pub(super) fn float(&self, name: &str) -> Result<f64> {
        match self.require(name)? {
            Attribute::Float { ty: crate::mlir::Float::F32, bits } => {
                Ok(f32::from_bits(*bits as u32).into())
            }
            Attribute::Float { ty: crate::mlir::Float::F64, bits } => Ok(f64::from_bits(*bits)),
            _ => Err(self.wrong(name, "a float of 32 or 64 bits")),
        }
    }

    /// A list of integers: an array, or in older programs a dense tensor.
    pub(super) fn integers(&self, name: &str) -> Result<Dims> {
        let attribute = self.require(name)?;
        integers_of(attribute).ok_or_else(|| self.wrong(name, "a list of integers"))
    }

    /// A list with one integer per dimension, where absence means the same default for each.
    pub(super) fn integers_or(&self, name: &str, count: usize, default: i64) -> Result<Dims> {
        let list = match self.get(name) {
            Some(_) => self.integers(name)?,
            None => return Ok(Dims::from_elem(default, count)),
        };
        self.expect_length(name, list.len(), count)?;
        Ok(list)
    }

    pub(super) fn bools_or(&self, name: &str, count: usize, default: bool) -> Result<Vec<bool>> {
        let list = match self.get(name) {
            None => return Ok(vec![default; count]),
            Some(Attribute::DenseArray(DenseArray::I1(values))) => values.to_vec(),
            Some(other) => integers_of(other)
                .ok_or_else(|| self.wrong(name, "a list of booleans"))?
                .iter()
                .map(|&value| value != 0)
                .collect(),
        };
        self.expect_length(name, list.len(), count)?;
        Ok(list)
    }

    fn expect_length(&self, name: &str, found: usize, count: usize) -> Result {
        if found == count {
            return Ok(());
        }
        Err(self
            .error(format_args!("attribute `{name}` has {found} entries where {count} are needed")))
    }

    /// The rows of a two-dimensional tensor of integers, `columns` numbers each.
    pub(super) fn rows(&self, name: &str) -> Result<Vec<Vec<i64>>> {
        let wrong = || self.wrong(name, "a matrix of integers");
        let elements = self.require(name)?.as_dense_elements().ok_or_else(wrong)?;
        let (shape, _) = elements.ty().shaped().ok_or_else(wrong)?;
        let values = elements.to_i64s(MAX_LIST).ok_or_else(wrong)?;
        match *shape {
            [rows, columns] => {
                let columns = usize::try_from(columns).map_err(|_| wrong())?;
                if columns == 0 {
                    let rows = usize::try_from(rows).map_err(|_| wrong())?;
                    return Ok(vec![Vec::new(); rows.min(MAX_LIST)]);
                }
                Ok(values.chunks(columns).map(<[i64]>::to_vec).collect())
            }
            // `dense<> : tensor<0xi64>` stands for no rows.
            [0] => Ok(Vec::new()),
            _ => Err(wrong()),
        }
    }

    pub(super) fn enumeration(&self, name: &str) -> Result<EnumValue> {
        match self.require(name)? {
            Attribute::Enum(attribute) => Ok(attribute.value),
            _ => Err(self.wrong(name, "an enumeration")),
        }
    }

    /// `@name`.
    pub(super) fn symbol(&self, name: &str) -> Result<&'a [u8]> {
        let symbol = self.require(name)?.as_flat_symbol();
        Ok(symbol.ok_or_else(|| self.wrong(name, "a symbol"))?.as_bytes())
    }

    pub(super) fn expect_operands(&self, count: usize) -> Result {
        let found = self.op.operands.len();
        if found == count {
            return Ok(());
        }
        Err(self.error(format_args!("has {found} operands where {count} are needed")))
    }

    pub(super) fn expect_results(&self, count: usize) -> Result {
        let found = self.op.results.len();
        if found == count {
            return Ok(());
        }
        Err(self.error(format_args!("has {found} results where {count} are needed")))
    }

    pub(super) fn operand_id(&self, index: usize) -> Result<ValueId> {
        self.op
            .operands
            .get(index)
            .copied()
            .ok_or_else(|| self.error(format_args!("operand {index} is missing")))
    }

    pub(super) fn result_type(&self, index: usize) -> Result<&'a Type> {
        let result = self.op.results.get(index);
        let result = result.ok_or_else(|| self.error(format_args!("result {index} is missing")))?;
        Ok(&self.source.values[*result].ty)
    }

    /// The HLO shape of a type that occurs in this operation.
    pub(super) fn shape_of(&self, ty: &Type) -> Result<Shape> {
        let shape = if self.expressed { types::expressed_shape(ty) } else { types::shape(ty) };
        shape.map_err(|reason| self.error(reason))
    }

    /// The HLO shape of the declared type of a result.
    pub(super) fn result_shape(&self, index: usize) -> Result<Shape> {
        self.shape_of(self.result_type(index)?)
    }

    pub(super) fn result_shapes(&self) -> Result<Vec<Shape>> {
        (0..self.op.results.len()).map(|index| self.result_shape(index)).collect()
    }

    /// The only block of a region.
    pub(super) fn block(&self, region: usize) -> Result<BlockId> {
        let region = self.op.regions.get(region).copied();
        let region = region.ok_or_else(|| self.error("a region is missing"))?;
        match self.source.regions[region].blocks[..] {
            [block] => Ok(block),
            ref blocks => Err(self
                .error(format_args!("a region has {} blocks where one is needed", blocks.len()))),
        }
    }
}

/// The integers of an array or dense attribute.
pub(super) fn integers_of(attribute: &Attribute) -> Option<Dims> {
    match attribute {
        Attribute::DenseArray(array) => match array {
            DenseArray::I1(values) => Some(values.iter().map(|&value| value.into()).collect()),
            DenseArray::I8(values) => Some(values.iter().map(|&value| value.into()).collect()),
            DenseArray::I16(values) => Some(values.iter().map(|&value| value.into()).collect()),
            DenseArray::I32(values) => Some(values.iter().map(|&value| value.into()).collect()),
            DenseArray::I64(values) => Some(values.iter().copied().collect()),
            DenseArray::F32(_) | DenseArray::F64(_) => None,
        },
        Attribute::DenseElements(elements) => {
            elements.to_i64s(MAX_LIST).map(|values| values.into_iter().collect())
        }
        Attribute::Array(items) => items.iter().map(Attribute::as_integer).collect(),
        _ => None,
    }
}
