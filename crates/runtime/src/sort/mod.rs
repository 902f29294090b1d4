//! `rxla_sort` and `rxla_topk`. Every sort is stable, so that its result is one and the same whatever
//! the algorithm and however many threads.

mod key;
mod order;
mod topk;
#[cfg(target_arch = "x86_64")]
mod vector;

use std::ffi::c_void;

use rxla_base::{Error, Result};

use crate::context::Context;
use crate::dot::Decoder;
use crate::element::{Element, with_element};
use crate::gemm::Address;
use crate::gemm::sets::for_each_set;
use crate::status::{Status, guard};
use key::{Key, zero_keys};
use order::{Entry, sort_by, sort_entries, sort_keys};

pub use key::FloatOrder;
pub use topk::{TopK, rxla_topk};

/// Elements that a thread converts or moves at least.
const GRAIN: usize = 1 << 14;
/// Lines that lie side by side and are sorted together, so that memory is read in order.
const SIDE_BY_SIDE: usize = 16;

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

/// A sort of dense row-major operands of one shape, all moved alike, along one dimension.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sort {
    /// The sizes of all dimensions before the one sorted along, of that one, and of all after it.
    pub outer: usize,
    pub length: usize,
    pub inner: usize,
    pub operands: Vec<Element>,
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
            self.operands.get(key.operand).is_none_or(|operand| operand.is_complex())
        };
        if self.keys.iter().any(wrong) {
            return Err(Error::invalid_argument("a sort by what is no operand of real numbers"));
        }
        let mut code = [self.outer, self.length, self.inner].map(|size| size as i64).to_vec();
        code.push(self.operands.len() as i64);
        code.extend(self.operands.iter().map(|&operand| operand as i64));
        code.push(self.keys.len() as i64);
        for key in &self.keys {
            code.extend([key.operand as i64, key.order as i64, key.direction as i64]);
        }
        Ok(code)
    }

    fn decode(code: &mut Decoder) -> Result<Sort> {
        let (outer, length, inner) = (code.size(), code.size(), code.size());
        let operands = (0..code.size()).map(|_| code.element()).collect::<Result<_>>()?;
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
        let blocks = sort.inner.div_ceil(SIDE_BY_SIDE);
        if sort.length == 0 || count == 0 {
            return Ok(());
        }
        let grain = 1 + 4096 / (sort.length * sort.inner.min(SIDE_BY_SIDE)).max(1);
        let tasks = sort.outer * blocks;
        // What is alone may itself be spread over threads.
        let inside = if tasks == 1 { context.clone() } else { Context::default() };
        context.parallel_for(tasks, grain, |begin, end| {
            let mut room = Room::default();
            for task in begin..end {
                let (outer, block) = (task / blocks, task % blocks);
                let first = block * SIDE_BY_SIDE;
                let lines = first..sort.inner.min(first + SIDE_BY_SIDE);
                // SAFETY: the caller's promise; each line is in one task.
                unsafe { job.lines(&inside, outer, lines, &mut room) };
            }
        });
        Ok(())
    })
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
    keys: Vec<u64>,
    narrow: [Vec<u32>; 2],
    entries: [Vec<u64>; 2],
    wide: [Vec<(u64, u32)>; 2],
    places: [Vec<u32>; 2],
    line: Vec<[u64; 2]>,
}

