//! What convolutions, windows and pads are written with: patterns such as `0_1x2_2`.

use rxla_base::Span;

use super::AttributeText;
use crate::Dims;
use crate::op::{
    ConvolutionDimensions, PaddingDimension, SparsityConfig, TensorSparsity, Window,
    WindowDimension,
};
use crate::text::lexer::TokenKind;
use crate::text::parse::{Failed, Parser};
use crate::text::print::Printer;

impl AttributeText for Window {
    fn print(&self, printer: &mut Printer<'_>) {
        printer.push("{");
        self.print_fields(printer);
        printer.push("}");
    }

    fn parse(parser: &mut Parser<'_>) -> Result<Window, Failed> {
        let start = parser.token.start;
        parser.expect(TokenKind::LeftBrace)?;
        let mut fields = WindowFields::default();
        while !parser.eat(TokenKind::RightBrace) {
            fields.parse(parser)?;
        }
        let span = parser.span_from(start);
        fields.window(parser, span)
    }
}

impl Window {
    /// The window without braces, as it stands alone.
    pub(in crate::text) fn print_fields(&self, printer: &mut Printer<'_>) {
        let dimensions = &self.dimensions;
        if dimensions.is_empty() {
            return;
        }
        let mut field = |name: &str, value: &dyn Fn(&WindowDimension, &mut Printer<'_>)| {
            printer.push(name);
            printer.joined(dimensions, "x", |printer, dimension| value(dimension, printer));
        };
        field("size=", &|d, p| p.integer(d.size));
        if dimensions.iter().any(|d| d.stride != 1) {
            field(" stride=", &|d, p| p.integer(d.stride));
        }
        if dimensions.iter().any(|d| d.padding_low != 0 || d.padding_high != 0) {
            field(" pad=", &|d, p| {
                p.integer(d.padding_low);
                p.push("_");
                p.integer(d.padding_high);
            });
        }
        if dimensions.iter().any(|d| d.base_dilation != 1) {
            field(" lhs_dilate=", &|d, p| p.integer(d.base_dilation));
        }
        if dimensions.iter().any(|d| d.window_dilation != 1) {
            field(" rhs_dilate=", &|d, p| p.integer(d.window_dilation));
        }
        if dimensions.iter().any(|d| d.window_reversal) {
            field(" rhs_reversal=", &|d, p| p.integer(i64::from(d.window_reversal)));
        }
    }

    /// Reads a window without braces up to the end of the text.
    pub(in crate::text) fn parse_fields(parser: &mut Parser<'_>) -> Result<Window, Failed> {
        let start = parser.token.start;
        let mut fields = WindowFields::default();
        while !parser.at(TokenKind::End) {
            fields.parse(parser)?;
        }
        let span = parser.span_from(start);
        fields.window(parser, span)
    }
}

/// The lists of a window, by dimension, as text has them.
#[derive(Default)]
struct WindowFields {
    size: Option<Vec<i64>>,
    stride: Option<Vec<i64>>,
    pad: Option<Vec<Vec<i64>>>,
    lhs_dilate: Option<Vec<i64>>,
    rhs_dilate: Option<Vec<i64>>,
    rhs_reversal: Option<Vec<i64>>,
}

impl WindowFields {
    fn parse(&mut self, parser: &mut Parser<'_>) -> Result<(), Failed> {
        let (name, span) = parser.attribute_name()?;
        let field = match name {
            "size" => &mut self.size,
            "stride" => &mut self.stride,
            "lhs_dilate" => &mut self.lhs_dilate,
            "rhs_dilate" => &mut self.rhs_dilate,
            "rhs_reversal" => &mut self.rhs_reversal,
            "pad" => {
                if self.pad.is_some() {
                    return Err(parser.error(span, "`pad` is given twice"));
                }
                self.pad = Some(pattern(parser, 2, 2)?);
                return Ok(());
            }
            _ => {
                let known = ["size", "stride", "pad", "lhs_dilate", "rhs_dilate", "rhs_reversal"];
                return Err(parser.unknown_word("field of a window", name, span, known));
            }
        };
        if field.is_some() {
            return Err(parser.error(span, format!("`{name}` is given twice")));
        }
        *field = Some(pattern(parser, 1, 1)?.into_iter().flatten().collect());
        Ok(())
    }

