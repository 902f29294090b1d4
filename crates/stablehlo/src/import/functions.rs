//! Functions as computations, callees before callers, and the entry computation.

use rustc_hash::{FxHashMap, FxHashSet};
use rxla_base::Diagnostic;
use rxla_hlo::{self as hlo, ArrayShape, Op, Shape};

use super::attributes::View;
use super::calls::is_shape_polymorphic;
use super::importer::{Importer, Result};
use super::{ArgumentForm, Options, composite, entry, module_attributes};
use crate::mlir::{self, Attribute, FunctionType, OpId};

/// Translates a whole module.
pub(super) fn import_module(
    source: &mlir::Module,
    options: &Options,
) -> Result<hlo::Module, Vec<Diagnostic>> {
    let mut cx = Importer::new(source, options);
    collect_symbols(&mut cx).map_err(|d| vec![d])?;
    let root = cx.view(source.root);
    let Some(main) = cx.symbols.get(options.entry.as_bytes()).copied() else {
        return Err(vec![
            root.error(format_args!("has no function `{}`", options.entry))
                .hint("the function to run must stand directly in the module"),
        ]);
    };
    let order = call_order(&cx, main).map_err(|d| vec![d])?;
    module_attributes::read(&mut cx, root).map_err(|d| vec![d])?;
    let mut diagnostics = Vec::new();
    for function in order {
        if function != main && is_shape_polymorphic(cx.view(function)) {
            continue;
        }
        // A function whose callee failed would only repeat that it is missing.
        if !diagnostics.is_empty() && calls_any_missing(&cx, function) {
            continue;
        }
        if let Err(diagnostic) = lower_function(&mut cx, function, function == main) {
            diagnostics.push(diagnostic);
        }
    }
    if !diagnostics.is_empty() {
        return Err(diagnostics);
    }
    cx.module.set_entry(cx.functions[&main]);
    module_attributes::finish(&mut cx, root).map_err(|d| vec![d])?;
    cx.module.stack_frames = cx.frames.index;
    Ok(cx.module)
}

/// Finds everything named directly in the module.
fn collect_symbols(cx: &mut Importer<'_>) -> Result {
    let source = cx.source;
    let root = cx.view(source.root);
    let Some(body) = source.body() else {
        return Err(root.error("has not exactly one region with one block"));
    };
    for &op in &source.blocks[body].operations {
        let view = cx.view(op);
        match &*view.op.name {
            "func.func" | "sdy.mesh" | "stablehlo.mesh" => {
                let name = view.str("sym_name")?;
                if cx.symbols.insert(name.as_bytes(), op).is_some() {
                    return Err(view.error(format_args!("`{name}` is defined twice")));
                }
            }
            // A nested module holds nothing that runs unless it is named, which calls check.
            _ => return Err(view.unimplemented("this operation directly in a module")),
        }
    }
    Ok(())
}

/// The functions that an operation or its regions call, in order of the text.
fn callees(cx: &Importer<'_>, function: OpId) -> Vec<OpId> {
    let source = cx.source;
    let mut found = Vec::new();
    let mut stack = vec![function];
    while let Some(op) = stack.pop() {
        let operation = &source.operations[op];
        // What stands for an HLO op does not need its decomposition.
        if composite::is_known(cx.view(op)) {
            continue;
        }
        for name in ["callee", "decomposition", "called_computations", "call_target_name"] {
            let Some(attribute) = operation.attributes.get(name) else { continue };
            let symbols: &[Attribute] = match attribute {
                Attribute::Array(items) => items,
                single => std::slice::from_ref(single),
            };
            for symbol in symbols {
                if let Some(name) = symbol.as_flat_symbol()
                    && let Some(&callee) = cx.symbols.get(name.as_bytes())
                {
                    found.push(callee);
                }
            }
        }
        for &region in &operation.regions {
            for &block in &source.regions[region].blocks {
                stack.extend(source.blocks[block].operations.iter().copied());
            }
        }
    }
    found
}

/// Whether there are manual regions in a function or in what it calls.
pub(super) fn has_regions(cx: &mut Importer<'_>, function: OpId) -> bool {
    if let Some(&known) = cx.regional.get(&function) {
        return known;
    }
    let source = cx.source;
    let mut found = false;
    let mut seen = FxHashSet::from_iter([function]);
    let mut stack = vec![function];
    while let Some(op) = stack.pop() {
        let operation = &source.operations[op];
        found |= &*operation.name == "sdy.manual_computation";
        if &*operation.name == "func.func" {
            stack.extend(callees(cx, op).into_iter().filter(|&callee| seen.insert(callee)));
        }
        for &region in &operation.regions {
            for &block in &source.regions[region].blocks {
                stack.extend(source.blocks[block].operations.iter().copied());
            }
        }
    }
    cx.regional.insert(function, found);
    found
}

