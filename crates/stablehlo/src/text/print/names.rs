//! Names of values and blocks: `%0`, `%arg0`, `%cst_1`, `^bb1`, numbered as MLIR numbers them.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::mlir::{BlockId, Module, OpId, RegionId, Type, ValueDef, ValueId};

#[derive(Default)]
pub(super) struct Names {
    values: FxHashMap<ValueId, String>,
    blocks: FxHashMap<BlockId, usize>,
}

/// Counters of a region, continued by the regions inside it.
#[derive(Clone, Copy, Default)]
struct Counters {
    value: usize,
    argument: usize,
    conflict: usize,
}

struct Naming<'m> {
    module: &'m Module,
    names: Names,
    used: FxHashSet<String>,
}

impl Names {
    pub(super) fn of(module: &Module) -> Names {
        let mut naming = Naming { module, names: Names::default(), used: FxHashSet::default() };
        for &region in &module.operations[module.root].regions {
            naming.region(region, Counters::default());
        }
        naming.names
    }

    /// `%0` or, for one of several results, `%0#1`.
    pub(super) fn value(&self, module: &Module, value: ValueId) -> String {
        if let ValueDef::Result { op, index } = module.values[value].def
            && let results @ [first, _, ..] = &module.operations[op].results[..]
            && results.get(index as usize) == Some(&value)
            && let Some(name) = self.values.get(first)
        {
            return format!("%{name}#{index}");
        }
        match self.values.get(&value) {
            Some(name) => format!("%{name}"),
            None => "%undefined".to_owned(),
        }
    }

    /// The name given to an operation's results, without `%`.
    pub(super) fn results(&self, module: &Module, op: OpId) -> Option<&str> {
        self.values.get(module.operations[op].results.first()?).map(String::as_str)
    }

    pub(super) fn block(&self, block: BlockId) -> String {
        match self.blocks.get(&block) {
            Some(number) => format!("^bb{number}"),
            None => "^undefined".to_owned(),
        }
    }
}

impl Naming<'_> {
    /// Names what the region defines, then what the regions inside define.
    fn region(&mut self, region: RegionId, mut counters: Counters) {
        let module = self.module;
        let mut defined = Vec::new();
        let owner = module.regions[region].parent.map(|op| &*module.operations[op].name);
        let blocks = &module.regions[region].blocks;
        for (number, &block) in blocks.iter().enumerate() {
            self.names.blocks.insert(block, number);
            for &argument in &module.blocks[block].arguments {
                let name = if owner == Some("stablehlo.while") {
                    self.unique("iterArg", &mut counters)
                } else if number == 0 {
                    counters.argument += 1;
                    let name = format!("arg{}", counters.argument - 1);
                    self.unique(&name, &mut counters)
                } else {
                    counters.value += 1;
                    (counters.value - 1).to_string()
                };
                self.define(argument, name, &mut defined);
            }
            for &op in &module.blocks[block].operations {
                let Some(&first) = module.operations[op].results.first() else { continue };
                let name = match self.hint(op) {
                    Some(hint) => self.unique(hint, &mut counters),
                    None => {
                        counters.value += 1;
                        (counters.value - 1).to_string()
                    }
                };
                self.define(first, name, &mut defined);
            }
        }
        for &block in blocks {
            for &op in &module.blocks[block].operations {
                // Others that see no outer values still may not use outer names again.
                let name = &*module.operations[op].name;
                let isolated = matches!(name, "func.func" | "builtin.module");
                let outer = isolated.then(|| std::mem::take(&mut self.used));
                for &inner in &module.operations[op].regions {
                    let start = if isolated { Counters::default() } else { counters };
                    self.region(inner, start);
                }
                if let Some(outer) = outer {
                    self.used = outer;
                }
            }
        }
        for name in defined {
            self.used.remove(&name);
        }
    }

    fn define(&mut self, value: ValueId, name: String, defined: &mut Vec<String>) {
        self.used.insert(name.clone());
        defined.push(name.clone());
        self.names.values.insert(value, name);
    }

    /// Constants are told by their elements.
    fn hint(&self, op: OpId) -> Option<&'static str> {
        match &*self.module.operations[op].name {
            "stablehlo.constant" => {
                let element = self.module.result_types(op).next()?.element()?;
                Some(if matches!(element, Type::Integer { .. }) { "c" } else { "cst" })
            }
            "arith.constant" => Some("cst"),
            _ => None,
        }
    }

    /// The name itself if it is free, else with a number behind.
    fn unique(&mut self, name: &str, counters: &mut Counters) -> String {
        if !self.used.contains(name) {
            return name.to_owned();
        }
        loop {
            let candidate = format!("{name}_{}", counters.conflict);
            counters.conflict += 1;
            if !self.used.contains(&candidate) {
                return candidate;
            }
        }
    }
}
