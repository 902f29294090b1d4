//! A compiled program, not yet bound to devices: what is known of it, and the code.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};

use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use rxla_base::{Code, Error, Result, Severity};
use rxla_flags::Area;
use rxla_hlo::{ArrayShape, Dims, InputOutputAlias, Layout, Module, Op, Shape};
use rxla_trace::notice::warn_once;

use crate::backend::{Backend, Program};
use crate::compile_options::CompileOptions;
use crate::device::MemoryKind;
use crate::format::Source;
use crate::meeting::Identity;
use crate::notes;
use crate::pace::Pace;
use crate::partitioners::Registered;
use crate::transforms;

/// A compiled module.
pub struct Executable {
    name: String,
    /// As it was compiled; read again where the program was kept by an earlier process.
    module: OnceLock<Arc<Module>>,
    source: Option<Source>,
    options: CompileOptions,
    signature: Signature,
    program: Box<dyn Program>,
    backend: &'static str,
    meeting: OnceLock<Option<Identity>>,
    pace: Pace,
}

/// What a caller passes and gets, leaf by leaf.
#[derive(Clone, PartialEq, Debug)]
pub struct Signature {
    pub parameters: Vec<Parameter>,
    pub outputs: Vec<Output>,
    /// The entry computation's result is a tuple of the outputs.
    pub tuple_result: bool,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Parameter {
    /// With the layout the program wants the argument in.
    pub shape: Shape,
    pub memory: MemoryKind,
    pub donation: Donation,
}

/// What a program may do with an argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Donation {
    Kept,
    /// The storage becomes that of an output.
    Alias(usize),
}

impl Donation {
    fn output(self) -> Option<usize> {
        match self {
            Donation::Kept => None,
            Donation::Alias(output) => Some(output),
        }
    }
}

#[derive(Clone, PartialEq, Debug)]
pub struct Output {
    /// With the layout the result comes in.
    pub shape: Shape,
    pub memory: MemoryKind,
}

/// Programs of more bytes are not kept as a whole: nearly all of them are constants, which are written
/// as slowly as they are compiled, and push everything else out of the cache. The Python package has
/// the same bound.
const LARGEST_KEPT: usize = 16 << 20;

impl Executable {
    pub(crate) fn compile_source(
        backends: &[Arc<dyn Backend>],
        source: Source,
        options: CompileOptions,
    ) -> Result<Executable> {
        let plain = CompileOptions { flags: Arc::default(), ..options.clone() };
        let words = format!("{:?} {:?} {plain:?}", source.format, source.options);
        let parts = [words.as_bytes(), &source.bytes];
        // Only the first one: others are asked where it cannot, which it says when it compiles. And
        // only for one device: what several run is not the module that was read, nor is what somebody
        // transforms. And what is to be dumped has to be compiled, as has what is compiled in some
        // unusual way. The code of the parts of a large program is kept all the same.
        let kept = source.bytes.len() <= LARGEST_KEPT
            && options.replicas * options.partitions == 1
            && !transforms::any()
            && !options.flags.dumps()
            && options.flags.changed(|area| area == Area::Code).is_empty();
        let first = backends.first().filter(|_| kept);
        let key = first.and_then(|backend| Some((backend, backend.key(&parts)?)));
        if let Some((backend, key)) = &key
            && let Some((program, notes)) = backend.recall(key)
            && let Some((name, signature)) = notes::read(&notes)
        {
            return Ok(Executable {
                name,
                pace: Pace::new(program.forecast(), &options.flags),
                module: OnceLock::new(),
                source: Some(source),
                options,
                signature,
                program,
                backend: backend.name(),
                meeting: OnceLock::new(),
            });
        }
        let executable = Executable::compile(backends, Arc::new(source.read()?), options)?;
        if let Some((backend, key)) = &key
            && backend.name() == executable.backend
            && let Some(notes) = notes::write(&executable.name, &executable.signature)
        {
            backend.keep(key, executable.program(), &notes);
        }
        Ok(executable)
    }

