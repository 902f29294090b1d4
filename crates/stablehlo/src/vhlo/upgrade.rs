//! From VHLO of any version to StableHLO: names without versions, dimension numbers gathered into one
//! attribute, defaults left out.

use std::sync::Arc;

use rxla_base::{Error, Result};

use super::{VersionedOp, versioned_op};
use crate::mlir::{
    Attribute, AttributeKind, Attributes, ComparisonType, ConvDimensionNumbers, DenseArray,
    DotAlgorithm, DotDimensionNumbers, EnumAttribute, EnumValue, GatherDimensionNumbers, Module,
    OpId, OperationAttribute, Precision, ResultAccuracyMode, ScatterDimensionNumbers, Type,
    ValueId, attribute_kind,
};

/// Turns every VHLO operation into its counterpart in StableHLO or func, and takes out the casts
/// between the two dialects' types, which are the same here.
pub fn upgrade(module: &mut Module) -> Result<()> {
    for op in module.operations.ids() {
        let name = module.operations[op].name.clone();
        let Some(versioned) = name.strip_prefix("vhlo.") else { continue };
        let location = module.operations[op].location.clone();
        let place = |error: Error| match location.source_line() {
            Some(line) => error.context(format!("in `{name}` from {line}")),
            None => error.context(format!("in `{name}`")),
        };
        let Some(row) = versioned_op(versioned) else {
            return Err(place(Error::invalid_argument(format!(
                "there is no operation `{name}` in VHLO {} or before",
                super::Version::CURRENT
            ))));
        };
        let new_name = new_name(module, op, row);
        let old = std::mem::take(&mut module.operations[op].attributes);
        let attributes = upgrade_attributes(row, &new_name, old).map_err(place)?;
        module.operations[op].attributes = attributes;
        module.operations[op].name = new_name.into();
    }
    remove_casts(module)
}

fn new_name(module: &Module, op: OpId, row: &VersionedOp) -> String {
    match row.base() {
        "func" => "func.func".to_owned(),
        "call" => "func.call".to_owned(),
        "return" if is_in_function(module, op) => "func.return".to_owned(),
        base => format!("stablehlo.{base}"),
    }
}

fn is_in_function(module: &Module, op: OpId) -> bool {
    let block = module.operations[op].parent;
    let region = block.and_then(|block| module.blocks[block].parent);
    let parent = region.and_then(|region| module.regions[region].parent);
    parent.is_some_and(|parent| {
        matches!(&*module.operations[parent].name, "func.func" | "vhlo.func_v1")
    })
}

