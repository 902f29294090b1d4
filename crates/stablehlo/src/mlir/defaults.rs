//! Attributes that say what holds anyway. Readers leave them out, so that a program looks the same
//! whether its writer spelled them or not; what is absent means the default.

use super::{
    Attribute, Attributes, DenseArray, EnumAttribute, EnumValue, Precision, ResultAccuracyMode,
};
use super::{ComparisonType, DenseElements};

/// What an attribute means if it is absent.
#[derive(Clone, Copy)]
enum Implied {
    /// `false`, also for an attribute whose presence alone says true.
    False,
    True,
    Integer(i64),
    /// An empty array, string or dictionary, or no elements.
    Empty,
    /// All elements are 0.
    Zeros,
    /// All elements are 1.
    Ones,
    /// All elements are false.
    AllFalse,
    /// Every precision is the default one.
    Precisions,
    NoType,
    Accuracy,
    /// An array of dictionaries without entries.
    NoAttributes,
}

/// Removes the operation's declared attributes that equal their default.
pub fn drop_defaults(name: &str, attributes: &mut Attributes) {
    for &(attribute, default) in defaults(name) {
        if attributes.get(attribute).is_some_and(|value| is_default(value, default)) {
            attributes.remove(attribute);
        }
    }
    // Layouts of operands and results come together: none of both is the same as no layouts.
    if name == "stablehlo.custom_call" {
        let layouts = ["operand_layouts", "result_layouts"];
        let empty = |name| attributes.get(name).is_none_or(|v| is_default(v, Implied::Empty));
        if layouts.into_iter().all(empty) {
            for name in layouts {
                attributes.remove(name);
            }
        }
    }
}

fn defaults(name: &str) -> &'static [(&'static str, Implied)] {
    use Implied::*;
    match name {
        "func.func" => {
            &[("sym_visibility", Empty), ("arg_attrs", NoAttributes), ("res_attrs", NoAttributes)]
        }
        "stablehlo.all_gather" | "stablehlo.all_reduce" | "stablehlo.reduce_scatter" => {
            &[("use_global_device_ids", False)]
        }
        "stablehlo.collective_reduce" => {
            &[("use_global_device_ids", False), ("has_dynamic_root", False)]
        }
        "stablehlo.collective_broadcast" => &[("has_dynamic_root", False)],
        "stablehlo.cholesky" => &[("lower", False)],
        "stablehlo.compare" => &[("compare_type", NoType)],
        "stablehlo.composite" => &[("version", Integer(0)), ("composite_attributes", Empty)],
        "stablehlo.convolution" | "stablehlo.dynamic_conv" => &[
            ("window_strides", Ones),
            ("padding", Zeros),
            ("lhs_dilation", Ones),
            ("rhs_dilation", Ones),
            ("window_reversal", AllFalse),
            ("precision_config", Precisions),
        ],
        "stablehlo.custom_call" => &[
            ("has_side_effect", False),
            ("backend_config", Empty),
            ("api_version", Integer(1)),
            ("called_computations", Empty),
            ("output_operand_aliases", Empty),
            ("result_tilings", Empty),
        ],
        "stablehlo.dot" | "stablehlo.dot_general" | "chlo.ragged_dot" => {
            &[("precision_config", Precisions)]
        }
        "stablehlo.dynamic_broadcast_in_dim" => {
            &[("known_expanding_dimensions", Empty), ("known_nonexpanding_dimensions", Empty)]
        }
        "stablehlo.dynamic_gather" | "stablehlo.gather" => &[("indices_are_sorted", False)],
        "stablehlo.infeed" => &[("infeed_config", Empty), ("layout", Empty)],
        "stablehlo.outfeed" => &[("outfeed_config", Empty)],
        "stablehlo.recv" | "stablehlo.send" => {
            &[("is_host_transfer", False), ("source_target_pairs", Empty)]
        }
        "stablehlo.reduce_window" => &[
            ("window_strides", Ones),
            ("base_dilations", Ones),
            ("window_dilations", Ones),
            ("padding", Zeros),
        ],
        "stablehlo.scatter" => &[("indices_are_sorted", False), ("unique_indices", False)],
        "stablehlo.select_and_scatter" => &[("window_strides", Ones), ("padding", Zeros)],
        "stablehlo.sort" => &[("dimension", Integer(-1)), ("is_stable", False)],
        "stablehlo.cbrt"
        | "stablehlo.cosine"
        | "stablehlo.exponential"
        | "stablehlo.exponential_minus_one"
        | "stablehlo.log"
        | "stablehlo.log_plus_one"
        | "stablehlo.logistic"
        | "stablehlo.rsqrt"
        | "stablehlo.sine"
        | "stablehlo.sqrt"
        | "stablehlo.tan"
        | "stablehlo.tanh" => &[("result_accuracy", Accuracy)],
        "chlo.top_k" => &[("is_stable", True)],
        "chlo.scan" => &[("is_reverse", False)],
        "sdy.all_reduce" | "sdy.reduce_scatter" => &[("reduction_op", Integer(0))],
        _ => &[],
    }
}

