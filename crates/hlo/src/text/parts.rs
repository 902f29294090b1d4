//! Parts of HLO text that stand alone: what attributes of StableHLO and other formats quote.

use rxla_base::Diagnostic;

use super::attributes::AttributeText;
use super::parse::{ParseOptions, Parser};
use super::print::{PrintOptions, Printer};
use crate::op::{ConvolutionDimensions, PaddingDimension, ReplicaGroups, Window};
use crate::{
    ArrayLiteral, FrontendAttributes, Layout, Literal, Metadata, OriginalValue, Shape, Sharding,
    Statistics,
};

/// Lists functions that read one thing which is the whole text.
macro_rules! parsers {
    ($($(#[$doc:meta])* $name:ident -> $t:ty = $parse:expr;)+) => { $(
        $(#[$doc])*
        pub fn $name(text: &str) -> Result<$t, Vec<Diagnostic>> {
            Parser::new(text, &ParseOptions::default()).whole($parse)
        }
    )+ };
}
parsers! {
    /// Reads a shape, such as `(f32[2,<=3]{1,0}, token[])`.
    parse_shape -> Shape = |parser| parser.shape();
    /// Reads shapes in braces.
    parse_shape_list -> Vec<Shape> = |parser| AttributeText::parse(parser);
    /// Reads a layout, such as `{1,0:T(8,128)}`.
    parse_layout -> Layout = |parser| parser.layout();
    /// Reads a sharding in any spelling.
    parse_sharding -> Sharding = |parser| parser.sharding();
    /// Reads a window without braces, such as `size=2x2 stride=1x2`.
    parse_window -> Window = Window::parse_fields;
    /// Reads `b01f_01io->b01f`.
    parse_convolution_dimensions -> ConvolutionDimensions = |parser| AttributeText::parse(parser);
    /// Reads `0_1_0x2_2_1`.
    parse_padding -> Vec<PaddingDimension> = |parser| AttributeText::parse(parser);
    /// Reads replica groups in any spelling.
    parse_replica_groups -> ReplicaGroups = |parser| AttributeText::parse(parser);
    /// Reads `{name="value",…}`.
    parse_frontend_attributes -> FrontendAttributes = |parser| parser.frontend_attributes();
    /// Reads `{op_name="…" …}`.
    parse_metadata -> Metadata = |parser| parser.metadata();
    /// Reads `{visualizing_index=1,…}`.
    parse_statistics -> Statistics = |parser| parser.statistics();
    /// Reads `{({"a" {0}}, {"b"})}`.
    parse_original_value -> OriginalValue = |parser| parser.original_value();
    /// Reads a literal that says its shape, such as `s32[2] {1, 2}`.
    parse_literal -> Literal = |parser| parser.shaped_literal();
}

/// Reads the elements of a literal whose shape is known, such as `{1, 2}`.
pub fn parse_elements(text: &str, shape: &Shape) -> Result<Literal, Vec<Diagnostic>> {
    Parser::new(text, &ParseOptions::default()).whole(|parser| parser.literal(shape))
}

/// Lists functions that print one thing.
macro_rules! printers {
    ($($(#[$doc:meta])* $name:ident($t:ty) = $print:expr;)+) => { $(
        $(#[$doc])*
        pub fn $name(value: &$t) -> String {
            let mut printer = Printer::new(None, &PrintOptions::complete());
            let print: fn(&mut Printer<'_>, &$t) = $print;
            print(&mut printer, value);
            printer.finish()
        }
    )+ };
}
printers! {
    /// What [`parse_layout`] reads.
    print_layout(Layout) = |printer, layout| printer.layout(layout);
    /// What [`parse_sharding`] reads.
    print_sharding(Sharding) = |printer, sharding| printer.sharding(sharding);
    /// What [`parse_window`] reads.
    print_window(Window) = |printer, window| window.print_fields(printer);
    /// What [`parse_convolution_dimensions`] reads.
    print_convolution_dimensions(ConvolutionDimensions) = |printer, dims| dims.print(printer);
    /// What [`parse_padding`] reads.
    print_padding(Vec<PaddingDimension>) = |printer, padding| padding.print(printer);
    /// What [`parse_replica_groups`] reads.
    print_replica_groups(ReplicaGroups) = |printer, groups| groups.print(printer);
    /// What [`parse_frontend_attributes`] reads.
    print_frontend_attributes(FrontendAttributes) =
        |printer, attributes| printer.frontend_attributes(attributes);
    /// What [`parse_original_value`] reads.
    print_original_value(OriginalValue) = |printer, value| printer.original_value(value);
    /// What [`parse_literal`] reads: every element, with shapes.
    print_literal(Literal) = |printer, literal| printer.shaped_literal(literal);
}

/// What [`parse_elements`] reads: every element, without shapes.
pub fn print_elements(array: &ArrayLiteral) -> String {
    let mut printer = Printer::new(None, &PrintOptions::complete());
    printer.elements(array);
    printer.finish()
}
