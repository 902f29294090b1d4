//! Pretty forms that `formats` lists piece by piece, to text.

use super::Printer;
use super::attributes::{write_integers, write_string, write_symbol};
use super::dialects::{convolution_text, write_dot_algorithm};
use super::fits::PADDING_LIMIT;
use super::operations::Head;
use super::sdy::{write_sdy_body, write_shardings};
use super::types::write_double;
use crate::mlir::{Attribute, OpId, SdyAttribute, Type};
use crate::text::formats::{Piece, Syntax, Types};
use crate::text::pieces::real_type;

impl Printer<'_> {
    pub(super) fn pieces(&mut self, op: OpId, pieces: &'static [Piece]) {
        let told = told(pieces);
        for &piece in pieces {
            self.piece(op, piece, &told);
        }
    }

    fn piece(&mut self, op: OpId, piece: Piece, told: &[&str]) {
        let module = self.module;
        let operation = &module.operations[op];
        match piece {
            Piece::Text(" ")
                if operation.operands.is_empty() && operation.attributes.is_empty() => {}
            Piece::Text(text) => self.text(text),
            Piece::Operand(index) => {
                if let Some(&operand) = operation.operands.get(index) {
                    self.value(operand);
                }
            }
            Piece::Operands(from) => {
                self.values(operation.operands.get(from..).unwrap_or(&[]));
            }
            Piece::OperandsWithCommas(from) => {
                self.values(operation.operands.get(from..).unwrap_or(&[]));
                self.text(",");
            }
            Piece::Attribute(name, syntax) => {
                if let Some(value) = operation.attributes.get(name) {
                    self.attribute_piece(value, syntax);
                }
            }
            Piece::Optional(text, name, syntax) => {
                if let Some(value) = operation.attributes.get(name) {
                    self.text(text);
                    self.attribute_piece(value, syntax);
                }
            }
            Piece::Dictionary => self.dictionary(op, "", told),
            Piece::Types(types) => {
                self.text(" : ");
                self.types(op, types);
            }
            Piece::TypesIfAny(types) => {
                if !operation.operands.is_empty() {
                    self.text(" : ");
                    self.types(op, types);
                }
            }
            Piece::OperandsAndTypes => {
                if operation.operands.is_empty() {
                    return self.text(" ()");
                }
                self.text(" ");
                self.values(&operation.operands);
                self.text(" : ");
                self.types(op, Types::Pairwise);
            }
            Piece::TypesOfAttribute(_) => {}
            Piece::SliceRanges => self.slice_ranges(op),
            Piece::DotDimensions => self.dot_dimensions(op),
            Piece::Precision | Piece::PrecisionAndAlgorithm => self.precision_and_algorithm(op),
            Piece::Window => self.window(op),
            Piece::ExponentMantissa => {
                let bits = |name| {
                    operation.attributes.get(name).and_then(Attribute::as_integer).unwrap_or(0)
                };
                let text = format!("e{}m{}", bits("exponent_bits"), bits("mantissa_bits"));
                self.text(&text);
            }
            Piece::Regions => {
                if !operation.regions.is_empty() {
                    self.text(" (");
                    self.commas(&operation.regions, |printer, &region| {
                        printer.region(region, Head::Printed, "");
                    });
                    self.text(")");
                }
            }
            Piece::RegionWithArguments => {
                let Some(&region) = operation.regions.first() else { return };
                let block = module.regions[region].blocks.first();
                self.text("(");
                if let Some(&block) = block {
                    self.commas(&module.blocks[block].arguments, |printer, &argument| {
                        printer.argument(argument);
                    });
                }
                self.text(") ");
                self.region(region, Head::Left, "");
            }
        }
    }

    fn attribute_piece(&mut self, value: &Attribute, syntax: Syntax) {
        match (syntax, value) {
            (Syntax::I64 | Syntax::I32 | Syntax::U32, Attribute::Integer { value, .. }) => {
                self.text(&value.to_string());
            }
            (Syntax::U64, Attribute::Integer { value, .. }) => {
                self.text(&(*value as u64).to_string());
            }
            (Syntax::F64, Attribute::Float { bits, .. }) => write_double(&mut self.out, *bits),
            (Syntax::Names(names), Attribute::Integer { value, .. }) => {
                let name = usize::try_from(*value).ok().and_then(|index| names.get(index));
                self.text(name.copied().unwrap_or("unknown"));
            }
            (Syntax::Target | Syntax::SymbolName, Attribute::String(name)) => {
                write_symbol(&mut self.out, name);
            }
            (Syntax::String, Attribute::String(text)) => write_string(&mut self.out, text),
            (Syntax::Enum(..), Attribute::Enum(attribute)) => self.text(attribute.value.name()),
            (Syntax::Sdy(_), Attribute::Sdy(attribute)) => {
                write_sdy_body(&mut self.out, attribute);
            }
            (Syntax::SdyShardings, Attribute::Sdy(attribute)) => match &**attribute {
                SdyAttribute::TensorShardingPerValue(shardings) => {
                    write_shardings(&mut self.out, shardings);
                }
                other => write_sdy_body(&mut self.out, other),
            },
            (Syntax::Convolution, Attribute::ConvDimensionNumbers(numbers)) => {
                let text = convolution_text(numbers).unwrap_or_default();
                self.text(&text);
            }
            (Syntax::I64Array, value) if value.as_i64_array().is_some() => {
                self.text("[");
                write_integers(&mut self.out, value.as_i64_array().unwrap_or(&[]));
                self.text("]");
            }
            // `can_be_pretty` has seen to it that only what is spelled in full is left.
            (_, value) => self.attribute(value),
        }
    }

    fn types(&mut self, op: OpId, types: Types) {
        let module = self.module;
        let mut operands = module.operand_types(op);
        let mut results = module.result_types(op);
        match types {
            Types::Functional => self.functional_type(op),
            Types::Same => match results.next() {
                Some(result) if operands.all(|ty| ty == result) => self.ty(result),
                _ => self.functional_type(op),
            },
            Types::Results => self.commas(results, |printer, ty| printer.ty(ty)),
            Types::Operands | Types::Pairwise => {
                self.commas(operands, |printer, ty| printer.ty(ty))
            }
            Types::One | Types::Common => {
                if let Some(ty) = operands.next() {
                    self.ty(ty);
                }
            }
            Types::Tuple => {
                if let Some(ty) = results.next() {
                    self.ty(ty);
                }
            }
            Types::Complex => match results.next() {
                Some(result)
                    if real_type(result).is_some_and(|part| operands.all(|ty| *ty == part)) =>
                {
                    self.ty(result);
                }
                _ => self.functional_type(op),
            },
            Types::Select => {
                let listed: Vec<&Type> = operands.chain(results).collect();
                match listed[..] {
                    [predicate, on_true, on_false, result]
                        if on_true == result && on_false == result =>
                    {
                        self.ty(predicate);
                        self.text(", ");
                        self.ty(result);
                    }
                    _ => self.functional_type(op),
                }
            }
            Types::Cast => {
                if let (Some(from), Some(to)) = (operands.next(), results.next()) {
                    self.ty(from);
                    self.text(" to ");
                    self.ty(to);
                }
            }
            Types::Arrow => {
                self.commas(operands, |printer, ty| printer.ty(ty));
                self.text(" -> ");
                let results: Vec<&Type> = results.collect();
                super::types::write_results(&mut self.out, &results);
            }
        }
    }

    fn slice_ranges(&mut self, op: OpId) {
        let attributes = &self.module.operations[op].attributes;
        let of = |name| attributes.get(name).and_then(Attribute::as_i64_array).unwrap_or(&[]);
        let ranges = of("start_indices").iter().zip(of("limit_indices")).zip(of("strides"));
        self.commas(ranges, |printer, ((start, limit), stride)| {
            let text = match stride {
                1 => format!("{start}:{limit}"),
                _ => format!("{start}:{limit}:{stride}"),
            };
            printer.text(&text);
        });
    }

    fn dot_dimensions(&mut self, op: OpId) {
        let attributes = &self.module.operations[op].attributes;
        let Some(Attribute::DotDimensionNumbers(d)) = attributes.get("dot_dimension_numbers")
        else {
            return;
        };
        if !d.lhs_batching_dimensions.is_empty() || !d.rhs_batching_dimensions.is_empty() {
            self.text("batching_dims = ");
            self.dimension_pair(&d.lhs_batching_dimensions, &d.rhs_batching_dimensions);
            self.text(", ");
        }
        self.text("contracting_dims = ");
        self.dimension_pair(&d.lhs_contracting_dimensions, &d.rhs_contracting_dimensions);
    }

    fn dimension_pair(&mut self, lhs: &[i64], rhs: &[i64]) {
        self.text("[");
        write_integers(&mut self.out, lhs);
        self.text("] x [");
        write_integers(&mut self.out, rhs);
        self.text("]");
    }

    fn precision_and_algorithm(&mut self, op: OpId) {
        let attributes = &self.module.operations[op].attributes;
        if let Some(Attribute::Array(precisions)) = attributes.get("precision_config") {
            self.text(", precision = [");
            self.commas(&precisions[..], |printer, precision| {
                if let Attribute::Enum(attribute) = precision {
                    printer.text(attribute.value.name());
                }
            });
            self.text("]");
        }
        if let Some(Attribute::DotAlgorithm(algorithm)) = attributes.get("algorithm") {
            self.text(", algorithm = ");
            write_dot_algorithm(&mut self.out, algorithm);
        }
    }

    fn window(&mut self, op: OpId) {
        let attributes = &self.module.operations[op].attributes;
        let parts = [
            ("stride", "window_strides"),
            ("pad", "padding"),
            ("lhs_dilate", "lhs_dilation"),
            ("rhs_dilate", "rhs_dilation"),
            ("reverse", "window_reversal"),
        ];
        let present =
            parts.into_iter().filter_map(|(word, name)| Some((word, attributes.get(name)?)));
        self.commas(present, |printer, (word, value)| {
            printer.text(word);
            printer.text(" = [");
            if let Some(values) = value.as_i64_array() {
                write_integers(&mut printer.out, values);
            } else if let Some(values) = value.as_bool_array() {
                printer.commas(values, |printer, value| {
                    printer.text(if *value { "true" } else { "false" });
                });
            } else if let Some(elements) = value.as_dense_elements() {
                let values = elements.to_i64s(PADDING_LIMIT).unwrap_or_default();
                printer.commas(values.chunks_exact(2), |printer, pair| {
                    printer.text(&format!("[{}, {}]", pair[0], pair[1]));
                });
            }
            printer.text("]");
        });
    }
}

/// Names of attributes that the pieces tell.
pub(super) fn told(pieces: &'static [Piece]) -> Vec<&'static str> {
    let mut told = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Attribute(name, _) | Piece::Optional(_, name, _) => told.push(*name),
            Piece::SliceRanges => told.extend(["start_indices", "limit_indices", "strides"]),
            Piece::DotDimensions => told.push("dot_dimension_numbers"),
            Piece::Precision => told.push("precision_config"),
            Piece::PrecisionAndAlgorithm => told.extend(["precision_config", "algorithm"]),
            Piece::Window => told.extend([
                "window_strides",
                "padding",
                "lhs_dilation",
                "rhs_dilation",
                "window_reversal",
            ]),
            Piece::ExponentMantissa => told.extend(["exponent_bits", "mantissa_bits"]),
            Piece::Text(_)
            | Piece::Operand(_)
            | Piece::Operands(_)
            | Piece::OperandsWithCommas(_)
            | Piece::Dictionary
            | Piece::Types(_)
            | Piece::TypesIfAny(_)
            | Piece::TypesOfAttribute(_)
            | Piece::OperandsAndTypes
            | Piece::Regions
            | Piece::RegionWithArguments => {}
        }
    }
    told
}
