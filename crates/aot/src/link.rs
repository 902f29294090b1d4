//! Many relocatable objects to one: what `ld -r` with section garbage collection and `objcopy` would do,
//! so that nobody needs them.
//!
//! What is reached from the functions that are exported is taken, section by section; everything else
//! is left behind, unwinding tables first of all. Relocations are carried over, not applied, so that
//! nothing here knows a processor. What holds of the result:
//! - Only what is exported has a name for linkers. Two programs may be linked into one.
//! - What nothing defines stays undefined: the C library's.
//! - There is no unwinding: what would start or continue it calls [`PANIC`] instead.

use object::elf;
use object::read::archive::ArchiveFile;
use object::read::elf::ElfFile64;
use object::write::{self, SectionId, SymbolId, SymbolSection};
use object::{
    Architecture, BinaryFormat, Endianness, Object as _, ObjectSection, ObjectSymbol,
    RelocationFlags, RelocationTarget, SectionFlags, SectionIndex, SectionKind, SymbolFlags,
    SymbolIndex, SymbolKind, SymbolScope,
};
use rustc_hash::{FxHashMap, FxHashSet};
use rxla_base::{Error, Result};

/// What is called where unwinding would begin: it ends the process.
const PANIC: &str = "rxla_aot_panic";

/// How the names of functions end that begin, continue or end unwinding, or that report that there is no memory
/// for a few bytes. Rust's names carry a hash before them. What they bring along is more than the kernels.
const UNWINDING: [&str; 5] = [
    "rust_begin_unwind",
    "__rust_start_panic",
    "__rust_panic_cleanup",
    "__rust_alloc_error_handler",
    "_Unwind_Resume",
];

/// An object with what others call its only function by.
pub(crate) struct Unit<'a> {
    pub(crate) bytes: &'a [u8],
    /// What it calls itself.
    pub(crate) inside: &'a str,
    pub(crate) symbol: &'a str,
    /// By which profilers and debuggers show it.
    pub(crate) shown: String,
}

/// Bytes that code may name.
pub(crate) struct Data<'a> {
    pub(crate) symbol: &'a str,
    pub(crate) bytes: &'a [u8],
    pub(crate) align: u64,
}

/// What goes into an object.
pub(crate) struct Parts<'a> {
    pub(crate) units: Vec<Unit<'a>>,
    pub(crate) data: Vec<Data<'a>>,
    /// Libraries, of which only what is needed is taken.
    pub(crate) libraries: Vec<&'a [u8]>,
    /// Names under which linkers see functions.
    pub(crate) exported: Vec<&'a str>,
    pub(crate) architecture: Architecture,
}

/// One object made of the parts.
pub(crate) fn link(parts: &Parts<'_>) -> Result<Vec<u8>> {
    let mut inputs = Inputs::read(parts)?;
    inputs.define(parts)?;
    let reached = inputs.reach(parts)?;
    Output::new(&inputs, parts.architecture).write(parts, &reached)
}

/// A section of an object.
type Place = (usize, SectionIndex);

struct Inputs<'a> {
    objects: Vec<ElfFile64<'a>>,
    /// Where what others may call is defined.
    symbols: FxHashMap<&'a str, Definition>,
}

#[derive(Clone, Copy)]
enum Definition {
    Symbol(usize, SymbolIndex),
    /// One of [`Parts::data`].
    Data(usize),
}

/// What a relocation refers to.
enum Target<'a> {
    Defined(Definition),
    Outside { name: &'a str, weak: bool },
}