    fn window(self, parser: &mut Parser<'_>, span: Span) -> Result<Window, Failed> {
        let size = self.size.unwrap_or_default();
        let rank = size.len();
        let lengths = [
            ("stride", self.stride.as_ref().map(Vec::len)),
            ("pad", self.pad.as_ref().map(Vec::len)),
            ("lhs_dilate", self.lhs_dilate.as_ref().map(Vec::len)),
            ("rhs_dilate", self.rhs_dilate.as_ref().map(Vec::len)),
            ("rhs_reversal", self.rhs_reversal.as_ref().map(Vec::len)),
        ];
        for (name, length) in lengths {
            if let Some(length) = length
                && length != rank
            {
                let message =
                    format!("`size` of the window has {rank} dimensions, `{name}` has {length}");
                return Err(parser.error(span, message));
            }
        }
        let at = |list: &Option<Vec<i64>>, d: usize, default| {
            list.as_ref().map_or(default, |list| list[d])
        };
        let dimensions = (0..rank).map(|d| WindowDimension {
            size: size[d],
            stride: at(&self.stride, d, 1),
            padding_low: self.pad.as_ref().map_or(0, |pad| pad[d][0]),
            padding_high: self.pad.as_ref().map_or(0, |pad| pad[d][1]),
            window_dilation: at(&self.rhs_dilate, d, 1),
            base_dilation: at(&self.lhs_dilate, d, 1),
            window_reversal: at(&self.rhs_reversal, d, 0) == 1,
        });
        Ok(Window { dimensions: dimensions.collect() })
    }
}

/// `2_1x0_0`: groups of `least` to `most` numbers joined by `_`, the groups joined by `x`.
fn pattern(parser: &mut Parser<'_>, least: usize, most: usize) -> Result<Vec<Vec<i64>>, Failed> {
    let (text, span) =
        parser.raw(|byte| byte.is_ascii_digit() || matches!(byte, b'_' | b'x' | b'-'));
    let groups: Option<Vec<Vec<i64>>> = text
        .split('x')
        .map(|group| {
            let numbers: Option<Vec<i64>> = group.split('_').map(|n| n.parse().ok()).collect();
            numbers.filter(|numbers| (least..=most).contains(&numbers.len()))
        })
        .collect();
    groups.ok_or_else(|| {
        let example = if least == 1 { "`2x2`" } else { "`0_1x2_2`" };
        parser.error(span, format!("expected numbers such as {example}, found `{text}`"))
    })
}

impl AttributeText for Vec<PaddingDimension> {
    fn print(&self, printer: &mut Printer<'_>) {
        let has_interior = self.iter().any(|dimension| dimension.interior != 0);
        printer.joined(self, "x", |printer, dimension| {
            printer.integer(dimension.low);
            printer.push("_");
            printer.integer(dimension.high);
            if has_interior {
                printer.push("_");
                printer.integer(dimension.interior);
            }
        });
    }

    fn parse(parser: &mut Parser<'_>) -> Result<Vec<PaddingDimension>, Failed> {
        // A pad of a scalar has no dimensions, so that nothing stands after `padding=`.
        if matches!(parser.token.kind, TokenKind::Comma | TokenKind::RightParen) {
            return Ok(Vec::new());
        }
        let groups = if matches!(parser.token.kind, TokenKind::Integer | TokenKind::Decimal) {
            pattern(parser, 2, 3)?
        } else {
            Vec::new()
        };
        let dimensions = groups.iter().map(|group| PaddingDimension {
            low: group[0],
            high: group[1],
            interior: group.get(2).copied().unwrap_or(0),
        });
        Ok(dimensions.collect())
    }
}

impl AttributeText for ConvolutionDimensions {
    fn print(&self, printer: &mut Printer<'_>) {
        printer.labels('b', self.input_batch, 'f', self.input_feature, &self.input_spatial);
        printer.push("_");
        let (input, output) = (self.kernel_input_feature, self.kernel_output_feature);
        printer.labels('i', input, 'o', output, &self.kernel_spatial);
        printer.push("->");
        printer.labels('b', self.output_batch, 'f', self.output_feature, &self.output_spatial);
    }

