//! Relocatable objects to code that runs.
//!
//! All objects of a [`Code`] go into one mapping: first what is executed, with a stub for each
//! function outside, then what is only read, with a table of the addresses outside. Everything
//! inside is so near that 32-bit offsets reach it, wherever functions outside are.

use std::collections::BTreeMap;

use object::elf;
use object::read::elf::ElfFile64;
use object::{
    Object, ObjectSection, ObjectSymbol, RelocationFlags, RelocationTarget, SectionFlags,
    SymbolIndex,
};
use rustc_hash::FxHashMap;
use rxla_base::{Error, Result};

use crate::builtins;
use crate::image::Links;
use crate::mapping::{Mapping, page_size};
use crate::text::ENTRY;

/// Compiled functions in memory.
pub struct Code {
    /// Keeps the memory that `functions` points to.
    pub(crate) mapping: Mapping,
    pub(crate) functions: BTreeMap<String, usize>,
    pub(crate) bytes: usize,
    /// Bytes of the mapping that mean something.
    pub(crate) length: usize,
    pub(crate) links: Links,
}

impl Code {
    /// The address of a kernel. It is valid while the code lives.
    pub fn function(&self, name: &str) -> Option<*const u8> {
        self.functions.get(name).map(|&address| address as *const u8)
    }

    /// Bytes of machine code and constants.
    pub fn size(&self) -> usize {
        self.bytes
    }
}

/// A unit's symbol and the object that it is in, under that name or, if alone, as [`ENTRY`].
pub(crate) struct LoadUnit<'a> {
    pub(crate) symbol: &'a str,
    pub(crate) object: &'a [u8],
}

/// Loads the objects. `names` are the functions by which callers ask, each with the index of its
/// unit. `resolve` finds what neither the units nor the builtins define.
pub(crate) fn load<'a>(
    units: &[LoadUnit<'a>],
    names: impl Iterator<Item = (String, usize)>,
    resolve: &dyn Fn(&str) -> Option<*const u8>,
) -> Result<Code> {
    // Several units may be in one object.
    let mut bytes: Vec<&[u8]> = Vec::new();
    let mut objects_of = Vec::new();
    for unit in units {
        let known = bytes.iter().position(|&known| known == unit.object);
        objects_of.push(known.unwrap_or(bytes.len()));
        if known.is_none() {
            bytes.push(unit.object);
        }
    }
    let parse = |&bytes: &&'a [u8]| ElfFile64::parse(bytes).map_err(broken);
    let objects: Vec<ElfFile64<'_>> = bytes.iter().map(parse).collect::<Result<_>>()?;
    let layout = lay_out(units, &objects_of, &objects)?;
    let mut mapping = Mapping::new(layout.length)?;
    let start = mapping.start() as u64;
    let links = Links { executable: layout.executable, ..Links::default() };
    let mut linker = Linker { layout: &layout, start, resolve, links, bytes: mapping.bytes() };
    for (number, object) in objects.iter().enumerate() {
        linker.copy(number, object)?;
        linker.relocate(number, object)?;
    }
    linker.fill_stubs()?;
    let links = linker.links;
    mapping.protect(layout.executable)?;
    let functions =
        names.map(|(name, unit)| (name, mapping.start() as usize + layout.entries[unit])).collect();
    Ok(Code { mapping, functions, bytes: layout.used, length: layout.length, links })
}

/// Where everything goes, as offsets in the mapping.
struct Layout {
    /// By object and section.
    sections: FxHashMap<(usize, usize), usize>,
    /// The entry of each unit.
    entries: Vec<usize>,
    /// Entries by symbol.
    symbols: FxHashMap<String, usize>,
    /// What is outside of the object that mentions it; name `i` has stub and slot `i`.
    outside: FxHashMap<String, usize>,
    stubs: usize,
    slots: usize,
    /// Where the executable part ends.
    executable: usize,
    length: usize,
    used: usize,
}

/// `jmp *slot(%rip)` and two bytes that trap.
const STUB_BYTES: usize = 8;
const SLOT_BYTES: usize = 8;

#[derive(Clone, Copy, PartialEq)]
enum Place {
    Code,
    Data,
    Nowhere,
}

fn place_of<'data>(section: &impl ObjectSection<'data>) -> Place {
    let SectionFlags::Elf { sh_flags } = section.flags() else {
        return Place::Nowhere;
    };
    let has = |flag: u32| sh_flags & u64::from(flag) != 0;
    let unwinding = section.name_bytes() == Ok(b".eh_frame");
    if !has(elf::SHF_ALLOC) || section.size() == 0 || unwinding {
        Place::Nowhere
    } else if has(elf::SHF_EXECINSTR) {
        Place::Code
    } else {
        Place::Data
    }
}

