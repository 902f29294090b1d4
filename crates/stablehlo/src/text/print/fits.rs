//! Whether an operation is what its pretty form can tell. Programs with errors, as tests hold them, may
//! not be; they are printed in the generic form, which can tell everything.

use super::Printer;
use super::dialects::convolution_text;
use super::pieces::told;
use crate::mlir::{Attribute, EnumValue, Float, OpId, SdyAttribute, Type, attribute_kind};
use crate::text::formats::{self, Format, Piece, Special, Syntax, Types};
use crate::text::pieces::elements_type;

/// Far more than any window has.
pub(super) const PADDING_LIMIT: usize = 1 << 12;

impl Printer<'_> {
    /// Whether the operation's pretty form tells all of it.
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
                    && counts.0.is_multiple_of(2)
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
