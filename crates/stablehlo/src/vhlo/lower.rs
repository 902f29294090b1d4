//! From StableHLO to VHLO of a chosen version: the counterpart of [`super::upgrade()`].

use std::sync::Arc;

use rxla_base::{Error, Result};

use super::{Version, VersionedOp, op_at_version, required_version};
use crate::mlir::{
    Attribute, AttributeKind, Attributes, ComparisonType, ConvDimensionNumbers,
    CustomCallApiVersion, DenseArray, DenseElements, DotAlgorithm, DotDimensionNumbers,
    EnumAttribute, EnumValue, GatherDimensionNumbers, Module, OpId, Operation, OperationAttribute,
    Precision, ResultAccuracy, ResultAccuracyMode, ScatterDimensionNumbers, Type, ValueDef,
    ValueId, dictionary,
};

/// Turns every operation of StableHLO and func into VHLO of the target version. Operations of Shardy
/// stay, with casts where values go to and from them.
pub fn lower(module: &mut Module, target: Version) -> Result<()> {
    if target < Version::MINIMUM || target > Version::CURRENT {
        return Err(Error::invalid_argument(format!(
            "VHLO {target} cannot be written: it is not from {} to {}",
            Version::MINIMUM,
            Version::CURRENT
        )));
    }
    for op in module.operations.ids() {
        let name = module.operations[op].name.clone();
        let location = module.operations[op].location.clone();
        let place = |error: Error| match location.source_line() {
            Some(line) => error.context(format!("in `{name}` from {line}")),
            None => error.context(format!("in `{name}`")),
        };
        for value in module.operations[op].results.iter().chain(&module.operations[op].operands) {
            check_type(&module.values[*value].ty, target).map_err(place)?;
        }
        let base = match name.split_once('.') {
            Some(("stablehlo", base)) => base,
            Some(("func", base)) => base,
            _ => continue,
        };
        let Some(row) = op_at_version(base, target) else {
            return Err(place(Error::invalid_argument(format!("VHLO {target} has no `{base}`"))));
        };
        if base == "composite"
            && row.name == "composite_v1"
            && !module.operations[op].regions.is_empty()
        {
            let message = format!("VHLO {target} has no `composite` with regions");
            return Err(place(Error::invalid_argument(message)));
        }
        let old = std::mem::take(&mut module.operations[op].attributes);
        let attributes = lower_attributes(row, base, old).map_err(place)?;
        for attribute in &attributes {
            check_attribute(&attribute.value, target).map_err(place)?;
        }
        module.operations[op].attributes = attributes;
        module.operations[op].name = format!("vhlo.{}", row.name).into();
    }
    insert_casts(module);
    Ok(())
}

fn check_type(ty: &Type, target: Version) -> Result<()> {
    let needed = required_version(ty);
    if needed > target {
        return Err(Error::invalid_argument(format!(
            "a type needs VHLO {needed}, newer than the wanted {target}"
        )));
    }
    Ok(())
}

fn check_attribute(attribute: &Attribute, target: Version) -> Result<()> {
    match attribute {
        Attribute::Array(items) => items.iter().try_for_each(|item| check_attribute(item, target)),
        Attribute::Dictionary(entries) => {
            entries.iter().try_for_each(|entry| check_attribute(&entry.value, target))
        }
        Attribute::Type(ty) => check_type(ty, target),
        Attribute::DenseElements(elements) => check_type(elements.ty(), target),
        Attribute::ReplicaGroupMeshAxes(_) if target < Version::new(1, 16) => {
            Err(Error::invalid_argument(format!(
                "replica groups of mesh axes need VHLO 1.16, newer than the wanted {target}"
            )))
        }
        _ => Ok(()),
    }
}

/// Attributes of one operation on their way.
struct Editor {
    old: Attributes,
    base: &'static str,
    /// Number of spatial dimensions of a convolution or of dimensions of a window.
    rank: Option<usize>,
}

