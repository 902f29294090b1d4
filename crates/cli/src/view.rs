//! `rxla view`: modules as one HTML page.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;
use rxla_base::{Error, Result, render_all};
use rxla_hlo::{Module, verify, verify_with_spans};
use rxla_passes::control::trip_count::trip_count;
use rxla_passes::{Event, Moment, Pipeline, RunOptions, Verify, pipeline_by_name};
use rxla_view::{Builder, Options, Step, Text, TextKind, Time};

use crate::input::{self, Layouts};
use crate::{Answer, output};

#[derive(Args)]
pub(crate) struct Arguments {
    /// A module, a folder of dumps, or several modules: one program step by step
    #[arg(required = true)]
    files: Vec<String>,
    /// Where to write; `-` is standard output [default: the input's name with `.html`, here]
    #[arg(short, long)]
    output: Option<PathBuf>,
    /// Show the page in the browser
    #[arg(long)]
    open: bool,
    /// Run a pipeline and show each pass that changed something; `rxla passes` lists them
    #[arg(long, conflicts_with = "passes")]
    pipeline: Option<String>,
    /// Run passes in order, such as `tuple-simplifier,dce`, and show each that changed something
    #[arg(long, value_delimiter = ',')]
    passes: Vec<String>,
    /// Measured times: a trace of rxla, or a line for each instruction, its name and microseconds
    #[arg(long, value_name = "FILE")]
    times: Option<PathBuf>,
    /// The page's title
    #[arg(long)]
    title: Option<String>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Answer> {
    let mut builder = Builder::default();
    let mut options =
        Options { title: arguments.title.clone().unwrap_or_default(), ..Options::default() };
    if let Some(path) = &arguments.times {
        options.times = times(path)?;
    }
    match &arguments.files[..] {
        [folder] if Path::new(folder).is_dir() => add_folder(&mut builder, &mut options, folder)?,
        files => add_files(&mut builder, arguments, files)?,
    }
    let page = builder.finish(&options);
    let path = match &arguments.output {
        Some(path) if path.as_os_str() == "-" => None,
        Some(path) => Some(path.clone()),
        None => Some(default_path(&arguments.files[0])),
    };
    output::to(path.as_deref(), page.as_bytes())?;
    if let Some(path) = &path {
        if arguments.output.is_none() {
            output::message(&format!("wrote {}", path.display()));
        }
        if arguments.open {
            open(path)?;
        }
    }
    Ok(Answer::Yes)
}

/// Steps of one program, one file each; or one file and what passes make of it.
fn add_files(builder: &mut Builder, arguments: &Arguments, files: &[String]) -> Result<()> {
    let pipeline = pipeline(arguments)?;
    if pipeline.is_some() && files.len() > 1 {
        return Err(Error::invalid_argument("passes run on one module only"));
    }
    let mut program = String::new();
    for file in files {
        let input = input::read(file, Layouts::Keep)?;
        if program.is_empty() {
            program.clone_from(&input.module.name);
        }
        let title = if pipeline.is_some() { "input".to_owned() } else { stem(file) };
        add(builder, &program, &title, &input.module);
        let Some(pipeline) = &pipeline else { continue };
        let findings = verify_with_spans(&input.module, &input.spans);
        if !findings.is_empty() {
            output::message(&render_all(&findings, input.source().as_ref()));
            return Err(Error::invalid_argument("passes run only on modules that verify"));
        }
        let mut module = input.module;
        let mut observe = |event: &Event<'_>| {
            if matches!(event.moment, Moment::After { rewrites, .. } if rewrites > 0) {
                add(builder, &program, event.pass, event.module);
            }
        };
        let options = RunOptions {
            verify: Verify::Between,
            observer: Some(&mut observe),
            ..RunOptions::default()
        };
        rxla_passes::run(&mut module, &pipeline.steps, options)?;
    }
    Ok(())
}

fn pipeline(arguments: &Arguments) -> Result<Option<Pipeline>> {
    if !arguments.passes.is_empty() {
        let names = arguments.passes.iter().map(String::as_str);
        let pipeline = Pipeline::of_names(names);
        return pipeline.map(Some).map_err(|error| Error::invalid_argument(error.to_string()));
    }
    let Some(name) = &arguments.pipeline else { return Ok(None) };
    let found = pipeline_by_name(name);
    found.map(Some).ok_or_else(|| Error::invalid_argument(format!("there is no pipeline `{name}`")))
}

/// Adds a step; loops that count tell how often they run if the module is right.
fn add(builder: &mut Builder, program: &str, title: &str, module: &Module) {
    let step = Step { program, title, module };
    if verify(module).is_empty() {
        builder.add_with_trips(&step, &|id| trip_count(module, id));
    } else {
        builder.add(&step);
    }
}

