//! What is in memory when, by the order of instructions and the sizes of their values.
//!
//! This is an estimate to look at, not a buffer assignment: every value that is no view of another
//! has memory of its own, from its definition to its last use. Tuples, tuple elements, bitcasts and
//! barriers are views. A loop's result lies where its operand does, since its body works in place.
//! Values inside of a fusion are never in memory; what other called computations need is added while
//! the caller runs. Parameters live as long as the computation. Parameters and results of called
//! computations belong to the caller and count nothing inside.

use rxla_base::SecondaryMap;
use rxla_hlo::{ComputationId, Instruction, InstructionId, Module, Op, Shape};

use crate::model::{Buffer, Liveness};

/// Whose parameters and results are counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    /// Parameters are there from the beginning to the end.
    Entry,
    /// Parameters and results belong to the caller.
    Called,
}

/// `order` is the schedule; `called` tells the peak of a computation.
pub(crate) fn liveness(
    module: &Module,
    computation: ComputationId,
    order: &[InstructionId],
    role: Role,
    called: impl Fn(ComputationId) -> u64,
) -> Liveness {
    let mut place: SecondaryMap<Instruction, u32> = SecondaryMap::default();
    for (index, &id) in order.iter().enumerate() {
        place[id] = index as u32;
    }
    let end = order.len().saturating_sub(1) as u32;
    let root = module[computation].try_root();
    let mut views = Views::default();
    let mut last: SecondaryMap<Instruction, u32> = SecondaryMap::default();
    for &id in order {
        let sources = views.sources(module, id);
        // A value that is a view keeps what it shows alive until its own last use.
        let used = module[id].users().iter().map(|&user| place[user]).max().unwrap_or(place[id]);
        let used = if root == Some(id) { end } else { used };
        for &source in &sources {
            last[source] = last[source].max(used);
        }
        views.of[id] = sources;
    }
    let results = match (role, root) {
        (Role::Called, Some(root)) => views.of[root].clone(),
        (Role::Called, None) | (Role::Entry, _) => Vec::new(),
    };
    let mut buffers = Vec::new();
    for &id in order {
        let instruction = &module[id];
        if views.of[id][..] != [id] || results.contains(&id) {
            continue;
        }
        let bytes = own_bytes(&instruction.shape);
        let (first, last) = match &instruction.op {
            Op::Parameter(_) => match role {
                Role::Entry => (0, end),
                Role::Called => continue,
            },
            // Constants are part of the program.
            Op::Constant(_) => continue,
            _ => (place[id], last[id]),
        };
        if bytes > 0 {
            buffers.push(Buffer { defined: place[id], first, last, bytes });
        }
    }
    let inner: Vec<(u32, u64)> = order
        .iter()
        .filter(|&&id| runs_inside(&module[id].op))
        .map(|&id| {
            let callees = module[id].op.called_computations();
            (place[id], callees.iter().map(|&callee| called(callee)).max().unwrap_or(0))
        })
        .filter(|&(_, bytes)| bytes > 0)
        .collect();
    let (peak, peak_at) = peak(&buffers, &inner, order.len());
    Liveness { buffers, peak, peak_at, called: inner }
}

/// Whether what an op calls has arrays of its own. Fusions keep theirs in registers, and the functions
/// of reductions and the like work on scalars.
fn runs_inside(op: &Op) -> bool {
    matches!(op, Op::While(_) | Op::Call(_) | Op::Conditional(_) | Op::AsyncStart(_) | Op::Scan(_))
}

fn peak(buffers: &[Buffer], inner: &[(u32, u64)], length: usize) -> (u64, u32) {
    let mut change = vec![0i128; length + 1];
    for buffer in buffers {
        change[buffer.first as usize] += i128::from(buffer.bytes);
        change[buffer.last as usize + 1] -= i128::from(buffer.bytes);
    }
    for &(place, bytes) in inner {
        change[place as usize] += i128::from(bytes);
        change[place as usize + 1] -= i128::from(bytes);
    }
    let (mut live, mut peak, mut at) = (0i128, 0i128, 0);
    for (place, change) in change.iter().enumerate().take(length) {
        live += change;
        if live > peak {
            (peak, at) = (live, place);
        }
    }
    (u64::try_from(peak).unwrap_or(u64::MAX), at as u32)
}

/// Bytes of the arrays in a shape.
fn own_bytes(shape: &Shape) -> u64 {
    shape.byte_size().unwrap_or(0) as u64
}

/// Which instructions' memory each instruction's value lies in.
#[derive(Default)]
struct Views {
    of: SecondaryMap<Instruction, Vec<InstructionId>>,
}