    pub(crate) fn compile(
        backends: &[Arc<dyn Backend>],
        mut module: Arc<Module>,
        options: CompileOptions,
    ) -> Result<Executable> {
        set_counts(&mut module, &options);
        let partitions = options.partitions;
        verify(&module)?;
        if partitions > 1 && options.spmd_partitioning {
            rxla_spmd::partition(Arc::make_mut(&mut module), &Registered)?;
            verify(&module)?;
        }
        if transforms::any() {
            transforms::apply(&mut module)?;
            verify(&module)?;
        }
        let signature = Signature::of(&module, &options)?;
        let mut refusal: Option<Error> = None;
        for backend in backends {
            match backend.compile(&module, &options) {
                Ok(program) => {
                    let name = module.name.clone();
                    if let Some(refusal) = refusal {
                        let (whose, why) = (backend.name(), refusal.message);
                        warn_once(&format!("`{name}` is left to the backend `{whose}`: {why}"));
                    }
                    return Ok(Executable {
                        name,
                        pace: Pace::new(program.forecast(), &options.flags),
                        module: OnceLock::from(module),
                        source: None,
                        options,
                        signature,
                        program,
                        backend: backend.name(),
                        meeting: OnceLock::new(),
                    });
                }
                Err(error) if error.code == Code::Unimplemented => refusal = Some(error),
                Err(error) => return Err(error),
            }
        }
        Err(refusal.unwrap_or_else(|| Error::unimplemented("the client has no backend")))
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// The module as it was compiled.
    pub fn module(&self) -> &Arc<Module> {
        self.module.get_or_init(|| {
            let source = self.source.as_ref().expect("what has no module has a source");
            // The program was compiled from these very bytes by this very build.
            let mut module = Arc::new(source.read().expect("it could be read before"));
            set_counts(&mut module, &self.options);
            module
        })
    }

    pub fn options(&self) -> &CompileOptions {
        &self.options
    }

    pub fn signature(&self) -> &Signature {
        &self.signature
    }

    /// Which backend compiled it.
    pub fn backend(&self) -> &'static str {
        self.backend
    }

    pub fn code_size(&self) -> u64 {
        self.program.code_size()
    }

    /// What programs that can run together have in common, where their devices meet and for what;
    /// `None` if devices exchange nothing, so that each may run it alone.
    pub(crate) fn meeting(&self) -> Option<Identity> {
        if self.options.replicas * self.options.partitions == 1 {
            return None;
        }
        *self.meeting.get_or_init(|| {
            let mut hasher = FxHasher::default();
            let module = self.module();
            let mut exchanging =
                module.instruction_ids().filter(|&id| exchanges(&module[id].op)).peekable();
            exchanging.peek()?;
            for id in exchanging {
                module[id].op.name().hash(&mut hasher);
                module[id].shape.to_string().hash(&mut hasher);
                let operands = module[id].operands().iter();
                operands.for_each(|&operand| module[operand].shape.to_string().hash(&mut hasher));
            }
            (self.options.replicas, self.options.partitions).hash(&mut hasher);
            let assignment = self.options.device_assignment.as_ref();
            assignment.map(|assignment| &assignment.devices).hash(&mut hasher);
            Some(hasher.finish())
        })
    }

    /// What is known of its runs.
    pub(crate) fn pace(&self) -> &Pace {
        &self.pace
    }

    pub(crate) fn program(&self) -> &dyn Program {
        &*self.program
    }

    /// What one device needs to hold.
    pub fn memory(&self) -> CompiledMemory {
        let size = |shape: &Shape| shape.byte_size().unwrap_or(0) as u64;
        let aliased = |parameter: &&Parameter| parameter.donation.output().is_some();
        let parameters = &self.signature.parameters;
        CompiledMemory {
            code: self.code_size(),
            arguments: parameters.iter().map(|parameter| size(&parameter.shape)).sum(),
            outputs: self.signature.outputs.iter().map(|output| size(&output.shape)).sum(),
            aliased: parameters.iter().filter(aliased).map(|p| size(&p.shape)).sum(),
            temporaries: self.program.temp_bytes(),
        }
    }
}

/// What the caller asks for goes before what the module was written for.
fn set_counts(module: &mut Arc<Module>, options: &CompileOptions) {
    let counts = (options.replicas as i64, options.partitions as i64);
    if (module.config.replica_count, module.config.num_partitions) != counts {
        let config = &mut Arc::make_mut(module).config;
        (config.replica_count, config.num_partitions) = counts;
    }
}

fn exchanges(op: &Op) -> bool {
    match op {
        Op::Send(send) => !send.is_host_transfer,
        Op::Recv(recv) => !recv.is_host_transfer,
        op => op.is_collective(),
    }
}

/// Refuses a module that breaks a rule of HLO.
fn verify(module: &Module) -> Result<()> {
    let findings = rxla_hlo::verify::verify(module);
    if findings.iter().any(|finding| finding.severity == Severity::Error) {
        let text = rxla_base::render_all(&findings, None);
        return Err(Error::invalid_argument(text.trim_end()));
    }
    Ok(())
}