/// What a file of a folder is, by its name.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Dump {
    path: PathBuf,
    /// `module_0001`, or the file's own name if it is no dump.
    group: String,
    /// The rest of the name without its ending.
    rest: String,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Module,
    /// HLO or something else: only the content tells.
    Unknown,
    Text(TextKind),
}

/// A folder of dumps: the modules of a name `module_0001.…` are one program, in the order in which
/// they were made; other texts go with them.
fn add_folder(builder: &mut Builder, options: &mut Options, folder: &str) -> Result<()> {
    let cannot = |error| Error::invalid_argument(format!("cannot list `{folder}`: {error}"));
    let entries = std::fs::read_dir(folder).map_err(cannot)?;
    let paths = entries.flatten().map(|entry| entry.path()).filter(|path| path.is_file());
    let folder_name = stem(folder);
    if options.title.is_empty() {
        options.title.clone_from(&folder_name);
    }
    let mut dumps: Vec<Dump> = paths.filter_map(|path| classify(&path, &folder_name)).collect();
    dumps.sort_by_cached_key(|dump| (dump.group.clone(), order(&dump.rest), dump.path.clone()));
    let mut programs: Vec<(String, String)> = Vec::new();
    let mut texts = Vec::new();
    let mut last = None;
    for dump in dumps {
        let kind = match dump.kind {
            Kind::Unknown => kind_of_text(&dump.path)?,
            known => known,
        };
        let Kind::Module = kind else {
            texts.push(dump);
            continue;
        };
        // The same module in another format says nothing new.
        let place = (dump.group.clone(), dump.rest.clone());
        if last.as_ref() == Some(&place) {
            continue;
        }
        last = Some(place);
        let input = match input::read(&dump.path.to_string_lossy(), Layouts::Keep) {
            Ok(input) => input,
            Err(error) => {
                output::message(&format!("warning: left out: {error}"));
                continue;
            }
        };
        let known = programs.iter().find(|(group, _)| *group == dump.group);
        let program = match known {
            Some((_, program)) => program.clone(),
            None => {
                let is_dump = dump.group.starts_with("module_");
                let name = &input.module.name;
                let program =
                    if is_dump { format!("{}.{name}", dump.group) } else { dump.group.clone() };
                programs.push((dump.group.clone(), program.clone()));
                program
            }
        };
        let title = title(&dump.rest, &input.module.name);
        add(builder, &program, &title, &input.module);
    }
    if programs.is_empty() {
        return Err(Error::invalid_argument(format!("`{folder}` has no modules")));
    }
    for dump in texts {
        let known = programs.iter().find(|(group, _)| *group == dump.group);
        if let Some((_, program)) = known {
            options.texts.push(text(&dump, program)?);
        }
    }
    Ok(())
}

/// `None` for what cannot be shown.
fn classify(path: &Path, folder: &str) -> Option<Dump> {
    let name = path.file_name()?.to_string_lossy().into_owned();
    let (start, ending) = name.rsplit_once('.').unwrap_or((&name, ""));
    let kind = match ending {
        _ if name.starts_with('.') => return None,
        "html" | "dot" | "o" | "so" | "json" | "csv" => return None,
        "hlo" | "pb" | "mlir" | "mlirbc" => Kind::Module,
        "ll" => Kind::Text(TextKind::LlvmIr),
        "s" => Kind::Text(TextKind::Assembly),
        "txt" if start.ends_with(".kernels") || start.contains(".kernels-") => {
            Kind::Text(TextKind::KernelIr)
        }
        "txt" => Kind::Unknown,
        _ => return None,
    };
    let start = start.strip_suffix(".hlo").unwrap_or(start);
    // A time stamp may stand before the number.
    let dump = start.find("module_").map(|at| &start[at..]);
    let number = dump.and_then(|dump| dump.split_once('.'));
    let (group, rest) = match number {
        Some((number, rest)) if number["module_".len()..].parse::<u64>().is_ok() => (number, rest),
        // `0012.pass`: one program, step by step.
        _ if start.starts_with(|c: char| c.is_ascii_digit()) => (folder, start),
        _ => (start, start),
    };
    // Dumps have other protos too.
    if ending == "pb" && group.starts_with("module_") && !name.contains(".hlo") {
        return None;
    }
    Some(Dump { path: path.to_owned(), group: group.to_owned(), rest: rest.to_owned(), kind })
}

/// Modules as they came stand first, those between passes by number, the finished ones last.
fn order(rest: &str) -> (u8, String) {
    let rank = if rest.ends_with("before_optimizations") {
        0
    } else if rest.contains("after_optimizations") {
        2
    } else {
        1
    };
    (rank, rest.to_owned())
}

