//! Modules to code: cut into units, looked up, compiled in parallel, loaded.

use std::ffi::CStr;
use std::sync::{Arc, OnceLock};

use rustc_hash::FxHashMap;
use rxla_base::{Error, Result};
use rxla_kernel::{FunctionId, Linkage, Module, Op, Statement};

use crate::build_id::build_id;
use crate::cache::{Cache, DiskCache, Key};
use crate::groups::{Part, groups};
use crate::load::{Code, LoadUnit, load};
use crate::machine::{Effort, Output, PASSES};
use crate::target::{Cpu, OPTIONS, Target};
use crate::text::{Bf16, TargetText, UnitText, together};
use crate::workers::{Text, compile_all};

/// How to compile.
#[derive(Clone, Debug)]
pub struct Options {
    /// Threads that compile at once.
    pub threads: usize,
    /// Where objects are kept for the next process.
    pub disk: Option<DiskCache>,
    /// What traces call the program.
    pub label: String,
}

impl Default for Options {
    fn default() -> Options {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        Options { threads, disk: None, label: String::new() }
    }
}

/// Compiles kernel modules for one target.
#[derive(Clone)]
pub struct Compiler {
    target: Arc<Target>,
    /// Of everything but the text that compiled code depends on.
    salt: [u8; 32],
    memory: Arc<Cache>,
    flushes: bool,
}

/// Objects kept in memory by all compilers of the process.
const MEMORY_BYTES: usize = 64 << 20;

impl Compiler {
    /// A compiler for the machine that this runs on.
    pub fn host() -> Result<Compiler> {
        Compiler::of(Cpu::Native)
    }

    /// A compiler for a machine with such a processor.
    pub fn of(cpu: Cpu) -> Result<Compiler> {
        static MEMORY: OnceLock<Arc<Cache>> = OnceLock::new();
        let memory = MEMORY.get_or_init(|| Arc::new(Cache::new(MEMORY_BYTES)));
        Ok(Compiler::new(Target::of(cpu)?, memory.clone()))
    }

