//! The IR section and the properties it refers to.

use std::collections::HashMap;
use std::sync::Arc;

use rxla_base::{Error, Result, SecondaryMap};

use super::super::properties::{Layout, is_late};
use super::super::sections::{IR_SECTION, since};
use super::attributes::Encoding;
use super::emitter::{Emitter, Tables};
use crate::mlir::{
    AttributeKind, BlockId, MAX_DEPTH, Module, NamedAttribute, OpId, RegionId, Value, ValueId,
    dictionary,
};
use crate::vhlo::is_versioned_value;

pub(super) struct Parts {
    pub(super) ir: Vec<u8>,
    pub(super) properties: Vec<u8>,
}

pub(super) fn write(module: &Module, version: u64, tables: &mut Tables) -> Result<Parts> {
    let mut writer = Writer {
        module,
        version,
        tables,
        layouts: HashMap::new(),
        properties: Emitter::default(),
        property_indices: HashMap::new(),
        numbers: SecondaryMap::default(),
        depth: 0,
    };
    let mut out = Emitter::default();
    // One operation and no arguments in the outermost block.
    out.flagged(1, false);
    writer.operation(&mut out, module.root, &[], 0)?;
    let Writer { properties, property_indices, .. } = writer;
    let mut section = Emitter::default();
    section.length(property_indices.len());
    section.bytes(&properties.finish());
    Ok(Parts { ir: out.finish(), properties: section.finish() })
}

struct Writer<'m> {
    module: &'m Module,
    version: u64,
    tables: &'m mut Tables,
    layouts: HashMap<Arc<str>, Layout>,
    properties: Emitter,
    property_indices: HashMap<Vec<u8>, usize>,
    /// Numbers of the values that are in sight.
    numbers: SecondaryMap<Value, Option<usize>>,
    depth: usize,
}

