//! Pretty forms that `formats` lists piece by piece, to text.

use super::Printer;
use super::attributes::{write_integers, write_string, write_symbol};
use super::dialects::{convolution_text, write_dot_algorithm, write_sdy_body, write_shardings};
use super::operations::Head;
use super::types::write_double;
use crate::mlir::{Attribute, EnumValue, Float, OpId, SdyAttribute, Type, attribute_kind};
use crate::text::formats::{self, Format, Piece, Special, Syntax, Types};
use crate::text::pieces::{elements_type, real_type};

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

    /// Whether the operation is what its pretty form can tell. Programs with errors, as tests hold
    /// them, may not be; they get the generic form.
    pub(super) fn can_be_pretty(&self, op: OpId) -> bool {
        let operation = &self.module.operations[op];
        let Some(spelling) = formats::spelling(&operation.name) else { return false };
        if !operation.successors.is_empty() {
            return false;
        }
        match &spelling.format {
            Format::Generic => false,
            Format::Pieces(pieces) => {
                let told = told(pieces);
                let regions = pieces.iter().map(|piece| match piece {
                    Piece::Regions => None,
                    Piece::RegionWithArguments => Some(1),
                    _ => Some(0),
                });
                let regions = regions.sum::<Option<usize>>();
                regions.is_none_or(|count| count == operation.regions.len())
                    && pieces.iter().all(|&piece| self.fits(op, piece))
                    // Names in the dictionary are read as inherent or not by the table alone.
                    && operation.attributes.iter().all(|attribute| {
                        let name = attribute.name.as_str().unwrap_or("");
                        told.contains(&name)
                            || pieces.iter().any(|piece| matches!(piece, Piece::Dictionary))
                                && attribute_kind(&operation.name, name) == attribute.kind
                    })
            }
            Format::Special(special) => self.special_fits(op, *special),
        }
    }

    fn fits(&self, op: OpId, piece: Piece) -> bool {
        let module = self.module;
        let operation = &module.operations[op];
        let get = |name| operation.attributes.get(name);
        let count = operation.operands.len();
        match piece {
            Piece::Text(_) | Piece::Dictionary | Piece::Regions | Piece::OperandsAndTypes => true,
            Piece::Operand(index) => index < count,
            Piece::Operands(from) => from <= count,
            Piece::OperandsWithCommas(from) => from < count,
            Piece::Attribute(name, syntax) => get(name).is_some_and(|value| spelled(value, syntax)),
            Piece::Optional(_, name, syntax) => {
                get(name).is_none_or(|value| spelled(value, syntax))
            }
            Piece::Types(types) | Piece::TypesIfAny(types) => self.types_fit(op, types),
            Piece::TypesOfAttribute(name) => {
                let ty = get(name).and_then(elements_type);
                operation.results.is_empty() && module.operand_types(op).all(|t| Some(t) == ty)
            }
            Piece::SliceRanges => {
                let length = |name| get(name).and_then(Attribute::as_i64_array).map(<[_]>::len);
                let start = length("start_indices");
                start.is_some() && start == length("limit_indices") && start == length("strides")
            }
            Piece::DotDimensions => {
                matches!(get("dot_dimension_numbers"), Some(Attribute::DotDimensionNumbers(_)))
            }
            Piece::Precision | Piece::PrecisionAndAlgorithm => {
                let precisions = get("precision_config").is_none_or(|value| {
                    value.as_array().is_some_and(|items| {
                        items.iter().all(|item| {
                            matches!(item, Attribute::Enum(item) if matches!(item.value, EnumValue::Precision(_)))
                        })
                    })
                });
                precisions
                    && get("algorithm").is_none_or(|a| matches!(a, Attribute::DotAlgorithm(_)))
            }
            Piece::Window => {
                let integers = ["window_strides", "lhs_dilation", "rhs_dilation"];
                let padding = get("padding").is_none_or(|value| {
                    value.as_dense_elements().is_some_and(|elements| {
                        let columns =
                            elements.ty().shaped().map(|(shape, _)| shape.get(1) == Some(&2));
                        columns == Some(true)
                            && elements.ty().element() == Some(&Type::I64)
                            && elements.to_i64s(PADDING_LIMIT).is_some()
                    })
                });
                padding
                    && integers
                        .iter()
                        .all(|name| get(name).is_none_or(|v| v.as_i64_array().is_some()))
                    && get("window_reversal").is_none_or(|v| v.as_bool_array().is_some())
            }
            Piece::ExponentMantissa => ["exponent_bits", "mantissa_bits"].iter().all(|name| {
                get(name).is_some_and(|value| {
                    matches!(value, Attribute::Integer { ty, value }
                        if *ty == Type::I32 && (0..=i64::from(u16::MAX)).contains(value))
                })
            }),
            Piece::RegionWithArguments => operation
                .regions
                .first()
                .is_some_and(|&region| module.regions[region].blocks.len() == 1),
        }
    }

    fn types_fit(&self, op: OpId, types: Types) -> bool {
        let module = self.module;
        let (mut operands, mut results) = (module.operand_types(op), module.result_types(op));
        let (inputs, outputs) = (operands.len(), results.len());
        let is_function = |ty: &Type| ty.as_function().is_some();
        if module.operand_types(op).chain(module.result_types(op)).any(is_function) {
            // A lone function type would be taken for the types of operands and results.
            return matches!(types, Types::Functional);
        }
        match types {
            Types::Functional | Types::Complex => true,
            Types::Same => outputs == 1,
            Types::Select => outputs == 1 && inputs == 3,
            Types::Results => inputs == 0 && outputs > 0,
            Types::Operands => outputs == 0,
            Types::Common => {
                let first = operands.next();
                outputs == 0 && first.is_some() && operands.all(|ty| Some(ty) == first)
            }
            Types::One => inputs == 1 && outputs == 1 && module.operand_types(op).eq(results),
            Types::Pairwise => module.operand_types(op).eq(results),
            Types::Tuple => match results.next() {
                Some(Type::Tuple(members)) => outputs == 1 && operands.eq(members.iter()),
                _ => false,
            },
            Types::Cast => inputs == 1 && outputs == 1,
            Types::Arrow => inputs > 0,
        }
    }
}