/// Attributes of one operation on their way.
struct Editor {
    /// Those that VHLO declares.
    own: Vec<(&'static str, Attribute)>,
    /// Those that are ready, in StableHLO's form.
    new: Vec<(&'static str, Attribute)>,
    operation: &'static str,
}

fn upgrade_attributes(
    row: &'static VersionedOp,
    new_name: &str,
    mut attributes: Attributes,
) -> Result<Attributes> {
    let mut editor = Editor { own: Vec::new(), new: Vec::new(), operation: row.name };
    for &name in row.attributes {
        match attributes.remove(name) {
            Some(attribute) => editor.own.push((name, attribute.value)),
            None => {
                return Err(Error::invalid_argument(format!("the attribute `{name}` is missing")));
            }
        }
    }
    edit(row.base(), &mut editor)?;
    let own = editor.own.into_iter().chain(editor.new).map(|(name, value)| OperationAttribute {
        name: name.into(),
        kind: attribute_kind(new_name, name),
        value,
    });
    let others = attributes
        .iter()
        .cloned()
        .map(|attribute| OperationAttribute { kind: AttributeKind::Discardable, ..attribute });
    // Where a discardable attribute has the name of a declared one, the declared one stays.
    Ok(others.collect::<Vec<_>>().into_iter().chain(own).collect())
}

fn edit(base: &str, a: &mut Editor) -> Result<()> {
    match base {
        "all_gather" | "all_reduce" | "reduce_scatter" => {
            a.channel_id()?;
            a.flag("use_global_device_ids")?;
        }
        "all_to_all" | "collective_permute" => a.channel_id()?,
        "collective_broadcast" => {
            a.channel_id()?;
            a.flag("has_dynamic_root")?;
        }
        "collective_reduce" => {
            a.channel_id()?;
            a.flag("use_global_device_ids")?;
            a.flag("has_dynamic_root")?;
        }
        "broadcast" => a.i64_arrays(&["broadcast_sizes"])?,
        "broadcast_in_dim" => a.i64_arrays(&["broadcast_dimensions"])?,
        "call" => a.symbol("callee")?,
        "cbrt"
        | "cosine"
        | "exponential"
        | "exponential_minus_one"
        | "log"
        | "log_plus_one"
        | "logistic"
        | "rsqrt"
        | "sine"
        | "sqrt"
        | "tan"
        | "tanh" => {
            a.drop_if("result_accuracy", is_default_accuracy);
        }
        "cholesky" => a.drop_if("lower", is_false),
        "compare" => a.drop_if("compare_type", |attribute| {
            is_enum(attribute, EnumValue::ComparisonType(ComparisonType::NoType))
        }),
        "composite" => {
            a.drop_if("version", |attribute| attribute.as_integer() == Some(0));
            a.drop_if("composite_attributes", is_empty_dictionary);
            a.symbol("decomposition")?;
        }
        "convolution" | "dynamic_conv" => convolution(base, a)?,
        "custom_call" => custom_call(a)?,
        "dot" => a.drop_if("precision_config", is_default_precision),
        "dot_general" => dot_general(a)?,
        "dynamic_broadcast_in_dim" => {
            a.drop_if("known_expanding_dimensions", is_empty_tensor);
            a.drop_if("known_nonexpanding_dimensions", is_empty_tensor);
            a.i64_arrays(&[
                "broadcast_dimensions",
                "known_expanding_dimensions",
                "known_nonexpanding_dimensions",
            ])?;
        }
        "dynamic_gather" => gather(a)?,
        "dynamic_slice" => a.i64_arrays(&["slice_sizes"])?,
        "fft" => a.i64_arrays(&["fft_length"])?,
        "func" => {
            a.drop_if("sym_visibility", is_empty_string);
            a.drop_if("arg_attrs", is_empty_array);
            a.drop_if("res_attrs", is_empty_array);
        }
        "gather" => {
            gather(a)?;
            a.i64_arrays(&["slice_sizes"])?;
        }
        // MLIR always sets the configuration of infeed and outfeed, if only to an empty string.
        "infeed" => a.drop_if("layout", is_empty_array),
        "map" | "reduce" | "reverse" => a.i64_arrays(&["dimensions"])?,
        "pad" => {
            a.i64_arrays(&["edge_padding_low", "edge_padding_high", "interior_padding"])?;
        }
        "recv" | "send" => {
            a.drop_if("is_host_transfer", is_false);
            a.drop_if("source_target_pairs", is_empty_tensor);
            let (handle, ty) = (a.integer("channel_id")?, a.integer("channel_type")?);
            a.new.push(("channel_handle", Attribute::ChannelHandle { handle, ty }));
        }
        "reduce_window" => {
            const ONES: [&str; 3] = ["window_strides", "base_dilations", "window_dilations"];
            ONES.into_iter().for_each(|name| a.drop_if(name, |value| is_splat(value, 1)));
            a.drop_if("padding", |value| is_splat(value, 0));
            a.i64_arrays(&ONES)?;
            a.i64_arrays(&["window_dimensions"])?;
        }
        "scatter" => scatter(a)?,
        "select_and_scatter" => {
            a.drop_if("window_strides", |value| is_splat(value, 1));
            a.drop_if("padding", |value| is_splat(value, 0));
            a.i64_arrays(&["window_dimensions", "window_strides"])?;
        }
        "slice" => a.i64_arrays(&["start_indices", "limit_indices", "strides"])?,
        "sort" => {
            a.drop_if("dimension", |attribute| attribute.as_integer() == Some(-1));
            a.drop_if("is_stable", is_false);
        }
        "transpose" => a.i64_arrays(&["permutation"])?,
        // All others say the same in both dialects.
        _ => {}
    }
    Ok(())
}

fn convolution(base: &str, a: &mut Editor) -> Result<()> {
    for name in ["window_strides", "lhs_dilation", "rhs_dilation"] {
        a.drop_if(name, |value| is_splat(value, 1));
    }
    a.drop_if("window_reversal", |value| is_splat(value, 0));
    a.drop_if("precision_config", is_default_precision);
    if base == "convolution" {
        a.drop_if("padding", |value| is_splat(value, 0));
    } else {
        // Up to version 0.20 also an attribute, beside the operand that counts.
        a.drop_if("padding", |_| true);
    }
    let numbers = ConvDimensionNumbers {
        input_batch_dimension: a.integer("input_batch_dimension")?,
        input_feature_dimension: a.integer("input_feature_dimension")?,
        input_spatial_dimensions: a.integers("input_spatial_dimensions")?,
        kernel_input_feature_dimension: a.integer("kernel_input_feature_dimension")?,
        kernel_output_feature_dimension: a.integer("kernel_output_feature_dimension")?,
        kernel_spatial_dimensions: a.integers("kernel_spatial_dimensions")?,
        output_batch_dimension: a.integer("output_batch_dimension")?,
        output_feature_dimension: a.integer("output_feature_dimension")?,
        output_spatial_dimensions: a.integers("output_spatial_dimensions")?,
    };
    a.new.push(("dimension_numbers", Attribute::ConvDimensionNumbers(Arc::new(numbers))));
    a.i64_arrays(&["lhs_dilation", "rhs_dilation", "window_strides"])?;
    if let Some(reversal) = a.take("window_reversal") {
        let values = a.numbers("window_reversal", &reversal)?;
        let values: Arc<[bool]> = values.into_iter().map(|value| value != 0).collect();
        a.new.push(("window_reversal", Attribute::DenseArray(DenseArray::I1(values))));
    }
    Ok(())
}

fn custom_call(a: &mut Editor) -> Result<()> {
    a.drop_if("has_side_effect", is_false);
    a.drop_if("backend_config", |value| is_empty_string(value) || is_empty_dictionary(value));
    // The API version 1 is the original one.
    a.drop_if("api_version", |value| value.as_integer() == Some(1));
    a.drop_if("called_computations", is_empty_array);
    if a.get("operand_layouts").is_some_and(is_empty_array)
        && a.get("result_layouts").is_some_and(is_empty_array)
    {
        a.take("operand_layouts");
        a.take("result_layouts");
    }
    a.drop_if("output_operand_aliases", is_empty_array);
    a.drop_if("result_tilings", is_empty_array);
    if let Some(called) = a.take("called_computations") {
        let names = called.as_array().ok_or_else(|| a.wrong("called_computations", "an array"))?;
        let symbols = names
            .iter()
            .map(|name| match name {
                Attribute::String(name) => Ok(Attribute::symbol(name.clone())),
                _ => Err(a.wrong("called_computations", "an array of strings")),
            })
            .collect::<Result<_>>()?;
        a.new.push(("called_computations", Attribute::array(symbols)));
    }
    Ok(())
}

fn dot_general(a: &mut Editor) -> Result<()> {
    a.drop_if("precision_config", is_default_precision);
    let numbers = DotDimensionNumbers {
        lhs_batching_dimensions: a.integers("lhs_batching_dimensions")?,
        rhs_batching_dimensions: a.integers("rhs_batching_dimensions")?,
        lhs_contracting_dimensions: a.integers("lhs_contracting_dimensions")?,
        rhs_contracting_dimensions: a.integers("rhs_contracting_dimensions")?,
    };
    a.new.push(("dot_dimension_numbers", Attribute::DotDimensionNumbers(Arc::new(numbers))));
    const ALGORITHM: [&str; 7] = [
        "lhs_precision_type",
        "rhs_precision_type",
        "accumulation_type",
        "lhs_component_count",
        "rhs_component_count",
        "num_primitive_operations",
        "allow_imprecise_accumulation",
    ];
    let is_none = |name: &&str| matches!(a.get(name), None | Some(Attribute::Type(Type::None)));
    if ALGORITHM.iter().all(is_none) {
        ALGORITHM.iter().for_each(|name| a.drop_if(name, |_| true));
        return Ok(());
    }
    let algorithm = DotAlgorithm {
        lhs_precision_type: a.ty("lhs_precision_type")?,
        rhs_precision_type: a.ty("rhs_precision_type")?,
        accumulation_type: a.ty("accumulation_type")?,
        lhs_component_count: a.integer("lhs_component_count")?,
        rhs_component_count: a.integer("rhs_component_count")?,
        num_primitive_operations: a.integer("num_primitive_operations")?,
        allow_imprecise_accumulation: a.bool("allow_imprecise_accumulation")?,
    };
    a.new.push(("algorithm", Attribute::DotAlgorithm(Arc::new(algorithm))));
    Ok(())
}

fn gather(a: &mut Editor) -> Result<()> {
    a.drop_if("indices_are_sorted", is_false);
    let numbers = GatherDimensionNumbers {
        offset_dims: a.integers("offset_dims")?,
        collapsed_slice_dims: a.integers("collapsed_slice_dims")?,
        operand_batching_dims: a.integers_or_none("operand_batching_dims")?,
        start_indices_batching_dims: a.integers_or_none("start_indices_batching_dims")?,
        start_index_map: a.integers("start_index_map")?,
        index_vector_dim: a.integer("index_vector_dim")?,
    };
    a.new.push(("dimension_numbers", Attribute::GatherDimensionNumbers(Arc::new(numbers))));
    Ok(())
}

fn scatter(a: &mut Editor) -> Result<()> {
    a.drop_if("indices_are_sorted", is_false);
    a.drop_if("unique_indices", is_false);
    let numbers = ScatterDimensionNumbers {
        update_window_dims: a.integers("update_window_dims")?,
        inserted_window_dims: a.integers("inserted_window_dims")?,
        input_batching_dims: a.integers_or_none("input_batching_dims")?,
        scatter_indices_batching_dims: a.integers_or_none("scatter_indices_batching_dims")?,
        scatter_dims_to_operand_dims: a.integers("scatter_dims_to_operand_dims")?,
        index_vector_dim: a.integer("index_vector_dim")?,
    };
    let numbers = Attribute::ScatterDimensionNumbers(Arc::new(numbers));
    a.new.push(("scatter_dimension_numbers", numbers));
    Ok(())
}

/// More numbers than this in a list of dimensions are refused, since a splat says them in few bytes.
const MAX_NUMBERS: usize = 1 << 16;

impl Editor {
    fn get(&self, name: &str) -> Option<&Attribute> {
        self.own.iter().find(|(own, _)| *own == name).map(|(_, value)| value)
    }

    fn take(&mut self, name: &str) -> Option<Attribute> {
        let at = self.own.iter().position(|(own, _)| *own == name)?;
        Some(self.own.remove(at).1)
    }

    fn drop_if(&mut self, name: &str, condition: impl Fn(&Attribute) -> bool) {
        self.own.retain(|(own, value)| *own != name || !condition(value));
    }

    #[cold]
    fn wrong(&self, name: &str, wanted: &str) -> Error {
        Error::invalid_argument(format!(
            "the attribute `{name}` of `vhlo.{}` is not {wanted}",
            self.operation
        ))
    }

    fn required(&mut self, name: &str) -> Result<Attribute> {
        self.take(name)
            .ok_or_else(|| Error::invalid_argument(format!("the attribute `{name}` is missing")))
    }

    fn integer(&mut self, name: &str) -> Result<i64> {
        self.required(name)?.as_integer().ok_or_else(|| self.wrong(name, "an integer"))
    }

    fn bool(&mut self, name: &str) -> Result<bool> {
        self.required(name)?.as_bool().ok_or_else(|| self.wrong(name, "a truth value"))
    }

    fn ty(&mut self, name: &str) -> Result<Type> {
        let attribute = self.required(name)?;
        attribute.as_type().cloned().ok_or_else(|| self.wrong(name, "a type"))
    }

    fn integers(&mut self, name: &str) -> Result<Vec<i64>> {
        let attribute = self.required(name)?;
        self.numbers(name, &attribute)
    }

    fn integers_or_none(&mut self, name: &str) -> Result<Vec<i64>> {
        match self.take(name) {
            Some(attribute) => self.numbers(name, &attribute),
            None => Ok(Vec::new()),
        }
    }

    fn numbers(&self, name: &str, attribute: &Attribute) -> Result<Vec<i64>> {
        attribute
            .as_dense_elements()
            .and_then(|elements| elements.to_i64s(MAX_NUMBERS))
            .ok_or_else(|| self.wrong(name, "a short tensor of integers"))
    }

    /// Tensors of dimensions become arrays; those dropped before stay away.
    fn i64_arrays(&mut self, names: &[&'static str]) -> Result<()> {
        for &name in names {
            if let Some(attribute) = self.take(name) {
                let values = self.numbers(name, &attribute)?;
                self.new.push((name, Attribute::i64_array(values)));
            }
        }
        Ok(())
    }

    fn symbol(&mut self, name: &'static str) -> Result<()> {
        match self.required(name)? {
            Attribute::String(symbol) => {
                self.new.push((name, Attribute::symbol(symbol)));
                Ok(())
            }
            _ => Err(self.wrong(name, "a string")),
        }
    }

    /// A channel, where 0 means none.
    fn channel_id(&mut self) -> Result<()> {
        let handle = self.integer("channel_id")?;
        if handle != 0 {
            self.new.push(("channel_handle", Attribute::ChannelHandle { handle, ty: 0 }));
        }
        Ok(())
    }

    /// A truth value that in StableHLO is there or not. Older versions may lack it.
    fn flag(&mut self, name: &'static str) -> Result<()> {
        match self.take(name) {
            None | Some(Attribute::Bool(false)) => Ok(()),
            Some(Attribute::Bool(true)) => {
                self.new.push((name, Attribute::Unit));
                Ok(())
            }
            Some(_) => Err(self.wrong(name, "a truth value")),
        }
    }
}

fn is_false(attribute: &Attribute) -> bool {
    attribute.as_bool() == Some(false)
}

fn is_empty_string(attribute: &Attribute) -> bool {
    attribute.as_string().is_some_and(|text| text.as_bytes().is_empty())
}

fn is_empty_array(attribute: &Attribute) -> bool {
    attribute.as_array().is_some_and(<[_]>::is_empty)
}

fn is_empty_dictionary(attribute: &Attribute) -> bool {
    attribute.as_dictionary().is_some_and(<[_]>::is_empty)
}

fn is_empty_tensor(attribute: &Attribute) -> bool {
    attribute.as_dense_elements().is_some_and(|elements| elements.bytes().is_empty())
}

fn is_splat(attribute: &Attribute, value: i64) -> bool {
    attribute.as_dense_elements().is_some_and(|elements| {
        let splat =
            elements.bytes().iter().rev().fold(0, |word, &byte| word << 8 | i64::from(byte));
        elements.is_splat() && splat == value
    })
}

fn is_enum(attribute: &Attribute, value: EnumValue) -> bool {
    *attribute == Attribute::Enum(EnumAttribute::stablehlo(value))
}

fn is_default_precision(attribute: &Attribute) -> bool {
    let default = EnumValue::Precision(Precision::Default);
    attribute
        .as_array()
        .is_some_and(|precisions| precisions.iter().all(|precision| is_enum(precision, default)))
}

fn is_default_accuracy(attribute: &Attribute) -> bool {
    let Attribute::ResultAccuracy(accuracy) = attribute else { return false };
    let is_zero = |bits: u64| f64::from_bits(bits) == 0.0;
    is_zero(accuracy.atol)
        && is_zero(accuracy.rtol)
        && accuracy.ulps == 0
        && accuracy.mode == ResultAccuracyMode::Default
}

/// Takes out casts whose operands and results have the same types.
fn remove_casts(module: &mut Module) -> Result<()> {
    let mut replacement: Vec<Option<ValueId>> = vec![None; module.values.len()];
    let mut removed = vec![false; module.operations.len()];
    for (op, operation) in module.operations.iter() {
        let same = || module.operand_types(op).eq(module.result_types(op));
        if &*operation.name == "builtin.unrealized_conversion_cast" && same() {
            removed[op.index()] = true;
            for (&from, &to) in operation.results.iter().zip(&operation.operands) {
                replacement[from.index()] = Some(to);
            }
        }
    }
    if !removed.contains(&true) {
        return Ok(());
    }
    for (_, operation) in module.operations.iter_mut() {
        for operand in &mut operation.operands {
            *operand = resolve(&mut replacement, *operand)
                .ok_or_else(|| Error::invalid_argument("casts are their own operands"))?;
        }
    }
    for (_, block) in module.blocks.iter_mut() {
        block.operations.retain(|op| !removed[op.index()]);
    }
    Ok(())
}

/// The end of a chain of replacements, which is shortened. `None` for a chain without end.
fn resolve(replacement: &mut [Option<ValueId>], value: ValueId) -> Option<ValueId> {
    let mut end = value;
    let mut steps = 0;
    while let Some(next) = replacement[end.index()] {
        end = next;
        steps += 1;
        if steps > replacement.len() {
            return None;
        }
    }
    let mut at = value;
    while let Some(next) = replacement[at.index()] {
        replacement[at.index()] = Some(end);
        at = next;
    }
    Some(end)
}