/// What a step is called: `algsimp (simplification)` for
/// `jit_f.0007.simplification.after_algsimp.before_dce`.
fn title(rest: &str, module: &str) -> String {
    let own = rest.strip_prefix(module).and_then(|rest| rest.strip_prefix('.')).unwrap_or(rest);
    let Some((before, after)) = own.rsplit_once(".after_") else { return own.to_owned() };
    let pass = after.split(".before_").next().unwrap_or(after);
    let pipeline = before.split_once('.').map_or(before, |(_, pipeline)| pipeline);
    if pass == "pipeline-start" {
        return format!("{pipeline} begins");
    }
    format!("{pass} ({pipeline})")
}

/// HLO begins with its name; other text does not.
fn kind_of_text(path: &Path) -> Result<Kind> {
    let bytes = read(path)?;
    let start = String::from_utf8_lossy(&bytes[..bytes.len().min(4096)]).into_owned();
    let mut lines = start.lines().map(str::trim);
    let first = lines.find(|line| !line.is_empty() && !line.starts_with("//"));
    let is_module = first.is_some_and(|line| line.starts_with("HloModule"));
    Ok(if is_module { Kind::Module } else { Kind::Text(TextKind::Other) })
}

fn text(dump: &Dump, program: &str) -> Result<Text> {
    /// Text beyond this makes a page that is slow to open.
    const LONGEST: usize = 24 << 20;
    let mut text = String::from_utf8_lossy(&read(&dump.path)?).into_owned();
    if text.len() > LONGEST {
        let end = (0..=LONGEST).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
        let left = text.len() - end;
        text.truncate(end);
        text.push_str(&format!("\n… {left} bytes more are left out of this page"));
    }
    let kind = match dump.kind {
        Kind::Text(kind) => kind,
        Kind::Module | Kind::Unknown => TextKind::Other,
    };
    let title = dump.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Text { program: program.to_owned(), title, kind, text })
}

fn read(path: &Path) -> Result<Vec<u8>> {
    let cannot =
        |error| Error::invalid_argument(format!("cannot read `{}`: {error}", path.display()));
    std::fs::read(path).map_err(cannot)
}

/// Microseconds by instruction. A trace tells those of each run of a program, on average; a text has
/// `NAME 12.5` or `NAME,12.5` a line. What follows `HloModule NAME` is of that module; other lines, such as a
/// table's head, are skipped.
fn times(path: &Path) -> Result<Vec<Time>> {
    let bytes = read(path)?;
    let found = match serde_json::from_slice::<serde_json::Value>(&bytes) {
        Ok(trace) => trace_times(&trace),
        Err(_) => text_times(&String::from_utf8_lossy(&bytes)),
    };
    if found.is_empty() {
        let problem = format!(
            "`{}` is no trace of a run, and has no line `NAME MICROSECONDS`",
            path.display()
        );
        return Err(Error::invalid_argument(problem));
    }
    Ok(found)
}

/// The times of ops in a trace as `--rxla_trace_to` writes it.
fn trace_times(trace: &serde_json::Value) -> Vec<Time> {
    let events = trace["traceEvents"].as_array().map_or(&[][..], Vec::as_slice);
    let of_kind = |kind: &'static str| events.iter().filter(move |event| event["cat"] == kind);
    let mut runs: BTreeMap<&str, f64> = BTreeMap::new();
    for program in of_kind("program") {
        *runs.entry(program["name"].as_str().unwrap_or_default()).or_default() += 1.0;
    }
    let mut times: BTreeMap<(&str, &str), f64> = BTreeMap::new();
    for event in of_kind("op") {
        let detail = |name: &str| event["args"][name].as_str();
        if let (Some(op), Some(time)) = (detail("hlo_op"), event["dur"].as_f64()) {
            let module = detail("hlo_module").unwrap_or_default();
            let runs = runs.get(module).copied().unwrap_or(1.0);
            *times.entry((module, op)).or_default() += time / runs;
        }
    }
    let time = |((module, op), microseconds): ((&str, &str), f64)| Time {
        module: module.to_owned(),
        instruction: op.to_owned(),
        microseconds,
    };
    times.into_iter().map(time).collect()
}

fn text_times(text: &str) -> Vec<Time> {
    let mut module = "";
    let mut found = Vec::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("HloModule ") {
            module = name.trim();
        } else if let Some((instruction, microseconds)) = time(line) {
            found.push(Time { module: module.to_owned(), instruction, microseconds });
        }
    }
    found
}

fn time(line: &str) -> Option<(String, f64)> {
    let mut words = line.split([',', '\t', ' ']).filter(|word| !word.is_empty());
    let name = words.next()?.trim_matches(['%', '"']);
    let time: f64 = words.next()?.parse().ok()?;
    time.is_finite().then(|| (name.to_owned(), time))
}

