//! A module as a graph of labelled nodes, which is all that a comparison looks at.

use std::fmt::Write;
use std::hash::Hasher;

use rustc_hash::FxHashMap;
use rxla_hlo::text::{PrintOptions, Subcomputations, print, print_instruction, print_shape};
use rxla_hlo::{ComputationId, ComputationLayout, InstructionId, Literal, Module, Op};

/// What is compared besides the graph itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Details {
    /// Shapes and attributes.
    #[default]
    Meaning,
    /// Backend configurations too, which passes write.
    BackendConfig,
    /// Metadata too.
    Everything,
}

#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// What the module's first line says, without its name.
    pub header: String,
    pub computations: Vec<Computation>,
    pub entry: Option<usize>,
}

#[derive(Clone, Debug)]
pub struct Computation {
    pub name: String,
    /// The thread that it runs on; empty for the usual one.
    pub thread: String,
    /// Operands before users.
    pub nodes: Vec<Node>,
    pub root: Option<usize>,
}

#[derive(Clone, Debug)]
pub struct Node {
    pub id: InstructionId,
    pub name: String,
    pub opcode: &'static str,
    /// With the layout that a shape without one has.
    pub shape: String,
    /// A parameter's number, a constant's value, all attributes but for computations.
    pub attributes: String,
    /// Places among the computation's nodes, in order.
    pub operands: Vec<usize>,
    /// Those that must run before, sorted.
    pub after: Vec<usize>,
    /// Places among the module's computations, in order.
    pub calls: Vec<usize>,
}

impl Graph {
    /// The graph of a module, which need not have passed the verifier, but is free of cycles, as
    /// readers see to.
    pub fn new(module: &Module, details: Details) -> Graph {
        let places: FxHashMap<ComputationId, usize> =
            module.computations().iter().enumerate().map(|(place, &id)| (id, place)).collect();
        let computation = |&id: &ComputationId| computation(module, id, &places, details);
        Graph {
            header: header(module),
            computations: module.computations().iter().map(computation).collect(),
            entry: module.try_entry().and_then(|entry| places.get(&entry).copied()),
        }
    }
}

fn header(module: &Module) -> String {
    let mut bare = Module::new("module");
    bare.config.clone_from(&module.config);
    // Where nothing is said the layouts are those of the entry.
    if let (None, Some(entry)) = (&bare.config.entry_computation_layout, module.try_entry()) {
        let shape = module.program_shape(entry);
        let parameters = shape.parameters.iter().map(|(_, shape)| shape.with_default_layout());
        bare.config.entry_computation_layout = Some(ComputationLayout {
            parameters: parameters.collect(),
            result: shape.result.with_default_layout(),
        });
    }
    let text = print(&bare, &PrintOptions::default());
    let line = text.lines().next().unwrap_or_default();
    line.trim_start_matches("HloModule module").trim_start_matches(", ").to_owned()
}

fn computation(
    module: &Module,
    id: ComputationId,
    computations: &FxHashMap<ComputationId, usize>,
    details: Details,
) -> Computation {
    let content = &module[id];
    let order = if module.config.is_scheduled {
        content.instructions().to_vec()
    } else {
        module.post_order(id)
    };
    let places: FxHashMap<InstructionId, usize> =
        order.iter().enumerate().map(|(place, &id)| (id, place)).collect();
    let place = |id: &InstructionId| places.get(id).copied();
    let node = |&id: &InstructionId| {
        let instruction = &module[id];
        let called = instruction.op.called_computations();
        let mut after: Vec<usize> =
            instruction.control_predecessors().iter().filter_map(place).collect();
        after.sort_unstable();
        Node {
            id,
            name: instruction.name().to_owned(),
            opcode: instruction.op.name(),
            shape: print_shape(&instruction.shape.with_default_layout()),
            attributes: attributes(module, id, details),
            operands: instruction.operands().iter().filter_map(place).collect(),
            after,
            calls: called.iter().filter_map(|id| computations.get(id).copied()).collect(),
        }
    };
    Computation {
        name: content.name().to_owned(),
        thread: content.execution_thread.clone().unwrap_or_default(),
        nodes: order.iter().map(node).collect(),
        root: content.try_root().and_then(|root| place(&root)),
    }
}

fn attributes(module: &Module, id: InstructionId, details: Details) -> String {
    let instruction = &module[id];
    let options = PrintOptions {
        subcomputations: Subcomputations::Off,
        operand_index_annotation_interval: 0,
        operand_names: false,
        result_shape: false,
        percent: false,
        metadata: details == Details::Everything,
        inline_stack_frames: true,
        backend_config: details != Details::Meaning,
        control_dependencies: false,
        async_sugar: false,
        ..PrintOptions::default()
    };
    let text = print_instruction(module, id, &options);
    let start = instruction.name().len() + " = ".len() + instruction.op.name().len();
    let mut text = text.get(start..).unwrap_or(&text).to_owned();
    // Many numbers are not in the text; their bits stand for them.
    if let Op::Constant(constant) = &instruction.op
        && text.starts_with("({...}")
    {
        let mut hasher = std::hash::DefaultHasher::new();
        bits(&constant.literal, &mut hasher);
        let _ = write!(text, " #{:016x}", hasher.finish());
    }
    text
}

fn bits(literal: &Literal, hasher: &mut impl Hasher) {
    match literal {
        Literal::Array(array) => hasher.write(array.bytes()),
        Literal::Tuple(elements) => elements.iter().for_each(|element| bits(element, hasher)),
        Literal::Token => {}
    }
}
