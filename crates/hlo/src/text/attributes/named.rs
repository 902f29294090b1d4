//! Attributes that choose between names.

use super::AttributeText;
use crate::op::{
    CollectiveGroupMode, ComparisonDirection, ComparisonType, ConvolutionKind,
    CustomCallApiVersion, CustomCallSchedule, DotAlgorithm, FftType, FusionKind, PaddingType,
    Precision, RandomAlgorithm, RandomDistribution, TransposeKind,
};
use crate::text::parse::{Failed, Parser};
use crate::text::print::Printer;

/// Lists the types, with what messages call one value, and the value that is not printed if there
/// is one.
macro_rules! named {
    ($($t:ident: $what:literal $(implied $implied:ident)?;)+) => { $(impl AttributeText for $t {
        fn print(&self, printer: &mut Printer<'_>) {
            printer.push(self.name());
        }

        fn parse(parser: &mut Parser<'_>) -> Result<$t, Failed> {
            let span = parser.token.span();
            let word = parser.word(concat!("a ", $what))?;
            // Older texts spell some names in the other case.
            let found = $t::from_name(word).or_else(|| {
                $t::ALL.iter().copied().find(|value| value.name().eq_ignore_ascii_case(word))
            });
            found.ok_or_else(|| {
                let known = $t::ALL.iter().map(|value| value.name());
                parser.unknown_word($what, word, span, known)
            })
        }

        fn is_implied(&self) -> bool {
            false $(|| *self == $t::$implied)?
        }
    })+ };
}
named! {
    CollectiveGroupMode: "mode of a collective";
    ComparisonDirection: "direction of a comparison";
    ComparisonType: "type of a comparison";
    ConvolutionKind: "kind of a convolution" implied Unset;
    CustomCallApiVersion: "version of the custom call API" implied Original;
    CustomCallSchedule: "schedule of a custom call" implied None;
    DotAlgorithm: "algorithm of a dot" implied Unset;
    FftType: "type of a Fourier transform";
    FusionKind: "kind of a fusion";
    PaddingType: "padding type" implied Invalid;
    Precision: "precision";
    RandomAlgorithm: "random algorithm";
    RandomDistribution: "random distribution";
    TransposeKind: "kind of transposition";
}

impl AttributeText for Vec<Precision> {
    fn print(&self, printer: &mut Printer<'_>) {
        printer.braced(self, ",", |printer, precision| precision.print(printer));
    }

    fn parse(parser: &mut Parser<'_>) -> Result<Vec<Precision>, Failed> {
        let mut list = Vec::new();
        parser.braced(|parser| {
            list.push(Precision::parse(parser)?);
            Ok(())
        })?;
        if list.is_implied() {
            list.clear();
        }
        Ok(list)
    }

    fn is_implied(&self) -> bool {
        self.iter().all(|&precision| precision == Precision::Default)
    }
}