impl Job<'_> {
    /// Sorts lines that lie side by side.
    ///
    /// # Safety
    ///
    /// As for [`rxla_sort`]; nobody else has these lines.
    unsafe fn lines(
        &self,
        context: &Context,
        outer: usize,
        lines: std::ops::Range<usize>,
        room: &mut Room,
    ) {
        let (length, count) = (self.sort.length, lines.len());
        let start = outer * length * self.sort.inner + lines.start;
        let bits: u32 = self
            .sort
            .keys
            .iter()
            .map(|key| self.sort.operands[key.operand].byte_width() as u32 * 8)
            .sum();
        if let (&[key], 1) = (&self.sort.keys[..], self.sort.operands.len())
            && bits <= 32
        {
            // SAFETY: the caller's promise.
            unsafe { self.values_alone(context, start, count, key, room) };
            return;
        }
        for line in 0..count {
            let base = start + line;
            if self.sort.keys.is_empty() || bits > 64 {
                let [places, spare] = &mut room.places;
                places.clear();
                places.extend(0..length as u32);
                spare.resize(length, 0);
                if self.sort.keys.is_empty() {
                    // SAFETY: the caller's promise.
                    sort_by(places, spare, |a, b| unsafe { self.is_less(base, a, b) });
                } else {
                    let keys: Vec<Vec<u64>> = (self.sort.keys.iter())
                        .map(|&key| {
                            room.keys.clear();
                            room.keys.resize(length, 0);
                            // SAFETY: the caller's promise.
                            unsafe { self.add_keys(context, base, key, &mut room.keys) };
                            room.keys.clone()
                        })
                        .collect();
                    let at = |place: u32| keys.iter().map(move |keys| keys[place as usize]);
                    sort_by(places, spare, |a, b| at(a).lt(at(b)));
                }
                // SAFETY: the caller's promise.
                unsafe { self.gather(context, base, &|i| places[i], &mut room.line) };
                continue;
            }
            room.keys.clear();
            room.keys.resize(length, 0);
            for &key in &self.sort.keys {
                // SAFETY: the caller's promise.
                unsafe { self.add_keys(context, base, key, &mut room.keys) };
            }
            // SAFETY: the caller's promise.
            unsafe {
                if bits <= 32 {
                    let entries = &mut room.entries;
                    self.by_entries(context, base, bits, &room.keys, entries, &mut room.line);
                } else {
                    let entries = &mut room.wide;
                    self.by_entries(context, base, bits, &room.keys, entries, &mut room.line);
                }
            }
        }
    }

    /// # Safety
    ///
    /// As for [`rxla_sort`].
    unsafe fn by_entries<E: Entry>(
        &self,
        context: &Context,
        base: usize,
        bits: u32,
        keys: &[u64],
        room: &mut [Vec<E>; 2],
        copy: &mut Vec<[u64; 2]>,
    ) {
        let [entries, spare] = room;
        entries.clear();
        entries.extend((0..).zip(keys).map(|(place, &key)| E::new(key, place)));
        spare.resize(entries.len(), E::default());
        sort_entries(context, entries, &mut spare[..keys.len()], bits);
        // SAFETY: the caller's promise.
        unsafe { self.gather(context, base, &|i| entries[i].place(), copy) };
    }

    /// Appends the keys of a line to those already there, as lower digits. The two zeros are the same here.
    ///
    /// # Safety
    ///
    /// As for [`rxla_sort`].
    unsafe fn add_keys(&self, context: &Context, base: usize, key: SortKey, keys: &mut [u64]) {
        let element = self.sort.operands[key.operand];
        with_element!(element, S => {
            let bits = <S as Key>::BITS;
            let (negative_zero, zero) = zero_keys(bits);
            let one_zero = !element.is_integer() && key.order == FloatOrder::Value;
            let flips = match key.direction {
                Direction::Ascending => 0,
                Direction::Descending => u64::MAX >> (64 - bits),
            };
            let from = Address(self.operands[key.operand].get().cast::<S>());
            let (count, keys) = (keys.len(), Address(keys.as_mut_ptr()));
            context.parallel_for(count, GRAIN, |begin, end| {
                let (from, inner) = (from.get().wrapping_add(base), self.sort.inner);
                let (order, keys) = (key.order, keys.get());
                for i in begin..end {
                    // SAFETY: the caller's promise; each key is in one piece.
                    let (value, into) = unsafe { (*from.add(i * inner), &mut *keys.add(i)) };
                    let mut value = value.key(order);
                    if one_zero && value == negative_zero {
                        value = zero;
                    }
                    *into = into.checked_shl(bits).unwrap_or(0) | (value ^ flips);
                }
            });
        });
    }

    /// Writes the elements of a line of all operands in the order of places. What is sorted where it
    /// is goes through `copy`.
    ///
    /// # Safety
    ///
    /// As for [`rxla_sort`]; the places are in the line.
    unsafe fn gather(
        &self,
        context: &Context,
        base: usize,
        place: &(impl Fn(usize) -> u32 + Sync),
        copy: &mut Vec<[u64; 2]>,
    ) {
        let (inner, length) = (self.sort.inner, self.sort.length);
        for (operand, element) in self.sort.operands.iter().enumerate() {
            let (from, into) = (self.operands[operand].get(), self.results[operand].get());
            macro_rules! moved {
                ($type:ty) => {{
                    let (mut from, mut stride) = (from.cast::<$type>().wrapping_add(base), inner);
                    if from == into.cast::<$type>().wrapping_add(base) {
                        copy.resize((length * size_of::<$type>()).div_ceil(16), [0; 2]);
                        let line = copy.as_mut_ptr().cast::<$type>();
                        for i in 0..length {
                            // SAFETY: the caller's promise, and the copy has room for the line.
                            unsafe { line.add(i).write(*from.add(i * inner)) };
                        }
                        (from, stride) = (line, 1);
                    }
                    let (from, into) = (Address(from), Address(into.cast::<$type>()));
                    context.parallel_for(length, GRAIN, |begin, end| {
                        let (from, stride) = (from.get(), stride);
                        let (into, inner) = (into.get().wrapping_add(base), inner);
                        for i in begin..end {
                            // SAFETY: the caller's promise; each element is in one piece.
                            unsafe {
                                let value = *from.add(place(i) as usize * stride);
                                into.add(i * inner).write(value);
                            }
                        }
                    });
                }};
            }
            match element.byte_width() {
                1 => moved!(u8),
                2 => moved!(u16),
                4 => moved!(u32),
                8 => moved!(u64),
                _ => moved!([u64; 2]),
            }
        }
    }

    /// # Safety
    ///
    /// As for [`rxla_sort`].
    unsafe fn is_less(&self, base: usize, a: u32, b: u32) -> bool {
        const MOST: usize = 32;
        let mut few = [std::ptr::null(); MOST];
        let mut many;
        let count = self.operands.len() * 2;
        let arguments = match few.get_mut(..count) {
            Some(arguments) => arguments,
            None => {
                many = vec![std::ptr::null(); count];
                &mut many[..]
            }
        };
        for (i, (operand, element)) in self.operands.iter().zip(&self.sort.operands).enumerate() {
            let at = |place: u32| {
                let index = base + place as usize * self.sort.inner;
                operand.get().wrapping_add(index * element.byte_width()).cast_const()
            };
            (arguments[2 * i], arguments[2 * i + 1]) = (at(a), at(b));
        }
        let Some(less) = self.less else { return false };
        // SAFETY: the caller's promise.
        unsafe { less(self.less_context.get(), arguments.as_ptr()) != 0 }
    }

    /// Sorts numbers of at most 32 bits with nothing to be moved along. Keys tell the number, but for NaN
    /// of one key and the order of zeros of both signs, which are looked up in the operand.
    ///
    /// # Safety
    ///
    /// As for [`rxla_sort`]; nobody else has these lines.
    unsafe fn values_alone(
        &self,
        context: &Context,
        start: usize,
        count: usize,
        key: SortKey,
        room: &mut Room,
    ) {
        let element = self.sort.operands[0];
        with_element!(element, S => {
            let bits = <S as Key>::BITS;
            let (length, inner) = (self.sort.length, self.sort.inner);
            let from = Address(self.operands[0].get().cast::<S>());
            let into = Address(self.results[0].get().cast::<S>());
            let (low_zero, high_zero) = zero_keys(bits);
            let last = u64::MAX >> (64 - bits);
            let flips = match key.direction {
                Direction::Ascending => 0,
                Direction::Descending => last,
            };
            let by_value = !element.is_integer() && key.order == FloatOrder::Value;
            let [keys, spare] = &mut room.narrow;
            keys.resize(length * count, 0);
            spare.resize(length.max(spare.len()), 0);
            let places = Address(keys.as_mut_ptr());
            context.parallel_for(length, GRAIN, |begin, end| {
                let from = from.get().wrapping_add(start + begin * inner);
                let places = places.get().wrapping_add(begin);
                // SAFETY: the caller's promise; each key is in one piece.
                unsafe {
                    if inner == 1 {
                        to_keys::<S>(from, places, end - begin, key.order, flips);
                        return;
                    }
                    for i in 0..end - begin {
                        for line in 0..count {
                            let value = *from.add(i * inner + line);
                            *places.add(line * length + i) = (value.key(key.order) ^ flips) as u32;
                        }
                    }
                }
            });
            for line in keys[..length * count].chunks_mut(length) {
                sort_keys(context, line, &mut spare[..length], bits);
            }
            // Looked up before anything is written: the result may be the operand.
            let mut exact: Vec<(usize, S)> = Vec::new();
            for line in 0..if by_value { count } else { 0 } {
                let sorted = &keys[line * length..][..length];
                let range = |low: u64, high: u64| {
                    let (low, high) = if flips == 0 { (low, high) } else { (high ^ flips, low ^ flips) };
                    let begin = sorted.partition_point(|&key| u64::from(key) < low);
                    begin..begin + sorted[begin..].partition_point(|&key| u64::from(key) <= high)
                };
                let zeros = range(low_zero, high_zero);
                let mixed = sorted.get(zeros.start) != sorted.get(zeros.end.wrapping_sub(1));
                let nans = range(last, last);
                for (range, needed) in [(zeros.clone(), !zeros.is_empty() && mixed), (nans.clone(), !nans.is_empty())] {
                    if !needed {
                        continue;
                    }
                    let keys = sorted[range.start].min(sorted[range.end - 1])..=sorted[range.start].max(sorted[range.end - 1]);
                    let mut place = range.start;
                    for i in 0..length {
                        // SAFETY: the caller's promise.
                        let value = unsafe { *from.get().add(start + i * inner + line) };
                        if keys.contains(&((value.key(key.order) ^ flips) as u32)) {
                            exact.push((start + place * inner + line, value));
                            place += 1;
                        }
                    }
                }
            }
            context.parallel_for(length, GRAIN, |begin, end| {
                let into = into.get().wrapping_add(start + begin * inner);
                let places = places.get().wrapping_add(begin).cast_const();
                // SAFETY: the caller's promise; each element is in one piece.
                unsafe {
                    if inner == 1 {
                        from_keys::<S>(places, into, end - begin, flips);
                        return;
                    }
                    for i in 0..end - begin {
                        for line in 0..count {
                            let key = u64::from(*places.add(line * length + i));
                            into.add(i * inner + line).write(S::from_key(key ^ flips));
                        }
                    }
                }
            });
            for (at, value) in exact {
                // SAFETY: the caller's promise.
                unsafe { into.get().add(at).write(value) };
            }
        });
    }
}