    pub fn new(target: Arc<Target>, memory: Arc<Cache>) -> Compiler {
        let mut hasher = blake3::Hasher::new();
        let versions = [env!("CARGO_PKG_VERSION"), env!("RXLA_LLVM_VERSION")];
        let cpu = [target.cpu.as_str(), target.features.as_str()];
        let work = OPTIONS.into_iter().chain(PASSES).map(CStr::to_bytes);
        for part in versions.into_iter().chain(cpu).map(str::as_bytes).chain(work) {
            // Lengths keep parts apart.
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        Compiler { target, salt: *hasher.finalize().as_bytes(), memory, flushes: false }
    }

    /// The same, for code that runs where results that are subnormal become zero (`flushes`):
    /// what is rounded to bf16 may lose them, too.
    pub fn flushing(self, flushes: bool) -> Compiler {
        Compiler { flushes, ..self }
    }

    fn target_text(&self) -> TargetText {
        let mut text = self.target.text();
        if self.flushes && text.bf16 == Bf16::Instruction {
            text.bf16 = Bf16::Flushing;
        }
        text.flushes = self.flushes && cfg!(target_arch = "x86_64");
        text
    }

    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Compiles all kernels of the module and loads them. `resolve` gives the addresses of the
    /// runtime functions that they call.
    pub fn compile(
        &self,
        module: &Module,
        options: &Options,
        resolve: &dyn Fn(&str) -> Option<*const u8>,
    ) -> Result<Code> {
        let cut = self.cut(module)?;
        let objects = self.objects(&cut.units, options)?;
        let units: Vec<LoadUnit<'_>> = cut
            .units
            .iter()
            .zip(&objects)
            .map(|(unit, object)| LoadUnit { symbol: &unit.symbol, object })
            .collect();
        let names = cut.kernels.iter().map(|&(id, unit)| (module[id].name.clone(), unit));
        load(&units, names, resolve)
    }

    /// Compiles all kernels of the module, each to an object of its own, callees first; equal ones
    /// once. Whoever links them provides the runtime functions that they call.
    pub fn objects_of(&self, module: &Module, options: &Options) -> Result<Vec<UnitObject>> {
        let cut = self.cut(module)?;
        let texts = cut.units.iter().map(Text::of).collect();
        let objects = compile_all(&self.target, texts, Output::Object, options.threads);
        let objects = objects.into_iter().collect::<Result<Vec<Vec<u8>>>>()?;
        let object = |(number, bytes): (usize, Vec<u8>)| UnitObject {
            symbol: cut.units[number].symbol.clone(),
            functions: cut
                .kernels
                .iter()
                .filter(|(_, unit)| *unit == number)
                .map(|&(id, _)| module[id].name.clone())
                .collect(),
            bytes,
        };
        Ok(objects.into_iter().enumerate().map(object).collect())
    }

    /// An object from LLVM IR without a head.
    pub fn object_of_text(&self, text: &str) -> Result<Vec<u8>> {
        let TargetText { triple, data_layout, .. } = self.target.text();
        let text = format!(
            "target datalayout = \"{data_layout}\"\ntarget triple = \"{triple}\"\n\n{text}"
        );
        let text = Text { ir: text.into(), effort: Effort::Kernel, name: None };
        compile_all(&self.target, vec![text], Output::Object, 1).remove(0)
    }

    /// What names a whole program that was compiled from `parts`, for this target and by this very
    /// build of rxla; `None` if builds cannot be told apart.
    pub fn program_key(&self, parts: &[&[u8]]) -> Option<Key> {
        let build = build_id()?;
        let mut hasher = blake3::Hasher::new_keyed(&self.salt);
        for part in [b"program", build].iter().chain(parts) {
            // Lengths keep parts apart.
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        Some(Key(*hasher.finalize().as_bytes()))
    }

    pub(crate) fn machine_target(&self) -> &Arc<Target> {
        &self.target
    }

    /// What is given to LLVM for a module.
    pub(crate) fn texts(&self, module: &Module) -> Result<Vec<Text>> {
        Ok(self.cut(module)?.units.iter().map(Text::of).collect())
    }

    /// The LLVM IR of each kernel, by name, as it is given to LLVM.
    pub fn llvm_ir(&self, module: &Module) -> Result<Vec<(String, String)>> {
        let cut = self.cut(module)?;
        let text = |&(id, unit): &(FunctionId, usize)| {
            (module[id].name.clone(), cut.units[unit].alone.to_string())
        };
        Ok(cut.kernels.iter().map(text).collect())
    }

    /// The optimised LLVM IR of each kernel, by name.
    pub fn optimized_llvm_ir(&self, module: &Module) -> Result<Vec<(String, String)>> {
        self.print(module, Output::OptimizedText)
    }

    /// The assembly of each kernel, by name.
    pub fn assembly(&self, module: &Module) -> Result<Vec<(String, String)>> {
        self.print(module, Output::Assembly)
    }

    fn print(&self, module: &Module, output: Output) -> Result<Vec<(String, String)>> {
        let cut = self.cut(module)?;
        let texts = cut.units.iter().map(Text::of).collect();
        let printed = compile_all(&self.target, texts, output, 1);
        let printed: Vec<Vec<u8>> = printed.into_iter().collect::<Result<_>>()?;
        let text = |&(id, unit): &(FunctionId, usize)| {
            (module[id].name.clone(), String::from_utf8_lossy(&printed[unit]).into_owned())
        };
        Ok(cut.kernels.iter().map(text).collect())
    }

    fn objects(&self, units: &[Unit], options: &Options) -> Result<Vec<Arc<[u8]>>> {
        let find = |unit: &Unit| -> Option<Arc<[u8]>> {
            self.memory.get(&unit.key).or_else(|| {
                let object: Arc<[u8]> = options.disk.as_ref()?.get(&unit.key)?.into();
                self.memory.put(unit.key, object.clone());
                Some(object)
            })
        };
        let mut objects: Vec<Option<Arc<[u8]>>> = units.iter().map(find).collect();
        let missing = units.iter().enumerate().filter(|&(index, _)| objects[index].is_none());
        let missing = missing
            .map(|(index, unit)| Part {
                index,
                size: unit.alone.len(),
                // A program that has one of a group need not have what others of it call.
                group: unit.text.calls_nobody().then_some(unit.effort),
            })
            .collect();
        let label: Arc<str> = options.label.as_str().into();
        let name = |group: &[usize]| {
            let first = &units[group[0]].name;
            let name = match group.len() {
                1 => first.clone(),
                count => format!("{first} and {} more", count - 1).into(),
            };
            Some((label.clone(), name))
        };
        let groups = groups(missing, options.threads);
        let text = |group: &Vec<usize>| Text { name: name(group), ..self.text(units, group) };
        let texts = groups.iter().map(text).collect();
        let compiled = compile_all(&self.target, texts, Output::Object, options.threads);
        for (group, compiled) in groups.iter().zip(compiled) {
            let object: Arc<[u8]> = compiled?.into();
            for &index in group {
                let key = units[index].key;
                if let Some(disk) = &options.disk {
                    disk.put(&key, &object);
                }
                self.memory.put(key, object.clone());
                objects[index] = Some(object.clone());
            }
        }
        Ok(objects.into_iter().flatten().collect())
    }

    /// What is given to LLVM for a group.
    fn text(&self, units: &[Unit], group: &[usize]) -> Text {
        let [first, _, ..] = group else {
            return Text::of(&units[group[0]]);
        };
        let parts: Vec<(&UnitText, &str)> =
            group.iter().map(|&index| (&units[index].text, units[index].symbol.as_str())).collect();
        let ir = together(&self.target_text(), &parts).into();
        Text { ir, effort: units[*first].effort, name: None }
    }

    /// The units of a module, callees first, equal ones once.
    fn cut(&self, module: &Module) -> Result<Cut> {
        let mut cut = Cut {
            units: Vec::new(),
            by_key: FxHashMap::default(),
            done: vec![None; module.functions.len()],
            kernels: Vec::new(),
        };
        for id in (0..module.functions.len() as u32).map(FunctionId) {
            if module[id].linkage == Linkage::Kernel {
                let mut path = Vec::new();
                let unit = self.cut_function(module, id, &mut cut, &mut path)?;
                cut.kernels.push((id, unit));
            }
        }
        Ok(cut)
    }

    /// `path` holds the functions that call this one.
    fn cut_function(
        &self,
        module: &Module,
        id: FunctionId,
        cut: &mut Cut,
        path: &mut Vec<FunctionId>,
    ) -> Result<usize> {
        if let Some(unit) = cut.done[id.0 as usize] {
            return Ok(unit);
        }
        if path.contains(&id) {
            let name = &module[id].name;
            return Err(Error::unimplemented(format!("the recursion of kernel {name}")));
        }
        path.push(id);
        let mut callees = Vec::new();
        kernel_callees(module, id, &mut callees);
        for &callee in &callees {
            self.cut_function(module, callee, cut, path)?;
        }
        path.pop();
        let name_of = |callee: FunctionId| {
            let unit = cut.done[callee.0 as usize].expect("callees are cut first");
            cut.units[unit].symbol.clone()
        };
        let text = UnitText::new(module, id, &self.target_text(), &name_of)?;
        let alone: Arc<str> = text.alone(&self.target_text()).into();
        let mut hasher = blake3::Hasher::new_keyed(&self.salt);
        let effort = effort(module, id);
        hasher.update(&[effort as u8]);
        hasher.update(alone.as_bytes());
        let key = Key(*hasher.finalize().as_bytes());
        let unit = *cut.by_key.entry(key).or_insert(cut.units.len());
        if unit == cut.units.len() {
            let symbol = format!("k_{}", key.hex());
            let name = module[id].name.as_str().into();
            cut.units.push(Unit { symbol, name, text, alone, effort, key });
        }
        cut.done[id.0 as usize] = Some(unit);
        Ok(unit)
    }
}

/// One kernel as a relocatable object, in which it is called [`crate::text::ENTRY`].
pub struct UnitObject {
    /// What other objects call it.
    pub symbol: String,
    /// The functions of the module that it is.
    pub functions: Vec<String>,
    pub bytes: Vec<u8>,
}

struct Unit {
    /// By which other units call it: made of its content, as everything in a text is.
    symbol: String,
    /// Of the first function that is this unit.
    name: Arc<str>,
    text: UnitText,
    /// The text as a module of its own.
    alone: Arc<str>,
    effort: Effort,
    key: Key,
}

impl Text {
    fn of(unit: &Unit) -> Text {
        Text { ir: unit.alone.clone(), effort: unit.effort, name: None }
    }
}

struct Cut {
    units: Vec<Unit>,
    by_key: FxHashMap<Key, usize>,
    /// The unit of each function that has been cut.
    done: Vec<Option<usize>>,
    kernels: Vec<(FunctionId, usize)>,
}

/// The kernels that a unit calls, through its inline functions too.
fn kernel_callees(module: &Module, id: FunctionId, callees: &mut Vec<FunctionId>) {
    let mut inline = vec![id];
    let mut next = 0;
    while let Some(&function) = inline.get(next) {
        next += 1;
        module[function].body.walk(&mut |statement| {
            let (Statement::Call { callee, .. } | Statement::ParallelCall { callee, .. }) =
                statement
            else {
                return;
            };
            match module[*callee].linkage {
                Linkage::Kernel if *callee == id => {}
                Linkage::Kernel => callees.push(*callee),
                Linkage::Inline if inline.contains(callee) => {}
                Linkage::Inline => inline.push(*callee),
            }
        });
    }
}

/// From so many calls on a driver is glue even where it loops: code generation with all its passes
/// takes several times as long, and in loops so long nobody sees the difference.
const MANY_CALLS: usize = 64;

/// Glue is what mostly calls others, one after another.
fn effort(module: &Module, id: FunctionId) -> Effort {
    let function = &module[id];
    let (mut calls, mut computed, mut loops) = (0, 0, 0);
    let (mut inlines, mut whiles) = (false, false);
    function.body.walk(&mut |statement| match statement {
        Statement::Call { callee, .. } | Statement::ParallelCall { callee, .. } => {
            calls += 1;
            inlines |= module[*callee].linkage == Linkage::Inline;
        }
        Statement::CallRuntime { .. } => calls += 1,
        Statement::For { .. } => loops += 1,
        Statement::While { .. } => {
            loops += 1;
            whiles = true;
        }
        Statement::Let { op, .. } => {
            let prepares = matches!(
                op,
                Op::Constant { .. } | Op::Offset { .. } | Op::Alloca { .. } | Op::Load { .. }
            );
            computed += usize::from(!prepares);
        }
        Statement::Store { .. } | Statement::If { .. } | Statement::ReturnIfNonzero { .. } => {
            computed += 1;
        }
    });
    let vectors = function.types.iter().any(|ty| ty.is_vector());
    let glue = (loops == 0 || calls >= MANY_CALLS) && !vectors && !inlines && computed <= 4 * calls;
    match (glue, whiles) {
        (true, _) => Effort::Glue,
        (false, true) => Effort::Loops,
        (false, false) => Effort::Kernel,
    }
}

#[cfg(test)]
mod tests {
    use object::read::elf::ElfFile64;
    use object::{Object, ObjectSection, ObjectSymbol};
    use rxla_kernel::text::parse;

    use super::*;

    /// Two kernels with constants in memory.
    const KERNELS: &str = "\
inline @twice(%0: ptr, %1: i64) {
  %2: f32x8 = load %0[%1]
  %3: f32x8 = add %2, %2
  store %0[%1], %3
}

kernel @one(%0: ptr noalias align(64), %1: i64, %2: i64) {
  %3: f32x8 = constant 0.3
  for %4 in %1..%2 step 8 {
    call @twice(%0, %4)
    %5: f32x8 = load %0[%4]
    %6: f32x8 = mul %5, %3
    store %0[%4], %6
  }
}

kernel @two(%0: ptr noalias align(64)) {
  %1: i64 = constant 0
  %2: f32 = constant 0.7
  %3: f32 = load %0[%1]
  %4: f32 = mul %3, %2
  store %0[%1], %4
  call @twice(%0, %1)
}
";

    /// The instructions of a function, without what is filled in where they are loaded.
    fn code_of(object: &[u8], name: &str) -> Vec<u8> {
        let object: ElfFile64<'_> = ElfFile64::parse(object).unwrap();
        let mut symbols = object.symbols().filter(|symbol| symbol.is_definition());
        let symbol = symbols.find(|symbol| symbol.name() == Ok(name)).unwrap();
        let section = object.section_by_index(symbol.section_index().unwrap()).unwrap();
        let mut data = section.data().unwrap().to_vec();
        for (place, _) in section.relocations() {
            data[place as usize..][..4].fill(0);
        }
        data[symbol.address() as usize..][..symbol.size() as usize].to_vec()
    }

    #[test]
    fn kernels_are_the_same_alone_and_in_company() {
        let module = parse(KERNELS).unwrap();
        let compiler = Compiler::new(Target::host().unwrap(), Arc::new(Cache::new(1 << 20)));
        let cut = compiler.cut(&module).unwrap();
        let mut texts = vec![compiler.text(&cut.units, &[0, 1])];
        texts.extend(cut.units.iter().map(Text::of));
        let objects = compile_all(compiler.machine_target(), texts, Output::Object, 1);
        let objects: Vec<Vec<u8>> = objects.into_iter().collect::<Result<_>>().unwrap();
        for (unit, alone) in cut.units.iter().zip(&objects[1..]) {
            let code = code_of(alone, crate::text::ENTRY);
            assert!(!code.is_empty());
            assert_eq!(code_of(&objects[0], &unit.symbol), code, "{}", unit.name);
        }
    }
}
