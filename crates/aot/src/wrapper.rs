//! The functions that C calls, as LLVM IR: they check addresses, make the copies that the driver leaves
//! to its caller, and call it.

use std::fmt::Write;

use rxla_base::Code;
use rxla_cpu::ahead::{Ahead, Source};

/// How the text calls the constants.
pub(crate) const CONSTANTS: &str = "rxla_aot_constants";

/// What the text defines.
pub(crate) struct Names {
    pub(crate) run: String,
    pub(crate) set_threads: String,
}

impl Names {
    pub(crate) fn new(prefix: &str) -> Names {
        Names { run: format!("{prefix}_run"), set_threads: format!("{prefix}_set_threads") }
    }
}

/// Whether the program's kernels want threads and memory of the runtime.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Runtime {
    Used,
    Unused,
}

pub(crate) fn set_threads(names: &Names, runtime: Runtime) -> String {
    let name = &names.set_threads;
    match runtime {
        Runtime::Used => format!(
            "declare hidden void @rxla_aot_set_threads(i32)\n\
             define void @{name}(i32 %threads) nounwind {{\n  \
             call void @rxla_aot_set_threads(i32 %threads)\n  ret void\n}}\n"
        ),
        Runtime::Unused => {
            format!("define void @{name}(i32 %threads) nounwind {{\n  ret void\n}}\n")
        }
    }
}

/// `int run(const void *const *inputs, void *const *outputs, void *workspace)`.
pub(crate) fn run(ahead: &Ahead, names: &Names, runtime: Runtime) -> String {
    let mut text = String::new();
    let driver = &ahead.driver;
    let invalid = Code::InvalidArgument as i32;
    // Bits of an address that have to be zero.
    let masks = |aligns: Vec<u64>| -> String {
        aligns.iter().map(|align| format!("i8 {}", align - 1)).collect::<Vec<_>>().join(", ")
    };
    let inputs: Vec<u64> =
        ahead.inputs.iter().map(|i| i.shape.element_type.byte_width().clamp(1, 8) as u64).collect();
    let outputs: Vec<u64> = ahead
        .outputs
        .iter()
        .map(|output| match output.source {
            Source::Computed => ahead.align,
            // What the driver updates is an input to it, too.
            Source::Updated(_) => ahead.align,
            Source::Input(_) => 1,
        })
        .collect();
    let _ = writeln!(text, "@{CONSTANTS} = external hidden constant i8");
    let _ = writeln!(text, "declare hidden i64 @{driver}(ptr, ptr, ptr, ptr, ptr)");
    if runtime == Runtime::Used {
        text.push_str("declare hidden ptr @rxla_aot_context()\n");
    }
    text.push_str("declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)\n");
    if ahead.modes != 0 {
        text.push_str("declare void @llvm.x86.sse.stmxcsr(ptr)\n");
        text.push_str("declare void @llvm.x86.sse.ldmxcsr(ptr)\n");
    }
    for (name, aligns) in [("inputs", &inputs), ("outputs", &outputs)] {
        let (count, list) = (aligns.len(), masks(aligns.clone()));
        if count > 0 {
            let _ = writeln!(text, "@{name}.masks = internal constant [{count} x i8] [{list}]");
        }
    }
    let _ = writeln!(
        text,
        "\ndefine i32 @{}(ptr %inputs, ptr %outputs, ptr %workspace) nounwind {{\nentry:",
        names.run
    );
    if ahead.modes != 0 {
        text.push_str("  %modes = alloca i32\n");
    }
    if ahead.temp_bytes > 0 {
        let _ = writeln!(text, "  %workspace.address = ptrtoint ptr %workspace to i64");
        let _ =
            writeln!(text, "  %workspace.low = and i64 %workspace.address, {}", ahead.align - 1);
        text.push_str(
            "  %workspace.none = icmp eq ptr %workspace, null\n  \
             %workspace.crooked = icmp ne i64 %workspace.low, 0\n  \
             %workspace.wrong = or i1 %workspace.none, %workspace.crooked\n  \
             br i1 %workspace.wrong, label %invalid, label %inputs.check\n",
        );
    } else {
        text.push_str("  br label %inputs.check\n");
    }
    check(&mut text, "inputs", inputs.len(), "outputs.check");
    check(&mut text, "outputs", outputs.len(), "copies");
    text.push_str("copies:\n");
    copies(&mut text, ahead);
    let context = match runtime {
        Runtime::Used => {
            text.push_str("  %context = call ptr @rxla_aot_context()\n");
            "%context"
        }
        Runtime::Unused => "null",
    };
    if ahead.modes != 0 {
        let _ = writeln!(
            text,
            "  call void @llvm.x86.sse.stmxcsr(ptr %modes)
  %modes.before = load i32, ptr %modes
  %modes.flush = or i32 %modes.before, {}
  store i32 %modes.flush, ptr %modes
  call void @llvm.x86.sse.ldmxcsr(ptr %modes)",
            ahead.modes
        );
    }
    let _ = writeln!(
        text,
        "  %status = call i64 @{driver}(ptr {context}, ptr %inputs, ptr %outputs, ptr %workspace, \
         ptr @{CONSTANTS})"
    );
    if ahead.modes != 0 {
        text.push_str("  store i32 %modes.before, ptr %modes\n");
        text.push_str("  call void @llvm.x86.sse.ldmxcsr(ptr %modes)\n");
    }
    let _ = writeln!(
        text,
        "  %code = trunc i64 %status to i32\n  ret i32 %code\ninvalid:\n  ret i32 {invalid}\n}}"
    );
    text
}

