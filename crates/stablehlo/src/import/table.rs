//! Which function lowers which operation.

use super::importer::Lower;
use super::{
    contraction, control, custom_call, elementwise, functions, gather_scatter, literals,
    reductions, shapes,
};

/// The function that lowers an operation of this name.
pub(super) fn lookup(name: &str) -> Option<Lower> {
    let at = TABLE.binary_search_by(|(entry, _)| (*entry).cmp(name)).ok()?;
    Some(TABLE[at].1)
}

/// Sorted by name.
const TABLE: &[(&str, Lower)] = &[
    ("call", functions::call),
    ("chlo.acos", elementwise::unary),
    ("chlo.acosh", elementwise::unary),
    ("chlo.asin", elementwise::unary),
    ("chlo.asinh", elementwise::unary),
    ("chlo.atanh", elementwise::unary),
    ("chlo.cosh", elementwise::unary),
    ("chlo.erf", elementwise::unary),
    ("chlo.mulhi", elementwise::binary),
    ("chlo.sinh", elementwise::unary),
    ("chlo.tan", elementwise::unary),
    ("func.call", functions::call),
    ("stablehlo.abs", elementwise::unary),
    ("stablehlo.add", elementwise::binary),
    ("stablehlo.and", elementwise::binary),
    ("stablehlo.atan2", elementwise::binary),
    ("stablehlo.bitcast_convert", elementwise::bitcast_convert),
    ("stablehlo.broadcast", shapes::broadcast),
    ("stablehlo.broadcast_in_dim", shapes::broadcast_in_dim),
    ("stablehlo.case", control::case),
    ("stablehlo.cbrt", elementwise::unary),
    ("stablehlo.ceil", elementwise::unary),
    ("stablehlo.cholesky", contraction::cholesky),
    ("stablehlo.clamp", elementwise::clamp),
    ("stablehlo.compare", elementwise::compare),
    ("stablehlo.complex", elementwise::binary),
    ("stablehlo.concatenate", shapes::concatenate),
    ("stablehlo.constant", literals::constant),
    ("stablehlo.convert", elementwise::convert),
    ("stablehlo.convolution", contraction::convolution),
    ("stablehlo.cosine", elementwise::unary),
    ("stablehlo.count_leading_zeros", elementwise::unary),
    ("stablehlo.custom_call", custom_call::custom_call),
    ("stablehlo.divide", elementwise::binary),
    ("stablehlo.dot", contraction::dot),
    ("stablehlo.dot_general", contraction::dot_general),
    ("stablehlo.dynamic_slice", shapes::dynamic_slice),
    ("stablehlo.dynamic_update_slice", shapes::dynamic_update_slice),
    ("stablehlo.exponential", elementwise::unary),
    ("stablehlo.exponential_minus_one", elementwise::unary),
    ("stablehlo.fft", contraction::fft),
    ("stablehlo.floor", elementwise::unary),
    ("stablehlo.gather", gather_scatter::gather),
    ("stablehlo.get_tuple_element", control::get_tuple_element),
    ("stablehlo.if", control::if_then),
    ("stablehlo.imag", elementwise::unary),
    ("stablehlo.iota", shapes::iota),
    ("stablehlo.is_finite", elementwise::unary),
    ("stablehlo.log", elementwise::unary),
    ("stablehlo.log_plus_one", elementwise::unary),
    ("stablehlo.logistic", elementwise::unary),
    ("stablehlo.map", reductions::map),
    ("stablehlo.maximum", elementwise::binary),
    ("stablehlo.minimum", elementwise::binary),
    ("stablehlo.multiply", elementwise::binary),
    ("stablehlo.negate", elementwise::unary),
    ("stablehlo.not", elementwise::unary),
    ("stablehlo.optimization_barrier", control::optimization_barrier),
    ("stablehlo.or", elementwise::binary),
    ("stablehlo.pad", shapes::pad),
    ("stablehlo.popcnt", elementwise::unary),
    ("stablehlo.power", elementwise::binary),
    ("stablehlo.real", elementwise::unary),
    ("stablehlo.reduce", reductions::reduce),
    ("stablehlo.reduce_precision", elementwise::reduce_precision),
    ("stablehlo.reduce_window", reductions::reduce_window),
    ("stablehlo.remainder", elementwise::binary),
    ("stablehlo.reshape", shapes::reshape),
    ("stablehlo.reverse", shapes::reverse),
    ("stablehlo.round_nearest_afz", elementwise::unary),
    ("stablehlo.round_nearest_even", elementwise::unary),
    ("stablehlo.rsqrt", elementwise::unary),
    ("stablehlo.scatter", gather_scatter::scatter),
    ("stablehlo.select", elementwise::select),
    ("stablehlo.select_and_scatter", reductions::select_and_scatter),
    ("stablehlo.shift_left", elementwise::binary),
    ("stablehlo.shift_right_arithmetic", elementwise::binary),
    ("stablehlo.shift_right_logical", elementwise::binary),
    ("stablehlo.sign", elementwise::unary),
    ("stablehlo.sine", elementwise::unary),
    ("stablehlo.slice", shapes::slice),
    ("stablehlo.sort", reductions::sort),
    ("stablehlo.sqrt", elementwise::unary),
    ("stablehlo.subtract", elementwise::binary),
    ("stablehlo.tan", elementwise::unary),
    ("stablehlo.tanh", elementwise::unary),
    ("stablehlo.transpose", shapes::transpose),
    ("stablehlo.triangular_solve", contraction::triangular_solve),
    ("stablehlo.tuple", control::tuple),
    ("stablehlo.while", control::while_loop),
    ("stablehlo.xor", elementwise::binary),
];

#[cfg(test)]
mod tests {
    use super::TABLE;

    #[test]
    fn names_are_sorted() {
        assert!(TABLE.is_sorted_by(|a, b| a.0 < b.0));
    }
}