impl<'a> Inputs<'a> {
    fn read(parts: &Parts<'a>) -> Result<Inputs<'a>> {
        let mut objects = Vec::new();
        for unit in &parts.units {
            objects.push(ElfFile64::parse(unit.bytes).map_err(broken)?);
        }
        for &library in &parts.libraries {
            let archive = ArchiveFile::parse(library).map_err(broken)?;
            for member in archive.members() {
                let data = member.map_err(broken)?.data(library).map_err(broken)?;
                // Others, such as metadata of compilers, define nothing.
                if data.starts_with(&elf::ELFMAG) {
                    objects.push(ElfFile64::parse(data).map_err(broken)?);
                }
            }
        }
        Ok(Inputs { objects, symbols: FxHashMap::default() })
    }

    /// Strong definitions go before weak ones, earlier ones before later ones. What C's libraries have
    /// under plain names is theirs.
    fn define(&mut self, parts: &Parts<'a>) -> Result<()> {
        for (number, data) in parts.data.iter().enumerate() {
            self.symbols.insert(data.symbol, Definition::Data(number));
        }
        let mut weak = Vec::new();
        for (number, object) in self.objects.iter().enumerate() {
            let unit = parts.units.get(number);
            for symbol in object.symbols() {
                // Variables of threads and labels count, too, unlike with `is_definition`.
                let defined = symbol.section_index().is_some();
                if !defined || (symbol.is_local() && unit.is_none()) {
                    continue;
                }
                let mut name = symbol.name().map_err(broken)?;
                if let Some(unit) = unit {
                    if name != unit.inside {
                        continue;
                    }
                    name = unit.symbol;
                }
                let definition = Definition::Symbol(number, symbol.index());
                if symbol.is_weak() {
                    weak.push((name, definition));
                } else {
                    self.symbols.entry(name).or_insert(definition);
                }
            }
        }
        for (name, definition) in weak {
            if name.starts_with('_') {
                self.symbols.entry(name).or_insert(definition);
            }
        }
        Ok(())
    }

    fn target(&self, object: usize, symbol: SymbolIndex) -> Result<Target<'a>> {
        let file = &self.objects[object];
        let symbol = file.symbol_by_index(symbol).map_err(broken)?;
        let name = symbol.name().map_err(broken)?;
        let unwinding = UNWINDING.iter().any(|end| name.ends_with(end));
        if unwinding && let Some(&panic) = self.symbols.get(PANIC) {
            return Ok(Target::Defined(panic));
        }
        if !symbol.is_undefined() {
            return Ok(Target::Defined(Definition::Symbol(object, symbol.index())));
        }
        Ok(match self.symbols.get(name) {
            Some(&definition) => Target::Defined(definition),
            None => Target::Outside { name, weak: symbol.is_weak() },
        })
    }

    fn place(&self, object: usize, symbol: SymbolIndex) -> Result<Place> {
        let symbol = self.objects[object].symbol_by_index(symbol).map_err(broken)?;
        let section = symbol.section_index().ok_or_else(|| {
            let name = symbol.name().unwrap_or("a symbol");
            Error::internal(format!("{name} lies in no section"))
        })?;
        Ok((object, section))
    }

    /// The sections that what is exported needs, in the order of the objects.
    fn reach(&self, parts: &Parts<'_>) -> Result<Vec<Place>> {
        let mut reached: FxHashSet<Place> = FxHashSet::default();
        let mut open: Vec<Place> = Vec::new();
        for &name in &parts.exported {
            let Some(&Definition::Symbol(object, symbol)) = self.symbols.get(name) else {
                return Err(Error::internal(format!("nothing defines {name}")));
            };
            open.push(self.place(object, symbol)?);
        }
        while let Some(place) = open.pop() {
            if !reached.insert(place) {
                continue;
            }
            let (object, index) = place;
            let section = self.objects[object].section_by_index(index).map_err(broken)?;
            for (_, relocation) in section.relocations() {
                let symbol = symbol_of(&relocation)?;
                if let Target::Defined(Definition::Symbol(object, symbol)) =
                    self.target(object, symbol)?
                {
                    open.push(self.place(object, symbol)?);
                }
            }
        }
        let mut reached: Vec<Place> = reached.into_iter().collect();
        reached.sort_unstable_by_key(|&(object, section)| (object, section.0));
        Ok(reached)
    }
}

fn symbol_of(relocation: &object::Relocation) -> Result<SymbolIndex> {
    match relocation.target() {
        RelocationTarget::Symbol(symbol) => Ok(symbol),
        _ => Err(Error::internal("a relocation without a symbol")),
    }
}

struct Output<'i, 'a> {
    inputs: &'i Inputs<'a>,
    object: write::Object<'static>,
    sections: FxHashMap<Kind, SectionId>,
    /// Where sections of the inputs went.
    placed: FxHashMap<Place, (SectionId, u64)>,
    data: Vec<(SectionId, u64)>,
    symbols: FxHashMap<(usize, usize), SymbolId>,
    data_symbols: FxHashMap<usize, SymbolId>,
    outside: FxHashMap<&'a str, SymbolId>,
}