fn lower_attributes(row: &'static VersionedOp, base: &str, old: Attributes) -> Result<Attributes> {
    let rank = match (old.get("dimension_numbers"), old.get("window_dimensions")) {
        (Some(Attribute::ConvDimensionNumbers(numbers)), _) => {
            Some(numbers.input_spatial_dimensions.len())
        }
        (_, Some(Attribute::DenseArray(array))) => Some(array.len()),
        _ => None,
    };
    let mut editor = Editor { old, base: row.base(), rank };
    let mut new = Vec::with_capacity(row.attributes.len());
    explode(base, &mut editor, &mut new)?;
    for &name in row.attributes {
        if new.iter().any(|(done, _)| *done == name) {
            continue;
        }
        let value = match editor.take(name) {
            Some(value) => editor.convert(name, value)?,
            None => editor.default(name)?,
        };
        new.push((name, value));
    }
    // Older operations lack attributes; what is lost must be the default.
    for (name, value) in &new {
        if !row.attributes.contains(name) && *value != editor.default(name)? {
            return Err(Error::invalid_argument(format!(
                "`vhlo.{}` has no attribute `{name}`, which is not the default here",
                row.name
            )));
        }
    }
    let own = new
        .into_iter()
        .filter(|(name, _)| row.attributes.contains(name))
        .map(|(name, value)| OperationAttribute {
            name: name.into(),
            kind: AttributeKind::Inherent,
            value,
        })
        .collect::<Vec<_>>();
    let mut all = Vec::with_capacity(own.len() + editor.old.len());
    for attribute in &editor.old {
        if attribute.kind == AttributeKind::Inherent && !editor.may_lose(attribute) {
            return Err(Error::invalid_argument(format!(
                "`vhlo.{}` has no attribute `{}`",
                row.name, attribute.name
            )));
        }
        if attribute.kind == AttributeKind::Discardable {
            all.push(attribute.clone());
        }
    }
    all.extend(own);
    Ok(all.into_iter().collect())
}

