//! Dumps: files that tell what happened to a module, under the names that XLA gives them, and an
//! index `index.json` that tells what each is.
//!
//! A dump never fails what it tells about: what cannot be written is a warning, once. Where nothing
//! is to be dumped there is no [`Dump`], and nothing is done.

mod dot;
mod index;
mod snapshot;

use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use regex::Regex;
use rxla_base::Result;
use rxla_flags::Flags;
use rxla_hlo::Module;
use rxla_hlo::text::{PrintOptions, print};
use rxla_hlo_proto::{Message, proto::HloProto, to_proto};
use rxla_trace::notice::warn_once;
use rxla_view::{Options, Step, page};

pub use dot::dot;
pub use snapshot::{encode as encode_snapshot, snapshot};

use index::Entry;

/// The dumps of one compilation.
pub struct Dump {
    folder: PathBuf,
    /// What names of files begin with, such as `module_0001.jit_f`.
    prefix: String,
    module: String,
    parts: Vec<String>,
    formats: Vec<Format>,
    text: PrintOptions,
    passes: Option<Regex>,
    pipelines: Option<Regex>,
    /// Counts the modules between passes.
    between: Cell<usize>,
    entries: RefCell<Vec<Entry>>,
}

/// What can be left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    Hlo,
    Buffers,
    Kernels,
    Llvm,
    Asm,
    Timing,
}

const PARTS: [(Part, &str); 6] = [
    (Part::Hlo, "hlo"),
    (Part::Buffers, "buffers"),
    (Part::Kernels, "kernels"),
    (Part::Llvm, "llvm"),
    (Part::Asm, "asm"),
    (Part::Timing, "timing"),
];

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Format {
    Text,
    Proto,
    Dot,
    Html,
}

/// Where a module stands among the passes.
#[derive(Clone, Copy, Debug)]
pub struct Between<'a> {
    pub pipeline: &'a str,
    pub after: &'a str,
    pub before: &'a str,
}

