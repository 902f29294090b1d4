//! Shapes, literals, slices, aliases, accuracies and domains as attributes.

use std::sync::Arc;

use super::AttributeText;
use crate::op::{DomainMetadata, OutputOperandAlias, ResultAccuracy, SliceDimension};
use crate::text::lexer::TokenKind;
use crate::text::parse::{Failed, Parser};
use crate::text::print::Printer;
use crate::{Literal, Shape, Sharding};

impl AttributeText for Shape {
    fn print(&self, printer: &mut Printer<'_>) {
        printer.shape_with_layout(self);
    }

    fn parse(parser: &mut Parser<'_>) -> Result<Shape, Failed> {
        parser.shape()
    }
}

impl AttributeText for Vec<Shape> {
    fn print(&self, printer: &mut Printer<'_>) {
        printer.braced(self, ", ", |printer, shape| printer.shape_with_layout(shape));
    }

    fn parse(parser: &mut Parser<'_>) -> Result<Vec<Shape>, Failed> {
        let mut shapes = Vec::new();
        parser.braced(|parser| {
            shapes.push(parser.shape()?);
            Ok(())
        })?;
        Ok(shapes)
    }
}

impl AttributeText for Arc<Literal> {
    fn print(&self, printer: &mut Printer<'_>) {
        printer.shaped_literal(self);
    }

    fn parse(parser: &mut Parser<'_>) -> Result<Arc<Literal>, Failed> {
        parser.shaped_literal().map(Arc::new)
    }
}

impl AttributeText for Vec<SliceDimension> {
    fn print(&self, printer: &mut Printer<'_>) {
        let has_strides = self.iter().any(|dimension| dimension.stride != 1);
        printer.braced(self, ", ", |printer, dimension| {
            printer.push("[");
            printer.integer(dimension.start);
            printer.push(":");
            printer.integer(dimension.limit);
            if has_strides {
                printer.push(":");
                printer.integer(dimension.stride);
            }
            printer.push("]");
        });
    }

    fn parse(parser: &mut Parser<'_>) -> Result<Vec<SliceDimension>, Failed> {
        let mut dimensions = Vec::new();
        parser.braced(|parser| {
            parser.expect(TokenKind::LeftSquare)?;
            let start = parser.integer()?;
            parser.expect(TokenKind::Colon)?;
            let limit = parser.integer()?;
            let stride = if parser.eat(TokenKind::Colon) { parser.integer()? } else { 1 };
            parser.expect(TokenKind::RightSquare)?;
            dimensions.push(SliceDimension { start, limit, stride });
            Ok(())
        })?;
        Ok(dimensions)
    }
}

impl AttributeText for Vec<OutputOperandAlias> {
    fn print(&self, printer: &mut Printer<'_>) {
        printer.braced(self, ", ", |printer, alias| {
            printer.integers(&alias.output_index);
            printer.push(": (");
            printer.integer(alias.operand);
            printer.push(", ");
            printer.integers(&alias.operand_index);
            printer.push(")");
        });
    }

    fn parse(parser: &mut Parser<'_>) -> Result<Vec<OutputOperandAlias>, Failed> {
        let mut list = Vec::new();
        parser.braced(|parser| {
            let output_index = parser.index_path()?;
            parser.expect(TokenKind::Colon)?;
            parser.expect(TokenKind::LeftParen)?;
            let operand = parser.integer()?;
            parser.expect(TokenKind::Comma)?;
            let operand_index = parser.index_path()?;
            parser.expect(TokenKind::RightParen)?;
            list.push(OutputOperandAlias { output_index, operand, operand_index });
            Ok(())
        })?;
        Ok(list)
    }
}

impl AttributeText for ResultAccuracy {
    fn print(&self, printer: &mut Printer<'_>) {
        match *self {
            ResultAccuracy::Default => printer.push("{mode=default}"),
            ResultAccuracy::Highest => printer.push("{mode=highest}"),
            ResultAccuracy::Tolerance { atol_bits, rtol_bits, ulps } => {
                printer.push("{tolerance={atol=");
                printer.number(f64::from_bits(atol_bits));
                printer.push(",rtol=");
                printer.number(f64::from_bits(rtol_bits));
                printer.push(",ulps=");
                printer.integer(ulps);
                printer.push("}}");
            }
        }
    }

    fn parse(parser: &mut Parser<'_>) -> Result<ResultAccuracy, Failed> {
        parser.expect(TokenKind::LeftBrace)?;
        let (name, span) = parser.attribute_name()?;
        let accuracy = match name {
            "mode" => {
                let span = parser.token.span();
                match parser.word("`default` or `highest`")? {
                    "default" | "DEFAULT" => ResultAccuracy::Default,
                    "highest" | "HIGHEST" => ResultAccuracy::Highest,
                    other => {
                        let known = ["default", "highest"];
                        return Err(parser.unknown_word("accuracy", other, span, known));
                    }
                }
            }
            "tolerance" => parse_tolerance(parser)?,
            _ => return Err(parser.unknown_word("field", name, span, ["mode", "tolerance"])),
        };
        parser.expect(TokenKind::RightBrace)?;
        Ok(accuracy)
    }

    fn is_implied(&self) -> bool {
        *self == ResultAccuracy::Default
    }
}

fn parse_tolerance(parser: &mut Parser<'_>) -> Result<ResultAccuracy, Failed> {
    let (mut atol, mut rtol, mut ulps) = (0.0f64, 0.0f64, 0);
    parser.fields(|parser, name, span| {
        match name {
            "atol" => atol = parser.number()?,
            "rtol" => rtol = parser.number()?,
            "ulps" => {
                let span = parser.token.span();
                let value = parser.number()?;
                if value.fract() != 0.0 || value.abs() > 2f64.powi(53) {
                    return Err(parser.error(span, "expected a whole number of ulps"));
                }
                ulps = value as i64;
            }
            _ => {
                return Err(parser.unknown_word("tolerance", name, span, ["atol", "rtol", "ulps"]));
            }
        }
        Ok(())
    })?;
    Ok(ResultAccuracy::Tolerance { atol_bits: atol.to_bits(), rtol_bits: rtol.to_bits(), ulps })
}

impl AttributeText for DomainMetadata {
    fn print(&self, printer: &mut Printer<'_>) {
        printer.push("{kind=");
        printer.quoted(self.kind.as_bytes());
        printer.push(", entry=");
        printer.sharding(&self.entry);
        printer.push(", exit=");
        printer.sharding(&self.exit);
        printer.push("}");
    }

    fn parse(parser: &mut Parser<'_>) -> Result<DomainMetadata, Failed> {
        let span = parser.token.span();
        let mut kind = String::new();
        let mut sides: [Option<Sharding>; 2] = [None, None];
        parser.fields(|parser, name, span| {
            match name {
                "kind" => kind = parser.string()?,
                "entry" => sides[0] = Some(parser.sharding()?),
                "exit" => sides[1] = Some(parser.sharding()?),
                _ => {
                    let known = ["kind", "entry", "exit"];
                    return Err(parser.unknown_word("field of a domain", name, span, known));
                }
            }
            Ok(())
        })?;
        let [Some(entry), Some(exit)] = sides else {
            return Err(parser.error(span, "a domain has `entry` and `exit`"));
        };
        Ok(DomainMetadata { kind, entry, exit })
    }
}