impl Writer<'_> {
    fn operation(
        &mut self,
        out: &mut Emitter,
        op: OpId,
        blocks: &[BlockId],
        values: usize,
    ) -> Result<()> {
        let operation = &self.module.operations[op];
        let layout = self
            .layouts
            .entry(operation.name.clone())
            .or_insert_with(|| Layout::of(&operation.name))
            .clone();
        let name = self.tables.op_name(&operation.name, matches!(layout, Layout::Known(_)));
        let versioned = operation.name.starts_with("vhlo.");
        let encoding = if versioned { Encoding::Versioned } else { Encoding::Plain };
        let location = self.tables.location(&operation.location)?;
        let place = |error: Error| error.context(format!("in `{}`", operation.name));
        let properties = self.properties(op, &layout, encoding).map_err(place)?;
        let attributes = self.dictionary(op, encoding).map_err(place)?;
        let result_types: Vec<usize> = operation
            .results
            .iter()
            .map(|&value| self.value_type(value))
            .collect::<Result<_>>()
            .map_err(place)?;
        let mask = u8::from(attributes.is_some())
            | u8::from(!result_types.is_empty()) << 1
            | u8::from(!operation.operands.is_empty()) << 2
            | u8::from(!operation.successors.is_empty()) << 3
            | u8::from(!operation.regions.is_empty()) << 4
            | u8::from(properties.is_some()) << 6;
        out.length(name);
        out.byte(mask);
        out.length(location);
        for index in [attributes, properties].into_iter().flatten() {
            out.length(index);
        }
        if !result_types.is_empty() {
            out.indices(&result_types);
        }
        if !operation.operands.is_empty() {
            out.length(operation.operands.len());
            for &operand in &operation.operands {
                let Some(number) = self.numbers[operand] else {
                    let message = "an operand is not in sight of the operation that uses it";
                    return Err(place(Error::invalid_argument(message)));
                };
                out.length(number);
            }
        }
        if !operation.successors.is_empty() {
            out.length(operation.successors.len());
            for successor in &operation.successors {
                let Some(index) = blocks.iter().position(|block| block == successor) else {
                    let message = "a successor is not in the region of its operation";
                    return Err(place(Error::invalid_argument(message)));
                };
                out.length(index);
            }
        }
        if !operation.regions.is_empty() {
            self.regions(out, op, values)?;
        }
        Ok(())
    }

    /// Values from operations of VHLO and blocks in them have VHLO's types.
    fn value_type(&mut self, value: ValueId) -> Result<usize> {
        let encoding = if is_versioned_value(self.module, value) {
            Encoding::Versioned
        } else {
            Encoding::Plain
        };
        self.tables.ty(&self.module.values[value].ty, encoding)
    }

    /// The attributes that stand in a dictionary: before properties existed, all.
    fn dictionary(&mut self, op: OpId, encoding: Encoding) -> Result<Option<usize>> {
        let operation = &self.module.operations[op];
        let entries: Vec<NamedAttribute> = operation
            .attributes
            .iter()
            .filter(|attribute| {
                self.version < since::PROPERTIES || attribute.kind == AttributeKind::Discardable
            })
            .map(|attribute| NamedAttribute {
                name: attribute.name.clone(),
                value: attribute.value.clone(),
            })
            .collect();
        if entries.is_empty() {
            return Ok(None);
        }
        self.tables.dictionary(&entries, encoding).map(Some)
    }

    fn properties(
        &mut self,
        op: OpId,
        layout: &Layout,
        encoding: Encoding,
    ) -> Result<Option<usize>> {
        if self.version < since::PROPERTIES {
            return Ok(None);
        }
        let name = &*self.module.operations[op].name;
        let attributes = &self.module.operations[op].attributes;
        let mut data = Emitter::default();
        match layout {
            Layout::Known(layout) => {
                for declared in layout {
                    match (attributes.get(declared.name), declared.optional) {
                        (Some(value), optional) => {
                            let index = self.tables.attribute(value, encoding)?;
                            if optional { data.flagged(index, true) } else { data.length(index) }
                        }
                        (None, true) if is_late(name, declared.name) => {}
                        (None, true) => data.flagged(0, false),
                        (None, false) => {
                            return Err(Error::invalid_argument(format!(
                                "the attribute `{}` is missing",
                                declared.name
                            )));
                        }
                    }
                }
            }
            Layout::Unknown => {
                let inherent = attributes.iter().filter(|a| a.kind == AttributeKind::Inherent);
                let entries: Vec<NamedAttribute> = inherent
                    .map(|a| NamedAttribute { name: a.name.clone(), value: a.value.clone() })
                    .collect();
                if !entries.is_empty() {
                    let index = self.tables.attribute(&dictionary(entries), encoding)?;
                    data.length(index);
                }
            }
        }
        if data.is_empty() {
            return Ok(None);
        }
        let data = data.finish();
        let next = self.property_indices.len();
        let index = *self.property_indices.entry(data.clone()).or_insert(next);
        if index == next {
            self.properties.blob(&data);
        }
        Ok(Some(index))
    }

    fn regions(&mut self, out: &mut Emitter, op: OpId, values: usize) -> Result<()> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Error::invalid_argument(format!("regions nest deeper than {MAX_DEPTH}")));
        }
        let operation = &self.module.operations[op];
        let isolated = is_isolated(&operation.name);
        out.flagged(operation.regions.len(), isolated);
        if isolated && self.version >= since::ISOLATED_REGION_SECTIONS {
            let mut inner = Emitter::default();
            for &region in &operation.regions {
                self.region(&mut inner, region, 0)?;
            }
            out.section(IR_SECTION, &inner.finish());
        } else {
            let values = if isolated { 0 } else { values };
            for &region in &operation.regions {
                self.region(out, region, values)?;
            }
        }
        self.depth -= 1;
        Ok(())
    }

    /// `values` is how many values stand before those of the region.
    fn region(&mut self, out: &mut Emitter, region: RegionId, values: usize) -> Result<()> {
        let blocks = &self.module.regions[region].blocks;
        out.length(blocks.len());
        if blocks.is_empty() {
            return Ok(());
        }
        let mut next = values;
        for &block in blocks {
            let block = &self.module.blocks[block];
            let results =
                block.operations.iter().flat_map(|&op| &self.module.operations[op].results);
            for &value in block.arguments.iter().chain(results) {
                self.numbers[value] = Some(next);
                next += 1;
            }
        }
        out.length(next - values);
        for &id in blocks {
            let block = &self.module.blocks[id];
            out.flagged(block.operations.len(), !block.arguments.is_empty());
            if !block.arguments.is_empty() {
                self.arguments(out, id)?;
            }
            for &op in &block.operations {
                self.operation(out, op, blocks, next)?;
            }
        }
        Ok(())
    }

    fn arguments(&mut self, out: &mut Emitter, block: BlockId) -> Result<()> {
        let arguments = &self.module.blocks[block].arguments;
        out.length(arguments.len());
        for &argument in arguments {
            let ty = self.value_type(argument)?;
            let location = &self.module.values[argument].location;
            let flagged = self.version >= since::BLOCK_ARGUMENT_LOCATION_FLAG;
            if flagged {
                out.flagged(ty, !location.is_unknown());
            } else {
                out.length(ty);
            }
            if !flagged || !location.is_unknown() {
                let location = self.tables.location(location)?;
                out.length(location);
            }
        }
        if self.version >= since::USE_LIST_ORDERS {
            out.byte(0);
        }
        Ok(())
    }
}

/// Operations whose regions see no values from outside.
fn is_isolated(name: &str) -> bool {
    matches!(
        name,
        "builtin.module"
            | "func.func"
            | "vhlo.func_v1"
            | "sdy.manual_computation"
            | "sdy.named_computation"
    )
}
