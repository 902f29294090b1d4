//! [`Module`]: operations, regions, blocks and values in arenas.

use std::sync::Arc;

use rxla_base::{Arena, Id, SecondaryMap, Span};

use super::{Attribute, ByteString, Location, Type};

pub type OpId = Id<Operation>;
pub type RegionId = Id<Region>;
pub type BlockId = Id<Block>;
pub type ValueId = Id<Value>;

/// A program: one `builtin.module` operation and everything in it.
#[derive(Clone, Debug)]
pub struct Module {
    pub operations: Arena<Operation>,
    pub regions: Arena<Region>,
    pub blocks: Arena<Block>,
    pub values: Arena<Value>,
    /// The `builtin.module`.
    pub root: OpId,
    /// What [`Attribute::DenseResource`]s refer to, and other data that travels with the module.
    pub resources: Vec<Resource>,
    /// Where operations without a location stand in the text that they were read from.
    pub spans: SecondaryMap<Operation, Option<Span>>,
}

/// An operation such as `stablehlo.add`.
#[derive(Clone, Debug)]
pub struct Operation {
    /// With dialect: `stablehlo.add`, `func.func`, `builtin.module`.
    pub name: Arc<str>,
    pub operands: Vec<ValueId>,
    pub results: Vec<ValueId>,
    pub attributes: Attributes,
    pub regions: Vec<RegionId>,
    pub successors: Vec<BlockId>,
    pub location: Location,
    /// `None` for the root and for operations not placed in a block.
    pub parent: Option<BlockId>,
}

#[derive(Clone, Debug, Default)]
pub struct Region {
    pub blocks: Vec<BlockId>,
    pub parent: Option<OpId>,
}

#[derive(Clone, Debug, Default)]
pub struct Block {
    pub arguments: Vec<ValueId>,
    pub operations: Vec<OpId>,
    pub parent: Option<RegionId>,
}

/// A result of an operation or an argument of a block.
#[derive(Clone, Debug)]
pub struct Value {
    pub ty: Type,
    pub def: ValueDef,
    /// Of a block argument; a result stands where its operation stands.
    pub location: Location,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ValueDef {
    Result { op: OpId, index: u32 },
    Argument { block: BlockId, index: u32 },
}

/// An entry of the resource section: `dialect` keeps a value under `key`. An empty dialect means
/// resources of tools outside MLIR.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Resource {
    pub dialect: ByteString,
    pub external: bool,
    pub key: ByteString,
    pub value: ResourceValue,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ResourceValue {
    Blob { alignment: u64, bytes: Arc<[u8]> },
    Bool(bool),
    String(ByteString),
}

/// Whether an attribute is part of what the operation means or only travels with it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum AttributeKind {
    /// Declared by the operation (a property), `<{…}>` in generic text.
    Inherent,
    /// Anything else, such as `mhlo.sharding`.
    Discardable,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OperationAttribute {
    pub name: ByteString,
    pub kind: AttributeKind,
    pub value: Attribute,
}

/// The attributes of an operation, sorted by name, one of a name.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Attributes(Vec<OperationAttribute>);

impl Attributes {
    pub fn get(&self, name: &str) -> Option<&Attribute> {
        self.position(name.as_bytes()).ok().map(|at| &self.0[at].value)
    }

    /// Sets or replaces the attribute.
    pub fn set(&mut self, kind: AttributeKind, name: impl Into<ByteString>, value: Attribute) {
        let name = name.into();
        match self.position(name.as_bytes()) {
            Ok(at) => self.0[at] = OperationAttribute { name, kind, value },
            Err(at) => self.0.insert(at, OperationAttribute { name, kind, value }),
        }
    }

    pub fn remove(&mut self, name: &str) -> Option<OperationAttribute> {
        self.position(name.as_bytes()).ok().map(|at| self.0.remove(at))
    }

