//! What a driver that tells what it runs calls, and how an instruction is named to people: by the
//! op that the user wrote and its line.

use std::sync::Arc;

use rxla_hlo::cost::Costs;
use rxla_hlo::{InstructionId, Metadata, Module, Op};
use rxla_trace::{Details, Event, Kind};

use crate::fallback::RunContext;

/// The functions that the driver calls, by name: `BEGIN(context) -> time` and
/// `END(context, number, time)`.
pub(crate) const BEGIN: &str = "rxla_mark_begin";
pub(crate) const END: &str = "rxla_mark_end";

/// An instruction as traces show it.
pub(crate) struct Mark {
    name: Arc<str>,
    details: Details,
}

impl Mark {
    pub(crate) fn new(module: &Module, costs: &Costs, id: InstructionId) -> Mark {
        let instruction = &module[id];
        let cost = costs.instruction(id);
        let mut details = vec![
            ("hlo_op", instruction.name().to_owned()),
            ("hlo_module", module.name.clone()),
            ("hlo_category", instruction.op.name().to_owned()),
        ];
        if let Some(metadata) = metadata(module, id) {
            details.push(("tf_op", metadata.op_name.clone()));
            if !metadata.source_file.is_empty() {
                let line = format!("{}:{}", metadata.source_file, metadata.source_line);
                details.push(("source", line));
            }
        }
        details.push(("flops", format!("{:.0}", cost.flops + cost.transcendentals)));
        details.push(("bytes_accessed", format!("{:.0}", cost.bytes)));
        Mark { name: label(module, id).into(), details: details.into() }
    }
}

/// The metadata of an instruction, or of what it computes last that has some.
pub fn metadata(module: &Module, id: InstructionId) -> Option<&Metadata> {
    let own = |id: InstructionId| {
        let metadata = &module[id].info()?.metadata;
        (!metadata.op_name.is_empty() || !metadata.source_file.is_empty()).then_some(metadata)
    };
    own(id).or_else(|| {
        let Op::Fusion(_) = &module[id].op else { return None };
        let computation = *module[id].op.called_computations().first()?;
        module[computation].instructions().iter().rev().find_map(|&inner| own(inner))
    })
}

/// Such as `dot_general model.py:12 [dot.3]`: the op that the user wrote, where, and what it is
/// in the module.
pub fn label(module: &Module, id: InstructionId) -> String {
    let name = module[id].name();
    let Some(metadata) = metadata(module, id) else { return name.to_owned() };
    let op = metadata.op_name.rsplit('/').next().unwrap_or_default();
    let file = metadata.source_file.rsplit('/').next().unwrap_or_default();
    let mut label = String::new();
    if !op.is_empty() {
        label.push_str(op);
        label.push(' ');
    }
    if !file.is_empty() {
        label.push_str(&format!("{file}:{} ", metadata.source_line));
    }
    format!("{label}[{name}]")
}

/// # Safety
///
/// None: the context is not looked at.
pub(crate) unsafe extern "C" fn rxla_mark_begin(_context: *const RunContext<'_>) -> i64 {
    rxla_trace::now() as i64
}

/// # Safety
///
/// `context` is that of the run.
pub(crate) unsafe extern "C" fn rxla_mark_end(
    context: *const RunContext<'_>,
    number: i64,
    start: i64,
) {
    // SAFETY: the context lives until the driver returns.
    let context = unsafe { &*context };
    let Some(mark) = usize::try_from(number).ok().and_then(|number| context.marks.get(number))
    else {
        return;
    };
    let start = start as u64;
    rxla_trace::record(Event {
        kind: Kind::Op,
        name: Arc::clone(&mark.name),
        start,
        duration: rxla_trace::now().saturating_sub(start),
        thread: 0,
        device: None,
        details: Some(Arc::clone(&mark.details)),
    });
}
