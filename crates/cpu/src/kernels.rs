//! What the emitter is asked about instructions, in the units of this crate. It answers by emitting
//! into a scratch function, which takes time; so answers are kept, by what is computed, for other
//! instructions that compute the same and for later programs.

use std::cell::RefCell;
use std::sync::{LazyLock, Mutex, PoisonError};

use rustc_hash::FxHashMap;
use rxla_emit::Updates;
use rxla_hlo::{InstructionId, Module};

use crate::digest::{Digest, digest};

/// How much an instruction takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    /// About the cycles of one thread.
    pub(crate) work: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Question {
    Supports,
    HasUpdates,
    /// Answered with the work, or with -1 if there is no kernel.
    Cost(Updates),
    Extent(Updates),
    InPlace(u32, u32),
}

/// More answers than this are not kept.
const MOST_ANSWERS: usize = 1 << 16;

static ANSWERS: LazyLock<Mutex<FxHashMap<(Digest, Question), i64>>> =
    LazyLock::new(Default::default);

/// What there is to know about the instructions of a module that no longer changes.
pub(crate) struct Kernels<'m> {
    module: &'m Module,
    digests: RefCell<FxHashMap<InstructionId, Digest>>,
}

impl<'m> Kernels<'m> {
    pub(crate) fn new(module: &'m Module) -> Kernels<'m> {
        Kernels { module, digests: RefCell::default() }
    }

    pub(crate) fn digest(&self, id: InstructionId) -> Digest {
        *self.digests.borrow_mut().entry(id).or_insert_with(|| digest(self.module, id))
    }

    /// `None` if there is no kernel for it.
    pub(crate) fn cost(&self, id: InstructionId, updates: Updates) -> Option<Cost> {
        let work = answer(self.digest(id), Question::Cost(updates), || {
            let cost = rxla_emit::cost(self.module, id, updates);
            // Nothing is what it also says of what it cannot do; asking costs as much as looking.
            if cost == rxla_emit::Cost::default() && !supports(self.module, id) {
                return -1;
            }
            (cost.operations / 4 + cost.bytes / 8).max(0)
        });
        u64::try_from(work).ok().map(|work| Cost { work })
    }

    /// How many units of work there are.
    pub(crate) fn extent(&self, id: InstructionId, updates: Updates) -> u64 {
        let extent = answer(self.digest(id), Question::Extent(updates), || {
            rxla_emit::extent(self.module, id, updates)
        });
        extent.max(1) as u64
    }

    /// Whether a result is an update of an operand.
    pub(crate) fn has_updates(&self, id: InstructionId) -> bool {
        answer(self.digest(id), Question::HasUpdates, || {
            i64::from(rxla_emit::has_updates(self.module, id))
        }) != 0
    }

    /// Whether a result leaf may lie where an operand leaf lies.
    pub(crate) fn in_place(&self, id: InstructionId, operand: usize, result: usize) -> bool {
        let question = Question::InPlace(operand as u32, result as u32);
        answer(self.digest(id), question, || {
            i64::from(rxla_emit::in_place(self.module, id, operand, result))
        }) != 0
    }
}

/// Whether there is a kernel for an instruction of a module that may still change.
pub(crate) fn supports(module: &Module, id: InstructionId) -> bool {
    let look = || i64::from(rxla_emit::supports(module, id).is_ok());
    answer(digest(module, id), Question::Supports, look) != 0
}

fn answer(digest: Digest, question: Question, ask: impl FnOnce() -> i64) -> i64 {
    let answers = || ANSWERS.lock().unwrap_or_else(PoisonError::into_inner);
    let known = answers().get(&(digest, question)).copied();
    if let Some(known) = known {
        // What the emitter says must not depend on what the digest leaves out, as an instruction's users.
        debug_assert_eq!(known, ask(), "equal digests, but {question:?}");
        return known;
    }
    // Not under the lock: others have questions, too.
    let found = ask();
    let mut answers = answers();
    if answers.len() >= MOST_ANSWERS {
        answers.clear();
    }
    answers.insert((digest, question), found);
    found
}
