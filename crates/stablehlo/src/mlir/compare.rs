//! Whether two modules say the same, and if not, where they part.

use std::collections::HashMap;

use super::{BlockId, Module, OpId, RegionId, ValueId};

/// Whether locations count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CompareLocations {
    Yes,
    No,
}

/// The first difference between two modules in words, or `None` if they say the same: the same
/// operations with the same operands, types, attributes and regions in the same order, whatever
/// their ids.
pub fn difference(a: &Module, b: &Module, locations: CompareLocations) -> Option<String> {
    let mut compare = Compare { a, b, locations, values: HashMap::new(), blocks: HashMap::new() };
    compare.operation(a.root, b.root).err()
}

struct Compare<'m> {
    a: &'m Module,
    b: &'m Module,
    locations: CompareLocations,
    /// The counterpart in `b` of a value of `a`.
    values: HashMap<ValueId, ValueId>,
    blocks: HashMap<BlockId, BlockId>,
}

impl Compare<'_> {
    fn operation(&mut self, a: OpId, b: OpId) -> Result<(), String> {
        let (one, two) = (&self.a.operations[a], &self.b.operations[b]);
        let place = || match one.location.source_line() {
            Some(line) => format!("`{}` from {line}", one.name),
            None => format!("`{}`", one.name),
        };
        if one.name != two.name {
            return Err(format!("{} against `{}`", place(), two.name));
        }
        if one.attributes != two.attributes {
            let (x, y) = (one.attributes.iter(), two.attributes.iter());
            let parted = x.zip(y).find(|(x, y)| x != y);
            return Err(format!(
                "attributes of {}: {}",
                place(),
                match parted {
                    Some((x, y)) => format!("{x:?} against {y:?}"),
                    None => format!("{} against {}", one.attributes.len(), two.attributes.len()),
                }
            ));
        }
        if self.locations == CompareLocations::Yes && one.location != two.location {
            return Err(format!("locations of {}", place()));
        }
        let operands = one.operands.len() == two.operands.len()
            && one.operands.iter().zip(&two.operands).all(|(x, y)| self.values.get(x) == Some(y));
        if !operands {
            return Err(format!("operands of {}", place()));
        }
        let successors = one.successors.len() == two.successors.len()
            && one
                .successors
                .iter()
                .zip(&two.successors)
                .all(|(x, y)| self.blocks.get(x) == Some(y));
        if !successors {
            return Err(format!("successors of {}", place()));
        }
        if !self.a.result_types(a).eq(self.b.result_types(b)) {
            return Err(format!("result types of {}", place()));
        }
        self.values.extend(one.results.iter().copied().zip(two.results.iter().copied()));
        if one.regions.len() != two.regions.len() {
            return Err(format!("regions of {}", place()));
        }
        for (&x, &y) in one.regions.iter().zip(&two.regions) {
            self.region(x, y)?;
        }
        Ok(())
    }

    fn region(&mut self, a: RegionId, b: RegionId) -> Result<(), String> {
        let (one, two) = (&self.a.regions[a].blocks, &self.b.regions[b].blocks);
        if one.len() != two.len() {
            return Err(format!("{} blocks against {}", one.len(), two.len()));
        }
        self.blocks.extend(one.iter().copied().zip(two.iter().copied()));
        for (&x, &y) in one.iter().zip(two) {
            self.block(x, y)?;
        }
        Ok(())
    }

    fn block(&mut self, a: BlockId, b: BlockId) -> Result<(), String> {
        let (one, two) = (&self.a.blocks[a], &self.b.blocks[b]);
        if one.arguments.len() != two.arguments.len() {
            return Err("numbers of block arguments".to_owned());
        }
        for (&x, &y) in one.arguments.iter().zip(&two.arguments) {
            let (x_value, y_value) = (&self.a.values[x], &self.b.values[y]);
            if x_value.ty != y_value.ty {
                return Err(format!("block arguments {:?} against {:?}", x_value.ty, y_value.ty));
            }
            if self.locations == CompareLocations::Yes && x_value.location != y_value.location {
                return Err("locations of block arguments".to_owned());
            }
            self.values.insert(x, y);
        }
        if one.operations.len() != two.operations.len() {
            let (x, y) = (one.operations.len(), two.operations.len());
            return Err(format!("a block of {x} operations against {y}"));
        }
        for (&x, &y) in one.operations.iter().zip(&two.operations) {
            self.operation(x, y)?;
        }
        Ok(())
    }
}
