//! Numbers, strings, lists of dimensions, computations.

use super::AttributeText;
use crate::op::{GroupCount, Largest};
use crate::text::lexer::TokenKind;
use crate::text::parse::{Failed, Parser};
use crate::text::print::Printer;
use crate::{ComputationId, Dims};

impl AttributeText for bool {
    fn print(&self, printer: &mut Printer<'_>) {
        printer.push(if *self { "true" } else { "false" });
    }

    fn parse(parser: &mut Parser<'_>) -> Result<bool, Failed> {
        parser.boolean()
    }
}

impl AttributeText for i64 {
    fn print(&self, printer: &mut Printer<'_>) {
        printer.integer(*self);
    }

    fn parse(parser: &mut Parser<'_>) -> Result<i64, Failed> {
        parser.integer()
    }
}

impl AttributeText for f32 {
    fn print(&self, printer: &mut Printer<'_>) {
        printer.number(f64::from(*self));
    }

    fn parse(parser: &mut Parser<'_>) -> Result<f32, Failed> {
        let span = parser.token.span();
        let value = parser.number()?;
        let narrow = value as f32;
        if narrow.is_infinite() && value.is_finite() {
            return Err(parser.error(span, format!("`{value}` does not fit `f32`")));
        }
        Ok(narrow)
    }
}

impl AttributeText for String {
    fn print(&self, printer: &mut Printer<'_>) {
        printer.quoted(self.as_bytes());
    }

    fn parse(parser: &mut Parser<'_>) -> Result<String, Failed> {
        parser.string()
    }
}

impl AttributeText for Vec<u8> {
    fn print(&self, printer: &mut Printer<'_>) {
        printer.quoted(self);
    }

    fn parse(parser: &mut Parser<'_>) -> Result<Vec<u8>, Failed> {
        parser.bytes()
    }
}

impl AttributeText for Dims {
    fn print(&self, printer: &mut Printer<'_>) {
        printer.integers(self);
    }

    fn parse(parser: &mut Parser<'_>) -> Result<Dims, Failed> {
        parser.integers()
    }
}

impl AttributeText for Vec<Dims> {
    fn print(&self, printer: &mut Printer<'_>) {
        printer.braced(self, ",", |printer, list| printer.integers(list));
    }

    fn parse(parser: &mut Parser<'_>) -> Result<Vec<Dims>, Failed> {
        let mut lists = Vec::new();
        parser.braced(|parser| {
            lists.push(parser.integers()?);
            Ok(())
        })?;
        Ok(lists)
    }
}

impl AttributeText for Vec<(i64, i64)> {
    fn print(&self, printer: &mut Printer<'_>) {
        printer.braced(self, ",", |printer, &(from, to)| printer.integers(&[from, to]));
    }

    fn parse(parser: &mut Parser<'_>) -> Result<Vec<(i64, i64)>, Failed> {
        let mut pairs = Vec::new();
        parser.braced(|parser| {
            parser.expect(TokenKind::LeftBrace)?;
            let from = parser.integer()?;
            parser.expect(TokenKind::Comma)?;
            let to = parser.integer()?;
            parser.expect(TokenKind::RightBrace)?;
            pairs.push((from, to));
            Ok(())
        })?;
        Ok(pairs)
    }
}

impl AttributeText for GroupCount {
    fn print(&self, printer: &mut Printer<'_>) {
        printer.integer(self.0);
    }

    fn parse(parser: &mut Parser<'_>) -> Result<GroupCount, Failed> {
        parser.integer().map(GroupCount)
    }
}

impl AttributeText for Largest {
    fn print(&self, printer: &mut Printer<'_>) {
        self.0.print(printer);
    }

    fn parse(parser: &mut Parser<'_>) -> Result<Largest, Failed> {
        parser.boolean().map(Largest)
    }
}

impl AttributeText for ComputationId {
    fn print(&self, printer: &mut Printer<'_>) {
        printer.called_computation(*self);
    }

    fn parse(parser: &mut Parser<'_>) -> Result<ComputationId, Failed> {
        parser.computation_reference()
    }
}

impl AttributeText for Vec<ComputationId> {
    fn print(&self, printer: &mut Printer<'_>) {
        printer.called_computations(self);
    }

    fn parse(parser: &mut Parser<'_>) -> Result<Vec<ComputationId>, Failed> {
        let mut list = Vec::new();
        parser.braced(|parser| {
            list.push(parser.computation_reference()?);
            Ok(())
        })?;
        Ok(list)
    }
}

/// An optional value is written as the value, or not at all.
macro_rules! optional {
    ($($t:ty),+ $(,)?) => { $(impl AttributeText for Option<$t> {
        fn print(&self, printer: &mut Printer<'_>) {
            if let Some(value) = self {
                value.print(printer);
            }
        }

        fn parse(parser: &mut Parser<'_>) -> Result<Option<$t>, Failed> {
            <$t>::parse(parser).map(Some)
        }

        fn is_implied(&self) -> bool {
            self.as_ref().is_none_or(AttributeText::is_implied)
        }
    })+ };
}
optional! {
    i64, bool, ComputationId,
    crate::op::Window, crate::op::ConvolutionDimensions, crate::op::SparsityConfig,
    crate::op::ResultAccuracy, crate::op::DomainMetadata, crate::Shape, Vec<crate::Shape>,
    std::sync::Arc<crate::Literal>,
    crate::op::DotAlgorithm, crate::op::ConvolutionKind, crate::op::PaddingType,
    crate::op::CustomCallSchedule, crate::op::CustomCallApiVersion,
    crate::op::CollectiveGroupMode, crate::op::ComparisonType,
}
