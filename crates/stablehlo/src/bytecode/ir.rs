//! The IR section: operations, regions and blocks.

use rxla_base::{Arena, Error, Result, SecondaryMap};

use super::TextParsers;
use super::cursor::{Cursor, Span};
use super::entries::{Entries, Tables};
use super::properties::{self, Layout};
use super::sections::{IR_SECTION, OpName, Sections, checked_index, read_index, since};
use crate::mlir::{
    Attributes, BlockId, Location, MAX_DEPTH, Module, OpId, Operation, OperationAttribute, Region,
    RegionId, Type, Value, ValueDef, ValueId,
};

/// Bits that say which parts an operation has.
mod mask {
    pub(super) const ATTRIBUTES: u8 = 1;
    pub(super) const RESULTS: u8 = 2;
    pub(super) const OPERANDS: u8 = 4;
    pub(super) const SUCCESSORS: u8 = 8;
    pub(super) const REGIONS: u8 = 16;
    pub(super) const USE_LIST_ORDERS: u8 = 32;
    pub(super) const PROPERTIES: u8 = 64;
}

pub(super) fn read(sections: Sections<'_>, parsers: TextParsers) -> Result<Module> {
    let Sections { version, op_names, properties, ir, length, .. } = sections;
    let tables = Tables {
        strings: sections.strings,
        dialects: sections.dialects,
        resources: sections.resources,
        resource_handles: sections.resource_handles,
        parsers,
    };
    let layouts = op_names.iter().map(|op| Layout::of(&op.name)).collect();
    let mut reader = Reader {
        version,
        layouts,
        op_names,
        properties,
        entries: Entries::new(sections.attributes, sections.types, tables),
        module: Module {
            operations: Arena::default(),
            regions: Arena::default(),
            blocks: Arena::default(),
            values: Arena::default(),
            root: OpId::from_index(0),
            resources: Vec::new(),
            spans: SecondaryMap::default(),
        },
        scopes: vec![Vec::new()],
        places: length,
        attribute_budget: 4 * length + (1 << 16),
        depth: 0,
    };
    reader.top(ir)?;
    let Reader { mut module, entries, .. } = reader;
    module.resources = entries.into_resources();
    Ok(module)
}

struct Reader<'a> {
    version: u64,
    op_names: Vec<OpName>,
    layouts: Vec<Layout>,
    properties: Vec<Span<'a>>,
    entries: Entries<'a>,
    module: Module,
    /// Values by number, for each region that sees nothing of what is around it. A value that is used
    /// before it is defined exists already, without a type.
    scopes: Vec<Vec<Slot>>,
    /// How many values, blocks and regions may still be announced: each takes a byte of the file
    /// sooner or later.
    places: usize,
    /// How many attributes operations may still have in all. Operations can share one large
    /// dictionary, which here becomes as many lists.
    attribute_budget: usize,
    depth: usize,
}

#[derive(Clone, Copy, Debug)]
enum Slot {
    Empty,
    /// Used but not defined yet.
    Forward(ValueId),
    Defined(ValueId),
}

/// Where in a scope the values of a region stand.
struct Numbering {
    next: usize,
    end: usize,
}

impl<'a> Reader<'a> {
    /// The outermost block. It holds a `builtin.module`, or what should be in one.
    fn top(&mut self, section: Span<'a>) -> Result<()> {
        let mut cursor = section.cursor("IR section");
        let (count, has_arguments) = cursor.flagged()?;
        if has_arguments {
            return Err(cursor.error("the outermost block has arguments"));
        }
        let mut operations = Vec::new();
        for _ in 0..count {
            operations.push(self.operation(
                &mut cursor,
                None,
                &[],
                &mut Numbering { next: 0, end: 0 },
            )?);
        }
        cursor.finish()?;
        if let &[only] = &operations[..]
            && *self.module.operations[only].name == *"builtin.module"
        {
            self.module.root = only;
            return Ok(());
        }
        let root = Operation::new("builtin.module", Location::UNKNOWN);
        self.module.root = self.module.operations.push(root);
        let region = self.module.add_region(self.module.root);
        let block = self.module.add_block(region);
        for &op in &operations {
            self.module.operations[op].parent = Some(block);
        }
        self.module.blocks[block].operations = operations;
        Ok(())
    }

    fn take_places(&mut self, cursor: &Cursor<'_>, count: usize) -> Result<()> {
        let Some(places) = self.places.checked_sub(count) else {
            return Err(
                cursor.error(format_args!("{count} more values, blocks or regions than fit"))
            );
        };
        self.places = places;
        Ok(())
    }