impl Views {
    fn sources(&self, module: &Module, id: InstructionId) -> Vec<InstructionId> {
        let instruction = &module[id];
        let operands = instruction.operands();
        match &instruction.op {
            Op::Tuple(_) => {
                let mut all: Vec<_> =
                    operands.iter().flat_map(|&operand| self.of[operand].iter().copied()).collect();
                all.sort_unstable();
                all.dedup();
                // An empty tuple is nothing.
                all
            }
            Op::GetTupleElement(element) => match operands {
                [tuple] => self.element(module, *tuple, element.index),
                _ => Vec::new(),
            },
            Op::Bitcast(_) | Op::OptimizationBarrier(_) | Op::Domain(_) | Op::While(_) => {
                operands.first().map_or_else(Vec::new, |&operand| self.of[operand].clone())
            }
            Op::AddDependency(_) => {
                operands.first().map_or_else(Vec::new, |&operand| self.of[operand].clone())
            }
            _ => vec![id],
        }
    }

    /// What an element of a tuple lies in: exactly, where the tuple was made here or went through
    /// loops and barriers unchanged in form; else all of the tuple.
    fn element(&self, module: &Module, tuple: InstructionId, index: i64) -> Vec<InstructionId> {
        let mut source = tuple;
        // Operands come first in the order, so this ends.
        while let Op::While(_) | Op::OptimizationBarrier(_) | Op::Domain(_) = &module[source].op
            && let [operand, ..] = module[source].operands()
        {
            source = *operand;
        }
        let element = match (&module[source].op, usize::try_from(index)) {
            (Op::Tuple(_), Ok(index)) => module[source].operands().get(index),
            _ => None,
        };
        match element {
            Some(&element) => self.of[element].clone(),
            None => self.of[tuple].clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use rxla_hlo::text::{ParseOptions, parse};

    use super::*;

    fn of(text: &str) -> (Vec<(String, u32, u32, u64)>, u64, u32) {
        let module = parse(text, &ParseOptions::default()).expect("the text is right").module;
        let entry = module.entry();
        let order = module.post_order(entry);
        let found = liveness(&module, entry, &order, Role::Entry, |callee| {
            let order = module.post_order(callee);
            liveness(&module, callee, &order, Role::Called, |_| 0).peak
        });
        let named = |b: &Buffer| {
            let name = module[order[b.defined as usize]].name().to_owned();
            (name, b.first, b.last, b.bytes)
        };
        (found.buffers.iter().map(named).collect(), found.peak, found.peak_at)
    }

    fn buffer(name: &str, first: u32, last: u32, bytes: u64) -> (String, u32, u32, u64) {
        (name.to_owned(), first, last, bytes)
    }

    #[test]
    fn values_live_until_their_last_use_and_the_result_to_the_end() {
        let (buffers, peak, at) = of("HloModule m, is_scheduled=true
ENTRY e {
  x = f32[4] parameter(0)
  a = f32[8] broadcast(x), dimensions={}
  b = f32[8] negate(a)
  c = f32[8] add(a, b)
  ROOT d = f32[8] negate(c)
}
"
        .replace("x = f32[4]", "x = f32[]")
        .as_str());
        assert_eq!(
            buffers,
            [
                buffer("x", 0, 4, 4),
                buffer("a", 1, 3, 32),
                buffer("b", 2, 3, 32),
                buffer("c", 3, 4, 32),
                buffer("d", 4, 4, 32),
            ]
        );
        assert_eq!((peak, at), (100, 3));
    }

    #[test]
    fn views_have_no_memory_and_keep_what_they_show() {
        let (buffers, peak, _) = of("HloModule m, is_scheduled=true
ENTRY e {
  x = f32[4] parameter(0)
  a = f32[4] negate(x)
  b = f32[4] sine(x)
  t = (f32[4], f32[4]) tuple(a, b)
  g = f32[4] get-tuple-element(t), index=1
  v = f32[2,2] bitcast(g)
  ROOT r = f32[2,2] negate(v)
}
");
        // `a` ends with the tuple, `b` is seen through it.
        assert_eq!(
            buffers,
            [
                buffer("x", 0, 6, 16),
                buffer("a", 1, 4, 16),
                buffer("b", 2, 6, 16),
                buffer("r", 6, 6, 16)
            ]
        );
        assert_eq!(peak, 48);
    }

    #[test]
    fn loops_work_in_place_and_their_bodies_need_memory_meanwhile() {
        let (buffers, peak, at) = of("HloModule m
body {
  s = (f32[4]) parameter(0)
  g = f32[4] get-tuple-element(s), index=0
  h = f32[4] negate(g)
  i = f32[4] sine(h)
  ROOT t = (f32[4]) tuple(i)
}
condition {
  s.1 = (f32[4]) parameter(0)
  ROOT c = pred[] constant(false)
}
ENTRY e {
  x = f32[4] parameter(0)
  y = f32[4] copy(x)
  start = (f32[4]) tuple(y)
  loop = (f32[4]) while(start), condition=condition, body=body
  ROOT r = f32[4] get-tuple-element(loop), index=0
}
");
        assert_eq!(buffers, [buffer("x", 0, 4, 16), buffer("y", 1, 4, 16)]);
        // x, y and the first value in the body; the second is the new y.
        assert_eq!((peak, at), (48, 3));
    }
}
