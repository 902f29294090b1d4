//! Lines whose elements are moved along: an order of places is found first, and what moves is gathered by it.

use rxla_base::Result;

use super::key::{Key, zero_keys};
use super::order::{sort_by, sort_entries, sort_wide};
use super::{Direction, FloatOrder, GRAIN, Job, Role, Room, SortKey, room};
use crate::context::Context;
use crate::element::with_element;
use crate::gemm::Address;

impl Job<'_> {
    /// Sorts a line of all operands; `base` is its first element.
    ///
    /// # Safety
    ///
    /// As for [`super::rxla_sort`]; nobody else has the line.
    pub(super) unsafe fn moved(
        &self,
        context: &Context,
        base: usize,
        memory: &mut Room,
    ) -> Result<()> {
        let length = self.sort.length;
        let bits =
            self.sort.keys.iter().map(|key| self.sort.operands[key.operand].0.byte_width() * 8);
        let bits: usize = bits.sum();
        let Room { keys, entries, spare, copy } = memory;
        if self.sort.keys.is_empty() || bits > 64 {
            let places = room::<u32>(entries, length)?;
            places.iter_mut().zip(0..).for_each(|(into, place)| *into = place);
            let spare = room::<u32>(spare, length)?;
            if self.sort.keys.is_empty() {
                // SAFETY: the caller's promise.
                sort_by(places, spare, |a, b| unsafe { self.is_less(base, a, b) });
            } else {
                let mut columns = vec![vec![0; length]; self.sort.keys.len()];
                for (&key, keys) in self.sort.keys.iter().zip(&mut columns) {
                    // SAFETY: the caller's promise.
                    unsafe { self.add_keys(base, key, keys) };
                }
                let at = |place: u32| columns.iter().map(move |keys| keys[place as usize]);
                sort_by(places, spare, |a, b| at(a).lt(at(b)));
            }
            // SAFETY: the caller's promise.
            return unsafe { self.gather(context, base, &|i| places[i], copy) };
        }
        let entries = room::<u64>(entries, length)?;
        let spare = room::<u64>(spare, length)?;
        if bits <= 32 {
            // SAFETY: the caller's promise.
            unsafe { self.make_keys(context, base, entries, |key, place| key << 32 | place) };
            sort_entries(context, entries, spare, bits as u32);
        } else {
            let keys = room::<u64>(keys, length)?;
            // SAFETY: as above.
            unsafe { self.make_keys(context, base, keys, |key, _| key) };
            sort_wide(context, keys, entries, spare);
        }
        // SAFETY: as above.
        unsafe { self.gather(context, base, &|i| entries[i] as u32, copy) }
    }

    /// Writes what `made` makes of each element's key, of all keys' bits, and of its place.
    ///
    /// # Safety
    ///
    /// As for [`super::rxla_sort`].
    unsafe fn make_keys(
        &self,
        context: &Context,
        base: usize,
        into: &mut [u64],
        made: impl Fn(u64, u64) -> u64 + Sync,
    ) {
        let (count, into) = (into.len(), Address(into.as_mut_ptr()));
        context.parallel_for(count, GRAIN, |begin, end| {
            // SAFETY: each key is in one piece.
            let piece =
                unsafe { std::slice::from_raw_parts_mut(into.get().add(begin), end - begin) };
            piece.fill(0);
            for &key in &self.sort.keys {
                // SAFETY: the caller's promise.
                unsafe { self.add_keys(base + begin * self.sort.inner, key, piece) };
            }
            for (key, place) in piece.iter_mut().zip(begin as u64..) {
                *key = made(*key, place);
            }
        });
    }

    /// Appends the keys of some of a line's elements to those already there, as lower digits. The two zeros
    /// are the same here.
    ///
    /// # Safety
    ///
    /// As for [`super::rxla_sort`].
    unsafe fn add_keys(&self, first: usize, key: SortKey, keys: &mut [u64]) {
        let (element, _) = self.sort.operands[key.operand];
        with_element!(element, S => {
            let bits = <S as Key>::BITS;
            let (negative_zero, zero) = zero_keys(bits);
            let one_zero = !element.is_integer() && key.order == FloatOrder::Value;
            let flips = match key.direction {
                Direction::Ascending => 0,
                Direction::Descending => u64::MAX >> (64 - bits),
            };
            let from = self.operands[key.operand].get().cast::<S>().wrapping_add(first);
            for (i, into) in keys.iter_mut().enumerate() {
                // SAFETY: the caller's promise.
                let mut value = unsafe { *from.add(i * self.sort.inner) }.key(key.order);
                if one_zero && value == negative_zero {
                    value = zero;
                }
                *into = into.checked_shl(bits).unwrap_or(0) | (value ^ flips);
            }
        });
    }

    /// Writes the elements of a line of all operands in the order of places. What is sorted where it
    /// is goes through `copy`.
    ///
    /// # Safety
    ///
    /// As for [`super::rxla_sort`]; the places are in the line.
    unsafe fn gather(
        &self,
        context: &Context,
        base: usize,
        place: &(impl Fn(usize) -> u32 + Sync),
        copy: &mut Option<crate::allocator::Block>,
    ) -> Result<()> {
        let (inner, length) = (self.sort.inner, self.sort.length);
        for (operand, &(element, role)) in self.sort.operands.iter().enumerate() {
            let (from, into) = (self.operands[operand].get(), self.results[operand].get());
            macro_rules! write {
                ($type:ty, $value:expr) => {{
                    let into = Address(into.cast::<$type>());
                    context.parallel_for(length, GRAIN, |begin, end| {
                        let into = into.get().wrapping_add(base);
                        for i in begin..end {
                            let value: $type = $value(place(i) as usize);
                            // SAFETY: the caller's promise; each element is in one piece.
                            unsafe { into.add(i * inner).write(value) };
                        }
                    });
                }};
            }
            macro_rules! moved {
                ($type:ty) => {{
                    let (mut from, mut stride) = (from.cast::<$type>().wrapping_add(base), inner);
                    if from == into.cast::<$type>().wrapping_add(base) {
                        let line = room::<$type>(copy, length)?;
                        for (i, into) in line.iter_mut().enumerate() {
                            // SAFETY: the caller's promise.
                            *into = unsafe { *from.add(i * inner) };
                        }
                        (from, stride) = (line.as_mut_ptr(), 1);
                    }
                    let from = Address(from);
                    // SAFETY: the caller's promise.
                    write!($type, |place: usize| unsafe { *from.get().add(place * stride) })
                }};
            }
            match (role, element.byte_width()) {
                (Role::Unread, _) => {}
                (Role::Places, 4) => write!(u32, |place: usize| place as u32),
                (Role::Places, _) => write!(u64, |place: usize| place as u64),
                (Role::Moved, 1) => moved!(u8),
                (Role::Moved, 2) => moved!(u16),
                (Role::Moved, 4) => moved!(u32),
                (Role::Moved, 8) => moved!(u64),
                (Role::Moved, _) => moved!([u64; 2]),
            }
        }
        Ok(())
    }

    /// # Safety
    ///
    /// As for [`super::rxla_sort`].
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
        for (i, (operand, (element, _))) in
            self.operands.iter().zip(&self.sort.operands).enumerate()
        {
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
}