    fn operation(
        &mut self,
        cursor: &mut Cursor<'a>,
        parent: Option<BlockId>,
        blocks: &[BlockId],
        numbering: &mut Numbering,
    ) -> Result<OpId> {
        let index = read_index(cursor, self.op_names.len(), "operation name")?;
        let name = self.op_names[index].name.clone();
        let mask = cursor.byte()?;
        let location = self.entries.location(cursor)?;
        let place = |error: Error| match location.source_line() {
            Some(line) => error.context(format!("in `{name}` from {line}")),
            None => error.context(format!("in `{name}`")),
        };
        let attributes = self.attributes(cursor, index, mask).map_err(place)?;
        let mut result_types = Vec::new();
        if mask & mask::RESULTS != 0 {
            let count = cursor.count()?;
            result_types.reserve(count);
            for _ in 0..count {
                result_types.push(self.entries.ty(cursor).map_err(place)?);
            }
        }
        let mut operands = Vec::new();
        if mask & mask::OPERANDS != 0 {
            let count = cursor.count()?;
            operands.reserve(count);
            for _ in 0..count {
                operands.push(self.operand(cursor).map_err(place)?);
            }
        }
        let mut successors = Vec::new();
        if mask & mask::SUCCESSORS != 0 {
            let count = cursor.count()?;
            for _ in 0..count {
                successors.push(blocks[read_index(cursor, blocks.len(), "block")?]);
            }
        }
        if self.version >= since::USE_LIST_ORDERS && mask & mask::USE_LIST_ORDERS != 0 {
            skip_use_list_orders(cursor, result_types.len())?;
        }
        let (regions, isolated) =
            if mask & mask::REGIONS != 0 { cursor.flagged()? } else { (0, false) };
        let op = self.module.operations.push(Operation {
            name,
            operands,
            results: Vec::new(),
            attributes,
            regions: Vec::new(),
            successors,
            location,
            parent,
        });
        let mut results = Vec::with_capacity(result_types.len());
        for (index, ty) in result_types.into_iter().enumerate() {
            let def = ValueDef::Result { op, index: index as u32 };
            results.push(self.define(cursor, numbering, ty, def, Location::UNKNOWN)?);
        }
        self.module.operations[op].results = results;
        if regions > 0 {
            let count = cursor.checked_count(regions)?;
            self.regions(cursor, op, count, isolated)?;
        }
        Ok(op)
    }

    fn attributes(&mut self, cursor: &mut Cursor<'a>, op: usize, mask: u8) -> Result<Attributes> {
        let mut attributes: Vec<OperationAttribute> = Vec::new();
        let name = self.op_names[op].name.clone();
        if mask & mask::ATTRIBUTES != 0 {
            let dictionary = self.entries.attribute(cursor)?;
            let Some(entries) = dictionary.as_dictionary() else {
                return Err(cursor.error("attributes are not a dictionary"));
            };
            let Some(budget) = self.attribute_budget.checked_sub(entries.len()) else {
                return Err(Error::resource_exhausted(
                    "operations have far more attributes than the size of the file allows for",
                ));
            };
            self.attribute_budget = budget;
            attributes.extend(entries.iter().map(|entry| OperationAttribute {
                name: entry.name.clone(),
                kind: self.layouts[op].kind(&entry.name),
                value: entry.value.clone(),
            }));
        }
        if mask & mask::PROPERTIES != 0 {
            if self.version < since::PROPERTIES {
                return Err(cursor.error("this version of bytecode has no properties"));
            }
            let index = cursor.varint()?;
            let index = checked_index(cursor, index, self.properties.len(), "properties")?;
            let data = self.properties[index];
            if self.op_names[op].registered {
                let layout = &self.layouts[op];
                properties::read(data, &name, layout, &mut self.entries, &mut attributes)?;
            } else {
                let before = attributes.len();
                properties::read_dictionary(data, &mut self.entries, &mut attributes)?;
                self.attribute_budget =
                    self.attribute_budget.checked_sub(attributes.len() - before).ok_or_else(
                        || Error::resource_exhausted("operations have too many properties"),
                    )?;
            }
        }
        Ok(attributes.into_iter().collect())
    }

    fn operand(&mut self, cursor: &mut Cursor<'a>) -> Result<ValueId> {
        // There is always a scope: the outermost is never left.
        let scope = self.scopes.last_mut().map(Vec::as_mut_slice).unwrap_or_default();
        let index = read_index(cursor, scope.len(), "value")?;
        match scope[index] {
            Slot::Forward(value) | Slot::Defined(value) => Ok(value),
            Slot::Empty => {
                let value = self.module.values.push(Value {
                    ty: Type::None,
                    def: ValueDef::Argument { block: BlockId::from_index(0), index: 0 },
                    location: Location::UNKNOWN,
                });
                scope[index] = Slot::Forward(value);
                Ok(value)
            }
        }
    }

