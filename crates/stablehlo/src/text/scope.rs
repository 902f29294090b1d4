//! [`Scopes`]: which value or block a name means at a place.
//!
//! Names live in the region that defines them and those inside it. An operation such as
//! `func.func` starts afresh: its body sees no outer values. A value may be used above its
//! definition (in another block); then it exists as a value without definition until that comes.

use rustc_hash::FxHashMap;
use rxla_base::{Diagnostic, Span};

use super::cursor::Result;
use super::parser::Parser;
use crate::mlir::{BlockId, Location, RegionId, Type, Value, ValueDef, ValueId};

pub(super) struct Scopes<'a> {
    isolated: Vec<Isolated<'a>>,
}

#[derive(Default)]
struct Isolated<'a> {
    values: FxHashMap<&'a str, Named>,
    /// Values used but not yet defined.
    forward: FxHashMap<(&'a str, u32), Forward>,
    regions: Vec<RegionScope<'a>>,
}

/// A value used but not yet defined.
struct Forward {
    value: ValueId,
    /// The first use.
    span: Span,
    /// The blocks round that use. A definition further down in one of them comes too late.
    blocks: Vec<BlockId>,
}

/// What `%name` or `%name:n` defined.
struct Named {
    span: Span,
    values: Vec<ValueId>,
}

#[derive(Default)]
struct RegionScope<'a> {
    /// To forget when the region ends.
    defined: Vec<&'a str>,
    blocks: FxHashMap<&'a str, NamedBlock>,
    /// The block that is being read.
    current: Option<BlockId>,
}

struct NamedBlock {
    id: BlockId,
    first_use: Span,
    defined: bool,
}

/// A use of a value: `%name` or `%name#2`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Use<'a> {
    /// Without `%`.
    pub name: &'a str,
    pub number: u32,
    pub span: Span,
}

impl<'a> Scopes<'a> {
    pub(super) fn new() -> Scopes<'a> {
        Scopes { isolated: vec![Isolated::default()] }
    }

    fn here(&mut self) -> &mut Isolated<'a> {
        if self.isolated.is_empty() {
            self.isolated.push(Isolated::default());
        }
        let last = self.isolated.len() - 1;
        &mut self.isolated[last]
    }

    pub(super) fn enter_isolated(&mut self) {
        self.isolated.push(Isolated::default());
    }

    pub(super) fn enter_region(&mut self) {
        self.here().regions.push(RegionScope::default());
    }

    pub(super) fn enter_block(&mut self, block: BlockId) {
        if let Some(region) = self.region() {
            region.current = Some(block);
        }
    }

    fn region(&mut self) -> Option<&mut RegionScope<'a>> {
        self.here().regions.last_mut()
    }
}

impl<'a> Parser<'a> {
    /// Ends what [`Scopes::enter_isolated`] began; every value used must be defined by now.
    pub(super) fn leave_isolated(&mut self) -> Result<()> {
        let Some(scope) = self.scopes.isolated.pop() else { return Ok(()) };
        match scope.forward.iter().min_by_key(|(_, forward)| forward.span.start) {
            None => Ok(()),
            Some((&(name, _), forward)) => {
                Err(self.error(forward.span, format!("value `%{name}` is used but never defined")))
            }
        }
    }

    /// Ends what [`Scopes::enter_region`] began; every block named must be defined by now.
    pub(super) fn leave_region(&mut self) -> Result<()> {
        let here = self.scopes.here();
        let Some(region) = here.regions.pop() else { return Ok(()) };
        for name in region.defined {
            here.values.remove(name);
        }
        let missing = region.blocks.iter().filter(|(_, block)| !block.defined);
        match missing.min_by_key(|(_, block)| block.first_use.start) {
            None => Ok(()),
            Some((name, block)) => {
                Err(self.error(block.first_use, format!("block `^{name}` is not defined")))
            }
        }
    }

    /// `%name`, without `#n`.
    pub(super) fn value_name(&mut self) -> Result<(&'a str, Span)> {
        if !self.sees("%") {
            return Err(self.unexpected("a value such as `%0`"));
        }
        let start = self.offset();
        self.move_to(start + 1);
        let name = self.suffix_word();
        let span = self.span_from(start);
        if name.is_empty() {
            return Err(self.error(span, "expected a name after `%`"));
        }
        Ok((name, span))
    }

