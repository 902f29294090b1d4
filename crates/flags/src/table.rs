//! The table of flags: a flag is one entry here and whoever looks at the field.

use crate::value::{Plant, Value};
use crate::{Area, Row};

macro_rules! flags {
    ($($name:ident: $type:ty = $default:expr, $area:ident, $help:literal;)+) => {
        /// The value of every flag.
        #[derive(Clone, PartialEq, Debug)]
        pub struct Flags { $(#[doc = $help] pub $name: $type,)+ }

        impl Default for Flags {
            fn default() -> Flags {
                Flags { $($name: $default,)+ }
            }
        }

        /// All flags, in the order of the documentation.
        pub const ROWS: &[Row] = &[$(Row {
            name: stringify!($name),
            value_type: <$type as Value>::NAME,
            default: || Value::show(&Flags::default().$name),
            area: Area::$area,
            help: $help,
            set: |flags, text| {
                flags.$name = Value::parse(text)?;
                Ok(())
            },
            get: |flags| Value::show(&flags.$name),
        },)+];
    };
}

flags! {
    xla_dump_to: String = String::new(), Reports,
        "Folder to which compilations are dumped; it is made if it is not there. Empty: no dumps. Dumping compiles even what a cache holds.";
    xla_dump_hlo_module_re: String = String::new(), Reports,
        "Dump only modules whose name this regular expression finds. Empty: all.";
    xla_dump_hlo_pass_re: String = String::new(), Reports,
        "Dump the module before and after passes whose name this regular expression finds, if they changed it; `.*` is all. Empty: none, only the module before and after all of them.";
    xla_dump_hlo_pipeline_re: String = String::new(), Reports,
        "Of the dumps between passes, only those in pipelines whose name this regular expression finds. Empty: all.";
    xla_dump_hlo_as_text: bool = false, Reports,
        "Dump modules as HLO text; what happens if no format is asked for.";
    xla_dump_hlo_as_long_text: bool = false, Reports,
        "In texts, give every operand its shape.";
    xla_dump_hlo_as_proto: bool = false, Reports,
        "Dump modules as `HloProto`, in files `.hlo.pb`.";
    xla_dump_hlo_as_dot: bool = false, Reports,
        "Dump modules as graphs for Graphviz, in files `.dot`.";
    xla_dump_hlo_as_html: bool = false, Reports,
        "Dump modules as pages for a browser, in files `.html`.";
    xla_dump_hlo_snapshots: bool = false, Reports,
        "Write an `HloSnapshot` (module, arguments, result) of every execution: `rxla run` runs it again.";
    xla_dump_max_hlo_modules: i64 = -1, Reports,
        "Dump no more than so many modules of a process. Negative: all.";
    xla_dump_large_constants: bool = false, Reports,
        "In texts, write constants of many elements out instead of as `{...}`; files without them cannot be compiled again.";
    xla_dump_disable_metadata: bool = false, Reports,
        "In texts, leave metadata (names of ops, source lines) out.";
    xla_dump_include_timestamp: bool = false, Reports,
        "Begin names of dumped files with the time of the compilation, in microseconds.";
    xla_disable_hlo_passes: Vec<String> = Vec::new(), Code,
        "Passes to leave out, by the names that `rxla passes` lists.";
    xla_enable_hlo_passes_only: Vec<String> = Vec::new(), Code,
        "If not empty, the only passes to run. The last one, `fusion`, has to be named like any other.";
    xla_disable_all_hlo_passes: bool = false, Code,
        "Run no passes at all.";
    xla_force_host_platform_device_count: i64 = 1, Client,
        "Number of devices that a client has.";

    rxla_threads: i64 = 0, Client,
        "Threads that all programs of the process share, the calling one included; the first client of a process decides. 0: as many as there are cores for this process, less those that others keep busy at the moment.";
    rxla_inline_us: i64 = 1000, Client,
        "Programs that run shorter than so many microseconds run where they are called; the others on their device's thread, while the caller goes on. 0: all of them apart. Negative: none.";
    rxla_dump: Vec<String> = vec!["all".to_owned()], Reports,
        "What goes to the folder of `--xla_dump_to`, of `hlo`, `buffers`, `kernels` (kernel IR), `llvm` (LLVM IR before and after its passes), `asm`, `timing`; or `all`.";
    rxla_trace_to: String = String::new(), Reports,
        "File to which a trace of compilations and runs is written when the process ends, as JSON for Perfetto (ui.perfetto.dev) or chrome://tracing.";
    rxla_verify_passes: bool = false, Code,
        "Check the module after every pass that changed it, so that a pass that breaks it is named.";
    rxla_max_rewrites: i64 = -1, Code,
        "Make no more than so many rewrites in all passes together, which `rxla bisect` uses. Negative: as many as there are.";
    rxla_vectorize: bool = true, Code,
        "Run loops in vectors. Without it they run one iteration after the other, which `rxla bisect` uses to tell whether a schedule is wrong.";
    rxla_share_buffers: bool = true, Code,
        "Let values that are not needed at the same time share memory. Without it each has its own, which `rxla bisect` uses to tell whether a buffer is reused too early.";
    rxla_parallel_work: i64 = 131072, Code,
        "Work from which on threads share a kernel, about in cycles of one thread. Pieces are a quarter of that, where they can be. Less of it lets tests share what is small.";
    rxla_flush_subnormals: bool = true, Code,
        "Make results zero that are too small for normal numbers, as XLA:CPU does: many processors take a hundred times as long for subnormal ones. Operands, constants and what is interpreted keep them. Only on x86-64.";
    rxla_plant: Plant = Plant::None, Code,
        "For testing `rxla bisect` only: compile wrongly. `rule`: a rewrite rule takes the minimum for the maximum; `schedule`: vector loops that reduce lose their remainder; `reuse`: buffers are given away before their last reader.";
}

impl Flags {
    /// The flags that differ from their defaults, as `name=value` lines; `area` chooses.
    pub fn changed(&self, area: impl Fn(Area) -> bool) -> String {
        let usual = Flags::default();
        let mut out = String::new();
        for row in ROWS.iter().filter(|row| area(row.area)) {
            let value = (row.get)(self);
            if value != (row.get)(&usual) {
                out.push_str(&format!("{}={value}\n", row.name));
            }
        }
        out
    }

    /// Whether compilations are dumped.
    pub fn dumps(&self) -> bool {
        !self.xla_dump_to.is_empty()
    }
}