/// `objects_of` are the numbers of the units' objects.
fn lay_out(
    units: &[LoadUnit<'_>],
    objects_of: &[usize],
    objects: &[ElfFile64<'_>],
) -> Result<Layout> {
    let mut layout = Layout {
        sections: FxHashMap::default(),
        entries: Vec::new(),
        symbols: FxHashMap::default(),
        outside: FxHashMap::default(),
        stubs: 0,
        slots: 0,
        executable: 0,
        length: 0,
        used: 0,
    };
    let mut end = 0;
    layout.place_sections(objects, Place::Code, &mut end)?;
    for object in objects {
        for symbol in object.symbols().filter(|symbol| symbol.is_undefined()) {
            let name = symbol.name().map_err(broken)?;
            let next = layout.outside.len();
            if !name.is_empty() {
                layout.outside.entry(name.to_owned()).or_insert(next);
            }
        }
    }
    layout.stubs = end.next_multiple_of(16);
    layout.executable =
        (layout.stubs + STUB_BYTES * layout.outside.len()).next_multiple_of(page_size());
    layout.slots = layout.executable;
    layout.used = layout.stubs + (STUB_BYTES + SLOT_BYTES) * layout.outside.len();
    let mut end = layout.slots + SLOT_BYTES * layout.outside.len();
    layout.place_sections(objects, Place::Data, &mut end)?;
    layout.used += end - layout.slots;
    layout.length = end;
    if layout.length > i32::MAX as usize {
        return Err(Error::resource_exhausted("more than 2 GiB of machine code"));
    }
    for (unit, &number) in units.iter().zip(objects_of) {
        let mut symbols = objects[number].symbols().filter(|symbol| symbol.is_definition());
        // Alone in its object it has the name that all such have.
        let entry = symbols.find(|symbol| [Ok(unit.symbol), Ok(ENTRY)].contains(&symbol.name()));
        let section = entry.as_ref().and_then(|entry| entry.section_index());
        let offset = section.and_then(|section| layout.sections.get(&(number, section.0)));
        let (Some(entry), Some(offset)) = (entry, offset) else {
            return Err(Error::internal("an object without its kernel"));
        };
        let entry = offset + entry.address() as usize;
        layout.entries.push(entry);
        layout.symbols.insert(unit.symbol.to_owned(), entry);
    }
    Ok(layout)
}

impl Layout {
    fn place_sections(
        &mut self,
        objects: &[ElfFile64<'_>],
        wanted: Place,
        end: &mut usize,
    ) -> Result<()> {
        for (number, object) in objects.iter().enumerate() {
            for section in object.sections().filter(|section| place_of(section) == wanted) {
                let align = section.align().max(1);
                let (size, align) = (section.size() as usize, align as usize);
                if !align.is_power_of_two() || align > page_size() || size > i32::MAX as usize {
                    return Err(Error::internal("an object with an impossible section"));
                }
                let offset = end.next_multiple_of(align);
                self.sections.insert((number, section.index().0), offset);
                *end = offset + size;
            }
        }
        Ok(())
    }
}

struct Linker<'a> {
    layout: &'a Layout,
    /// The address of the mapping.
    start: u64,
    resolve: &'a dyn Fn(&str) -> Option<*const u8>,
    links: Links,
    bytes: &'a mut [u8],
}

impl Linker<'_> {
    fn copy(&mut self, number: usize, object: &ElfFile64<'_>) -> Result<()> {
        for section in object.sections() {
            let Some(&offset) = self.layout.sections.get(&(number, section.index().0)) else {
                continue;
            };
            // A section without data is zero, which the mapping is.
            let data = section.data().map_err(broken)?;
            let target = self.bytes.get_mut(offset..offset + data.len()).ok_or_else(outside)?;
            target.copy_from_slice(data);
        }
        Ok(())
    }

    fn relocate(&mut self, number: usize, object: &ElfFile64<'_>) -> Result<()> {
        for section in object.sections() {
            let Some(&base) = self.layout.sections.get(&(number, section.index().0)) else {
                continue;
            };
            for (offset, relocation) in section.relocations() {
                let RelocationFlags::Elf { r_type } = relocation.flags() else {
                    return Err(Error::internal("a relocation of no ELF type"));
                };
                let RelocationTarget::Symbol(symbol) = relocation.target() else {
                    return Err(Error::internal("a relocation without a symbol"));
                };
                let target = self.target(number, object, symbol)?;
                self.apply(r_type, base + offset as usize, target, relocation.addend())?;
            }
        }
        Ok(())
    }

    fn target(&self, number: usize, object: &ElfFile64<'_>, symbol: SymbolIndex) -> Result<Target> {
        let symbol = object.symbol_by_index(symbol).map_err(broken)?;
        if symbol.is_undefined() {
            let name = symbol.name().map_err(broken)?;
            let index = self.layout.outside.get(name).copied().ok_or_else(outside)?;
            return Ok(match self.layout.symbols.get(name) {
                Some(&offset) => Target::Inside(offset),
                None => Target::Outside(index),
            });
        }
        let section = symbol.section_index().ok_or_else(outside)?;
        let base = self.layout.sections.get(&(number, section.0)).ok_or_else(outside)?;
        Ok(Target::Inside(base + symbol.address() as usize))
    }

    /// x86-64 only: other machines' relocations have other numbers.
    fn apply(&mut self, r_type: u32, at: usize, target: Target, addend: i64) -> Result<()> {
        if cfg!(not(target_arch = "x86_64")) {
            return Err(Error::unimplemented("loading code on CPUs other than x86-64"));
        }
        // Where a call may go: the function itself or its stub.
        let callable = match target {
            Target::Inside(offset) => offset,
            Target::Outside(index) => self.layout.stubs + STUB_BYTES * index,
        };
        let relative = |to: usize| (to as i64).wrapping_add(addend) - at as i64;
        match r_type {
            elf::R_X86_64_64 => {
                let value = (self.start + callable as u64).wrapping_add_signed(addend);
                self.links.absolute.push(at);
                self.write(at, &value.to_le_bytes())
            }
            elf::R_X86_64_PC32 | elf::R_X86_64_PLT32 => self.write_i32(at, relative(callable)),
            elf::R_X86_64_PC64 => self.write(at, &relative(callable).to_le_bytes()),
            elf::R_X86_64_GOTPCREL | elf::R_X86_64_GOTPCRELX | elf::R_X86_64_REX_GOTPCRELX => {
                let Target::Outside(index) = target else {
                    return self.relax(at, relative(callable));
                };
                self.write_i32(at, relative(self.layout.slots + SLOT_BYTES * index))
            }
            elf::R_X86_64_32 => {
                self.links.fixed = true;
                let value = (self.start + callable as u64).wrapping_add_signed(addend);
                let value = u32::try_from(value).map_err(|_| too_far())?;
                self.write(at, &value.to_le_bytes())
            }
            elf::R_X86_64_32S => {
                self.links.fixed = true;
                let value = (self.start + callable as u64).wrapping_add_signed(addend) as i64;
                self.write_i32(at, value)
            }
            other => Err(Error::unimplemented(format!("x86-64 relocation {other}"))),
        }
    }

    /// An address that would be loaded from a table lies inside after all: the load becomes the
    /// computation of the address, the call or jump a direct one.
    fn relax(&mut self, at: usize, relative: i64) -> Result<()> {
        let (Some(&opcode), Some(&modrm)) = (self.bytes.get(at - 2), self.bytes.get(at - 1)) else {
            return Err(outside());
        };
        match (opcode, modrm) {
            // mov to lea.
            (0x8b, _) => self.write(at - 2, &[0x8d])?,
            // call *x to a prefix that does nothing, and call.
            (0xff, 0x15) => self.write(at - 2, &[0x67, 0xe8])?,
            // jmp *x to jmp and nop; the offset starts one byte earlier.
            (0xff, 0x25) => {
                self.write(at - 2, &[0xe9])?;
                self.write(at + 3, &[0x90])?;
                return self.write_i32(at - 1, relative + 1);
            }
            _ => return Err(Error::unimplemented("an instruction that loads a near address")),
        }
        self.write_i32(at, relative)
    }

    fn fill_stubs(&mut self) -> Result<()> {
        let layout = self.layout;
        for (name, &index) in sorted(&layout.outside) {
            if layout.symbols.contains_key(name) {
                continue;
            }
            let address = builtins::address(name).or_else(|| (self.resolve)(name));
            let Some(address) = address else {
                let what = format!("a kernel calls {name}, which nothing defines");
                return Err(Error::internal(what));
            };
            let stub = layout.stubs + STUB_BYTES * index;
            let slot = layout.slots + SLOT_BYTES * index;
            self.write(slot, &(address as u64).to_le_bytes())?;
            self.links.outside.push((name.to_owned(), slot));
            let offset = (slot - (stub + 6)) as u32;
            let mut code = [0xff, 0x25, 0, 0, 0, 0, 0x0f, 0x0b];
            code[2..6].copy_from_slice(&offset.to_le_bytes());
            self.write(stub, &code)?;
        }
        Ok(())
    }

    fn write_i32(&mut self, at: usize, value: i64) -> Result<()> {
        let value = i32::try_from(value).map_err(|_| too_far())?;
        self.write(at, &value.to_le_bytes())
    }

    fn write(&mut self, at: usize, bytes: &[u8]) -> Result<()> {
        let target = self.bytes.get_mut(at..at + bytes.len()).ok_or_else(outside)?;
        target.copy_from_slice(bytes);
        Ok(())
    }
}

#[derive(Clone, Copy)]
enum Target {
    /// An offset in the mapping.
    Inside(usize),
    /// A name's index.
    Outside(usize),
}

fn sorted(names: &FxHashMap<String, usize>) -> Vec<(&str, &usize)> {
    let mut names: Vec<(&str, &usize)> =
        names.iter().map(|(name, index)| (name.as_str(), index)).collect();
    names.sort_unstable();
    names
}

fn broken(error: object::Error) -> Error {
    Error::internal(format!("an object cannot be read: {error}"))
}

fn outside() -> Error {
    Error::internal("an object points outside of itself")
}

fn too_far() -> Error {
    Error::internal("a relocation does not reach its target")
}
