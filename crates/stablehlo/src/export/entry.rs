//! Functions and the module round them.

use rxla_hlo::{ComputationId, Module, Shape};

use super::attributes::{Declared, string_dictionary};
use super::exporter::{Exported, Exporter, Result};
use crate::mlir::{
    self, Attribute, AttributeKind, Location, NamedAttribute, Operation, Type, dictionary,
    drop_defaults,
};

pub(super) fn export_module(source: &Module) -> Result<mlir::Module> {
    let mut cx = Exporter::new(source);
    module_attributes(&mut cx);
    let name = cx.unique_function_name("main");
    function(&mut cx, source.entry(), &name, Place::Entry)?;
    while let Some((computation, name)) = cx.pending.pop() {
        function(&mut cx, computation, &name, Place::Called)?;
    }
    Ok(cx.out)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Entry,
    Called,
}

fn module_attributes(cx: &mut Exporter<'_>) {
    let config = &cx.source.config;
    let root = cx.out.root;
    let attributes = &mut cx.out.operations[root].attributes;
    if !cx.source.name.is_empty() {
        let name = Attribute::string(cx.source.name.as_str());
        attributes.set(AttributeKind::Inherent, "sym_name", name);
    }
    let mut set = |name: &str, value| attributes.set(AttributeKind::Discardable, name, value);
    let count = |value| Attribute::Integer { ty: Type::I32, value };
    set("mhlo.num_partitions", count(config.num_partitions));
    set("mhlo.num_replicas", count(config.replica_count));
    if config.is_dynamic {
        set("mhlo.is_dynamic", Attribute::Bool(true));
    }
    if config.use_auto_spmd_partitioning {
        set("mhlo.use_auto_spmd_partitioning", Attribute::Bool(true));
    }
    if !config.frontend_attributes.is_empty() {
        set("mhlo.frontend_attributes", string_dictionary(&config.frontend_attributes));
    }
    let text = |sharding| Attribute::string(rxla_hlo::text::print_sharding(sharding));
    if let Some(sharding) = &config.spmd_output_sharding {
        set("mhlo.spmd_output_sharding", text(sharding));
    }
    if !config.spmd_parameters_shardings.is_empty() {
        let list = config.spmd_parameters_shardings.iter().map(text).collect();
        set("mhlo.spmd_parameters_shardings", Attribute::array(list));
    }
}

/// The function of a computation.
fn function(cx: &mut Exporter<'_>, computation: ComputationId, name: &str, place: Place) -> Result {
    let source = cx.source;
    let root = cx.view(source[computation].root());
    let parameters = source[computation].parameters().to_vec();
    let mut inputs = Vec::with_capacity(parameters.len());
    for &parameter in &parameters {
        inputs.push(cx.ty(cx.view(parameter), &source[parameter].shape)?);
    }
    // A tuple of one part is one value of tuple type, any other is several results.
    let results = match root.shape() {
        Shape::Tuple(parts) if parts.len() == 1 => vec![cx.ty(root, root.shape())?],
        shape => cx.result_types(root, shape)?,
    };
    let ty = Type::function(inputs.clone(), results.clone());
    let mut attributes = Declared::new()
        .with("sym_name", Attribute::string(name))
        .with("function_type", Attribute::Type(ty));
    let visibility = match place {
        Place::Entry => "public",
        Place::Called => "private",
    };
    attributes = attributes.with("sym_visibility", Attribute::string(visibility));
    let argument_attributes: Vec<Attribute> =
        (0..parameters.len()).map(|index| argument(cx, computation, index, place)).collect();
    attributes = attributes.with("arg_attrs", Attribute::array(argument_attributes));
    let mut operation = Operation::new("func.func", Location::UNKNOWN);
    operation.attributes = attributes.0;
    drop_defaults("func.func", &mut operation.attributes);
    let Some(body) = cx.out.body() else {
        return Err(root.error("stands in a module without a body"));
    };
    let op = cx.out.add_operation(body, operation, []);
    let (_, block, arguments) = cx.region(op, inputs);
    for (&argument, &parameter) in arguments.iter().zip(&parameters) {
        let view = cx.view(parameter);
        cx.out.values[argument].location = super::exporter::location(view);
    }
    let arguments = arguments.into_iter().map(Exported::Value).collect();
    let value = cx.inline(block, computation, arguments)?;
    let values = match (&value, root.shape()) {
        (value, Shape::Tuple(parts)) if parts.len() == 1 => vec![cx.pack(block, value, root)],
        (value, Shape::Tuple(_)) => {
            let parts = cx.parts(block, value, root)?;
            parts.iter().map(|part| cx.pack(block, part, root)).collect()
        }
        (value, _) => vec![cx.pack(block, value, root)],
    };
    let mut end = Operation::new("func.return", Location::UNKNOWN);
    end.operands = values;
    cx.out.add_operation(block, end, []);
    Ok(())
}

/// What is said of a parameter: sharding, aliasing, donation, notes.
fn argument(
    cx: &Exporter<'_>,
    computation: ComputationId,
    index: usize,
    place: Place,
) -> Attribute {
    let source = cx.source;
    let mut entries = Vec::new();
    let mut set = |name: &str, value| entries.push(NamedAttribute { name: name.into(), value });
    let parameter = source[computation].parameters()[index];
    if let Some(info) = source[parameter].info() {
        if let Some(sharding) = &info.sharding {
            let text = rxla_hlo::text::print_sharding(sharding);
            set("mhlo.sharding", Attribute::string(text));
        }
        if !info.frontend_attributes.is_empty() {
            set("mhlo.frontend_attributes", string_dictionary(&info.frontend_attributes));
        }
        if !info.parameter_replication.is_empty() {
            let list = info.parameter_replication.iter().map(|&value| Attribute::Bool(value));
            set("mhlo.parameter_replication", Attribute::array(list.collect()));
        }
    }
    if place == Place::Entry {
        let config = &source.config;
        let is_this = |parameter: i64, path: &[i64]| parameter == index as i64 && path.is_empty();
        let alias = config
            .input_output_alias
            .iter()
            .find(|alias| is_this(alias.parameter, &alias.parameter_index));
        if let Some(alias) = alias
            && alias.output_index.len() <= 1
        {
            let output = alias.output_index.first().copied().unwrap_or(0);
            let output = Attribute::Integer { ty: Type::I32, value: output };
            set("tf.aliasing_output", output);
        } else if config
            .buffer_donors
            .iter()
            .any(|donor| is_this(donor.parameter, &donor.parameter_index))
        {
            set("jax.buffer_donor", Attribute::Bool(true));
        }
    }
    dictionary(entries)
}