    fn parse(parser: &mut Parser<'_>) -> Result<ConvolutionDimensions, Failed> {
        let (text, span) = parser
            .raw(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'>' | b'?'));
        let parts = text
            .split_once('_')
            .and_then(|(input, rest)| rest.split_once("->").map(|(k, output)| (input, k, output)));
        let Some((input, kernel, output)) = parts else {
            let message = format!("expected labels such as `b01f_01io->b01f`, found `{text}`");
            return Err(parser.error(span, message));
        };
        let read = |labels: &str, first: char, second: char| {
            read_labels(labels, first, second).map_err(|why| format!("in `{labels}`, {why}"))
        };
        let sides = read(input, 'b', 'f').and_then(|input| {
            let kernel = read(kernel, 'i', 'o')?;
            let output = read(output, 'b', 'f')?;
            if input.2.len() != kernel.2.len() || input.2.len() != output.2.len() {
                return Err(format!(
                    "input, kernel and output have {}, {} and {} spatial dimensions",
                    input.2.len(),
                    kernel.2.len(),
                    output.2.len()
                ));
            }
            Ok((input, kernel, output))
        });
        let (input, kernel, output) = match sides {
            Ok(sides) => sides,
            Err(why) => return Err(parser.error(span, why)),
        };
        Ok(ConvolutionDimensions {
            input_batch: input.0,
            input_feature: input.1,
            input_spatial: input.2,
            kernel_input_feature: kernel.0,
            kernel_output_feature: kernel.1,
            kernel_spatial: kernel.2,
            output_batch: output.0,
            output_feature: output.1,
            output_spatial: output.2,
        })
    }
}

/// Where the two letters and the digits stand.
fn read_labels(labels: &str, first: char, second: char) -> Result<(i64, i64, Dims), String> {
    let spatial_count = labels.chars().filter(char::is_ascii_digit).count();
    let mut spatial: Vec<Option<i64>> = vec![None; spatial_count];
    let (mut first_at, mut second_at) = (None, None);
    for (position, label) in labels.chars().enumerate() {
        let place = match label {
            '?' => continue,
            _ if label == first => &mut first_at,
            _ if label == second => &mut second_at,
            _ => {
                let digit = label.to_digit(10).and_then(|digit| spatial.get_mut(digit as usize));
                digit.ok_or_else(|| {
                    format!("`{label}` is neither `{first}`, `{second}` nor a spatial dimension")
                })?
            }
        };
        if place.replace(position as i64).is_some() {
            return Err(format!("`{label}` stands twice"));
        }
    }
    let spatial = spatial.into_iter().collect::<Option<Dims>>();
    match (first_at, second_at, spatial) {
        (Some(first), Some(second), Some(spatial)) => Ok((first, second, spatial)),
        _ => Err(format!("`{first}`, `{second}` or a spatial dimension is missing")),
    }
}

impl AttributeText for SparsityConfig {
    fn print(&self, printer: &mut Printer<'_>) {
        let sides = [("lhs", self.lhs), ("rhs", self.rhs)];
        let given: Vec<(&str, TensorSparsity)> =
            sides.into_iter().filter_map(|(name, side)| Some((name, side?))).collect();
        printer.braced(&given, " ", |printer, &(name, side)| {
            printer.push(name);
            printer.push("={sparsity=");
            printer.integer(side.num_non_zero);
            printer.push("x");
            printer.integer(side.block_size);
            printer.push(" dimension=");
            printer.integer(side.dimension);
            printer.push(" stride=");
            printer.integer(side.stride);
            printer.push("}");
        });
    }

    fn parse(parser: &mut Parser<'_>) -> Result<SparsityConfig, Failed> {
        let mut config = SparsityConfig::default();
        parser.fields(|parser, name, span| {
            match name {
                "lhs" => config.lhs = Some(parse_sparsity(parser)?),
                "rhs" => config.rhs = Some(parse_sparsity(parser)?),
                _ => return Err(parser.unknown_word("side", name, span, ["lhs", "rhs"])),
            }
            Ok(())
        })?;
        Ok(config)
    }
}

fn parse_sparsity(parser: &mut Parser<'_>) -> Result<TensorSparsity, Failed> {
    let mut sparsity = TensorSparsity::default();
    parser.fields(|parser, name, span| {
        match name {
            "sparsity" => {
                let span = parser.token.span();
                let numbers: Vec<i64> = pattern(parser, 1, 1)?.into_iter().flatten().collect();
                let [non_zero, block] = numbers[..] else {
                    return Err(parser.error(span, "expected two numbers such as `2x4`"));
                };
                sparsity.num_non_zero = non_zero;
                sparsity.block_size = block;
            }
            "dimension" => sparsity.dimension = parser.integer()?,
            "stride" => sparsity.stride = parser.integer()?,
            _ => {
                let known = ["sparsity", "dimension", "stride"];
                return Err(parser.unknown_word("field", name, span, known));
            }
        }
        Ok(())
    })?;
    Ok(sparsity)
}