for_each_set! {
    /// # Safety
    ///
    /// So many elements are there, and room for as many keys.
    unsafe fn to_keys[S: Key] = to_keys_body(
        from: *const S, into: *mut u32, count: usize, order: FloatOrder, flips: u64
    ) -> ()
}

/// # Safety
///
/// See [`to_keys`].
#[inline(always)]
unsafe fn to_keys_body<S: Key>(
    from: *const S,
    into: *mut u32,
    count: usize,
    order: FloatOrder,
    flips: u64,
) {
    for i in 0..count {
        // SAFETY: the caller's promise.
        unsafe { *into.add(i) = ((*from.add(i)).key(order) ^ flips) as u32 };
    }
}

for_each_set! {
    /// # Safety
    ///
    /// So many keys are there, and room for as many elements.
    unsafe fn from_keys[S: FromKey] =
        from_keys_body(from: *const u32, into: *mut S, count: usize, flips: u64) -> ()
}

/// # Safety
///
/// See [`from_keys`].
#[inline(always)]
unsafe fn from_keys_body<S: FromKey>(from: *const u32, into: *mut S, count: usize, flips: u64) {
    for i in 0..count {
        // SAFETY: the caller's promise.
        unsafe { into.add(i).write(S::from_key(u64::from(*from.add(i)) ^ flips)) };
    }
}