fn is_default(value: &Attribute, default: Implied) -> bool {
    match default {
        Implied::False => *value == Attribute::Bool(false),
        Implied::True => *value == Attribute::Bool(true),
        Implied::Integer(number) => value.as_integer() == Some(number),
        Implied::Empty => match value {
            Attribute::String(text) => text.as_bytes().is_empty(),
            Attribute::Array(items) => items.is_empty(),
            Attribute::Dictionary(entries) => entries.is_empty(),
            Attribute::DenseArray(array) => array.is_empty(),
            Attribute::DenseElements(elements) => elements.is_empty(),
            _ => false,
        },
        Implied::Zeros => all_equal(value, 0),
        Implied::Ones => all_equal(value, 1),
        Implied::AllFalse => match value {
            Attribute::DenseArray(DenseArray::I1(values)) => values.iter().all(|value| !value),
            Attribute::DenseElements(elements) => is_splat_of(elements, 0),
            _ => false,
        },
        Implied::Precisions => value.as_array().is_some_and(|items| {
            items.iter().all(|item| {
                matches!(
                    item,
                    Attribute::Enum(EnumAttribute {
                        value: EnumValue::Precision(Precision::Default),
                        ..
                    })
                )
            })
        }),
        Implied::NoType => matches!(
            value,
            Attribute::Enum(EnumAttribute {
                value: EnumValue::ComparisonType(ComparisonType::NoType),
                ..
            })
        ),
        Implied::Accuracy => matches!(
            value,
            Attribute::ResultAccuracy(accuracy)
                if accuracy.mode == ResultAccuracyMode::Default
                    && accuracy.ulps == 0
                    && f64::from_bits(accuracy.atol) == 0.0
                    && f64::from_bits(accuracy.rtol) == 0.0
        ),
        Implied::NoAttributes => value.as_array().is_some_and(|items| {
            items.iter().all(|i| i.as_dictionary().is_some_and(<[_]>::is_empty))
        }),
    }
}

fn all_equal(value: &Attribute, number: i64) -> bool {
    match value {
        Attribute::DenseArray(DenseArray::I64(values)) => values.iter().all(|&v| v == number),
        Attribute::DenseElements(elements) => is_splat_of(elements, number),
        _ => false,
    }
}

/// Elements that are all `number`, or none at all.
fn is_splat_of(elements: &DenseElements, number: i64) -> bool {
    if elements.is_empty() {
        return true;
    }
    // A splat of any length has the same first element as a scalar would.
    elements.is_splat()
        && elements
            .bytes()
            .iter()
            .enumerate()
            .all(|(place, &byte)| byte == if place == 0 { number as u8 } else { 0 })
}