/// Sections of the result.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Kind {
    Code,
    Constants,
    /// Constants with addresses in them.
    Relocated,
    Data,
    Zeros,
    ThreadData,
    ThreadZeros,
}

impl Kind {
    fn of(flags: u64, zeros: bool, name: &str) -> Kind {
        let has = |flag: u32| flags & u64::from(flag) != 0;
        match (has(elf::SHF_TLS), has(elf::SHF_EXECINSTR), has(elf::SHF_WRITE), zeros) {
            (true, _, _, true) => Kind::ThreadZeros,
            (true, _, _, false) => Kind::ThreadData,
            (false, true, _, _) => Kind::Code,
            (false, false, _, true) => Kind::Zeros,
            (false, false, true, false) if name.starts_with(".data.rel.ro") => Kind::Relocated,
            (false, false, true, false) => Kind::Data,
            (false, false, false, false) => Kind::Constants,
        }
    }

    fn section(self) -> (&'static str, SectionKind) {
        match self {
            Kind::Code => (".text", SectionKind::Text),
            Kind::Constants => (".rodata", SectionKind::ReadOnlyData),
            Kind::Relocated => (".data.rel.ro", SectionKind::ReadOnlyDataWithRel),
            Kind::Data => (".data", SectionKind::Data),
            Kind::Zeros => (".bss", SectionKind::UninitializedData),
            Kind::ThreadData => (".tdata", SectionKind::Tls),
            Kind::ThreadZeros => (".tbss", SectionKind::UninitializedTls),
        }
    }

    fn is_zeros(self) -> bool {
        matches!(self, Kind::Zeros | Kind::ThreadZeros)
    }
}

impl<'i, 'a> Output<'i, 'a> {
    fn new(inputs: &'i Inputs<'a>, architecture: Architecture) -> Output<'i, 'a> {
        Output {
            inputs,
            object: write::Object::new(BinaryFormat::Elf, architecture, Endianness::Little),
            sections: FxHashMap::default(),
            placed: FxHashMap::default(),
            data: Vec::new(),
            symbols: FxHashMap::default(),
            data_symbols: FxHashMap::default(),
            outside: FxHashMap::default(),
        }
    }

    fn write(mut self, parts: &Parts<'a>, reached: &[Place]) -> Result<Vec<u8>> {
        for data in &parts.data {
            let section = self.section(Kind::Constants);
            let offset = self.object.append_section_data(section, data.bytes, data.align);
            self.data.push((section, offset));
        }
        for &place in reached {
            self.copy(place)?;
        }
        for unit in 0..parts.units.len() {
            self.show(unit, &parts.units[unit])?;
        }
        for &name in &parts.exported {
            self.export(name)?;
        }
        for &place in reached {
            self.relocate(place)?;
        }
        // Says that the stack need not be executable.
        self.object.add_section(Vec::new(), b".note.GNU-stack".to_vec(), SectionKind::Other);
        self.object.write().map_err(|error| Error::internal(format!("no object: {error}")))
    }

    fn section(&mut self, kind: Kind) -> SectionId {
        let object = &mut self.object;
        *self.sections.entry(kind).or_insert_with(|| {
            let (name, kind) = kind.section();
            object.add_section(Vec::new(), name.as_bytes().to_vec(), kind)
        })
    }

    fn copy(&mut self, place: Place) -> Result<()> {
        let section = self.inputs.objects[place.0].section_by_index(place.1).map_err(broken)?;
        let SectionFlags::Elf { sh_flags } = section.flags() else {
            return Err(Error::internal("a section of no ELF file"));
        };
        let zeros = matches!(
            section.kind(),
            SectionKind::UninitializedData | SectionKind::UninitializedTls
        );
        let kind = Kind::of(sh_flags, zeros, section.name().map_err(broken)?);
        let into = self.section(kind);
        let align = section.align().max(1);
        let offset = if kind.is_zeros() {
            self.object.append_section_bss(into, section.size(), align)
        } else {
            let data = section.data().map_err(broken)?;
            self.object.append_section_data(into, data, align)
        };
        self.placed.insert(place, (into, offset));
        Ok(())
    }

    /// Gives a unit's function a name for profilers.
    fn show(&mut self, number: usize, unit: &Unit<'a>) -> Result<()> {
        if let Some(&Definition::Symbol(object, symbol)) = self.inputs.symbols.get(unit.symbol)
            && object == number
            && self.placed.contains_key(&self.inputs.place(object, symbol)?)
        {
            let id = self.symbol(object, symbol)?;
            self.object.symbol_mut(id).name = unit.shown.clone().into_bytes();
        }
        Ok(())
    }

