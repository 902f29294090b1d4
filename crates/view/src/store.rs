//! The model made from modules, one after the other; what is equal is stored once.
//!
//! A computation is equal to another if its instructions are, in order, and what it calls is: so
//! a computation that no pass touched takes no room again, and its costs and buffers hold for both.

use rustc_hash::FxHashMap;
use rxla_base::SecondaryMap;
use rxla_diff::{Details, Graph};
use rxla_hlo::cost::Costs;
use rxla_hlo::text::{PrintOptions, print_elements, print_instruction, print_shape};
use rxla_hlo::{self as hlo, Module, Op};

use crate::diff;
use crate::json;
use crate::liveness::{Role, liveness};
use crate::model::{
    Computation, ComputationId, Instruction, InstructionId, Model, Program, StepModel, StringId,
    TextFile,
};
use crate::page;
use crate::{Options, Step, TextKind};

/// Gathers modules into a page.
#[derive(Debug, Default)]
pub struct Builder {
    model: Model,
    strings: FxHashMap<String, StringId>,
    instructions: FxHashMap<Instruction, InstructionId>,
    computations: FxHashMap<ComputationKey, ComputationId>,
    /// The last step of each program, to compare the next one with.
    graphs: Vec<Graph>,
}

#[derive(PartialEq, Eq, Hash, Debug)]
struct ComputationKey {
    name: StringId,
    instructions: Vec<InstructionId>,
    root: Option<u32>,
    calls: Vec<ComputationId>,
    /// Of loops in it, which need not say so themselves: a count, or 0 where it is not known.
    trips: Vec<u64>,
    is_entry: bool,
}

/// The computations of the module at hand that are stored already.
type Stored = SecondaryMap<hlo::Computation, Visit>;

#[derive(Clone, Copy, Default)]
enum Visit {
    #[default]
    New,
    Open,
    Done(ComputationId),
}

impl Builder {
    /// Adds a step after those that are there. Modules need not have passed the verifier, but must
    /// be free of cycles, as all readers see to.
    pub fn add(&mut self, step: &Step<'_>) {
        self.add_with_trips(step, &|_| None);
    }

    /// The same where `trips` may know how often loops run.
    pub fn add_with_trips(
        &mut self,
        step: &Step<'_>,
        trips: &dyn Fn(hlo::InstructionId) -> Option<u64>,
    ) {
        let module = step.module;
        let costs = Costs::with_trips(module, trips);
        let mut stored = Stored::default();
        for &computation in module.computations() {
            self.computation(module, computation, &costs, &mut stored, 0);
        }
        let id = |computation: hlo::ComputationId| match stored[computation] {
            Visit::Done(id) => Some(id),
            Visit::New | Visit::Open => None,
        };
        let computations = module.computations().iter().filter_map(|&c| Some((id(c)?, c)));
        let (computations, runs) = computations.map(|(id, c)| (id, costs.runs(c))).unzip();
        let mut new = StepModel {
            title: step.title.to_owned(),
            is_scheduled: module.config.is_scheduled,
            computations,
            runs,
            entry: module.try_entry().and_then(id),
            changes: Vec::new(),
            renamed: Vec::new(),
            renamed_computations: Vec::new(),
        };
        let graph = Graph::new(module, Details::BackendConfig);
        let programs = &self.model.programs;
        let place = programs.iter().position(|program| program.name == step.program);
        match place {
            Some(place) => {
                let before = std::mem::replace(&mut self.graphs[place], graph);
                diff::changes(&before, &self.graphs[place], &mut new, |name| {
                    string(&mut self.model.strings, &mut self.strings, name)
                });
                self.model.programs[place].steps.push(new);
            }
            None => {
                self.graphs.push(graph);
                let (name, module) = (step.program.to_owned(), module.name.clone());
                let program = Program { name, module, steps: vec![new] };
                self.model.programs.push(program);
            }
        }
    }

    /// The page.
    pub fn finish(self, options: &Options) -> String {
        let model = self.model(options);
        page::html(&model.title, &json::model(&model))
    }