/// The functions reachable from `main`, callees first. A function that calls itself is an error.
fn call_order(cx: &Importer<'_>, main: OpId) -> Result<Vec<OpId>> {
    let mut order = Vec::new();
    // `false` while the callees of a function are being visited.
    let mut state: FxHashMap<OpId, bool> = FxHashMap::default();
    let mut stack = vec![(main, callees(cx, main), 0)];
    state.insert(main, false);
    while let Some((function, called, next)) = stack.last_mut() {
        let Some(&callee) = called.get(*next) else {
            state.insert(*function, true);
            order.push(*function);
            stack.pop();
            continue;
        };
        *next += 1;
        match state.get(&callee) {
            None => {
                state.insert(callee, false);
                stack.push((callee, callees(cx, callee), 0));
            }
            Some(false) => {
                return Err(cx.view(callee).error("calls itself, which HLO cannot express"));
            }
            Some(true) => {}
        }
    }
    Ok(order)
}

fn calls_any_missing(cx: &Importer<'_>, function: OpId) -> bool {
    callees(cx, function).iter().any(|callee| !cx.functions.contains_key(callee))
}

/// The declared type of a `func.func`.
pub(super) fn function_type<'a>(view: View<'a>) -> Result<&'a FunctionType> {
    let ty = view.require("function_type")?.as_type().and_then(mlir::Type::as_function);
    ty.ok_or_else(|| view.wrong("function_type", "a function type"))
}

fn lower_function(cx: &mut Importer<'_>, function: OpId, is_entry: bool) -> Result {
    let view = cx.view(function);
    if &*view.op.name != "func.func" {
        return Err(view.error("is called but is no function"));
    }
    let name = view.str("sym_name")?;
    let block = view.block(0)?;
    let ty = function_type(view)?;
    let arguments = &view.source.blocks[block].arguments;
    if ty.inputs.len() != arguments.len() {
        return Err(view.error(format_args!(
            "has {} arguments where its type says {}",
            arguments.len(),
            ty.inputs.len()
        )));
    }
    let computation = cx.begin_computation(&sanitized(name));
    if view.get("execution_thread").is_some() {
        let thread = view.str("execution_thread")?;
        cx.module[computation].execution_thread = Some(thread.to_owned());
    }
    let result = (|| {
        let shapes = ty.inputs.iter().map(|ty| view.shape_of(ty)).collect::<Result<Vec<_>>>()?;
        let shapes = if is_entry { refined_arguments(view, shapes, cx.options)? } else { shapes };
        cx.info = hlo::Info::default();
        if is_entry && cx.options.arguments == ArgumentForm::Tupled {
            let parameter = cx.add_named("arg_tuple", Op::parameter(0), Shape::tuple(shapes), &[]);
            for (index, &argument) in arguments.iter().enumerate() {
                let part = cx.get_tuple_element(parameter, index);
                cx.bind(argument, part);
            }
        } else {
            for (number, (&argument, shape)) in arguments.iter().zip(shapes).enumerate() {
                let location = &view.source.values[argument].location;
                let stem = match location.op_name() {
                    Some(name) => sanitized(&name.to_string_lossy()),
                    None => format!("Arg_{number}"),
                };
                cx.info.metadata = super::locations::metadata(&mut cx.frames, location);
                let parameter = cx.add_named(&stem, Op::parameter(number as i64), shape, &[]);
                cx.bind(argument, parameter);
            }
        }
        cx.info = hlo::Info::default();
        let terminator = cx.lower_block(view, block)?;
        cx.info = hlo::Info::default();
        if terminator.op.operands.len() != ty.results.len() {
            return Err(terminator.error(format_args!(
                "returns {} values where the function's type says {}",
                terminator.op.operands.len(),
                ty.results.len()
            )));
        }
        let results = cx.returned(terminator)?;
        let results = match is_entry {
            true => entry::results(cx, view, &results)?,
            false => results,
        };
        let root = cx.one_or_tuple(&results);
        cx.module.set_root(root);
        if is_entry {
            entry::arguments(cx, view, ty)?;
        }
        Ok(())
    })();
    cx.end_computation();
    cx.functions.insert(function, computation);
    if result.is_err() {
        cx.functions.remove(&function);
    }
    result
}

/// The entry's argument shapes, refined by what the caller says of them.
fn refined_arguments(
    view: View<'_>,
    declared: Vec<Shape>,
    options: &Options,
) -> Result<Vec<Shape>> {
    let Some(given) = &options.argument_shapes else { return Ok(declared) };
    if given.len() != declared.len() {
        return Err(view.error(format_args!(
            "has {} arguments, but shapes of {} are given",
            declared.len(),
            given.len()
        )));
    }
    let fits = |declared: &Shape, given: &Shape| match (declared, given) {
        (Shape::Array(declared), Shape::Array(given)) => {
            declared.element_type == given.element_type
                && declared.rank() == given.rank()
                && declared.dims.iter().zip(&given.dims).all(|(&declared, &given)| {
                    declared == ArrayShape::UNBOUNDED || declared == given
                })
        }
        (declared, given) => declared.compatible(given),
    };
    for (index, (declared, given)) in declared.iter().zip(given).enumerate() {
        if !fits(declared, given) {
            return Err(view.error(format_args!(
                "argument {index} is `{declared}`, which `{given}` does not fit"
            )));
        }
    }
    Ok(given.clone())
}

/// A name as HLO text can hold it: other characters than letters, digits, `_`, `.` and `-` become
/// `_`, and it starts with a letter or `_`.
pub(super) fn sanitized(name: &str) -> String {
    let mut text: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-') { c } else { '_' })
        .collect();
    if !text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        text.insert(0, '_');
    }
    text
}