/// A file's name without its ending.
fn stem(path: &str) -> String {
    match Path::new(path).canonicalize() {
        Ok(path) => path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        Err(_) => "module".to_owned(),
    }
}

fn default_path(input: &str) -> PathBuf {
    PathBuf::from(format!("{}.html", stem(input)))
}

/// Hands the page to whatever the system shows pages with.
fn open(path: &Path) -> Result<()> {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let started = std::process::Command::new(program).arg(path).status();
    match started {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Error::internal(format!("`{program}` failed: {status}"))),
        Err(error) => Err(Error::internal(format!("cannot start `{program}`: {error}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> (String, String, Kind) {
        let dump = classify(Path::new(name), "folder").expect("it can be shown");
        (dump.group, dump.rest, dump.kind)
    }

    fn owned(group: &str, rest: &str, kind: Kind) -> (String, String, Kind) {
        (group.to_owned(), rest.to_owned(), kind)
    }

    #[test]
    fn names_tell_what_files_are() {
        assert_eq!(
            named("module_0001.jit_f.before_optimizations.txt"),
            owned("module_0001", "jit_f.before_optimizations", Kind::Unknown)
        );
        assert_eq!(
            named("1700.module_0002.jit_f.after_optimizations.hlo.pb"),
            owned("module_0002", "jit_f.after_optimizations", Kind::Module)
        );
        assert_eq!(
            named("module_0001.jit_f.kernels.txt"),
            owned("module_0001", "jit_f.kernels", Kind::Text(TextKind::KernelIr))
        );
        assert_eq!(
            named("module_0001.jit_f.kernels-scheduled.txt"),
            owned("module_0001", "jit_f.kernels-scheduled", Kind::Text(TextKind::KernelIr))
        );
        assert_eq!(named("0003.dce.hlo"), owned("folder", "0003.dce", Kind::Module));
        assert_eq!(named("model.mlir"), owned("model", "model", Kind::Module));
        assert_eq!(classify(Path::new("index.json"), "folder"), None);
        let report = "module_0001.jit_f.cpu_after_optimizations-memory-usage-report.pb";
        assert_eq!(classify(Path::new(report), "folder"), None);
    }

    #[test]
    fn steps_stand_in_the_order_of_the_compiler() {
        let mut names = [
            "f.after_optimizations",
            "f.0010.p.after_b.before_c",
            "f.0002.p.after_a.before_b",
            "f.before_optimizations",
        ];
        names.sort_by_key(|name| order(name));
        assert_eq!(names[0], "f.before_optimizations");
        assert_eq!(title(names[1], "f"), "a (p)");
        assert_eq!(title(names[2], "f"), "b (p)");
        assert_eq!(title(names[3], "f"), "after_optimizations");
        assert_eq!(title("f.0000.p.after_pipeline-start.before_a", "f"), "p begins");
    }

    #[test]
    fn times_are_read_by_line() {
        assert_eq!(time("fusion.3 12.5"), Some(("fusion.3".to_owned(), 12.5)));
        assert_eq!(time("%dot,7"), Some(("dot".to_owned(), 7.0)));
        assert_eq!(time("instruction,microseconds"), None);
        assert_eq!(time(""), None);
    }

    fn of(module: &str, instruction: &str, microseconds: f64) -> Time {
        Time { module: module.to_owned(), instruction: instruction.to_owned(), microseconds }
    }

    #[test]
    fn times_are_those_of_a_module() {
        let text = "a 1\nHloModule m\nname,microseconds\nb,2.5\nHloModule n\nb 3\n";
        assert_eq!(text_times(text), [of("", "a", 1.0), of("m", "b", 2.5), of("n", "b", 3.0)]);
    }

    #[test]
    fn traces_tell_the_time_of_a_run() {
        let program = |name: &str| serde_json::json!({"cat": "program", "name": name, "dur": 9.0});
        let op = |module: &str, time: f64| {
            let args = serde_json::json!({"hlo_op": "dot.3", "hlo_module": module});
            serde_json::json!({"cat": "op", "dur": time, "args": args})
        };
        let pass = serde_json::json!({"cat": "pass", "dur": 5.0});
        let programs = [program("f"), program("g"), program("f")];
        let ops = [op("f", 1.0), op("g", 7.0), op("f", 2.0), op("f", 3.0), pass];
        let all = [&programs[..], &ops[..]].concat();
        let trace = serde_json::json!({"traceEvents": all});
        assert_eq!(trace_times(&trace), [of("f", "dot.3", 3.0), of("g", "dot.3", 7.0)]);
        assert_eq!(trace_times(&serde_json::json!([1])), []);
    }
}
