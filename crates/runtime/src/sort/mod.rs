//! `rxla_sort` and `rxla_topk`. Every sort is stable, so that its result is one and the same whatever
//! the algorithm and however many threads.

mod alone;
mod key;
mod moved;
mod order;
mod topk;
#[cfg(target_arch = "x86_64")]
mod vector;

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};

use rxla_base::{Error, Result};

use crate::allocator::Block;
use crate::context::Context;
use crate::dot::Decoder;
use crate::element::Element;
use crate::gemm::{self, Address};
use crate::status::{Status, guard};

pub use key::FloatOrder;
pub use topk::{TopK, rxla_topk};

/// Elements that a thread converts or moves at least.
const GRAIN: usize = 1 << 14;
/// Lines that lie side by side and are sorted together, so that memory is read in order.
const SIDE_BY_SIDE: usize = 16;
/// Elements of short lines, one after the other, that are sorted together.
const SHORT: usize = 2048;

/// Says whether the first of two elements comes before the second: `less(context, arguments)`, where
/// the arguments are the addresses of the first and second element of the first operand, of the second
/// operand, and so on; not zero means yes.
pub type Less = unsafe extern "C" fn(context: *const c_void, arguments: *const *const u8) -> i8;

/// By what elements are compared: an operand, in one direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SortKey {
    pub operand: usize,
    pub order: FloatOrder,
    pub direction: Direction,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(i64)]
pub enum Direction {
    Ascending = 0,
    Descending = 1,
}

/// What becomes of an operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(i64)]
pub enum Role {
    /// Its elements are moved to its result.
    Moved = 0,
    /// Nobody reads its result, which is left as it is.
    Unread = 1,
    /// Its elements, integers of 32 or 64 bits, are their places along the dimension: it is not read.
    Places = 2,
}

/// A sort of dense row-major operands of one shape, all moved alike, along one dimension.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sort {
    /// The sizes of all dimensions before the one sorted along, of that one, and of all after it.
    pub outer: usize,
    pub length: usize,
    pub inner: usize,
    pub operands: Vec<(Element, Role)>,
    /// The first decides, the next where it does not. Empty: a function compares.
    pub keys: Vec<SortKey>,
}

impl Sort {
    /// The array for [`rxla_sort`].
    pub fn encode(&self) -> Result<Vec<i64>> {
        if u32::try_from(self.length).is_err() {
            return Err(Error::unimplemented(
                "a sort along a dimension of more than 2^32 elements",
            ));
        }
        let wrong = |key: &SortKey| {
            self.operands.get(key.operand).is_none_or(|(element, _)| element.is_complex())
        };
        if self.keys.iter().any(wrong) {
            return Err(Error::invalid_argument("a sort by what is no operand of real numbers"));
        }
        let wide = |element: Element| element.is_integer() && element.byte_width() >= 4;
        if self.operands.iter().any(|&(element, role)| role == Role::Places && !wide(element)) {
            return Err(Error::invalid_argument("places that are no integers of 32 or 64 bits"));
        }
        let mut code = [self.outer, self.length, self.inner].map(|size| size as i64).to_vec();
        code.push(self.operands.len() as i64);
        code.extend(
            self.operands.iter().flat_map(|&(element, role)| [element as i64, role as i64]),
        );
        code.push(self.keys.len() as i64);
        for key in &self.keys {
            code.extend([key.operand as i64, key.order as i64, key.direction as i64]);
        }
        Ok(code)
    }

    fn decode(code: &mut Decoder) -> Result<Sort> {
        let (outer, length, inner) = (code.size(), code.size(), code.size());
        let operand = |code: &mut Decoder| {
            let role = |number| match number {
                0 => Role::Moved,
                1 => Role::Unread,
                _ => Role::Places,
            };
            Ok((code.element()?, role(code.next())))
        };
        let operands = (0..code.size()).map(|_| operand(code)).collect::<Result<_>>()?;
        let keys = (0..code.size())
            .map(|_| SortKey {
                operand: code.size(),
                order: if code.next() == 0 { FloatOrder::Total } else { FloatOrder::Value },
                direction: if code.next() == 0 {
                    Direction::Ascending
                } else {
                    Direction::Descending
                },
            })
            .collect();
        Ok(Sort { outer, length, inner, operands, keys })
    }
}