/// Back from a key to the number; NaN become one.
trait FromKey: Sized {
    fn from_key(key: u64) -> Self;
}

macro_rules! keys_back {
    ($($type:ident: $key:ident => $value:expr;)*) => {$(
        impl FromKey for $type {
            #[inline(always)]
            fn from_key($key: u64) -> $type {
                $value
            }
        }
    )*};
}

keys_back! {
    u8: key => key as u8;
    u16: key => key as u16;
    u32: key => key as u32;
    u64: key => key;
    i8: key => (key as u8 ^ 1 << 7) as i8;
    i16: key => (key as u16 ^ 1 << 15) as i16;
    i32: key => (key as u32 ^ 1 << 31) as i32;
    i64: key => (key ^ 1 << 63) as i64;
    f32: key => f32::from_bits(float_bits(key, 32) as u32);
    f64: key => f64::from_bits(float_bits(key, 64));
}

impl FromKey for half::f16 {
    #[inline(always)]
    fn from_key(key: u64) -> half::f16 {
        half::f16::from_bits(float_bits(key, 16) as u16)
    }
}

impl FromKey for half::bf16 {
    #[inline(always)]
    fn from_key(key: u64) -> half::bf16 {
        half::bf16::from_bits(float_bits(key, 16) as u16)
    }
}

/// The bits of the float with this key.
#[inline(always)]
fn float_bits(key: u64, bits: u32) -> u64 {
    let sign = 1 << (bits - 1);
    if key & sign != 0 { key ^ sign } else { !key }
}

#[cfg(test)]
#[path = "test.rs"]
mod tests;