/// Bytes that one execution of a program takes on one device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CompiledMemory {
    pub code: u64,
    pub arguments: u64,
    pub outputs: u64,
    /// Counted among arguments and outputs both.
    pub aliased: u64,
    /// Planned for values between; see [`Program::temp_bytes`].
    pub temporaries: u64,
}

impl fmt::Debug for Executable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Executable({}, {})", self.name, self.backend)
    }
}

impl Signature {
    fn of(module: &Module, options: &CompileOptions) -> Result<Signature> {
        let entry = module
            .try_entry()
            .ok_or_else(|| Error::invalid_argument("the module has no entry computation"))?;
        let program = module.program_shape(entry);
        let layout = module.config.entry_computation_layout.as_ref();
        let mut parameters = Vec::new();
        let mut is_donor = Vec::new();
        for (number, (_, shape)) in program.parameters.iter().enumerate() {
            let laid_out = layout.and_then(|layout| layout.parameters.get(number));
            for (path, leaf) in laid_out.unwrap_or(shape).leaves() {
                if !path.is_empty() && !options.tupled_arguments {
                    return Err(Error::invalid_argument(format!(
                        "parameter {number} is the tuple `{shape}`, but the compile options do \
                         not say that arguments are tupled"
                    )));
                }
                parameters.push(Parameter {
                    shape: concrete(leaf),
                    memory: memory_kind(leaf),
                    donation: donation(module, number, &path),
                });
                is_donor.push(module.config.buffer_donors.iter().any(|donor| {
                    donor.parameter == number as i64 && donor.parameter_index == path
                }));
            }
        }
        let result = layout.map_or(&program.result, |layout| &layout.result);
        let outputs: Vec<Output> = result
            .leaves()
            .into_iter()
            .map(|(_, leaf)| Output { shape: concrete(leaf), memory: memory_kind(leaf) })
            .collect();
        use_donors(&mut parameters, &is_donor, &outputs);
        Ok(Signature { parameters, outputs, tuple_result: result.as_tuple().is_some() })
    }
}

fn donation(module: &Module, number: usize, path: &Dims) -> Donation {
    let aliases = &module.config.input_output_alias;
    let is_this = |alias: &&InputOutputAlias| {
        alias.parameter == number as i64 && alias.parameter_index == *path
    };
    aliases.iter().find(is_this).map_or(Donation::Kept, |alias| {
        let output = alias.output_index.first().copied().unwrap_or(0);
        Donation::Alias(usize::try_from(output).unwrap_or(0))
    })
}

/// Gives each output without an alias the storage of a donor with as many bytes in the same memory. A donor
/// that no output can use stays the caller's, as in XLA (`OptimizeInputOutputBufferAlias`): JAX tests for it.
fn use_donors(parameters: &mut [Parameter], is_donor: &[bool], outputs: &[Output]) {
    let aliased: FxHashSet<usize> = parameters.iter().filter_map(|p| p.donation.output()).collect();
    // Programs have thousands of both. The first output is given away first.
    let mut free: FxHashMap<_, Vec<usize>> = FxHashMap::default();
    for (number, output) in outputs.iter().enumerate().rev() {
        if !aliased.contains(&number) {
            free.entry((output.memory, output.shape.byte_size())).or_default().push(number);
        }
    }
    for (parameter, _) in parameters.iter_mut().zip(is_donor).filter(|(_, is_donor)| **is_donor) {
        if parameter.donation == Donation::Kept {
            let like = free.get_mut(&(parameter.memory, parameter.shape.byte_size()));
            if let Some(output) = like.and_then(Vec::pop) {
                parameter.donation = Donation::Alias(output);
            }
        }
    }
}

/// The leaf with a layout: row-major where none is given, which is our choice for "auto".
fn concrete(leaf: &Shape) -> Shape {
    leaf.with_default_layout()
}

fn memory_kind(leaf: &Shape) -> MemoryKind {
    match leaf.as_array().and_then(|array| array.layout.as_ref()).map(|layout| layout.memory_space)
    {
        Some(HOST_MEMORY_SPACE) => MemoryKind::PinnedHost,
        _ => MemoryKind::Device,
    }
}

/// The memory space that layouts write for host memory.
const HOST_MEMORY_SPACE: i64 = 5;

/// The layout of an array, row-major if it names none.
pub fn layout_of(array: &ArrayShape) -> Layout {
    array.layout.as_deref().cloned().unwrap_or_else(|| Layout::row_major(array.rank()))
}