/// Sorts `operands` into `results` (arrays of one address for each operand) as the array says. `less`
/// is null where there are keys.
///
/// # Safety
///
/// The context is null or a [`Context`], `code` the array of a [`Sort`], and the buffers hold what it
/// says; nobody else uses the results, each of which may be its own operand, and no other. The function may
/// be called with any two elements from any thread.
pub unsafe extern "C" fn rxla_sort(
    context: *const Context,
    operands: *const *const u8,
    results: *const *mut u8,
    less: Option<Less>,
    less_context: *const c_void,
    code: *const i64,
) -> Status {
    guard(|| {
        // SAFETY: the caller's promise.
        let (context, mut code) = unsafe { (Context::from_ptr(context), Decoder::new(code)) };
        let sort = Sort::decode(&mut code)?;
        let count = sort.operands.len();
        // SAFETY: the caller's promise.
        let (operands, results) = unsafe {
            (
                std::slice::from_raw_parts(operands, count),
                std::slice::from_raw_parts(results, count),
            )
        };
        let job = Job {
            sort: &sort,
            operands: operands.iter().map(|&operand| Address(operand.cast_mut())).collect(),
            results: results.iter().map(|&result| Address(result)).collect(),
            less,
            less_context: Address(less_context.cast_mut()),
        };
        if sort.length == 0 || count == 0 {
            return Ok(());
        }
        // Lines that are sorted together lie side by side, or one after the other.
        let (blocks, together) = match sort.inner {
            1 => (1, (SHORT / sort.length).max(1)),
            inner => (inner.div_ceil(SIDE_BY_SIDE), 1),
        };
        let outers = sort.outer.div_ceil(together);
        let grain = 1 + 4096 / (sort.length * sort.inner.min(SIDE_BY_SIDE) * together);
        let tasks = outers * blocks;
        // What is alone may itself be spread over threads.
        let alone = Context::default();
        let inside = if tasks == 1 { context } else { &alone };
        let failed = AtomicBool::new(false);
        context.parallel_for(tasks, grain, |begin, end| {
            let mut room = Room::default();
            for task in begin..end {
                let (outer, block) = (task / blocks * together, task % blocks);
                let first = block * SIDE_BY_SIDE;
                let start = outer * sort.length * sort.inner + first;
                let lines = match sort.inner {
                    1 => Lines { count: together.min(sort.outer - outer), step: sort.length },
                    inner => Lines { count: SIDE_BY_SIDE.min(inner - first), step: 1 },
                };
                // SAFETY: the caller's promise; each line is in one task.
                if unsafe { job.lines(inside, start, lines, &mut room) }.is_err() {
                    failed.store(true, Ordering::Relaxed);
                }
            }
        });
        if failed.into_inner() { Err(gemm::out_of_memory()) } else { Ok(()) }
    })
}

/// Lines that are sorted together.
#[derive(Clone, Copy)]
struct Lines {
    count: usize,
    /// From the first element of one to that of the next.
    step: usize,
}

struct Job<'a> {
    sort: &'a Sort,
    operands: Vec<Address<u8>>,
    results: Vec<Address<u8>>,
    less: Option<Less>,
    less_context: Address<c_void>,
}

/// Memory that one task after the other uses.
#[derive(Default)]
struct Room {
    keys: Option<Block>,
    entries: Option<Block>,
    spare: Option<Block>,
    copy: Option<Block>,
}

/// Room for so many numbers, of any value.
fn room<T: Number>(block: &mut Option<Block>, count: usize) -> Result<&mut [T]> {
    let start = gemm::room::<T>(block, count)?;
    // SAFETY: a block is initialised and as long, and numbers are of any bits.
    Ok(unsafe { std::slice::from_raw_parts_mut(start, count) })
}

/// What any bits are a value of.
trait Number: Copy {}

impl Number for u8 {}
impl Number for u16 {}
impl Number for u32 {}
impl Number for u64 {}
impl Number for [u64; 2] {}

impl Job<'_> {
    /// Sorts lines, of which the first begins at `start`.
    ///
    /// # Safety
    ///
    /// As for [`rxla_sort`]; nobody else has these lines.
    unsafe fn lines(
        &self,
        context: &Context,
        start: usize,
        lines: Lines,
        room: &mut Room,
    ) -> Result<()> {
        let operands = || self.sort.operands.iter().enumerate();
        if let &[key] = &self.sort.keys[..]
            && operands().all(|(i, &(_, role))| {
                role == if i == key.operand { Role::Moved } else { Role::Unread }
            })
        {
            // SAFETY: the caller's promise.
            return unsafe { self.values_alone(context, start, lines, key, room) };
        }
        for line in 0..lines.count {
            // SAFETY: the caller's promise.
            unsafe { self.moved(context, start + line * lines.step, room)? };
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "test.rs"]
mod tests;