/// Looks whether all addresses of a list are there and aligned.
fn check(text: &mut String, list: &str, count: usize, next: &str) {
    if count == 0 {
        let _ = writeln!(text, "{list}.check:\n  br label %{next}");
        return;
    }
    let _ = write!(
        text,
        "{list}.check:
  %{list}.none = icmp eq ptr %{list}, null
  br i1 %{list}.none, label %invalid, label %{list}.each
{list}.each:
  %{list}.i = phi i64 [ 0, %{list}.check ], [ %{list}.next, %{list}.right ]
  %{list}.slot = getelementptr ptr, ptr %{list}, i64 %{list}.i
  %{list}.pointer = load ptr, ptr %{list}.slot
  %{list}.address = ptrtoint ptr %{list}.pointer to i64
  %{list}.mask.slot = getelementptr i8, ptr @{list}.masks, i64 %{list}.i
  %{list}.mask.byte = load i8, ptr %{list}.mask.slot
  %{list}.mask = zext i8 %{list}.mask.byte to i64
  %{list}.low = and i64 %{list}.address, %{list}.mask
  %{list}.crooked = icmp ne i64 %{list}.low, 0
  %{list}.absent = icmp eq i64 %{list}.address, 0
  %{list}.wrong = or i1 %{list}.crooked, %{list}.absent
  br i1 %{list}.wrong, label %invalid, label %{list}.right
{list}.right:
  %{list}.next = add i64 %{list}.i, 1
  %{list}.done = icmp eq i64 %{list}.next, {count}
  br i1 %{list}.done, label %{next}, label %{list}.each
"
    );
}

/// Results that are inputs as they came go first: another result may overwrite the input.
fn copies(text: &mut String, ahead: &Ahead) {
    let whole = |source| matches!(source, Source::Input(_));
    let mut number = 0;
    let last = ahead.outputs.iter().filter(|output| output.source != Source::Computed).count();
    for first in [true, false] {
        for (index, output) in ahead.outputs.iter().enumerate() {
            let (Source::Input(input) | Source::Updated(input)) = output.source else { continue };
            if whole(output.source) != first {
                continue;
            }
            let bytes = output.shape.byte_size().unwrap_or(0);
            let n = number;
            number += 1;
            let next = if number == last { "call".to_owned() } else { format!("copy{number}") };
            if n == 0 {
                text.push_str("  br label %copy0\n");
            }
            let _ = write!(
                text,
                "copy{n}:
  %copy{n}.from.slot = getelementptr ptr, ptr %inputs, i64 {input}
  %copy{n}.from = load ptr, ptr %copy{n}.from.slot
  %copy{n}.to.slot = getelementptr ptr, ptr %outputs, i64 {index}
  %copy{n}.to = load ptr, ptr %copy{n}.to.slot
  %copy{n}.same = icmp eq ptr %copy{n}.from, %copy{n}.to
  br i1 %copy{n}.same, label %{next}, label %copy{n}.do
copy{n}.do:
  call void @llvm.memcpy.p0.p0.i64(ptr %copy{n}.to, ptr %copy{n}.from, i64 {bytes}, i1 false)
  br label %{next}
"
            );
        }
    }
    if last > 0 {
        text.push_str("call:\n");
    }
}