    fn export(&mut self, name: &str) -> Result<()> {
        let Some(&Definition::Symbol(object, symbol)) = self.inputs.symbols.get(name) else {
            return Err(Error::internal(format!("nothing defines {name}")));
        };
        let id = self.symbol(object, symbol)?;
        let symbol = self.object.symbol_mut(id);
        symbol.name = name.as_bytes().to_vec();
        symbol.scope = SymbolScope::Dynamic;
        Ok(())
    }

    fn relocate(&mut self, place: Place) -> Result<()> {
        let (object, index) = place;
        let inputs = self.inputs;
        let section = inputs.objects[object].section_by_index(index).map_err(broken)?;
        let (into, base) = self.placed[&place];
        for (offset, relocation) in section.relocations() {
            let symbol = match inputs.target(object, symbol_of(&relocation)?)? {
                Target::Defined(Definition::Symbol(object, symbol)) => {
                    self.symbol(object, symbol)?
                }
                Target::Defined(Definition::Data(number)) => self.data_symbol(number),
                Target::Outside { name, weak } => self.outside(name, weak),
            };
            let RelocationFlags::Elf { r_type } = relocation.flags() else {
                return Err(Error::internal("a relocation of no ELF type"));
            };
            let relocation = write::Relocation {
                offset: base + offset,
                symbol,
                addend: relocation.addend(),
                flags: RelocationFlags::Elf { r_type },
            };
            let added = self.object.add_relocation(into, relocation);
            added.map_err(|error| Error::internal(format!("no relocation: {error}")))?;
        }
        Ok(())
    }

    /// A symbol where one of an object is, without a name.
    fn symbol(&mut self, object: usize, index: SymbolIndex) -> Result<SymbolId> {
        if let Some(&known) = self.symbols.get(&(object, index.0)) {
            return Ok(known);
        }
        let place = self.inputs.place(object, index)?;
        let symbol = self.inputs.objects[object].symbol_by_index(index).map_err(broken)?;
        let &(section, base) = self
            .placed
            .get(&place)
            .ok_or_else(|| Error::internal("a section is needed that was left behind"))?;
        let in_thread = [Kind::ThreadData, Kind::ThreadZeros]
            .iter()
            .any(|kind| self.sections.get(kind) == Some(&section));
        let kind = match symbol.kind() {
            _ if in_thread => SymbolKind::Tls,
            SymbolKind::Text => SymbolKind::Text,
            SymbolKind::Data => SymbolKind::Data,
            _ => SymbolKind::Label,
        };
        let id = self.object.add_symbol(write::Symbol {
            name: Vec::new(),
            value: base + symbol.address(),
            size: symbol.size(),
            kind,
            scope: SymbolScope::Compilation,
            weak: false,
            section: SymbolSection::Section(section),
            flags: SymbolFlags::None,
        });
        self.symbols.insert((object, index.0), id);
        Ok(id)
    }

    fn data_symbol(&mut self, number: usize) -> SymbolId {
        let (section, value) = self.data[number];
        let object = &mut self.object;
        *self.data_symbols.entry(number).or_insert_with(|| {
            object.add_symbol(write::Symbol {
                name: Vec::new(),
                value,
                size: 0,
                kind: SymbolKind::Data,
                scope: SymbolScope::Compilation,
                weak: false,
                section: SymbolSection::Section(section),
                flags: SymbolFlags::None,
            })
        })
    }

    fn outside(&mut self, name: &'a str, weak: bool) -> SymbolId {
        let object = &mut self.object;
        let id = *self.outside.entry(name).or_insert_with(|| {
            object.add_symbol(write::Symbol {
                name: name.as_bytes().to_vec(),
                value: 0,
                size: 0,
                kind: SymbolKind::Unknown,
                scope: SymbolScope::Unknown,
                weak: true,
                section: SymbolSection::Undefined,
                flags: SymbolFlags::None,
            })
        });
        // Whoever needs it decides.
        if !weak {
            self.object.symbol_mut(id).weak = false;
        }
        id
    }
}

fn broken(error: object::Error) -> Error {
    Error::internal(format!("an object cannot be read: {error}"))
}
