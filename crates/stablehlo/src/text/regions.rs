//! Regions and blocks from text.

use rxla_base::Span;

use super::cursor::Result;
use super::formats;
use super::operations::Place;
use super::parser::Parser;
use crate::mlir::{BlockId, Location, RegionId, Type, Value, ValueDef};

/// An argument of a block, as `%arg0: tensor<f32> loc("x")`.
pub(super) struct Argument<'a> {
    pub name: &'a str,
    pub span: Span,
    pub ty: Type,
    pub location: Location,
}

impl<'a> Parser<'a> {
    /// `{…}`, the region of an operation with this name. `arguments` are those of the first block
    /// if its head stands outside of the braces.
    pub(super) fn region(
        &mut self,
        region: RegionId,
        operation: &str,
        arguments: Vec<Argument<'a>>,
    ) -> Result<()> {
        let isolated = formats::spelling(operation).is_some_and(|spelling| spelling.isolated);
        if isolated {
            self.scopes.enter_isolated();
        }
        self.scopes.enter_region();
        self.nested(|parser| parser.region_body(region, operation, arguments))?;
        self.leave_region()?;
        if isolated {
            self.leave_isolated()?;
        }
        Ok(())
    }

    fn region_body(
        &mut self,
        region: RegionId,
        operation: &str,
        arguments: Vec<Argument<'a>>,
    ) -> Result<()> {
        let default_dialect = match operation {
            "func.func" => "func",
            _ => "builtin",
        };
        self.expect("{")?;
        let has_arguments = !arguments.is_empty();
        if has_arguments || !self.sees("^") && !self.sees("}") {
            let block = self.module.add_block(region);
            self.block_arguments(block, arguments)?;
            self.operations_of(Place { region, block, default_dialect })?;
        }
        while self.sees("^") {
            let block = self.define_block(region)?;
            let mut arguments = Vec::new();
            if self.eat("(") {
                arguments = self.list_until(")", |parser| parser.block_argument())?;
            }
            self.block_arguments(block, arguments)?;
            self.expect(":")?;
            self.operations_of(Place { region, block, default_dialect })?;
        }
        self.expect("}")
    }

    fn operations_of(&mut self, place: Place) -> Result<()> {
        while !self.sees("}") && !self.sees("^") {
            if self.at_end() {
                return Err(self.unexpected("`}`"));
            }
            self.operation(place)?;
        }
        Ok(())
    }

    /// `%name: type` with an optional location.
    pub(super) fn block_argument(&mut self) -> Result<Argument<'a>> {
        let (name, span) = self.value_name()?;
        self.expect(":")?;
        let ty = self.ty()?;
        let location = self.optional_location()?.unwrap_or_default();
        Ok(Argument { name, span, ty, location })
    }

    /// Begins a block.
    fn block_arguments(&mut self, block: BlockId, arguments: Vec<Argument<'a>>) -> Result<()> {
        self.scopes.enter_block(block);
        for (index, argument) in arguments.into_iter().enumerate() {
            let Argument { name, span, ty, location } = argument;
            let def = ValueDef::Argument { block, index: index as u32 };
            let value = self.new_value(Some((name, span)), 0, Value { ty, def, location })?;
            self.module.blocks[block].arguments.push(value);
            self.bind(name, span, vec![value])?;
        }
        Ok(())
    }
}