    pub(crate) fn model(self, options: &Options) -> Model {
        let mut model = self.model;
        model.title = match (options.title.as_str(), model.programs.first()) {
            ("", Some(program)) => program.name.clone(),
            (title, _) => title.to_owned(),
        };
        let text = |text: &crate::Text| TextFile {
            program: text.program.clone(),
            title: text.title.clone(),
            kind: match text.kind {
                TextKind::KernelIr => "kernels",
                TextKind::LlvmIr => "llvm",
                TextKind::Assembly => "assembly",
                TextKind::Other => "other",
            },
            text: text.text.clone(),
        };
        model.texts = options.texts.iter().map(text).collect();
        model.times.clone_from(&options.times);
        model
    }

    fn string(&mut self, text: &str) -> StringId {
        string(&mut self.model.strings, &mut self.strings, text)
    }

    fn computation(
        &mut self,
        module: &Module,
        computation: hlo::ComputationId,
        costs: &Costs,
        stored: &mut Stored,
        depth: usize,
    ) -> Option<ComputationId> {
        // Computations nest no deeper in modules that passed the verifier.
        const DEEPEST: usize = 1000;
        match stored[computation] {
            Visit::Done(id) => return Some(id),
            Visit::Open => return None,
            Visit::New => {}
        }
        let content = module.get_computation(computation).filter(|_| depth < DEEPEST)?;
        stored[computation] = Visit::Open;
        let order = if module.config.is_scheduled {
            content.instructions().to_vec()
        } else {
            module.post_order(computation)
        };
        let mut instructions = Vec::with_capacity(order.len());
        let mut calls = Vec::new();
        for &id in &order {
            for called in module[id].op.called_computations() {
                let called = self.computation(module, called, costs, stored, depth + 1);
                calls.extend(called.filter(|called| !calls.contains(called)));
            }
            instructions.push(self.instruction(module, id));
        }
        let is_entry = module.try_entry() == Some(computation);
        let root = content.try_root();
        let root = root.and_then(|root| order.iter().position(|&id| id == root));
        let root = root.map(|place| place as u32);
        let name = self.string(content.name());
        let loops = order.iter().filter(|&&id| matches!(module[id].op, Op::While(_)));
        let trips = loops.map(|&id| costs.trips(id).unwrap_or(0.0) as u64).collect();
        let key = ComputationKey { name, instructions, root, calls, trips, is_entry };
        let id = match self.computations.get(&key) {
            Some(&id) => id,
            None => {
                let peak = |called: hlo::ComputationId| match stored[called] {
                    Visit::Done(id) => self.model.computations[id as usize].liveness.peak,
                    Visit::New | Visit::Open => 0,
                };
                let role = if is_entry { Role::Entry } else { Role::Called };
                let column = |of: fn(&hlo::cost::Cost) -> f64| {
                    order.iter().map(|&id| of(&costs.instruction(id))).collect()
                };
                let new = Computation {
                    name,
                    instructions: key.instructions.clone(),
                    root,
                    calls: key.calls.clone(),
                    flops: column(|cost| cost.flops),
                    transcendentals: column(|cost| cost.transcendentals),
                    bytes: column(|cost| cost.bytes),
                    liveness: liveness(module, computation, &order, role, peak),
                };
                let id = self.model.computations.len() as ComputationId;
                self.model.computations.push(new);
                self.computations.insert(key, id);
                id
            }
        };
        stored[computation] = Visit::Done(id);
        Some(id)
    }

    fn instruction(&mut self, module: &Module, id: hlo::InstructionId) -> InstructionId {
        let instruction = &module[id];
        let names = |this: &mut Builder, ids: &[hlo::InstructionId]| -> Vec<StringId> {
            ids.iter().map(|&id| this.string(module[id].name())).collect()
        };
        let called = instruction.op.called_computations();
        let calls = called.iter().filter_map(|&called| module.get_computation(called));
        let calls = calls.map(|computation| self.string(computation.name())).collect();
        let (value, attributes) = rest(module, id);
        let notes = Notes::of(module, instruction);
        let new = Instruction {
            name: self.string(instruction.name()),
            opcode: self.string(instruction.op.name()),
            shape: self.string(&print_shape(&instruction.shape)),
            operands: names(self, instruction.operands()),
            after: names(self, instruction.control_predecessors()),
            attributes: self.string(&attributes),
            value: self.string(&value),
            op_name: self.string(&notes.op_name),
            source: self.string(&notes.source),
            metadata: self.string(&notes.other),
            calls,
        };
        if let Some(&id) = self.instructions.get(&new) {
            return id;
        }
        let id = self.model.instructions.len() as InstructionId;
        self.model.instructions.push(new.clone());
        self.instructions.insert(new, id);
        id
    }
}

