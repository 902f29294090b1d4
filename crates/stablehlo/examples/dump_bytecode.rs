//! Prints what is in MLIR bytecode, one line for each operation and block, in the form that
//! `tools/stablehlo/survey_bytecode.py` makes from another reader of the same file, to compare the two.
//!
//! `dump_bytecode FILE…` writes `FILE.dump` beside each file.

use std::collections::HashMap;
use std::fmt::Write;
use std::io::{self, Write as _};
use std::process::ExitCode;

use rxla_stablehlo::mlir::{
    Attribute, AxisRef, DenseArray, DimensionSharding, EnumDialect, Float, Location, LocationKind,
    Module, OpId, OpShardingRule, QuantizedType, ReductionOp, SdyAttribute, Signedness,
    TensorSharding, Type, ValueId,
};
use rxla_stablehlo::{bytecode, vhlo};

fn main() -> ExitCode {
    let mut failures = 0;
    for path in std::env::args().skip(1) {
        let outcome = std::fs::read(&path).map_err(|error| error.to_string()).and_then(|bytes| {
            let mut read = bytecode::read(&bytes, bytecode::TextParsers::default())
                .map_err(|error| error.to_string())?;
            vhlo::upgrade(&mut read.module).map_err(|error| error.to_string())?;
            Ok(dump(&read.module))
        });
        let text = outcome.unwrap_or_else(|error| {
            failures += 1;
            format!("error: {error}\n")
        });
        if let Err(error) = std::fs::write(format!("{path}.dump"), text) {
            _ = writeln!(io::stderr(), "{path}: {error}");
            failures += 1;
        }
    }
    if failures > 0 {
        _ = writeln!(io::stderr(), "{failures} files could not be read");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

fn dump(module: &Module) -> String {
    let mut dump = Dump { module, out: String::new(), numbers: HashMap::new() };
    dump.operation(module.root, 0);
    dump.out
}

struct Dump<'m> {
    module: &'m Module,
    out: String,
    numbers: HashMap<ValueId, usize>,
}

impl Dump<'_> {
    fn number(&mut self, value: ValueId) {
        let next = self.numbers.len();
        self.numbers.insert(value, next);
    }

    fn operation(&mut self, op: OpId, depth: usize) {
        let module = self.module;
        let operation = &module.operations[op];
        if !matches!(operation.dialect(), "stablehlo" | "func" | "builtin" | "sdy" | "chlo") {
            _ = writeln!(self.out, "{depth} {} unregistered", operation.name);
            return;
        }
        let operands: Vec<String> = operation
            .operands
            .iter()
            .map(|value| self.numbers.get(value).map_or("forward".into(), usize::to_string))
            .collect();
        let results: Vec<String> = module.result_types(op).map(type_text).collect();
        let attributes: Vec<String> = operation
            .attributes
            .iter()
            .map(|a| format!("{} = {}", a.name, attribute_text(&a.value)))
            .collect();
        _ = writeln!(
            self.out,
            "{depth} {} ({}) -> ({}) {{{}}} {}",
            operation.name,
            operands.join(", "),
            results.join(", "),
            attributes.join("; "),
            location_text(&operation.location),
        );
        operation.results.iter().for_each(|&value| self.number(value));
        for &region in &operation.regions {
            _ = writeln!(self.out, "{depth} region");
            for &block in &module.regions[region].blocks {
                let arguments = &module.blocks[block].arguments;
                let texts: Vec<String> = arguments
                    .iter()
                    .map(|&value| {
                        let value = &module.values[value];
                        format!("{} {}", type_text(&value.ty), location_text(&value.location))
                    })
                    .collect();
                _ = writeln!(self.out, "{depth} block ({})", texts.join(", "));
                arguments.iter().for_each(|&value| self.number(value));
                for &op in &module.blocks[block].operations {
                    self.operation(op, depth + 1);
                }
            }
        }
    }
}

fn string_text(bytes: &[u8]) -> String {
    let mut out = String::from("\"");
    for &byte in bytes {
        match byte {
            b'"' | b'\\' | 0..=31 | 127.. => _ = write!(out, "\\{byte:02X}"),
            _ => out.push(byte as char),
        }
    }
    out.push('"');
    out
}

fn list<T>(items: &[T], text: impl Fn(&T) -> String) -> String {
    items.iter().map(text).collect::<Vec<_>>().join(", ")
}

