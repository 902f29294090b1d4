//! Right operands that stay packed from one product to the next: matrices that a program has as constants, and those
//! that do not change while a loop runs.
//!
//! A place of the program where a matrix is multiplied has a slot. Who finds the matrix packed there, by its address
//! and sizes, reads it; who does not packs it, into the memory of what the same thread packed there before. What does
//! not change while a loop runs is forgotten when the loop begins again.

use std::any::TypeId;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, ThreadId};

use rxla_base::Result;

use super::pack::Steps;
use super::shared::Block;
use super::{Address, Compute, Job, is_arithmetic, strips};
use crate::allocator::{self, Allocator};
use crate::context::Context;

/// Multiplications below which nobody notices.
const LEAST_WORK: usize = if cfg!(test) { 1 } else { 1 << 16 };
/// Rows up to which packing takes long enough, beside the product, to be worth the memory.
const MOST_ROWS: usize = 256;
/// Bytes of a packed matrix, at most.
const MOST_BYTES: usize = 16 << 20;

/// Packed matrices by slot.
#[derive(Default)]
pub struct KeptMatrices {
    slots: Mutex<BTreeMap<u64, Vec<Entry>>>,
}

struct Entry {
    /// Who packed it.
    by: ThreadId,
    matrix: Arc<Matrix>,
}

/// What a packed matrix is told by, besides its slot.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Key {
    data: usize,
    /// What sums are computed in, and whether the matrix is the program's left operand.
    values: TypeId,
    left: bool,
    /// Steps of k, and how many are in a block.
    k: usize,
    depth: usize,
}

struct Matrix {
    key: Key,
    columns: usize,
    /// Of each panel its blocks of k.
    packed: allocator::Block,
}

impl Matrix {
    fn has(&self, key: Key, columns: usize) -> bool {
        self.key == key && self.columns >= columns
    }
}

/// A slot of a store.
#[derive(Clone, Copy)]
pub(crate) struct Slot<'a> {
    pub(crate) store: &'a KeptMatrices,
    pub(crate) number: u64,
    /// Whether what is packed is the program's left operand.
    pub(crate) left: bool,
}

impl KeptMatrices {
    /// Forgets what is in a slot.
    pub(crate) fn forget(&self, slot: u64) {
        drop(self.with(|slots| slots.remove(&slot)));
    }

    fn with<R>(&self, work: impl FnOnce(&mut BTreeMap<u64, Vec<Entry>>) -> R) -> R {
        work(&mut self.slots.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Slot<'_> {
    fn find(&self, key: Key, columns: usize) -> Option<Arc<Matrix>> {
        self.store.with(|slots| {
            let mut entries = slots.get(&self.number)?.iter();
            entries
                .find(|entry| entry.matrix.has(key, columns))
                .map(|entry| Arc::clone(&entry.matrix))
        })
    }

    /// What this thread packed before, if nobody reads it.
    fn take(&self) -> Option<Matrix> {
        self.store.with(|slots| {
            let entries = slots.get_mut(&self.number)?;
            let me = thread::current().id();
            let place = entries.iter().position(|entry| entry.by == me)?;
            Arc::into_inner(entries.swap_remove(place).matrix)
        })
    }

    /// Puts a matrix there, if nobody else has meanwhile.
    fn put(&self, matrix: Matrix) -> Arc<Matrix> {
        let matrix = Arc::new(matrix);
        self.store.with(|slots| {
            let entries = slots.entry(self.number).or_default();
            if entries.iter().all(|entry| !entry.matrix.has(matrix.key, matrix.columns)) {
                let by = thread::current().id();
                entries.push(Entry { by, matrix: Arc::clone(&matrix) });
            }
        });
        matrix
    }
}

/// Whether a product is one whose packed operand is worth keeping.
pub(super) fn pays<T: Compute>(job: &Job<'_, T>) -> bool {
    let [m, n, k] = [job.product.m, job.product.n, job.product.k].map(super::Axis::len);
    let packed = n.next_multiple_of(2 * job.kernels.lanes).saturating_mul(k.div_ceil(T::STEPS));
    let work = m.saturating_mul(n).saturating_mul(k);
    let suits = work >= LEAST_WORK && m <= MOST_ROWS && packed <= MOST_BYTES / size_of::<T>();
    // What kernels pack on the way needs no memory.
    suits && !job.direct && !strips::packs_on_the_way(job)
}

/// Multiplies with the matrix in the slot, which is packed if it is not there.
///
/// # Safety
///
/// As for [`super::multiply`]; while the slot is not forgotten, the right operand does not change, and the slot is
/// that of products of the same elements and strides.
pub(super) unsafe fn multiply<T: Compute>(
    context: &Context,
    job: &Job<'_, T>,
    slot: Slot<'_>,
) -> Result<()> {
    let (n, k) = (job.product.n.len(), job.product.k.len());
    let width = 2 * job.kernels.lanes;
    let steps: Vec<[Steps; 2]> = (0..k).step_by(job.depth).map(|k0| job.steps(k0)).collect();
    let mut places = Vec::new();
    job.product.n.offsets(1, 0, n, &mut places);
    let dense = is_arithmetic(&places) == Some(1);
    let block_size = width * (job.depth.min(k).div_ceil(T::STEPS) + T::HEAD);
    let panel_step = steps.len() * block_size;
    let block = |number: usize, packed: *mut T| Block {
        job,
        steps: &steps[number],
        columns: 0..n,
        places: &places,
        dense,
        packed: Address(packed.wrapping_add(number * block_size)),
        panel_step,
        values: steps[number][0].places.len().div_ceil(T::STEPS),
        add: number > 0,
    };
    let data = job.product.b.data.addr();
    let key = Key { data, values: TypeId::of::<T>(), left: slot.left, k, depth: job.depth };
    let matrix = match slot.find(key, n) {
        Some(matrix) => matrix,
        None => {
            let bytes = n.div_ceil(width) * panel_step * size_of::<T>();
            let old = slot.take();
            let (mut whole, mut room) = (0, None);
            if let Some(old) = old.filter(|old| old.packed.len() >= bytes) {
                // Of the same matrix fewer columns may be there.
                whole = if old.key == key { old.columns / width } else { 0 };
                room = Some(old.packed);
            }
            let packed = match room {
                Some(room) => room,
                None => Allocator::shared().allocate(bytes)?,
            };
            for number in 0..steps.len() {
                let block = block(number, packed.as_ptr().cast());
                // SAFETY: there is room; the matrix is the caller's promise.
                unsafe { block.pack(context, whole..block.panels()) };
            }
            slot.put(Matrix { key, columns: n, packed })
        }
    };
    for number in 0..steps.len() {
        let block = block(number, matrix.packed.as_ptr().cast());
        // SAFETY: all panels are packed, and nobody writes them while the matrix is ours; the caller's promise.
        unsafe { block.multiply(context)? };
    }
    Ok(())
}
