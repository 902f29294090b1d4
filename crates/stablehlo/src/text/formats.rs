//! How each operation is spelled: a table that reader and printer share.
//!
//! An operation that is not here, or whose format is [`Format::Generic`], has the generic form
//! only. The facts are those of the dialects' definitions (`assemblyFormat` and custom printers).

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use crate::mlir::EnumDialect;

/// What is known of an operation.
pub(super) struct Spelling {
    pub name: &'static str,
    pub format: Format,
    /// Whether values from outside cannot be used in its regions.
    pub isolated: bool,
}

pub(super) enum Format {
    Generic,
    /// Parts in order, after the operation's name.
    Pieces(&'static [Piece]),
    /// Written by hand, in `special` and `print::special`.
    Special(Special),
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Special {
    Module,
    Function,
    Constant,
    Reduce,
    While,
    Scan,
}

/// A part of a pretty form.
#[derive(Clone, Copy)]
pub(super) enum Piece {
    /// Keywords and punctuation, with the spaces that printing puts.
    Text(&'static str),
    /// The operand with this index.
    Operand(usize),
    /// Operands from this index on, with commas between.
    Operands(usize),
    /// Operands from this index on, each followed by a comma.
    OperandsWithCommas(usize),
    /// The value of an attribute.
    Attribute(&'static str, Syntax),
    /// The text and the value of an attribute, or nothing.
    Optional(&'static str, &'static str, Syntax),
    /// The remaining attributes, `{…}`.
    Dictionary,
    /// ` : ` and types.
    Types(Types),
    /// Types, or nothing if there are no operands.
    TypesIfAny(Types),
    /// Nothing: the operands have the type of this attribute's value.
    TypesOfAttribute(&'static str),
    /// `operands : types`, or `()` without operands.
    OperandsAndTypes,
    /// `[0:4, 0:8:2]`.
    SliceRanges,
    /// `contracting_dims = [1] x [0]`.
    DotDimensions,
    /// `, precision = […]`, or nothing.
    Precision,
    /// `, precision = […]` and `, algorithm = <…>`, or either, or nothing.
    PrecisionAndAlgorithm,
    /// What stands in `window = {…}`.
    Window,
    /// `e8m23`.
    ExponentMantissa,
    /// ` ({…}, {…})`, or nothing without regions.
    Regions,
    /// `(%arg0: type, …) {…}`: one region whose arguments stand before it.
    RegionWithArguments,
}

/// How the value of an attribute is written where its kind is known.
#[derive(Clone, Copy)]
pub(super) enum Syntax {
    /// An integer of type `i64`.
    I64,
    /// An integer of type `i32`.
    I32,
    /// An integer of type `ui32`.
    U32,
    /// An integer of type `ui64`.
    U64,
    /// A float of type `f64`.
    F64,
    Bool,
    String,
    /// A string written as `@name`.
    Target,
    /// A string written as `@name`, a symbol of its own.
    SymbolName,
    /// `[1, 2]` for `array<i64: 1, 2>`.
    I64Array,
    /// The bare value of this enumeration.
    Enum(EnumDialect, &'static str),
    /// `[b, f]x[i, o]->[b, f]`.
    Convolution,
    /// Shardy's attribute of this name without the name.
    Sdy(&'static str),
    /// One of these names, for its place in the list as an integer of type `i32`.
    Names(&'static [&'static str]),
    /// Shardy's shardings without the angle brackets round them: `[<@mesh, []>]`.
    SdyShardings,
    /// Any attribute, in full.
    Any,
}

/// Which types are written and what they say of the others.
#[derive(Clone, Copy)]
pub(super) enum Types {
    /// `(operands) -> results`.
    Functional,
    /// One type for all operands and the result, else [`Types::Functional`].
    Same,
    /// Those of the results; there are no operands.
    Results,
    /// Those of the operands; there are no results.
    Operands,
    /// The one type that every operand and result has.
    One,
    /// The one type that every operand has; there are no results.
    Common,
    /// Types of the operands, which are those of the results.
    Pairwise,
    /// The tuple type of the result, whose members are the operands' types.
    Tuple,
    /// The complex result type, whose parts the operands have, else [`Types::Functional`].
    Complex,
    /// The predicate's and the common type of the rest, else [`Types::Functional`].
    Select,
    /// `a to b`.
    Cast,
    /// `a, b -> c` or `a -> (b, c)`.
    Arrow,
}

use Piece::{
    Attribute, Dictionary, DotDimensions, ExponentMantissa, Operand, Operands, OperandsAndTypes,
    OperandsWithCommas, Optional, Precision, PrecisionAndAlgorithm, RegionWithArguments, Regions,
    SliceRanges, Text, TypesIfAny, TypesOfAttribute, Window,
};

/// Renamed so that rows stay short.
const fn types(types: Types) -> Piece {
    Piece::Types(types)
}

const FUNCTIONAL: Piece = types(Types::Functional);
const SP: Piece = Text(" ");
const COMMA: Piece = Text(", ");

const SAME: Format = Format::Pieces(&[SP, Operands(0), Dictionary, types(Types::Same)]);
const PLAIN: Format = Format::Pieces(&[SP, Operands(0), Dictionary, FUNCTIONAL]);
const ARROW: Format = Format::Pieces(&[SP, Operands(0), Dictionary, types(Types::Arrow)]);
const RESULTS: Format = Format::Pieces(&[Dictionary, types(Types::Results)]);

const fn enumeration(name: &'static str, kind: &'static str) -> Piece {
    Attribute(name, Syntax::Enum(EnumDialect::Stablehlo, kind))
}

const OUT_SHARDING: Piece = Attribute("out_sharding", Syntax::Sdy("sharding"));

const REDUCTION_OP: Syntax = Syntax::Names(&["sum", "max", "min"]);
const DIRECTION: Syntax = Syntax::Names(&["NONE", "FORWARD", "BACKWARD", "BOTH"]);

const fn row(name: &'static str, format: Format) -> Spelling {
    Spelling { name, format, isolated: false }
}

const fn isolated(name: &'static str, format: Format) -> Spelling {
    Spelling { name, format, isolated: true }
}

#[rustfmt::skip]
static SPELLINGS: &[Spelling] = &[
    isolated("builtin.module", Format::Special(Special::Module)),
    isolated("func.func", Format::Special(Special::Function)),
    row("func.return", Format::Pieces(&[SP, Operands(0), Dictionary, TypesIfAny(Types::Operands)])),
    row("func.call", Format::Pieces(&[SP, Attribute("callee", Syntax::Any), Text("("), Operands(0), Text(")"), Dictionary, FUNCTIONAL])),

    row("stablehlo.abs", SAME),
    row("stablehlo.add", SAME),
    row("stablehlo.after_all", SAME),
    row("stablehlo.all_gather", Format::Generic),
    row("stablehlo.all_reduce", Format::Generic),
    row("stablehlo.all_to_all", Format::Generic),
    row("stablehlo.and", SAME),
    row("stablehlo.async_done", Format::Generic),
    isolated("stablehlo.async_start", Format::Generic),
    row("stablehlo.atan2", SAME),
    row("stablehlo.batch_norm_grad", Format::Generic),
    row("stablehlo.batch_norm_inference", Format::Generic),
    row("stablehlo.batch_norm_training", Format::Generic),
    row("stablehlo.bitcast_convert", PLAIN),
    row("stablehlo.broadcast", Format::Pieces(&[SP, Operand(0), Text(", sizes = "), Attribute("broadcast_sizes", Syntax::I64Array), Dictionary, FUNCTIONAL])),
    row("stablehlo.broadcast_in_dim", Format::Pieces(&[SP, Operand(0), Text(", dims = "), Attribute("broadcast_dimensions", Syntax::I64Array), Dictionary, FUNCTIONAL])),
    row("stablehlo.case", Format::Generic),
    row("stablehlo.cbrt", SAME),
    row("stablehlo.ceil", SAME),
    row("stablehlo.cholesky", Format::Pieces(&[SP, Operand(0), Optional(", lower = ", "lower", Syntax::Bool), Dictionary, types(Types::Same)])),
    row("stablehlo.clamp", SAME),
    row("stablehlo.collective_broadcast", Format::Generic),
    row("stablehlo.collective_permute", Format::Generic),
    row("stablehlo.collective_reduce", Format::Generic),
    row("stablehlo.compare", Format::Pieces(&[SP, enumeration("comparison_direction", "comparison_direction"), COMMA, Operand(0), COMMA, Operand(1),
            Optional(", ", "compare_type", Syntax::Enum(EnumDialect::Stablehlo, "comparison_type")), Dictionary, FUNCTIONAL])),
    row("stablehlo.complex", Format::Pieces(&[SP, Operands(0), Dictionary, types(Types::Complex)])),
    row("stablehlo.composite", Format::Pieces(&[SP, Attribute("name", Syntax::String), SP, Operands(0), Regions, Dictionary, FUNCTIONAL])),
    row("stablehlo.concatenate", Format::Pieces(&[SP, OperandsWithCommas(0), Text(" dim = "), Attribute("dimension", Syntax::I64), Dictionary, FUNCTIONAL])),
    row("stablehlo.constant", Format::Special(Special::Constant)),
    row("stablehlo.convert", SAME),
    row("stablehlo.convolution", Format::Pieces(&[Text("("), Operands(0), Text(") dim_numbers = "), Attribute("dimension_numbers", Syntax::Convolution),
            Text(", window = {"), Window, Text("}"), Dictionary, FUNCTIONAL])),
    row("stablehlo.cosine", SAME),
    row("stablehlo.count_leading_zeros", SAME),
    row("stablehlo.create_token", RESULTS),
    row("stablehlo.cross-replica-sum", Format::Generic),
    row("stablehlo.custom_call", Format::Pieces(&[SP, Attribute("call_target_name", Syntax::Target), Text("("), Operands(0), Text(")"), Dictionary, FUNCTIONAL])),
    row("stablehlo.divide", SAME),
    row("stablehlo.dot", Format::Pieces(&[SP, Operand(0), COMMA, Operand(1), Precision, Dictionary, FUNCTIONAL])),
    row("stablehlo.dot_general", Format::Pieces(&[SP, Operand(0), COMMA, Operand(1), COMMA, DotDimensions, PrecisionAndAlgorithm, Dictionary, FUNCTIONAL])),
    row("stablehlo.dynamic_broadcast_in_dim", Format::Pieces(&[SP, Operand(0), COMMA, Operand(1), Text(", dims = "), Attribute("broadcast_dimensions", Syntax::I64Array), Dictionary, FUNCTIONAL])),
    row("stablehlo.dynamic_conv", Format::Generic),
    row("stablehlo.dynamic_gather", Format::Generic),
    row("stablehlo.dynamic_iota", Format::Pieces(&[SP, Operand(0), Text(", dim = "), Attribute("iota_dimension", Syntax::I64), Dictionary, FUNCTIONAL])),
    row("stablehlo.dynamic_pad", PLAIN),
    row("stablehlo.dynamic_reshape", PLAIN),
    row("stablehlo.dynamic_slice", Format::Pieces(&[SP, Operand(0), COMMA, OperandsWithCommas(1), Text(" sizes = "), Attribute("slice_sizes", Syntax::I64Array), Dictionary, FUNCTIONAL])),
    row("stablehlo.dynamic_update_slice", PLAIN),
    row("stablehlo.einsum", Format::Pieces(&[SP, Operand(0), COMMA, Operand(1), Text(", config = "), Attribute("einsum_config", Syntax::String), Dictionary, FUNCTIONAL])),
    row("stablehlo.exponential", SAME),
    row("stablehlo.exponential_minus_one", SAME),
    row("stablehlo.fft", Format::Pieces(&[SP, Operand(0), Text(", type = "), enumeration("fft_type", "fft_type"), Text(", length = "),
            Attribute("fft_length", Syntax::I64Array), Dictionary, FUNCTIONAL])),
    row("stablehlo.floor", SAME),
    row("stablehlo.gather", Format::Generic),
    row("stablehlo.get_dimension_size", Format::Pieces(&[SP, Operand(0), Text(", dim = "), Attribute("dimension", Syntax::I64), Dictionary, FUNCTIONAL])),
    row("stablehlo.get_tuple_element", Format::Pieces(&[SP, Operand(0), Text("["), Attribute("index", Syntax::I32), Text("]"), Dictionary, FUNCTIONAL])),
    row("stablehlo.if", Format::Generic),
    row("stablehlo.imag", SAME),
    row("stablehlo.infeed", Format::Generic),
    row("stablehlo.iota", Format::Pieces(&[Text(" dim = "), Attribute("iota_dimension", Syntax::I64), Dictionary, types(Types::Results)])),
    row("stablehlo.is_finite", PLAIN),
    row("stablehlo.log", SAME),
    row("stablehlo.log_plus_one", SAME),
    row("stablehlo.logistic", SAME),
    row("stablehlo.map", Format::Generic),
    row("stablehlo.maximum", SAME),
    row("stablehlo.minimum", SAME),
    row("stablehlo.multiply", SAME),
    row("stablehlo.negate", SAME),
    row("stablehlo.not", SAME),
    row("stablehlo.optimization_barrier", Format::Pieces(&[Dictionary, OperandsAndTypes])),
    row("stablehlo.or", SAME),
    row("stablehlo.outfeed", Format::Generic),
    row("stablehlo.pad", Format::Pieces(&[SP, Operand(0), COMMA, Operand(1), Text(", low = "), Attribute("edge_padding_low", Syntax::I64Array),
            Text(", high = "), Attribute("edge_padding_high", Syntax::I64Array),
            Text(", interior = "), Attribute("interior_padding", Syntax::I64Array), Dictionary, FUNCTIONAL])),
    row("stablehlo.partition_id", RESULTS),
    row("stablehlo.popcnt", SAME),
    row("stablehlo.power", SAME),
    row("stablehlo.real", SAME),
    row("stablehlo.real_dynamic_slice", PLAIN),
    row("stablehlo.recv", Format::Generic),
    row("stablehlo.reduce", Format::Special(Special::Reduce)),
    row("stablehlo.reduce_precision", Format::Pieces(&[SP, Operand(0), Text(", format = "), ExponentMantissa, Dictionary, types(Types::Same)])),
    row("stablehlo.reduce_scatter", Format::Generic),
    row("stablehlo.reduce_window", Format::Generic),
    row("stablehlo.remainder", SAME),
    row("stablehlo.replica_id", RESULTS),
    row("stablehlo.reshape", PLAIN),
    row("stablehlo.return", Format::Pieces(&[SP, Operands(0), Dictionary, TypesIfAny(Types::Operands)])),
    row("stablehlo.reverse", Format::Pieces(&[SP, Operand(0), Text(", dims = "), Attribute("dimensions", Syntax::I64Array), Dictionary, types(Types::Same)])),
    row("stablehlo.rng", Format::Pieces(&[SP, Operand(0), COMMA, Operand(1), COMMA, Operand(2), Text(", distribution = "),
            enumeration("rng_distribution", "rng_distribution"), Dictionary, FUNCTIONAL])),
    row("stablehlo.rng_bit_generator", Format::Pieces(&[SP, Operand(0), Text(", algorithm = "), enumeration("rng_algorithm", "rng_algorithm"), Dictionary, FUNCTIONAL])),
    row("stablehlo.round_nearest_afz", SAME),
    row("stablehlo.round_nearest_even", SAME),
    row("stablehlo.rsqrt", SAME),
    row("stablehlo.scatter", Format::Generic),
    row("stablehlo.select", Format::Pieces(&[SP, Operands(0), Dictionary, types(Types::Select)])),
    row("stablehlo.select_and_scatter", Format::Generic),
    row("stablehlo.send", Format::Generic),
    row("stablehlo.set_dimension_size", Format::Pieces(&[SP, Operand(0), COMMA, Operand(1), Text(", dim = "), Attribute("dimension", Syntax::I64), Dictionary, FUNCTIONAL])),
    row("stablehlo.shift_left", SAME),
    row("stablehlo.shift_right_arithmetic", SAME),
    row("stablehlo.shift_right_logical", SAME),
    row("stablehlo.sign", SAME),
    row("stablehlo.sine", SAME),
    row("stablehlo.slice", Format::Pieces(&[SP, Operand(0), Text(" ["), SliceRanges, Text("]"), Dictionary, FUNCTIONAL])),
    row("stablehlo.sort", Format::Generic),
    row("stablehlo.sqrt", SAME),
    row("stablehlo.subtract", SAME),
    row("stablehlo.tan", SAME),
    row("stablehlo.tanh", SAME),
    row("stablehlo.torch_index_select", Format::Generic),
    row("stablehlo.transpose", Format::Pieces(&[SP, Operand(0), Text(", dims = "), Attribute("permutation", Syntax::I64Array), Dictionary, FUNCTIONAL])),
    row("stablehlo.triangular_solve", Format::Generic),
    row("stablehlo.tuple", Format::Pieces(&[SP, Operands(0), Dictionary, types(Types::Tuple)])),
    row("stablehlo.unary_einsum", Format::Pieces(&[SP, Operand(0), Text(", config = "), Attribute("einsum_config", Syntax::String), Dictionary, FUNCTIONAL])),
    row("stablehlo.uniform_dequantize", SAME),
    row("stablehlo.uniform_quantize", SAME),
    row("stablehlo.while", Format::Special(Special::While)),
    row("stablehlo.xor", SAME),

    row("chlo._asin_acos_kernel", ARROW),
    row("chlo.acos", ARROW),
    row("chlo.acosh", ARROW),
    row("chlo.asin", ARROW),
    row("chlo.asinh", ARROW),
    row("chlo.atan", ARROW),
    row("chlo.atanh", ARROW),
    row("chlo.bessel_i1e", ARROW),
    row("chlo.broadcast_add", PLAIN),
    row("chlo.broadcast_and", PLAIN),
    row("chlo.broadcast_atan2", PLAIN),
    row("chlo.broadcast_compare", PLAIN),
    row("chlo.broadcast_complex", PLAIN),
    row("chlo.broadcast_divide", PLAIN),
    row("chlo.broadcast_maximum", PLAIN),
    row("chlo.broadcast_minimum", PLAIN),
    row("chlo.broadcast_multiply", PLAIN),
    row("chlo.broadcast_next_after", PLAIN),
    row("chlo.broadcast_or", PLAIN),
    row("chlo.broadcast_polygamma", PLAIN),
    row("chlo.broadcast_power", PLAIN),
    row("chlo.broadcast_remainder", PLAIN),
    row("chlo.broadcast_select", PLAIN),
    row("chlo.broadcast_shift_left", PLAIN),
    row("chlo.broadcast_shift_right_arithmetic", PLAIN),
    row("chlo.broadcast_shift_right_logical", PLAIN),
    row("chlo.broadcast_subtract", PLAIN),
    row("chlo.broadcast_xor", PLAIN),
    row("chlo.broadcast_zeta", PLAIN),
    row("chlo.conj", ARROW),
    row("chlo.constant", Format::Special(Special::Constant)),
    row("chlo.constant_like", Format::Generic),
    row("chlo.cosh", ARROW),
    row("chlo.digamma", ARROW),
    row("chlo.erf", ARROW),
    row("chlo.erf_inv", ARROW),
    row("chlo.erfc", ARROW),
    row("chlo.is_inf", ARROW),
    row("chlo.is_neg_inf", ARROW),
    row("chlo.is_pos_inf", ARROW),
    row("chlo.lgamma", ARROW),
    row("chlo.mulhi", ARROW),
    row("chlo.next_after", ARROW),
    row("chlo.polygamma", ARROW),
    row("chlo.ragged_dot", Format::Generic),
    isolated("chlo.scan", Format::Special(Special::Scan)),
    row("chlo.sinh", ARROW),
    row("chlo.square", ARROW),
    row("chlo.tan", ARROW),
    row("chlo.top_k", Format::Pieces(&[Text("("), Operand(0), Text(", k = "), Attribute("k", Syntax::I64),
            Optional(", is_stable = ", "is_stable", Syntax::Bool), Text(")"), Dictionary, types(Types::Arrow)])),
    row("chlo.zeta", ARROW),

    row("sdy.all_gather", Format::Pieces(&[SP, Attribute("gathering_axes", Syntax::Sdy("list_of_axis_ref_lists")), SP, Operand(0),
            Text(" out_sharding="), OUT_SHARDING, Dictionary, types(Types::One)])),
    row("sdy.all_reduce", Format::Pieces(&[Optional(" ", "reduction_op", REDUCTION_OP), SP,
            Attribute("reduction_axes", Syntax::Sdy("axis_ref_list")), SP, Operand(0),
            Text(" out_sharding="), OUT_SHARDING, Dictionary, types(Types::One)])),
    row("sdy.all_slice", Format::Pieces(&[SP, Attribute("slicing_axes", Syntax::Sdy("list_of_axis_ref_lists")), SP, Operand(0),
            Text(" out_sharding="), OUT_SHARDING, Dictionary, types(Types::One)])),
    row("sdy.all_to_all", Format::Pieces(&[SP, Attribute("params", Syntax::Sdy("all_to_all_param_list")), SP, Operand(0),
            Text(" out_sharding="), OUT_SHARDING, Dictionary, types(Types::One)])),
    row("sdy.collective_permute", Format::Pieces(&[SP, Operand(0), Text(" out_sharding="), OUT_SHARDING, Dictionary, types(Types::One)])),
    row("sdy.constant", Format::Special(Special::Constant)),
    row("sdy.data_flow_edge", Format::Pieces(&[SP, Operand(0), Optional(" sharding=", "sharding", Syntax::Sdy("sharding")), Dictionary, types(Types::One)])),
    row("sdy.func_data_flow_edge", Format::Pieces(&[SP, Operand(0), Dictionary, types(Types::One)])),
    isolated("sdy.manual_computation", Format::Pieces(&[Text("("), Operands(0), Text(") in_shardings="), Attribute("in_shardings", Syntax::SdyShardings),
            Text(" out_shardings="), Attribute("out_shardings", Syntax::SdyShardings),
            Text(" manual_axes="), Attribute("manual_axes", Syntax::Sdy("manual_axes")), SP, RegionWithArguments, Dictionary, FUNCTIONAL])),
    row("sdy.mesh", Format::Pieces(&[SP, Attribute("sym_name", Syntax::SymbolName), Text(" = "), Attribute("mesh", Syntax::Sdy("mesh")), Dictionary])),
    isolated("sdy.named_computation", Format::Pieces(&[Text("<"), Attribute("name", Syntax::String), Text(">("), Operands(0), Text(")"),
            Optional(" in_shardings=", "in_shardings", Syntax::SdyShardings),
            Optional(" out_shardings=", "out_shardings", Syntax::SdyShardings), SP, RegionWithArguments, Dictionary, FUNCTIONAL])),
    row("sdy.propagation_barrier", Format::Pieces(&[SP, Operand(0), Text(" allowed_direction="), Attribute("allowed_direction", DIRECTION),
            Dictionary, types(Types::One)])),
    row("sdy.reduce_scatter", Format::Pieces(&[Optional(" ", "reduction_op", REDUCTION_OP), SP,
            Attribute("reduce_scatter_axes", Syntax::Sdy("list_of_axis_ref_lists")), SP, Operand(0),
            Text(" out_sharding="), OUT_SHARDING, Dictionary, types(Types::One)])),
    row("sdy.replicated_to_unreduced", Format::Pieces(&[SP, Attribute("axes", Syntax::Sdy("axis_ref_list")), SP, Operand(0),
            Text(" out_sharding="), OUT_SHARDING, Dictionary, types(Types::One)])),
    row("sdy.reshard", Format::Pieces(&[SP, Operand(0), SP, Attribute("sharding", Syntax::Sdy("sharding")), Dictionary, types(Types::One)])),
    row("sdy.return", Format::Pieces(&[Dictionary, SP, Operands(0), TypesIfAny(Types::Operands)])),
    row("sdy.sharded_to_unreduced", Format::Pieces(&[SP, Attribute("axes", Syntax::Sdy("list_of_axis_ref_lists")), SP, Operand(0),
            Text(" out_sharding="), OUT_SHARDING, Dictionary, types(Types::One)])),
    row("sdy.sharding_constraint", Format::Pieces(&[SP, Operand(0), SP, Attribute("sharding", Syntax::Sdy("sharding")), Dictionary, types(Types::One)])),
    row("sdy.sharding_group", Format::Pieces(&[SP, Operand(0), Text(" group_id="), Attribute("group_id", Syntax::I64), Dictionary, types(Types::Common)])),

    row("check.expect_almost_eq", Format::Pieces(&[SP, Operand(0), COMMA, Operand(1),
        Optional(", tolerance = ", "tolerance", Syntax::F64), Dictionary, types(Types::Common)])),
    row("check.expect_almost_eq_const", Format::Pieces(&[SP, Operand(0), COMMA, Attribute("value", Syntax::Any),
        Optional(", tolerance = ", "tolerance", Syntax::F64), Dictionary, TypesOfAttribute("value")])),
    row("check.expect_close", Format::Pieces(&[SP, Operand(0), COMMA, Operand(1),
        Text(", max_ulp_difference = "), Attribute("max_ulp_difference", Syntax::U64),
        Optional(", min_ulp_difference = ", "min_ulp_difference", Syntax::U64), types(Types::Operands)])),
    row("check.expect_eq", Format::Pieces(&[SP, Operand(0), COMMA, Operand(1), Dictionary, types(Types::Common)])),
    row("check.expect_eq_const", Format::Pieces(&[SP, Operand(0), COMMA, Attribute("value", Syntax::Any), Dictionary, TypesOfAttribute("value")])),
    row("check.expect_serialized_eq", Format::Pieces(&[SP, Operand(0), Text(", probe_id = "), Attribute("probe_id", Syntax::String),
        Optional(", iter = ", "iteration", Syntax::U32), Dictionary, types(Types::Common)])),
    row("interpreter.print", Format::Pieces(&[SP, Operand(0), Dictionary, types(Types::Common)])),
    row("interpreter.probe", Format::Pieces(&[SP, Operand(0), Text(", probe_id = "), Attribute("probe_id", Syntax::String),
        Dictionary, types(Types::One)])),

    row("arith.constant", Format::Special(Special::Constant)),
    row("builtin.unrealized_conversion_cast", Format::Pieces(&[SP, Operands(0), types(Types::Cast), Dictionary])),
    row("tensor.cast", Format::Pieces(&[SP, Operand(0), Dictionary, types(Types::Cast)])),
    row("shape.shape_of", ARROW),
];

/// What is known of the operation; `None` if it is not in the table.
pub(super) fn spelling(name: &str) -> Option<&'static Spelling> {
    static BY_NAME: LazyLock<FxHashMap<&str, &Spelling>> =
        LazyLock::new(|| SPELLINGS.iter().map(|spelling| (spelling.name, spelling)).collect());
    BY_NAME.get(name).copied()
}