/// The place of a string, which is added if it is new.
fn string(
    strings: &mut Vec<String>,
    places: &mut FxHashMap<String, StringId>,
    text: &str,
) -> StringId {
    if let Some(&id) = places.get(text) {
        return id;
    }
    let id = strings.len() as StringId;
    strings.push(text.to_owned());
    places.insert(text.to_owned(), id);
    id
}

/// What stands between the parentheses of a constant or a parameter, and the attributes.
fn rest(module: &Module, id: hlo::InstructionId) -> (String, String) {
    /// Configurations of backends may be long; this much of any attribute list is shown.
    const LONGEST: usize = 4000;
    let options = PrintOptions {
        operand_names: false,
        operand_index_annotation_interval: 0,
        result_shape: false,
        percent: false,
        metadata: false,
        async_sugar: false,
        control_dependencies: false,
        ..PrintOptions::default()
    };
    let text = print_instruction(module, id, &options);
    let instruction = &module[id];
    let start = format!("{} = {}(", instruction.name(), instruction.op.name());
    let inside = text.strip_prefix(&start).unwrap_or(&text);
    let value = match &instruction.op {
        Op::Parameter(parameter) => parameter.number.to_string(),
        Op::Constant(constant) => match &*constant.literal {
            _ if inside.starts_with("{...}") => "{...}".to_owned(),
            hlo::Literal::Array(array) => print_elements(array),
            hlo::Literal::Tuple(_) | hlo::Literal::Token => {
                inside.rsplit_once(')').map_or(inside, |(value, _)| value).to_owned()
            }
        },
        _ => String::new(),
    };
    // Between empty operands stand commas only.
    let commas = ", ".repeat(instruction.operands().len().saturating_sub(1));
    let after = inside.strip_prefix(value.as_str()).unwrap_or(inside);
    let after = after.strip_prefix(commas.as_str()).unwrap_or(after);
    let attributes = after.strip_prefix(')').unwrap_or(after).trim_start_matches(", ");
    (value, cut(attributes, LONGEST))
}

fn cut(text: &str, longest: usize) -> String {
    match text.char_indices().nth(longest) {
        Some((end, _)) => format!("{}… ({} bytes more)", &text[..end], text.len() - end),
        None => text.to_owned(),
    }
}

/// Metadata in the words of the page.
struct Notes {
    op_name: String,
    source: String,
    other: String,
}

impl Notes {
    fn of(module: &Module, instruction: &hlo::Instruction) -> Notes {
        let Some(metadata) = instruction.metadata() else {
            return Notes { op_name: String::new(), source: String::new(), other: String::new() };
        };
        let frames = frames(module, metadata.stack_frame_id);
        let source = match frames.first() {
            _ if !metadata.source_file.is_empty() => {
                place(&metadata.source_file, metadata.source_line)
            }
            Some((source, _)) => source.clone(),
            None => String::new(),
        };
        let mut other = Vec::new();
        if !metadata.op_type.is_empty() {
            other.push(format!("type: {}", metadata.op_type));
        }
        if !metadata.scheduling_name.is_empty() {
            other.push(format!("scheduling name: {}", metadata.scheduling_name));
        }
        if !metadata.deduplicated_name.is_empty() {
            other.push(format!("deduplicated: {}", metadata.deduplicated_name));
        }
        // The innermost frames, each with its function.
        const MOST: usize = 12;
        for (source, function) in frames.iter().take(MOST) {
            other.push(format!("{source} in {function}"));
        }
        Notes { op_name: metadata.op_name.clone(), source, other: other.join("\n") }
    }
}