type Parts = Vec<(&'static str, Attribute)>;

/// What one attribute of StableHLO says with several of VHLO.
fn explode(base: &str, a: &mut Editor, new: &mut Parts) -> Result<()> {
    match base {
        "send" | "recv" => {
            let Some(Attribute::ChannelHandle { handle, ty }) = a.take("channel_handle") else {
                return Err(a.wrong("channel_handle", "a channel handle"));
            };
            new.push(("channel_id", Attribute::i64(handle)));
            new.push(("channel_type", Attribute::i64(ty)));
        }
        "all_gather"
        | "all_reduce"
        | "all_to_all"
        | "collective_broadcast"
        | "collective_permute"
        | "collective_reduce"
        | "reduce_scatter" => {
            let handle = match a.take("channel_handle") {
                None => 0,
                Some(Attribute::ChannelHandle { handle, .. }) => handle,
                Some(_) => return Err(a.wrong("channel_handle", "a channel handle")),
            };
            new.push(("channel_id", Attribute::i64(handle)));
            for name in ["use_global_device_ids", "has_dynamic_root"] {
                new.push((name, Attribute::Bool(a.take(name).is_some())));
            }
        }
        "convolution" | "dynamic_conv" => {
            let Some(Attribute::ConvDimensionNumbers(numbers)) = a.old.get("dimension_numbers")
            else {
                return Err(a.wrong("dimension_numbers", "dimension numbers of a convolution"));
            };
            convolution(&numbers.clone(), new);
        }
        "dot_general" => {
            let Some(Attribute::DotDimensionNumbers(numbers)) = a.take("dot_dimension_numbers")
            else {
                return Err(a.wrong("dot_dimension_numbers", "dimension numbers of a dot"));
            };
            dot(&numbers, new);
            match a.take("algorithm") {
                None => {}
                Some(Attribute::DotAlgorithm(algorithm)) => dot_algorithm(&algorithm, new),
                Some(_) => return Err(a.wrong("algorithm", "a dot algorithm")),
            }
        }
        "gather" | "dynamic_gather" => {
            let Some(Attribute::GatherDimensionNumbers(numbers)) = a.take("dimension_numbers")
            else {
                return Err(a.wrong("dimension_numbers", "dimension numbers of a gather"));
            };
            gather(&numbers, new);
        }
        "scatter" => {
            let numbers = a.take("scatter_dimension_numbers");
            let Some(Attribute::ScatterDimensionNumbers(numbers)) = numbers else {
                return Err(a.wrong("scatter_dimension_numbers", "dimension numbers of a scatter"));
            };
            scatter(&numbers, new);
        }
        _ => {}
    }
    Ok(())
}

fn convolution(numbers: &ConvDimensionNumbers, new: &mut Parts) {
    new.extend([
        ("input_batch_dimension", Attribute::i64(numbers.input_batch_dimension)),
        ("input_feature_dimension", Attribute::i64(numbers.input_feature_dimension)),
        ("input_spatial_dimensions", i64_tensor(&numbers.input_spatial_dimensions)),
        ("kernel_input_feature_dimension", Attribute::i64(numbers.kernel_input_feature_dimension)),
        (
            "kernel_output_feature_dimension",
            Attribute::i64(numbers.kernel_output_feature_dimension),
        ),
        ("kernel_spatial_dimensions", i64_tensor(&numbers.kernel_spatial_dimensions)),
        ("output_batch_dimension", Attribute::i64(numbers.output_batch_dimension)),
        ("output_feature_dimension", Attribute::i64(numbers.output_feature_dimension)),
        ("output_spatial_dimensions", i64_tensor(&numbers.output_spatial_dimensions)),
    ]);
}

fn dot(numbers: &DotDimensionNumbers, new: &mut Parts) {
    new.extend([
        ("lhs_batching_dimensions", i64_tensor(&numbers.lhs_batching_dimensions)),
        ("rhs_batching_dimensions", i64_tensor(&numbers.rhs_batching_dimensions)),
        ("lhs_contracting_dimensions", i64_tensor(&numbers.lhs_contracting_dimensions)),
        ("rhs_contracting_dimensions", i64_tensor(&numbers.rhs_contracting_dimensions)),
    ]);
}

fn dot_algorithm(algorithm: &DotAlgorithm, new: &mut Parts) {
    new.extend([
        ("lhs_precision_type", Attribute::Type(algorithm.lhs_precision_type.clone())),
        ("rhs_precision_type", Attribute::Type(algorithm.rhs_precision_type.clone())),
        ("accumulation_type", Attribute::Type(algorithm.accumulation_type.clone())),
        ("lhs_component_count", Attribute::i64(algorithm.lhs_component_count)),
        ("rhs_component_count", Attribute::i64(algorithm.rhs_component_count)),
        ("num_primitive_operations", Attribute::i64(algorithm.num_primitive_operations)),
        ("allow_imprecise_accumulation", Attribute::Bool(algorithm.allow_imprecise_accumulation)),
    ]);
}

fn gather(numbers: &GatherDimensionNumbers, new: &mut Parts) {
    new.extend([
        ("offset_dims", i64_tensor(&numbers.offset_dims)),
        ("collapsed_slice_dims", i64_tensor(&numbers.collapsed_slice_dims)),
        ("operand_batching_dims", i64_tensor(&numbers.operand_batching_dims)),
        ("start_indices_batching_dims", i64_tensor(&numbers.start_indices_batching_dims)),
        ("start_index_map", i64_tensor(&numbers.start_index_map)),
        ("index_vector_dim", Attribute::i64(numbers.index_vector_dim)),
    ]);
}

fn scatter(numbers: &ScatterDimensionNumbers, new: &mut Parts) {
    new.extend([
        ("update_window_dims", i64_tensor(&numbers.update_window_dims)),
        ("inserted_window_dims", i64_tensor(&numbers.inserted_window_dims)),
        ("input_batching_dims", i64_tensor(&numbers.input_batching_dims)),
        ("scatter_indices_batching_dims", i64_tensor(&numbers.scatter_indices_batching_dims)),
        ("scatter_dims_to_operand_dims", i64_tensor(&numbers.scatter_dims_to_operand_dims)),
        ("index_vector_dim", Attribute::i64(numbers.index_vector_dim)),
    ]);
}

impl Editor {
    fn take(&mut self, name: &str) -> Option<Attribute> {
        self.old.remove(name).map(|attribute| attribute.value)
    }

    #[cold]
    fn wrong(&self, name: &str, wanted: &str) -> Error {
        Error::invalid_argument(format!(
            "the attribute `{name}` of `{}` is not {wanted}",
            self.base
        ))
    }

    /// Attributes that are consumed, or say nothing an older version could not.
    fn may_lose(&self, attribute: &OperationAttribute) -> bool {
        let name = attribute.name.as_str().unwrap_or_default();
        match (self.base, name) {
            ("convolution" | "dynamic_conv", "dimension_numbers") => true,
            ("func" | "call", "no_inline") => false,
            _ => self.default(name).is_ok_and(|default| default == attribute.value),
        }
    }

    /// The form in which VHLO has an attribute that both have.
    fn convert(&self, name: &str, value: Attribute) -> Result<Attribute> {
        Ok(match value {
            Attribute::DenseArray(DenseArray::I64(values)) => i64_tensor(&values),
            Attribute::DenseArray(DenseArray::I1(values)) => {
                let bytes: Vec<u8> = values.iter().map(|&value| u8::from(value)).collect();
                tensor(Type::tensor([values.len() as i64], Type::I1), bytes)
            }
            Attribute::SymbolRef(symbol) if symbol.nested.is_empty() => {
                Attribute::String(symbol.root.clone())
            }
            Attribute::Array(items) if name == "called_computations" => Attribute::array(
                items.iter().cloned().map(|item| self.convert("", item)).collect::<Result<_>>()?,
            ),
            Attribute::Integer { value, .. } if name == "api_version" => {
                let version = u64::try_from(value).ok().and_then(CustomCallApiVersion::from_number);
                let version = version.ok_or_else(|| self.wrong(name, "a custom call API"))?;
                enumeration(EnumValue::CustomCallApiVersion(version))
            }
            other => other,
        })
    }

    fn rank(&self) -> Result<usize> {
        self.rank
            .ok_or_else(|| Error::invalid_argument("the attribute `window_dimensions` is missing"))
    }

    fn ones(&self) -> Result<Attribute> {
        Ok(i64_tensor(&vec![1; self.rank()?]))
    }

    /// What VHLO says where StableHLO says nothing.
    fn default(&self, name: &str) -> Result<Attribute> {
        let no_type = || Attribute::Type(Type::None);
        Ok(match (self.base, name) {
            ("func", "sym_visibility") => Attribute::string(""),
            ("func", "arg_attrs" | "res_attrs") => Attribute::array(Vec::new()),
            (_, "channel_id") => Attribute::i64(0),
            (
                _,
                "use_global_device_ids"
                | "has_dynamic_root"
                | "lower"
                | "has_side_effect"
                | "indices_are_sorted"
                | "unique_indices"
                | "is_host_transfer"
                | "is_stable",
            ) => Attribute::Bool(false),
            (_, "compare_type") => enumeration(EnumValue::ComparisonType(ComparisonType::NoType)),
            ("composite", "version") => Attribute::i32(0),
            ("composite", "composite_attributes") => dictionary(Vec::new()),
            ("custom_call", "backend_config") => Attribute::string(""),
            ("custom_call", "api_version") => {
                enumeration(EnumValue::CustomCallApiVersion(CustomCallApiVersion::Original))
            }
            (
                "custom_call",
                "called_computations"
                | "operand_layouts"
                | "result_layouts"
                | "output_operand_aliases"
                | "result_tilings",
            )
            | ("infeed", "layout") => Attribute::array(Vec::new()),
            ("infeed" | "outfeed", "infeed_config" | "outfeed_config") => Attribute::string(""),
            (
                _,
                "window_strides" | "lhs_dilation" | "rhs_dilation" | "base_dilations"
                | "window_dilations",
            ) => self.ones()?,
            (_, "padding") => {
                let rank = self.rank()?;
                let ty = Type::tensor([rank as i64, 2], Type::I64);
                tensor(ty, vec![0; rank * 16])
            }
            (_, "window_reversal") => {
                let rank = self.rank()?;
                tensor(Type::tensor([rank as i64], Type::I1), vec![0; rank])
            }
            (_, "precision_config") => {
                Attribute::array(vec![enumeration(EnumValue::Precision(Precision::Default)); 2])
            }
            (_, "result_accuracy") => Attribute::ResultAccuracy(Arc::new(ResultAccuracy {
                atol: 0,
                rtol: 0,
                ulps: 0,
                mode: ResultAccuracyMode::Default,
            })),
            (
                _,
                "known_expanding_dimensions"
                | "known_nonexpanding_dimensions"
                | "source_target_pairs"
                | "operand_batching_dims"
                | "start_indices_batching_dims"
                | "input_batching_dims"
                | "scatter_indices_batching_dims",
            ) => i64_tensor(&[]),
            ("sort", "dimension") => Attribute::i64(-1),
            (
                "dot_general",
                "lhs_precision_type"
                | "rhs_precision_type"
                | "accumulation_type"
                | "lhs_component_count"
                | "rhs_component_count"
                | "num_primitive_operations"
                | "allow_imprecise_accumulation",
            ) => no_type(),
            _ => {
                return Err(Error::invalid_argument(format!("the attribute `{name}` is missing")));
            }
        })
    }
}

fn enumeration(value: EnumValue) -> Attribute {
    Attribute::Enum(EnumAttribute::stablehlo(value))
}

/// A tensor whose bytes fit its type.
fn tensor(ty: Type, bytes: Vec<u8>) -> Attribute {
    let elements = DenseElements::new(ty, bytes);
    Attribute::DenseElements(Arc::new(elements.expect("the bytes are made for the type")))
}

fn i64_tensor(values: &[i64]) -> Attribute {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    tensor(Type::tensor([values.len() as i64], Type::I64), bytes)
}

/// Operations whose values have VHLO's types.
fn is_versioned(module: &Module, op: OpId) -> bool {
    module.operations[op].name.starts_with("vhlo.")
}

/// Casts before operations of other dialects that use VHLO's values and the other way round.
fn insert_casts(module: &mut Module) {
    for op in module.operations.ids() {
        let is_cast = &*module.operations[op].name == "builtin.unrealized_conversion_cast";
        if op == module.root || is_cast {
            continue;
        }
        for at in 0..module.operations[op].operands.len() {
            let value = module.operations[op].operands[at];
            if is_versioned(module, op) != is_versioned_value(module, value)
                && let Some(block) = module.operations[op].parent
            {
                let cast = cast(module, value);
                let place = module.blocks[block].operations.iter().position(|&other| other == op);
                let made = module.operations[cast].results[0];
                module.operations[cast].parent = Some(block);
                module.blocks[block].operations.insert(place.unwrap_or(0), cast);
                module.operations[op].operands[at] = made;
            }
        }
    }
}

/// Whether the value's type is VHLO's: it is made by such an operation or in such a region. A cast goes
/// from one to the other.
pub(crate) fn is_versioned_value(module: &Module, mut value: ValueId) -> bool {
    let mut flipped = false;
    // Casts that use their own results have no end.
    for _ in 0..=module.values.len() {
        let op = match module.values[value].def {
            ValueDef::Result { op, .. } => Some(op),
            ValueDef::Argument { block, .. } => {
                let region = module.blocks[block].parent;
                region.and_then(|region| module.regions[region].parent)
            }
        };
        let Some(op) = op else { break };
        let operation = &module.operations[op];
        if &*operation.name != "builtin.unrealized_conversion_cast" {
            return is_versioned(module, op) != flipped;
        }
        let Some(&operand) = operation.operands.first() else { break };
        value = operand;
        flipped = !flipped;
    }
    flipped
}

fn cast(module: &mut Module, value: ValueId) -> OpId {
    let mut operation =
        Operation::new("builtin.unrealized_conversion_cast", module.values[value].location.clone());
    operation.operands.push(value);
    let ty = module.values[value].ty.clone();
    let op = module.operations.push(operation);
    module.add_result(op, ty);
    op
}