/// Far more than any window has.
pub(super) const PADDING_LIMIT: usize = 1 << 12;

/// Names of attributes that the pieces tell.
fn told(pieces: &'static [Piece]) -> Vec<&'static str> {
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

/// Whether the value is of the kind that the syntax spells.
fn spelled(value: &Attribute, syntax: Syntax) -> bool {
    let integer = |wanted: &Type| matches!(value, Attribute::Integer { ty, .. } if ty == wanted);
    match syntax {
        Syntax::I64 => integer(&Type::I64),
        Syntax::I32 => integer(&Type::I32),
        Syntax::U32 => integer(&Type::unsigned(32)),
        Syntax::U64 => integer(&Type::unsigned(64)),
        Syntax::F64 => matches!(value, Attribute::Float { ty: Float::F64, .. }),
        Syntax::Bool => value.as_bool().is_some(),
        Syntax::String | Syntax::Target | Syntax::SymbolName => value.as_string().is_some(),
        Syntax::I64Array => value.as_i64_array().is_some(),
        Syntax::Enum(dialect, kind) => {
            matches!(value, Attribute::Enum(e) if e.dialect == dialect && e.value.kind() == kind)
        }
        Syntax::Convolution => {
            matches!(value, Attribute::ConvDimensionNumbers(n) if convolution_text(n).is_some())
        }
        Syntax::Sdy(_) => matches!(value, Attribute::Sdy(_)),
        Syntax::SdyShardings => matches!(
            value,
            Attribute::Sdy(a) if matches!(&**a, SdyAttribute::TensorShardingPerValue(_))
        ),
        Syntax::Names(names) => {
            let fits = |value: i64| usize::try_from(value).is_ok_and(|v| v < names.len());
            integer(&Type::I32) && value.as_integer().is_some_and(fits)
        }
        Syntax::Any => true,
    }
}

/// Kept here so that formats written by hand are judged beside the others.
impl Printer<'_> {
    fn special_fits(&self, op: OpId, special: Special) -> bool {
        let module = self.module;
        let operation = &module.operations[op];
        let get = |name| operation.attributes.get(name);
        let single_block = |count: usize| {
            operation.regions.len() == count
                && operation.regions.iter().all(|&region| module.regions[region].blocks.len() == 1)
        };
        let counts = (operation.operands.len(), operation.results.len());
        match special {
            Special::Module => {
                single_block(1)
                    && counts == (0, 0)
                    && get("sym_name").is_none_or(|name| name.as_string().is_some())
                    && operation.regions.iter().all(|&region| {
                        let block = module.regions[region].blocks[0];
                        module.blocks[block].arguments.is_empty()
                    })
            }
            Special::Function => self.function_fits(op),
            Special::Constant => {
                counts == (0, 1)
                    && operation.regions.is_empty()
                    && get("value")
                        .is_some_and(|value| elements_type(value) == module.result_types(op).next())
            }
            Special::Reduce => {
                single_block(1)
                    && counts.0 % 2 == 0
                    && counts.0 > 0
                    && get("dimensions").is_some_and(|value| value.as_i64_array().is_some())
                    && operation.regions.iter().all(|&region| {
                        let block = module.regions[region].blocks[0];
                        module.blocks[block].arguments.len() == counts.0
                    })
            }
            Special::While => {
                single_block(2)
                    && counts.0 == counts.1
                    && module.operand_types(op).eq(module.result_types(op))
                    && operation.regions.iter().all(|&region| {
                        let block = module.regions[region].blocks[0];
                        let arguments = &module.blocks[block].arguments;
                        arguments.iter().map(|&a| &module.values[a].ty).eq(module.operand_types(op))
                    })
            }
            Special::Scan => {
                single_block(1)
                    && matches!(get("dimension"), Some(Attribute::Integer { ty: Type::I64, .. }))
                    && ["operandSegmentSizes", "resultSegmentSizes"]
                        .iter()
                        .all(|name| matches!(get(name), Some(Attribute::DenseArray(_))))
            }
        }
    }
}