impl Dump {
    /// The dumps of the module of this name; `None` if there are to be none.
    pub fn start(flags: &Flags, module: &str) -> Option<Dump> {
        if !flags.dumps() {
            return None;
        }
        let modules = expression("xla_dump_hlo_module_re", &flags.xla_dump_hlo_module_re);
        if modules.is_some_and(|modules| !modules.is_match(module)) {
            return None;
        }
        static NUMBER: AtomicI64 = AtomicI64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed) + 1;
        let most = flags.xla_dump_max_hlo_modules;
        if most >= 0 && number > most {
            return None;
        }
        let folder = PathBuf::from(&flags.xla_dump_to);
        if let Err(error) = std::fs::create_dir_all(&folder) {
            warn_once(&format!("cannot dump to `{}`: {error}", folder.display()));
            return None;
        }
        for name in &flags.rxla_dump {
            if name != "all" && !PARTS.iter().any(|(_, known)| known == name) {
                warn_once(&format!("`--rxla_dump` knows no `{name}`"));
            }
        }
        let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let stamp = match flags.xla_dump_include_timestamp {
            true => format!("{}.", time.as_micros()),
            false => String::new(),
        };
        Some(Dump {
            folder,
            prefix: format!("{stamp}module_{number:04}.{}", file_name(module)),
            module: module.to_owned(),
            parts: flags.rxla_dump.clone(),
            formats: formats(flags),
            text: PrintOptions {
                large_constants: flags.xla_dump_large_constants,
                metadata: !flags.xla_dump_disable_metadata,
                operand_shapes: flags.xla_dump_hlo_as_long_text,
                ..PrintOptions::default()
            },
            passes: expression("xla_dump_hlo_pass_re", &flags.xla_dump_hlo_pass_re),
            pipelines: expression("xla_dump_hlo_pipeline_re", &flags.xla_dump_hlo_pipeline_re),
            between: Cell::new(0),
            entries: RefCell::default(),
        })
    }

    /// Whether this is to be dumped.
    pub fn wants(&self, part: Part) -> bool {
        let name = PARTS.iter().find(|(known, _)| *known == part).map(|(_, name)| *name);
        self.parts.iter().any(|wanted| wanted == "all" || Some(wanted.as_str()) == name)
    }

    /// Whether the module is to be dumped between these passes.
    pub fn wants_between(&self, between: Between<'_>) -> bool {
        let Some(passes) = &self.passes else { return false };
        let pipeline =
            self.pipelines.as_ref().is_none_or(|pipelines| pipelines.is_match(between.pipeline));
        pipeline && (passes.is_match(between.after) || passes.is_match(between.before))
    }

    /// Dumps the module as it is between two passes.
    pub fn between(&self, between: Between<'_>, module: &Module) {
        let number = self.between.get();
        self.between.set(number + 1);
        let Between { pipeline, after, before } = between;
        let name = format!("{number:04}.{pipeline}.after_{after}.before_{before}");
        self.module(&name, &format!("the module after pass {after} of {pipeline}"), module);
    }

    /// Dumps the module in all formats that are asked for.
    pub fn module(&self, name: &str, about: &str, module: &Module) {
        if !self.wants(Part::Hlo) {
            return;
        }
        for &format in &self.formats {
            let (ending, bytes) = match format {
                Format::Text => ("txt", Ok(print(module, &self.text).into_bytes())),
                Format::Proto => ("hlo.pb", proto(module)),
                Format::Dot => ("dot", Ok(dot(module).into_bytes())),
                Format::Html => {
                    let step = Step { program: &module.name, title: name, module };
                    ("html", Ok(page(&[step], &Options::default()).into_bytes()))
                }
            };
            match bytes {
                Ok(bytes) => self.write(&format!("{name}.{ending}"), "hlo", about, &bytes),
                Err(error) => warn_once(&format!("cannot dump `{}`: {error}", self.module)),
            }
        }
    }

    /// Dumps something else; the file's name is the module's with `name` after it.
    pub fn text(&self, part: Part, name: &str, about: &str, text: &str) {
        let kind = PARTS.iter().find(|(known, _)| *known == part).map_or("", |(_, name)| name);
        self.write(name, kind, about, text.as_bytes());
    }

    fn write(&self, name: &str, kind: &'static str, about: &str, bytes: &[u8]) {
        // What follows a dash belongs to the file before it.
        let dot = if name.starts_with('-') { "" } else { "." };
        let file = format!("{}{dot}{}", self.prefix, file_name(name));
        if !put(&self.folder, &file, bytes) {
            return;
        }
        let module = self.module.clone();
        self.entries.borrow_mut().push(Entry { file, kind, module, about: about.to_owned() });
    }
}

impl Drop for Dump {
    fn drop(&mut self) {
        index::add(&self.folder, &self.entries.take());
    }
}

/// Writes a file, or warns.
fn put(folder: &Path, file: &str, bytes: &[u8]) -> bool {
    match std::fs::write(folder.join(file), bytes) {
        Ok(()) => true,
        Err(error) => {
            warn_once(&format!("cannot dump to `{}`: {error}", folder.display()));
            false
        }
    }
}

fn proto(module: &Module) -> Result<Vec<u8>> {
    let hlo_module = Some(to_proto(module)?);
    Ok(HloProto { hlo_module, buffer_assignment: None }.encode_to_vec())
}

fn formats(flags: &Flags) -> Vec<Format> {
    let formats: Vec<Format> = [
        (flags.xla_dump_hlo_as_text || flags.xla_dump_hlo_as_long_text, Format::Text),
        (flags.xla_dump_hlo_as_proto, Format::Proto),
        (flags.xla_dump_hlo_as_dot, Format::Dot),
        (flags.xla_dump_hlo_as_html, Format::Html),
    ]
    .into_iter()
    .filter_map(|(wanted, format)| wanted.then_some(format))
    .collect();
    if formats.is_empty() { vec![Format::Text] } else { formats }
}

/// The expression of a flag; `None` if there is none, or one that cannot be understood.
fn expression(flag: &str, text: &str) -> Option<Regex> {
    if text.is_empty() {
        return None;
    }
    Regex::new(text)
        .map_err(|_| warn_once(&format!("`--{flag}={text}` is no regular expression")))
        .ok()
}

/// A name without what means something in paths.
fn file_name(name: &str) -> String {
    let safe = |letter: char| match letter {
        '/' | '\\' | '[' | ']' | ' ' | '<' | '>' | ':' | '"' | '|' | '?' | '*' => '_',
        control if control.is_control() => '_',
        other => other,
    };
    // Names of files may have 255 bytes; what comes around this one needs some.
    let mut name: String = name.chars().map(safe).collect();
    while name.len() > 150 {
        name.pop();
    }
    name
}