fn numbers(items: &[i64]) -> String {
    list(items, i64::to_string)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn shape_text(shape: &[i64]) -> String {
    shape.iter().map(|&size| if size < 0 { "?x".to_owned() } else { format!("{size}x") }).collect()
}

fn type_text(ty: &Type) -> String {
    match ty {
        Type::Integer { width, signedness } => {
            let prefix = match signedness {
                Signedness::Signless => "i",
                Signedness::Signed => "si",
                Signedness::Unsigned => "ui",
            };
            format!("{prefix}{width}")
        }
        Type::Index => "index".into(),
        Type::Float(float) => float.name().into(),
        Type::Complex(element) => format!("complex<{}>", type_text(element)),
        Type::Tensor(tensor) => {
            let encoding = tensor.encoding.as_ref();
            let encoding = encoding.map(|e| format!(", {}", attribute_text(e))).unwrap_or_default();
            format!("tensor<{}{}{encoding}>", shape_text(&tensor.shape), type_text(&tensor.element))
        }
        Type::UnrankedTensor(element) => format!("tensor<*x{}>", type_text(element)),
        Type::Vector(vector) => {
            format!("vector<{}{}>", shape_text(&vector.shape), type_text(&vector.element))
        }
        Type::MemRef(memref) => {
            format!("memref<{}{}>", shape_text(&memref.shape), type_text(&memref.element))
        }
        Type::UnrankedMemRef(parts) => format!("memref<*x{}>", type_text(&parts.0)),
        Type::Tuple(types) => format!("tuple<{}>", list(types, type_text)),
        Type::Function(function) => {
            let results = list(&function.results, type_text);
            let one = matches!(&function.results[..], [ty] if ty.as_function().is_none());
            let results = if one { results } else { format!("({results})") };
            format!("({}) -> {results}", list(&function.inputs, type_text))
        }
        Type::None => "none".into(),
        Type::Token => "!stablehlo.token".into(),
        Type::Future(types) => format!("!stablehlo.future<{}>", list(types, type_text)),
        Type::Quantized(quantized) => quantized_text(quantized),
        Type::Opaque(opaque) if opaque.dialect.as_bytes().is_empty() => opaque.text.to_string(),
        Type::Opaque(opaque) => format!("!{}.{}", opaque.dialect, opaque.text),
    }
}

fn quantized_text(quantized: &QuantizedType) -> String {
    let QuantizedType::Uniform(uniform) = quantized else { return format!("{quantized:?}") };
    let Type::Integer { width, .. } = uniform.storage else { return format!("{quantized:?}") };
    let (low, high) = if uniform.signed {
        (-(1i64 << (width - 1)), (1i64 << (width - 1)) - 1)
    } else {
        (0, (1i64 << width) - 1)
    };
    let storage = format!("{}{width}", if uniform.signed { "i" } else { "u" });
    let range = if (uniform.storage_min, uniform.storage_max) == (low, high) {
        String::new()
    } else {
        format!("<{}:{}>", uniform.storage_min, uniform.storage_max)
    };
    let pairs: Vec<String> = uniform
        .scales
        .iter()
        .zip(&uniform.zero_points)
        .map(|(&scale, &zero)| {
            let scale = f64::from_bits(scale);
            if zero == 0 { format!("{scale:?}") } else { format!("{scale:?}:{zero}") }
        })
        .collect();
    let expressed = type_text(&uniform.expressed);
    match uniform.axis {
        None => format!("!quant.uniform<{storage}{range}:{expressed}, {}>", pairs.join(",")),
        Some(axis) => {
            format!("!quant.uniform<{storage}{range}:{expressed}:{axis}, {{{}}}>", pairs.join(","))
        }
    }
}

fn axis_ref(axis: &AxisRef) -> String {
    let part = axis.sub_axis.map(|part| format!(":({}){}", part.pre_size, part.size));
    format!("{}{}", string_text(axis.name.as_bytes()), part.unwrap_or_default())
}

fn dimension_sharding(sharding: &DimensionSharding) -> String {
    let mut parts: Vec<String> = sharding.axes.iter().map(axis_ref).collect();
    if !sharding.is_closed {
        parts.push("?".into());
    }
    let priority = sharding.priority.map(|priority| format!("p{priority}")).unwrap_or_default();
    format!("{{{}}}{priority}", parts.join(", "))
}

fn tensor_sharding(sharding: &TensorSharding) -> String {
    let mesh = attribute_text(&sharding.mesh_or_ref);
    let mesh = mesh.strip_prefix("#sdy.").unwrap_or(&mesh).to_owned();
    let mut text = format!("<{mesh}, [{}]", list(&sharding.dim_shardings, dimension_sharding));
    if !sharding.replicated_axes.is_empty() {
        _ = write!(text, ", replicated={{{}}}", list(&sharding.replicated_axes, axis_ref));
    }
    if !sharding.unreduced_axes.is_empty() {
        let op = match sharding.reduction_op {
            ReductionOp::Sum => "",
            ReductionOp::Max | ReductionOp::Min => sharding.reduction_op.name(),
        };
        _ = write!(text, ", unreduced{op}={{{}}}", list(&sharding.unreduced_axes, axis_ref));
    }
    text + ">"
}

fn sdy_text(attribute: &SdyAttribute) -> String {
    match attribute {
        SdyAttribute::ManualAxes(axes) => {
            format!("#sdy<manual_axes{{{}}}>", list(axes, |axis| string_text(axis.as_bytes())))
        }
        SdyAttribute::Mesh(mesh) => {
            let axes = list(&mesh.axes, |axis| {
                format!("{}={}", string_text(axis.name.as_bytes()), axis.size)
            });
            let ids = if mesh.device_ids.is_empty() {
                String::new()
            } else {
                format!(", device_ids=[{}]", numbers(&mesh.device_ids))
            };
            format!("#sdy.mesh<[{axes}]{ids}>")
        }
        SdyAttribute::TensorSharding(sharding) => {
            format!("#sdy.sharding{}", tensor_sharding(sharding))
        }
        SdyAttribute::TensorShardingPerValue(shardings) => {
            format!("#sdy.sharding_per_value<[{}]>", list(shardings, tensor_sharding))
        }
        SdyAttribute::AxisRefList(axes) => {
            format!("#sdy<axis_ref_list{{{}}}>", list(axes, axis_ref))
        }
        SdyAttribute::OpShardingRule(rule) => sharding_rule(rule),
        other => format!("{other:?}"),
    }
}

fn factor(index: i64) -> String {
    if index < 18 {
        return char::from(b'i' + index as u8).to_string();
    }
    format!("z_{}", index - 17)
}

fn sharding_rule(rule: &OpShardingRule) -> String {
    let side = |mappings: &[Vec<Vec<i64>>]| {
        list(mappings, |tensor| {
            let dimension = |factors: &Vec<i64>| factors.iter().map(|&f| factor(f)).collect();
            format!("[{}]", list(tensor, dimension))
        })
    };
    let mut at = -1;
    let sizes: Vec<String> = rule
        .factor_sizes
        .iter()
        .map(|size| {
            at += 1;
            format!("{}={size}", factor(at))
        })
        .collect();
    let mut text = format!(
        "#sdy.op_sharding_rule<({})->({}) {{{}}}",
        side(&rule.operand_mappings),
        side(&rule.result_mappings),
        sizes.join(", ")
    );
    for (factors, kind) in [
        (&rule.reduction_factors, "reduction"),
        (&rule.need_replication_factors, "need_replication"),
        (&rule.permutation_factors, "permutation"),
        (&rule.blocked_propagation_factors, "blocked_propagation"),
    ] {
        if !factors.is_empty() {
            _ = write!(text, " {kind}={{{}}}", list(factors, |&f| factor(f)));
        }
    }
    if rule.is_custom_rule {
        text.push_str(", custom");
    }
    text + ">"
}

fn symbol(name: &[u8]) -> String {
    let is_bare = |(at, &byte): (usize, &u8)| {
        byte == b'_'
            || byte.is_ascii_alphabetic()
            || at > 0 && (byte.is_ascii_digit() || b"$.".contains(&byte))
    };
    if !name.is_empty() && name.iter().enumerate().all(is_bare) {
        return format!("@{}", String::from_utf8_lossy(name));
    }
    format!("@{}", string_text(name))
}

fn dims(parts: &[(&str, &[i64])]) -> String {
    let parts = parts.iter().filter(|(_, dims)| !dims.is_empty());
    parts.map(|(name, dims)| format!("{name} = [{}]", numbers(dims))).collect::<Vec<_>>().join(", ")
}

fn with_index(dims: String, index: i64) -> String {
    let index = (index != 0).then(|| format!("index_vector_dim = {index}"));
    let parts: Vec<String> =
        [Some(dims).filter(|dims| !dims.is_empty()), index].into_iter().flatten().collect();
    parts.join(", ")
}

fn attribute_text(attribute: &Attribute) -> String {
    match attribute {
        Attribute::Unit => "unit".into(),
        Attribute::Bool(value) => value.to_string(),
        Attribute::Integer { ty, value } => {
            let value = match ty {
                Type::Integer { signedness: Signedness::Unsigned, .. } => {
                    (*value as u64).to_string()
                }
                _ => value.to_string(),
            };
            format!("{value} : {}", type_text(ty))
        }
        Attribute::Float { ty, bits } => {
            let value = match ty {
                Float::F32 => f64::from(f32::from_bits(*bits as u32)).to_bits(),
                _ => *bits,
            };
            format!("{value:016x} : {}", ty.name())
        }
        Attribute::String(text) => string_text(text.as_bytes()),
        Attribute::TypedString(parts) => {
            format!("{} : {}", string_text(parts.0.as_bytes()), type_text(&parts.1))
        }
        Attribute::SymbolRef(reference) => {
            let nested =
                reference.nested.iter().map(|name| format!("::{}", symbol(name.as_bytes())));
            symbol(reference.root.as_bytes()) + &nested.collect::<String>()
        }
        Attribute::Type(ty) => type_text(ty),
        Attribute::Array(items) => format!("[{}]", list(items, attribute_text)),
        Attribute::Dictionary(entries) => {
            let entries =
                list(entries, |entry| format!("{} = {}", entry.name, attribute_text(&entry.value)));
            format!("{{{entries}}}")
        }
        Attribute::DenseElements(elements) => format!(
            "dense {} {} {}",
            type_text(elements.ty()),
            if elements.is_splat() { "splat" } else { "all" },
            hex(elements.bytes())
        ),
        Attribute::DenseStrings(strings) => {
            let values = list(&strings.values, |value| string_text(value.as_bytes()));
            format!("strings {} {values}", type_text(&strings.ty))
        }
        Attribute::DenseArray(array) => match array {
            DenseArray::I1(v) => format!("array<i1: {}>", list(v, bool::to_string)),
            DenseArray::I8(v) => format!("array<i8: {}>", list(v, i8::to_string)),
            DenseArray::I16(v) => format!("array<i16: {}>", list(v, i16::to_string)),
            DenseArray::I32(v) => format!("array<i32: {}>", list(v, i32::to_string)),
            DenseArray::I64(v) => format!("array<i64: {}>", numbers(v)),
            DenseArray::F32(v) => format!("array<f32: {}>", list(v, |x| format!("{x:x}"))),
            DenseArray::F64(v) => format!("array<f64: {}>", list(v, |x| format!("{x:x}"))),
        }
        .replace(": >", ">"),
        Attribute::DenseResource(resource) => {
            format!("dense_resource<{}> : {}", resource.key, type_text(&resource.ty))
        }
        Attribute::Location(location) => location_text(location),
        Attribute::Enum(value) => {
            let dialect = match value.dialect {
                EnumDialect::Stablehlo => "stablehlo",
                EnumDialect::Chlo => "chlo",
            };
            format!("#{dialect}<{} {}>", value.value.kind(), value.value.name())
        }
        Attribute::ScatterDimensionNumbers(numbers) => {
            let text = dims(&[
                ("update_window_dims", &numbers.update_window_dims),
                ("inserted_window_dims", &numbers.inserted_window_dims),
                ("input_batching_dims", &numbers.input_batching_dims),
                ("scatter_indices_batching_dims", &numbers.scatter_indices_batching_dims),
                ("scatter_dims_to_operand_dims", &numbers.scatter_dims_to_operand_dims),
            ]);
            format!("#stablehlo.scatter<{}>", with_index(text, numbers.index_vector_dim))
        }
        Attribute::GatherDimensionNumbers(numbers) => {
            let text = dims(&[
                ("offset_dims", &numbers.offset_dims),
                ("collapsed_slice_dims", &numbers.collapsed_slice_dims),
                ("operand_batching_dims", &numbers.operand_batching_dims),
                ("start_indices_batching_dims", &numbers.start_indices_batching_dims),
                ("start_index_map", &numbers.start_index_map),
            ]);
            format!("#stablehlo.gather<{}>", with_index(text, numbers.index_vector_dim))
        }
        Attribute::DotDimensionNumbers(numbers) => format!(
            "#stablehlo.dot<{}>",
            dims(&[
                ("lhs_batching_dimensions", &numbers.lhs_batching_dimensions),
                ("rhs_batching_dimensions", &numbers.rhs_batching_dimensions),
                ("lhs_contracting_dimensions", &numbers.lhs_contracting_dimensions),
                ("rhs_contracting_dimensions", &numbers.rhs_contracting_dimensions),
            ])
        ),
        Attribute::RaggedDotDimensionNumbers(numbers) => format!("{numbers:?}"),
        Attribute::DotAlgorithm(algorithm) => format!(
            "#stablehlo.dot_algorithm<lhs_precision_type = {}, rhs_precision_type = {}, accumulation_type = {}, lhs_component_count = {}, rhs_component_count = {}, num_primitive_operations = {}, allow_imprecise_accumulation = {}>",
            type_text(&algorithm.lhs_precision_type),
            type_text(&algorithm.rhs_precision_type),
            type_text(&algorithm.accumulation_type),
            algorithm.lhs_component_count,
            algorithm.rhs_component_count,
            algorithm.num_primitive_operations,
            algorithm.allow_imprecise_accumulation
        ),
        Attribute::ConvDimensionNumbers(conv) => {
            let side = |named: [(i64, &str); 2], spatial: &[i64]| {
                let rank = named.len() + spatial.len();
                let mut names = vec!["-".to_owned(); rank];
                for (at, name) in named {
                    names[at as usize] = name.to_owned();
                }
                for (number, &at) in spatial.iter().enumerate() {
                    names[at as usize] = number.to_string();
                }
                names.join(", ")
            };
            format!(
                "#stablehlo.conv<[{}]x[{}]->[{}]>",
                side(
                    [(conv.input_batch_dimension, "b"), (conv.input_feature_dimension, "f")],
                    &conv.input_spatial_dimensions
                ),
                side(
                    [
                        (conv.kernel_input_feature_dimension, "i"),
                        (conv.kernel_output_feature_dimension, "o")
                    ],
                    &conv.kernel_spatial_dimensions
                ),
                side(
                    [(conv.output_batch_dimension, "b"), (conv.output_feature_dimension, "f")],
                    &conv.output_spatial_dimensions
                ),
            )
        }
        Attribute::OutputOperandAlias(alias) => format!(
            "#stablehlo.output_operand_alias<output_tuple_indices = [{}], operand_index = {}, operand_tuple_indices = [{}]>",
            numbers(&alias.output_tuple_indices),
            alias.operand_index,
            numbers(&alias.operand_tuple_indices)
        ),
        Attribute::ChannelHandle { handle, ty } => {
            format!("#stablehlo.channel_handle<handle = {handle}, type = {ty}>")
        }
        Attribute::TypeExtensions(bounds) => {
            let bounds =
                list(bounds, |&bound| if bound < 0 { "?".into() } else { bound.to_string() });
            format!("#stablehlo.bounds<{bounds}>")
        }
        Attribute::ResultAccuracy(accuracy) => format!(
            "accuracy {:016x} {:016x} {} {}",
            accuracy.atol,
            accuracy.rtol,
            accuracy.ulps,
            accuracy.mode.name()
        ),
        Attribute::Sdy(sdy) => sdy_text(sdy),
        Attribute::ReplicaGroupMeshAxes(groups) => format!(
            "#stablehlo.replica_group_mesh_axes<mesh = {}, axes = [{}]>",
            attribute_text(&groups.mesh),
            list(&groups.axes, attribute_text)
        ),
        Attribute::AxisRef(axis) => {
            let part = axis
                .sub_axis
                .map(|part| format!(", sub_axis_info = ({}){}", part.pre_size, part.size));
            format!(
                "#stablehlo.axis_ref<name = {}{}>",
                string_text(axis.name.as_bytes()),
                part.unwrap_or_default()
            )
        }
        Attribute::MeshAxis(axis) => {
            format!(
                "#stablehlo.mesh_axis<name = {}, size = {}>",
                string_text(axis.name.as_bytes()),
                axis.size
            )
        }
        Attribute::SubAxisInfo(part) => format!("({}){}", part.pre_size, part.size),
        Attribute::Mesh(mesh) => {
            let axes = list(&mesh.axes, |axis| {
                format!("<name = {}, size = {}>", string_text(axis.name.as_bytes()), axis.size)
            });
            format!("#stablehlo.mesh<axes=[{axes}]>")
        }
        Attribute::Opaque(opaque) => format!("#{}.{}", opaque.dialect, opaque.text),
    }
}

fn location_text(location: &Location) -> String {
    match location.kind() {
        None => "?".into(),
        Some(LocationKind::FileLineCol { file, line, column }) => {
            format!("{}:{line}:{column}", string_text(file.as_bytes()))
        }
        Some(LocationKind::FileRange { file, line, column, end_line, end_column }) => {
            format!("{}:{line}:{column} to {end_line}:{end_column}", string_text(file.as_bytes()))
        }
        Some(LocationKind::Name { name, child }) => {
            format!("{}({})", string_text(name.as_bytes()), location_text(child))
        }
        Some(LocationKind::CallSite { callee, caller }) => {
            format!("callsite({} at {})", location_text(callee), location_text(caller))
        }
        Some(LocationKind::Fused { locations, .. }) => {
            format!("fused[{}]", list(locations, location_text))
        }
        Some(LocationKind::Opaque { text }) => text.to_string(),
    }
}