    /// In order of name.
    pub fn iter(&self) -> std::slice::Iter<'_, OperationAttribute> {
        self.0.iter()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn position(&self, name: &[u8]) -> Result<usize, usize> {
        self.0.binary_search_by(|attribute| attribute.name.as_bytes().cmp(name))
    }
}

impl FromIterator<OperationAttribute> for Attributes {
    /// Sorts; of attributes with the same name the last stays.
    fn from_iter<I: IntoIterator<Item = OperationAttribute>>(attributes: I) -> Self {
        let mut sorted: Vec<OperationAttribute> = attributes.into_iter().collect();
        sorted.sort_by(|a, b| a.name.cmp(&b.name));
        let mut kept: Vec<OperationAttribute> = Vec::with_capacity(sorted.len());
        for attribute in sorted {
            match kept.last_mut() {
                Some(last) if last.name == attribute.name => *last = attribute,
                _ => kept.push(attribute),
            }
        }
        Attributes(kept)
    }
}

impl<'a> IntoIterator for &'a Attributes {
    type Item = &'a OperationAttribute;
    type IntoIter = std::slice::Iter<'a, OperationAttribute>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl Operation {
    /// An operation without operands, results, attributes or regions.
    pub fn new(name: impl Into<Arc<str>>, location: Location) -> Operation {
        Operation {
            name: name.into(),
            operands: Vec::new(),
            results: Vec::new(),
            attributes: Attributes::default(),
            regions: Vec::new(),
            successors: Vec::new(),
            location,
            parent: None,
        }
    }

    /// `stablehlo` in `stablehlo.add`.
    pub fn dialect(&self) -> &str {
        self.name.split_once('.').map_or("", |(dialect, _)| dialect)
    }
}

impl Default for Module {
    fn default() -> Self {
        Module::new()
    }
}

impl Module {
    /// A module with a `builtin.module` that has one region with one empty block.
    pub fn new() -> Module {
        let mut module = Module {
            operations: Arena::default(),
            regions: Arena::default(),
            blocks: Arena::default(),
            values: Arena::default(),
            root: OpId::from_index(0),
            resources: Vec::new(),
            spans: SecondaryMap::default(),
        };
        module.root = module.operations.push(Operation::new("builtin.module", Location::UNKNOWN));
        let region = module.add_region(module.root);
        module.add_block(region);
        module
    }

    /// A new empty region at the end of the operation's.
    pub fn add_region(&mut self, op: OpId) -> RegionId {
        let region = self.regions.push(Region { blocks: Vec::new(), parent: Some(op) });
        self.operations[op].regions.push(region);
        region
    }

    /// A new empty block at the end of the region.
    pub fn add_block(&mut self, region: RegionId) -> BlockId {
        let block = self.blocks.push(Block { parent: Some(region), ..Block::default() });
        self.regions[region].blocks.push(block);
        block
    }

    pub fn add_argument(&mut self, block: BlockId, ty: Type, location: Location) -> ValueId {
        let index = self.blocks[block].arguments.len() as u32;
        let value =
            self.values.push(Value { ty, def: ValueDef::Argument { block, index }, location });
        self.blocks[block].arguments.push(value);
        value
    }

    /// Places the operation at the end of the block and makes its results.
    pub fn add_operation(
        &mut self,
        block: BlockId,
        mut operation: Operation,
        result_types: impl IntoIterator<Item = Type>,
    ) -> OpId {
        operation.parent = Some(block);
        let op = self.operations.push(operation);
        self.blocks[block].operations.push(op);
        for ty in result_types {
            self.add_result(op, ty);
        }
        op
    }

    pub fn add_result(&mut self, op: OpId, ty: Type) -> ValueId {
        let index = self.operations[op].results.len() as u32;
        let def = ValueDef::Result { op, index };
        let value = self.values.push(Value { ty, def, location: Location::UNKNOWN });
        self.operations[op].results.push(value);
        value
    }

    /// The only block of the module's only region.
    pub fn body(&self) -> Option<BlockId> {
        let &[region] = &self.operations[self.root].regions[..] else { return None };
        let &[block] = &self.regions[region].blocks[..] else { return None };
        Some(block)
    }

    /// The operation right inside the module whose `sym_name` this is, such as a `func.func`.
    pub fn symbol(&self, name: &ByteString) -> Option<OpId> {
        let block = self.body()?;
        self.blocks[block].operations.iter().copied().find(|&op| {
            self.operations[op].attributes.get("sym_name").and_then(Attribute::as_string)
                == Some(name)
        })
    }

    /// Types of an operation's operands.
    pub fn operand_types(&self, op: OpId) -> impl ExactSizeIterator<Item = &Type> {
        self.operations[op].operands.iter().map(|&value| &self.values[value].ty)
    }

    /// Types of an operation's results.
    pub fn result_types(&self, op: OpId) -> impl ExactSizeIterator<Item = &Type> {
        self.operations[op].results.iter().map(|&value| &self.values[value].ty)
    }
}