fn place(file: &str, line: i32) -> String {
    if line > 0 { format!("{file}:{line}") } else { file.to_owned() }
}

/// Places and functions of a stack, innermost first.
fn frames(module: &Module, id: i32) -> Vec<(String, String)> {
    let tables = &module.stack_frames;
    let entry = |id: i32| usize::try_from(id).ok()?.checked_sub(1);
    let mut found = Vec::new();
    let mut next = entry(id);
    // Broken tables may go in circles.
    while let Some(frame) = next.and_then(|id| tables.stack_frames.get(id))
        && found.len() < tables.stack_frames.len()
    {
        let location = entry(frame.file_location_id).and_then(|id| tables.file_locations.get(id));
        if let Some(location) = location {
            let name = |names: &[String], id: i32| {
                entry(id).and_then(|id| names.get(id)).cloned().unwrap_or_default()
            };
            let file = name(&tables.file_names, location.file_name_id);
            let function = name(&tables.function_names, location.function_name_id);
            found.push((place(&file, location.line), function));
        }
        next = entry(frame.parent_frame_id);
    }
    found
}

#[cfg(test)]
mod tests {
    use rxla_hlo::text::{ParseOptions, parse};

    use super::*;

    fn model(text: &str) -> Model {
        let module = parse(text, &ParseOptions::default()).expect("the text is right").module;
        let mut builder = Builder::default();
        builder.add(&Step { program: "m", title: "input", module: &module });
        builder.model(&Options::default())
    }

    #[test]
    fn instructions_keep_everything_that_is_shown() {
        let model = model(
            r#"HloModule m
ENTRY e {
  x = f32[4,2]{1,0} parameter(0), sharding={replicated}
  c = f32[2]{0} constant({1, 2.5})
  y = f32[4,2]{1,0} broadcast(c), dimensions={1}, metadata={op_name="jit(f)/add" source_file="f.py" source_line=7}
  ROOT z = (f32[4,2]{1,0}, f32[4,2]{1,0}) tuple(x, y), control-predecessors={c}
}
"#,
        );
        let text = |id: StringId| &*model.strings[id as usize];
        let named = |name: &str| {
            model.instructions.iter().find(|i| text(i.name) == name).expect("it is there")
        };
        assert_eq!(text(named("x").value), "0");
        assert_eq!(text(named("x").attributes), "sharding={replicated}");
        assert_eq!(text(named("c").value), "{1, 2.5}");
        assert_eq!(text(named("c").attributes), "");
        assert_eq!(text(named("y").shape), "f32[4,2]{1,0}");
        assert_eq!(text(named("y").attributes), "dimensions={1}");
        assert_eq!(text(named("y").op_name), "jit(f)/add");
        assert_eq!(text(named("y").source), "f.py:7");
        let operands: Vec<&str> = named("z").operands.iter().map(|&o| text(o)).collect();
        assert_eq!(operands, ["x", "y"]);
        assert_eq!(text(named("z").attributes), "");
        assert_eq!(named("z").after, [named("c").name]);
        let entry = &model.computations[model.programs[0].steps[0].entry.unwrap() as usize];
        assert_eq!((entry.instructions.len(), entry.root), (4, Some(3)));
        assert_eq!(entry.bytes[2], 40.0);
    }

    #[test]
    fn stack_frames_tell_sources() {
        let model = model(
            r#"HloModule m

FileNames
1 "inner.py"
2 "outer.py"

FunctionNames
1 "g"
2 "f"

FileLocations
1 {file_name_id=1 function_name_id=1 line=3 end_line=3 column=1 end_column=2}
2 {file_name_id=2 function_name_id=2 line=9 end_line=9 column=1 end_column=2}

StackFrames
1 {file_location_id=2 parent_frame_id=1}
2 {file_location_id=1 parent_frame_id=2}

ENTRY e {
  ROOT x = f32[] parameter(0), metadata={op_name="x" stack_frame_id=2}
}
"#,
        );
        let x = &model.instructions[0];
        assert_eq!(model.strings[x.source as usize], "inner.py:3");
        assert!(model.strings[x.metadata as usize].starts_with("inner.py:3 in g\nouter.py:9 in f"));
    }
}