#[cfg(test)]
mod tests {
    use rxla_hlo::text::{ParseOptions, parse};

    use super::*;

    fn module() -> Module {
        let text = "HloModule jit_f\n\nENTRY main {\n  x = f32[4]{0} parameter(0)\n  \
                    ROOT y = f32[4]{0} add(x, x), metadata={op_name=\"jit(f)/add\"}\n}\n";
        parse(text, &ParseOptions::default()).expect("valid").module
    }

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("rxla-dump-{}-{name}", std::process::id()));
        // It may not be there.
        let _ = std::fs::remove_dir_all(&folder);
        folder
    }

    fn flags(folder: &Path, more: &str) -> Flags {
        let mut flags = Flags::default();
        let text = format!("--xla_dump_to={} {more}", folder.display());
        assert_eq!(flags.read(&text), []);
        flags
    }

    #[test]
    fn nothing_is_dumped_unless_asked_for() {
        assert!(Dump::start(&Flags::default(), "m").is_none());
        let folder = folder("no");
        assert!(Dump::start(&flags(&folder, "--xla_dump_hlo_module_re=other"), "m").is_none());
        assert!(!folder.exists());
    }

    #[test]
    fn files_have_xlas_names_and_an_index() {
        let folder = folder("files");
        let more = "--xla_dump_hlo_as_text --xla_dump_hlo_as_proto --xla_dump_hlo_as_dot \
                    --xla_dump_hlo_as_html \
                    --xla_dump_hlo_pass_re=ce$";
        let dump = Dump::start(&flags(&folder, more), "jit_f").expect("wanted");
        let module = module();
        dump.module("before_optimizations", "as it came", &module);
        let between = Between { pipeline: "cpu", after: "algsimp", before: "dce" };
        assert!(dump.wants_between(between));
        assert!(!dump.wants_between(Between { before: "cse", ..between }));
        dump.between(between, &module);
        dump.text(Part::Kernels, "kernels.txt", "kernel IR", "kernels");
        drop(dump);
        let mut names: Vec<String> = std::fs::read_dir(&folder)
            .expect("made")
            .map(|entry| entry.expect("readable").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        let endings: Vec<&str> =
            names.iter().map(|name| name.split_once("jit_f.").map_or(&**name, |n| n.1)).collect();
        assert_eq!(
            endings,
            [
                "index.json",
                "0000.cpu.after_algsimp.before_dce.dot",
                "0000.cpu.after_algsimp.before_dce.hlo.pb",
                "0000.cpu.after_algsimp.before_dce.html",
                "0000.cpu.after_algsimp.before_dce.txt",
                "before_optimizations.dot",
                "before_optimizations.hlo.pb",
                "before_optimizations.html",
                "before_optimizations.txt",
                "kernels.txt",
            ]
        );
        let read = |name: &str| std::fs::read(folder.join(name)).expect("there");
        for name in names.iter().filter(|name| {
            name.ends_with("optimizations.txt") || name.ends_with("optimizations.hlo.pb")
        }) {
            let again = rxla_hlo_proto::read_module(&read(name)).expect("a module");
            assert_eq!(again.module.name, "jit_f");
        }
        let index = String::from_utf8(read("index.json")).expect("text");
        assert_eq!(index.matches("\"file\"").count(), 9, "{index}");
        assert!(
            index
                .contains("\"kind\": \"kernels\", \"module\": \"jit_f\", \"about\": \"kernel IR\"")
        );
        std::fs::remove_dir_all(&folder).expect("removed");
    }

    #[test]
    fn a_folder_that_cannot_be_is_no_dump() {
        let folder = folder("file");
        std::fs::write(&folder, "in the way").expect("written");
        assert!(Dump::start(&flags(&folder, ""), "m").is_none());
        std::fs::remove_file(&folder).expect("removed");
    }

    #[test]
    fn names_of_files_are_safe() {
        assert_eq!(file_name("jit_<lambda>/../a b"), "jit__lambda__.._a_b");
        assert!(file_name(&"é".repeat(500)).len() <= 150);
    }
}