    fn define(
        &mut self,
        cursor: &Cursor<'a>,
        numbering: &mut Numbering,
        ty: Type,
        def: ValueDef,
        location: Location,
    ) -> Result<ValueId> {
        let value = Value { ty, def, location };
        // Operations in the outermost block have no numbered results.
        let Numbering { next, end } = *numbering;
        if end == 0 {
            return Ok(self.module.values.push(value));
        }
        if next >= end {
            return Err(cursor.error("a region defines more values than it announced"));
        }
        numbering.next += 1;
        let scope = self.scopes.last_mut().map(Vec::as_mut_slice).unwrap_or_default();
        let id = match scope[next] {
            Slot::Forward(id) => {
                self.module.values[id] = value;
                id
            }
            Slot::Empty => self.module.values.push(value),
            Slot::Defined(_) => return Err(cursor.error("a value is defined twice")),
        };
        scope[next] = Slot::Defined(id);
        Ok(id)
    }

    fn regions(
        &mut self,
        cursor: &mut Cursor<'a>,
        op: OpId,
        count: usize,
        isolated: bool,
    ) -> Result<()> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(cursor.error(format_args!("regions nest deeper than {MAX_DEPTH}")));
        }
        self.take_places(cursor, count)?;
        if isolated {
            self.scopes.push(Vec::new());
        }
        if isolated && self.version >= since::ISOLATED_REGION_SECTIONS {
            let (section, data) = cursor.section()?;
            if section != IR_SECTION {
                return Err(cursor.error("the regions of an operation are not in an IR section"));
            }
            let mut inner = data.cursor("IR section");
            for _ in 0..count {
                self.region(&mut inner, op)?;
            }
            inner.finish()?;
        } else {
            for _ in 0..count {
                self.region(cursor, op)?;
            }
        }
        if isolated {
            self.scopes.pop();
        }
        self.depth -= 1;
        Ok(())
    }

    fn region(&mut self, cursor: &mut Cursor<'a>, op: OpId) -> Result<RegionId> {
        let region = self.module.regions.push(Region { blocks: Vec::new(), parent: Some(op) });
        self.module.operations[op].regions.push(region);
        let block_count = cursor.count()?;
        if block_count == 0 {
            return Ok(region);
        }
        let value_count = cursor.count()?;
        self.take_places(cursor, block_count)?;
        self.take_places(cursor, value_count)?;
        let blocks: Vec<BlockId> =
            (0..block_count).map(|_| self.module.add_block(region)).collect();
        let scope = self.scopes.last_mut().ok_or_else(|| Error::internal("no scope of values"))?;
        let start = scope.len();
        scope.resize(start + value_count, Slot::Empty);
        let mut numbering = Numbering { next: start, end: start + value_count };
        for &block in &blocks {
            self.block(cursor, block, &blocks, &mut numbering)?;
        }
        if let Some(scope) = self.scopes.last_mut() {
            let undefined =
                scope[start..].iter().filter(|slot| matches!(slot, Slot::Forward(_))).count();
            scope.truncate(start);
            if undefined > 0 {
                return Err(
                    cursor.error(format_args!("{undefined} values are used but not defined"))
                );
            }
        }
        Ok(region)
    }

    fn block(
        &mut self,
        cursor: &mut Cursor<'a>,
        block: BlockId,
        blocks: &[BlockId],
        numbering: &mut Numbering,
    ) -> Result<()> {
        let (operations, has_arguments) = cursor.flagged()?;
        if has_arguments {
            let count = cursor.count()?;
            for index in 0..count {
                let (ty, location) = self.argument(cursor)?;
                let def = ValueDef::Argument { block, index: index as u32 };
                let value = self.define(cursor, numbering, ty, def, location)?;
                self.module.blocks[block].arguments.push(value);
            }
            if self.version >= since::USE_LIST_ORDERS && cursor.byte()? != 0 {
                skip_use_list_orders(cursor, count)?;
            }
        }
        for _ in 0..operations {
            let op = self.operation(cursor, Some(block), blocks, numbering)?;
            self.module.blocks[block].operations.push(op);
        }
        Ok(())
    }

    fn argument(&mut self, cursor: &mut Cursor<'a>) -> Result<(Type, Location)> {
        if self.version < since::BLOCK_ARGUMENT_LOCATION_FLAG {
            return Ok((self.entries.ty(cursor)?, self.entries.location(cursor)?));
        }
        let (ty, has_location) = cursor.flagged()?;
        let ty = self.entries.type_at(cursor, ty)?;
        let location =
            if has_location { self.entries.location(cursor)? } else { Location::UNKNOWN };
        Ok((ty, location))
    }
}

/// Orders of uses, which say nothing that is kept here.
fn skip_use_list_orders(cursor: &mut Cursor<'_>, values: usize) -> Result<()> {
    let count = if values > 1 { cursor.count()? } else { 1 };
    for _ in 0..count {
        if values > 1 {
            cursor.varint()?;
        }
        let (indices, _) = cursor.flagged()?;
        let indices = cursor.checked_count(indices)?;
        for _ in 0..indices {
            cursor.varint()?;
        }
    }
    Ok(())
}
