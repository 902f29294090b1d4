//! Snapshots: a module with the arguments that it was run on and what it gave.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use rxla_base::Result;
use rxla_flags::Flags;
use rxla_hlo::{Literal, Module};
use rxla_hlo_proto::proto::{HloProto, HloSnapshot};
use rxla_hlo_proto::{Message, literal, to_proto};
use rxla_trace::notice::warn_once;

use crate::index::{self, Entry};
use crate::{file_name, put};

/// Writes a snapshot of an execution, unless the flags do not ask for it. `arguments` and `results`
/// are leaves in order.
pub fn snapshot(flags: &Flags, module: &Module, arguments: &[Literal], results: &[Literal]) {
    if !flags.dumps() || !flags.xla_dump_hlo_snapshots {
        return;
    }
    let bytes = match encode(module, arguments, Some(results)) {
        Ok(bytes) => bytes,
        Err(error) => {
            return warn_once(&format!("no snapshot of `{}`: {error}", module.name));
        }
    };
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let folder = Path::new(&flags.xla_dump_to);
    let file = format!("snapshot_{number:04}.{}.hlo_snapshot.pb", file_name(&module.name));
    if put(folder, &file, &bytes) {
        let about = "an execution: the module, its arguments and its result".to_owned();
        let module = module.name.clone();
        index::add(folder, &[Entry { file, kind: "snapshot", module, about }]);
    }
}

/// The bytes of a snapshot; `arguments` and `results` are leaves in order.
pub fn encode(
    module: &Module,
    arguments: &[Literal],
    results: Option<&[Literal]>,
) -> Result<Vec<u8>> {
    let entry = module.entry();
    let mut leaves = arguments.iter().cloned();
    let arguments = module[entry]
        .parameters()
        .iter()
        .map(|&parameter| {
            let shape = &module[parameter].shape;
            Ok(literal::to_proto(&tree(shape, &mut leaves), shape)?)
        })
        .collect::<Result<_>>()?;
    let shape = &module[module[entry].root()].shape;
    let result = results
        .map(|results| literal::to_proto(&tree(shape, &mut results.iter().cloned()), shape))
        .transpose()?;
    let hlo = HloProto { hlo_module: Some(to_proto(module)?), buffer_assignment: None };
    let snapshot =
        HloSnapshot { hlo: Some(hlo), arguments, result, execution_platform: "cpu".to_owned() };
    Ok(snapshot.encode_to_vec())
}

/// A value of a shape from its leaves.
fn tree(shape: &rxla_hlo::Shape, leaves: &mut impl Iterator<Item = Literal>) -> Literal {
    match shape {
        rxla_hlo::Shape::Tuple(elements) => {
            Literal::Tuple(elements.iter().map(|element| tree(element, leaves)).collect())
        }
        _ => leaves.next().unwrap_or(Literal::Token),
    }
}