    /// `%name` or `%name#2`.
    pub(super) fn value_use(&mut self) -> Result<Use<'a>> {
        let (name, span) = self.value_name()?;
        if self.peek_here() != Some(b'#') {
            return Ok(Use { name, number: 0, span });
        }
        let here = self.offset();
        self.move_to(here + 1);
        let digits = self.digits();
        let span = span.to(self.span_from(here));
        match digits.parse() {
            Ok(number) => Ok(Use { name, number, span }),
            Err(_) => Err(self.error(span, "expected the number of a result after `#`")),
        }
    }

    /// The value meant, which must have the type `ty`.
    pub(super) fn resolve(&mut self, usage: Use<'a>, ty: &Type) -> Result<ValueId> {
        let here = self.scopes.here();
        let Some(named) = here.values.get(usage.name) else {
            let key = (usage.name, usage.number);
            if let Some(&Forward { value, span, .. }) = here.forward.get(&key) {
                self.check_type(value, ty, usage, span)?;
                return Ok(value);
            }
            // The definition says what it is; until then it points nowhere.
            let value = self.module.values.push(Value {
                ty: ty.clone(),
                def: ValueDef::Argument { block: BlockId::default(), index: 0 },
                location: Location::UNKNOWN,
            });
            let here = self.scopes.here();
            let blocks = here.regions.iter().filter_map(|region| region.current).collect();
            here.forward.insert(key, Forward { value, span: usage.span, blocks });
            return Ok(value);
        };
        let definition = named.span;
        let count = named.values.len();
        let Some(&value) = named.values.get(usage.number as usize) else {
            return Err(Box::new(
                Diagnostic::error(format!(
                    "`%{}` has {count} results, there is no number {}",
                    usage.name, usage.number
                ))
                .at(usage.span)
                .label(definition, "defined here"),
            ));
        };
        self.check_type(value, ty, usage, definition)?;
        Ok(value)
    }

    fn check_type(&self, value: ValueId, ty: &Type, usage: Use<'a>, other: Span) -> Result<()> {
        let known = &self.module.values[value].ty;
        if known == ty {
            return Ok(());
        }
        Err(Box::new(
            Diagnostic::error(format!(
                "`%{}` is used as `{}` but has type `{}`",
                usage.name,
                super::print::type_text(ty),
                super::print::type_text(known)
            ))
            .at(usage.span)
            .label(other, "the type was given here"),
        ))
    }

    /// A value is defined with the type and place given: a fresh one, or the one that uses above
    /// have been given.
    pub(super) fn new_value(
        &mut self,
        name: Option<(&'a str, Span)>,
        number: u32,
        value: Value,
    ) -> Result<ValueId> {
        let Some((name, span)) = name else { return Ok(self.module.values.push(value)) };
        let Some(forward) = self.scopes.here().forward.remove(&(name, number)) else {
            return Ok(self.module.values.push(value));
        };
        let Forward { value: id, span: used, blocks } = forward;
        let current = self.scopes.region().and_then(|region| region.current);
        if current.is_some_and(|block| blocks.contains(&block)) {
            return Err(Box::new(
                Diagnostic::error(format!("`%{name}` is used before it is defined"))
                    .at(used)
                    .label(span, "defined here"),
            ));
        }
        let usage = Use { name, number, span: used };
        self.check_type_of_forward(id, &value.ty, usage, span)?;
        self.module.values[id] = value;
        Ok(id)
    }

    fn check_type_of_forward(
        &self,
        id: ValueId,
        defined: &Type,
        usage: Use<'a>,
        definition: Span,
    ) -> Result<()> {
        let used = &self.module.values[id].ty;
        if used == defined {
            return Ok(());
        }
        Err(Box::new(
            Diagnostic::error(format!(
                "`%{}` is used as `{}` but has type `{}`",
                usage.name,
                super::print::type_text(used),
                super::print::type_text(defined)
            ))
            .at(usage.span)
            .label(definition, "defined here"),
        ))
    }

    /// Binds the name to the values.
    pub(super) fn bind(&mut self, name: &'a str, span: Span, values: Vec<ValueId>) -> Result<()> {
        let here = self.scopes.here();
        if let Some(earlier) = here.values.get(name) {
            let earlier = earlier.span;
            return Err(Box::new(
                Diagnostic::error(format!("value `%{name}` is defined twice"))
                    .at(span)
                    .label(earlier, "defined here first"),
            ));
        }
        here.values.insert(name, Named { span, values });
        if let Some(region) = self.scopes.region() {
            region.defined.push(name);
        }
        Ok(())
    }

    /// The block meant by `^name`, which may yet come.
    pub(super) fn block_use(&mut self, region: RegionId) -> Result<BlockId> {
        let (name, span) = self.block_name()?;
        self.block_named(name, span, region).map(|(block, _)| block)
    }

    /// The block that starts here with `^name`.
    pub(super) fn define_block(&mut self, region: RegionId) -> Result<BlockId> {
        let (name, span) = self.block_name()?;
        let (block, was_defined) = self.block_named(name, span, region)?;
        if was_defined {
            return Err(self.error(span, format!("block `^{name}` is defined twice")));
        }
        if let Some(scope) = self.scopes.region()
            && let Some(named) = scope.blocks.get_mut(name)
        {
            named.defined = true;
        }
        self.module.regions[region].blocks.push(block);
        Ok(block)
    }

    fn block_named(
        &mut self,
        name: &'a str,
        span: Span,
        region: RegionId,
    ) -> Result<(BlockId, bool)> {
        let blocks = &mut self.module.blocks;
        let Some(scope) = self.scopes.isolated.last_mut().and_then(|i| i.regions.last_mut()) else {
            return Err(self.error(span, "a block is named outside of any region"));
        };
        let named = scope.blocks.entry(name).or_insert_with(|| {
            let block = crate::mlir::Block { parent: Some(region), ..Default::default() };
            NamedBlock { id: blocks.push(block), first_use: span, defined: false }
        });
        Ok((named.id, named.defined))
    }

    fn block_name(&mut self) -> Result<(&'a str, Span)> {
        if !self.sees("^") {
            return Err(self.unexpected("a block such as `^bb0`"));
        }
        let start = self.offset();
        self.move_to(start + 1);
        let name = self.suffix_word();
        let span = self.span_from(start);
        if name.is_empty() {
            return Err(self.error(span, "expected a name after `^`"));
        }
        Ok((name, span))
    }
}
