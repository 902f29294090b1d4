//! `rxla_dot`: general products of tensors, any layout of any operand.

mod native;
mod zeros;

use rxla_base::{Error, Result};

use crate::allocator::Allocator;
use crate::context::{Context, KeptMatrices};
use crate::element::{Any, Element, Elements};
use crate::gemm::axis::Axis;
use crate::gemm::kept::Slot;
use crate::gemm::pack::{Pack, pack_complex};
use crate::gemm::units::{Halves, MixedBytes, Pair, Quad, SignedBytes};
use crate::gemm::{self, Compute, Operand, Product, Workspace, sets};
use crate::status::{Status, guard};
use native::{Native, fits_bytes, fits_i16};

pub use crate::gemm::axis::Dim;

/// A dimension that all three operands have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BatchDim {
    pub size: usize,
    /// In the left and right operand and the result, in elements.
    pub strides: [isize; 3],
}

/// A product of two tensors. Strides are in elements of the operand that they belong to; dimensions
/// may be in any order. Products of integers wrap, those of small floats are summed as f32.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Dot {
    pub left: Element,
    pub right: Element,
    pub result: Element,
    /// Whether operands of f32 are rounded to bf16 where products of these are faster and the kernels are those for
    /// [`Any`] elements.
    pub rounded: bool,
    pub batch: Vec<BatchDim>,
    /// Dimensions of the left operand and the result.
    pub rows: Vec<Dim>,
    /// Dimensions of the right operand and the result.
    pub columns: Vec<Dim>,
    /// Dimensions of the left and the right operand that are summed over.
    pub summed: Vec<Dim>,
}

impl Dot {
    /// The array for [`rxla_dot`].
    pub fn encode(&self) -> Result<Vec<i64>> {
        let complex = [self.left, self.right, self.result].map(Element::is_complex);
        if complex != [complex[2]; 3]
            || (complex[2] && (self.left != self.result || self.right != self.result))
        {
            return Err(Error::unimplemented(format!(
                "a product of {:?} and {:?} as {:?}",
                self.left, self.right, self.result
            )));
        }
        if self.result.is_integer() && !(self.left.is_integer() && self.right.is_integer()) {
            return Err(Error::unimplemented("a product of floats as integers"));
        }
        let mut code = vec![self.left as i64, self.right as i64, self.result as i64, -1, 0];
        code.extend([i64::from(self.rounded), self.batch.len() as i64]);
        for dim in &self.batch {
            code.push(dim.size as i64);
            code.extend(dim.strides.map(|stride| stride as i64));
        }
        for dims in [&self.rows, &self.columns, &self.summed] {
            code.push(dims.len() as i64);
            for dim in dims {
                code.push(dim.size as i64);
                code.extend(dim.strides.map(|stride| stride as i64));
            }
        }
        Ok(code)
    }
}

/// Where in that array stands how many columns are shown, if that is not below zero; there has to be one
/// dimension of rows and one of columns then, and others are zero.
pub const SHOWN: usize = 3;

/// Where in that array stands what [`keep`] says; zero if nothing is kept.
pub const KEPT: usize = 4;

/// What stays packed of a product's operands: those of the left and right one that are constants of the program or do
/// not change while a loop runs, in a slot of the program's constants or of the execution's loops (see [`Kept`]). Places
/// of the program have slots of their own, and [`rxla_forget`] is called where the loop begins.
///
/// [`Kept`]: crate::context::Kept
/// [`rxla_forget`]: crate::context::rxla_forget
pub fn keep(sides: [bool; 2], constant: bool, slot: u32) -> i64 {
    let bits = [sides[0], sides[1], constant].map(i64::from);
    bits[0] | bits[1] << 1 | bits[2] << 2 | i64::from(slot) << 3
}

/// Operands of which one is kept packed if the product packs it.
#[derive(Clone, Copy)]
pub(crate) struct Keeps<'a> {
    store: &'a KeptMatrices,
    slot: u64,
    sides: [bool; 2],
}

impl<'a> Keeps<'a> {
    /// What [`keep`] said.
    fn read(context: &'a Context, code: i64) -> Option<Keeps<'a>> {
        let sides = [0, 1].map(|side| code >> side & 1 != 0);
        let kept = context.kept.as_ref().filter(|_| sides != [false; 2])?;
        let store = if code >> 2 & 1 != 0 { &kept.constants } else { &kept.invariants };
        Some(Keeps { store, slot: (code >> 3) as u64, sides })
    }

    /// For a product that packs the left operand, or the right one.
    fn of(self, left: bool) -> Option<Slot<'a>> {
        let Keeps { store, slot, sides } = self;
        sides[usize::from(!left)].then_some(Slot { store, number: slot, left })
    }
}

/// Reads arrays that descriptions encoded themselves as.
pub(crate) struct Decoder {
    next: *const i64,
}

impl Decoder {
    /// # Safety
    ///
    /// `code` is the array of a description, and is read as it was written.
    pub(crate) unsafe fn new(code: *const i64) -> Decoder {
        Decoder { next: code }
    }

    pub(crate) fn next(&mut self) -> i64 {
        // SAFETY: the promise of `new`.
        let value = unsafe { *self.next };
        self.next = self.next.wrapping_add(1);
        value
    }

    pub(crate) fn size(&mut self) -> usize {
        self.next() as usize
    }

    pub(crate) fn element(&mut self) -> Result<Element> {
        Element::from_number(self.next())
    }

    fn dims(&mut self) -> Vec<Dim> {
        let count = self.size();
        (0..count)
            .map(|_| Dim {
                size: self.size(),
                strides: [self.next() as isize, self.next() as isize],
            })
            .collect()
    }
}

/// The product that the array describes, of `left` and `right`, into `result`.
///
/// # Safety
///
/// The context is null or a [`Context`], `code` the array of a [`Dot`], and the other addresses those of
/// buffers that hold what it says; nobody else uses the result.
pub unsafe extern "C" fn rxla_dot(
    context: *const Context,
    left: *const u8,
    right: *const u8,
    result: *mut u8,
    code: *const i64,
) -> Status {
    // SAFETY: the caller's promise.
    unsafe { rxla_dot_of::<Any>(context, left, right, result, code) }
}

/// [`rxla_dot`] for such elements.
///
/// # Safety
///
/// As for [`rxla_dot`]; the elements are such.
pub unsafe extern "C" fn rxla_dot_of<E: Elements>(
    context: *const Context,
    left: *const u8,
    right: *const u8,
    result: *mut u8,
    code: *const i64,
) -> Status {
    guard(|| {
        // SAFETY: the caller's promise.
        let (context, mut code) = unsafe { (Context::from_ptr(context), Decoder::new(code)) };
        let [left_element, right_element] = [code.element()?, code.element()?];
        let result_element = code.element()?;
        let shown = usize::try_from(code.next()).ok();
        let keeps = Keeps::read(context, code.next());
        let mut dot = Dot {
            left: left_element,
            right: right_element,
            result: result_element,
            rounded: code.next() != 0,
            batch: {
                let count = code.size();
                let dim = |code: &mut Decoder| BatchDim {
                    size: code.size(),
                    strides: [code.next() as isize, code.next() as isize, code.next() as isize],
                };
                (0..count).map(|_| dim(&mut code)).collect()
            },
            rows: code.dims(),
            columns: code.dims(),
            summed: code.dims(),
        };
        // SAFETY: the caller's promise.
        unsafe {
            if let Some(shown) = shown {
                hide(&mut dot, shown, result);
            }
            run::<E>(context, &dot, keeps, left, right, result)
        }
    })
}

/// Leaves columns from one on out of a product; they are zero.
///
/// # Safety
///
/// The result is as large as `dot` says, and nobody else uses it.
unsafe fn hide(dot: &mut Dot, shown: usize, result: *mut u8) {
    let ([rows], [columns]) = (&dot.rows[..], &mut dot.columns[..]) else { return };
    if shown >= columns.size {
        return;
    }
    let width = dot.result.byte_width();
    for place in places(&dot.batch) {
        let matrix = result.wrapping_offset(place[2] * width as isize);
        // SAFETY: the caller's promise.
        unsafe { zeros::clear(width, matrix, *columns, shown, *rows) };
    }
    columns.size = shown;
}

/// # Safety
///
/// The addresses are those of buffers that hold what `dot` says; nobody else uses the result, and what is kept does not
/// change as long as it is.
pub(crate) unsafe fn run<E: Elements>(
    context: &Context,
    dot: &Dot,
    keeps: Option<Keeps<'_>>,
    left: *const u8,
    right: *const u8,
    result: *mut u8,
) -> Result<()> {
    // SAFETY: the caller's promise.
    let less = unsafe { zeros::without_zeros(dot, left, right, result) };
    let dot = less.as_ref().unwrap_or(dot);
    // Products with vectors read the matrix where it is, which most values of several steps do not.
    let one = count(&dot.rows) == 1 || count(&dot.columns) == 1;
    let few = !one && has_few_vectors(dot);
    let sides = [dot.left, dot.right].map(E::known);
    // Kernels for bf16 would be more than half of a program that has none.
    let singles = E::ANY && dot.rounded && sides == [Element::F32; 2];
    let halves = !one && !few && (sides == [Element::BF16; 2] || singles);
    let words = !one && sides.into_iter().all(fits_i16);
    // One of them with a sign, and none on the wrong side: see `Quad`.
    let bytes = !few && sides.into_iter().all(fits_bytes) && sides.contains(&Element::I8);
    let bytes = bytes && Quad::must_swap(sides).is_none_or(|swap| swap == is_turned(dot));
    // SAFETY: the caller's promise.
    unsafe {
        match E::known(dot.result) {
            Element::F16 | Element::BF16 | Element::F32 if halves && sets::has_fast_bf16() => {
                run_in::<Halves, E>(context, dot, keeps, left, right, result)
            }
            Element::I64 | Element::U64 => {
                run_in::<i64, E>(context, dot, keeps, left, right, result)
            }
            Element::F64 | Element::C128 => {
                run_in::<f64, E>(context, dot, keeps, left, right, result)
            }
            Element::F16 | Element::BF16 | Element::F32 | Element::C64 => {
                run_in::<f32, E>(context, dot, keeps, left, right, result)
            }
            _ if words && bytes && sets::has_amx() && sides == [Element::I8; 2] => {
                run_in::<SignedBytes, E>(context, dot, keeps, left, right, result)
            }
            _ if words && bytes && sets::has_amx() => {
                run_in::<MixedBytes, E>(context, dot, keeps, left, right, result)
            }
            _ if words && bytes && sets::has_vnni() => {
                run_in::<Quad, E>(context, dot, keeps, left, right, result)
            }
            _ if words => run_in::<Pair, E>(context, dot, keeps, left, right, result),
            Element::I8
            | Element::I16
            | Element::I32
            | Element::U8
            | Element::U16
            | Element::U32 => run_in::<i32, E>(context, dot, keeps, left, right, result),
        }
    }
}

/// Whether one operand is some vectors, and the other one is read where it is: its lines lie
/// together, or its rows.
fn has_few_vectors(dot: &Dot) -> bool {
    let (rows, columns) = (count(&dot.rows), count(&dot.columns));
    let (vectors, lines) = (rows.min(columns), rows.max(columns));
    let (side, dims, element) = match rows <= columns {
        true => (1, &dot.columns, dot.right),
        false => (0, &dot.rows, dot.left),
    };
    let [steps] = dot.summed[..] else { return false };
    let step = steps.strides[side];
    // Beyond eight, values of several steps win back what packing costs.
    if vectors > 8 {
        return false;
    }
    match dims[..] {
        _ if step == 1 => gemm::vector::takes(vectors, lines, steps.size),
        [line] if line.strides[0] == 1 => {
            gemm::vector::takes_rows(element.byte_width(), vectors, lines, steps.size, step)
        }
        _ => false,
    }
}

/// # Safety
///
/// As for [`run`].
unsafe fn run_in<T: Native, E: Elements>(
    context: &Context,
    dot: &Dot,
    keeps: Option<Keeps<'_>>,
    left: *const u8,
    right: *const u8,
    result: *mut u8,
) -> Result<()> {
    let complex = E::known(dot.result).is_complex();
    if [dot.left, dot.right, dot.result].map(E::known).into_iter().all(T::is_native) {
        let (left, right, result) = (left.cast::<T>(), right.cast::<T>(), result.cast::<T>());
        // SAFETY: the caller's promise.
        if unsafe {
            gemm::lanes::multiply(context, dot, left, right, result)
                || gemm::few::multiply(dot, left, right, result)
        } {
            return Ok(());
        }
    }
    let batch: usize = dot.batch.iter().map(|dim| dim.size).product();
    let (mut rows, mut columns, mut summed) =
        (dot.rows.clone(), dot.columns.clone(), dot.summed.clone());
    if complex {
        // As real numbers: steps and columns twice as many, see `pack_complex`.
        for dims in [&mut rows, &mut columns, &mut summed] {
            dims.iter_mut().for_each(|dim| dim.strides = dim.strides.map(|stride| stride * 2));
        }
        columns.push(Dim { size: 2, strides: [0, 1] });
        summed.push(Dim { size: 2, strides: [1, 0] });
    }
    // Rows and columns in the order of the result, so that it is written in order; steps in the
    // order of the left operand.
    let by = |dims: &mut Vec<Dim>, side: usize| {
        if !complex {
            dims.sort_by_key(|dim| std::cmp::Reverse(dim.strides[side].unsigned_abs()));
        }
    };
    by(&mut rows, 1);
    by(&mut columns, 1);
    by(&mut summed, 0);
    // Strides in a temporary result for what has to be rounded at the end.
    let native = T::is_native(E::known(dot.result));
    let (row_count, column_count) = (count(&rows), count(&columns));
    let round = match native || !(1..=T::BLOCK).contains(&count(&summed)) {
        true => None,
        false => T::rounds(E::known(dot.result)),
    };
    let temporary = match native || round.is_some() {
        true => None,
        false => {
            let size = row_count.saturating_mul(column_count).saturating_mul(batch);
            Some(Allocator::shared().allocate(size.saturating_mul(size_of::<T>()))?)
        }
    };
    let mut target_rows = rows.clone();
    let mut target_columns = columns.clone();
    if temporary.is_some() {
        make_dense(&mut target_columns, 1);
        make_dense(&mut target_rows, column_count);
    }
    let (m, n, k) = (Axis::new(target_rows), Axis::new(target_columns), Axis::new(summed));
    let sides = [dot.left, dot.right].map(E::known);
    let swapped = T::must_swap(sides).unwrap_or(prefers_swap(&m, &n) && !complex);
    let packers = match swapped {
        false => T::packers(sides),
        true => {
            let [right, left] = T::packers([sides[1], sides[0]]);
            [left, right]
        }
    };
    let places = places(&dot.batch);
    let c = match &temporary {
        Some(block) => block.as_ptr().cast::<T>(),
        None => result.cast::<T>(),
    };
    let scale = if complex { 2 } else { 1 };
    let flipped = Axis::new(
        k.dims.iter().map(|dim| Dim { size: dim.size, strides: [dim.strides[1], dim.strides[0]] }),
    );
    let kept = keeps.filter(|_| batch == 1).and_then(|keeps| keeps.of(swapped));
    let product = |index: usize| {
        let place = places[index];
        let operand = |element: Element, data: *const u8, place: isize, pack: Pack<T>| Operand {
            data: data.wrapping_offset(place * element.byte_width() as isize),
            width: element.byte_width() / if complex { 2 } else { 1 },
            pack,
            streams: if complex { None } else { T::streams(E::known(element)) },
            direct: T::is_direct(E::known(element)),
        };
        let a = operand(dot.left, left, place[0], packers[0]);
        let b_pack = if complex { pack_complex::<T> } else { packers[1] };
        let b = operand(dot.right, right, place[1], b_pack);
        let c = match &temporary {
            Some(_) => c.wrapping_add(index * row_count * column_count),
            None => {
                let width = round.map_or(size_of::<T>(), |round| round.width) as isize;
                c.wrapping_byte_offset(place[2] * scale * width)
            }
        };
        match swapped {
            false => Product { a, b, c, m: &m, n: &n, k: &k, kept, round },
            true => Product { a: b, b: a, c, m: &n, n: &m, k: &flipped, kept, round },
        }
    };
    // SAFETY: the caller's promise.
    unsafe { multiply_all(context, batch, &product)? };
    if let Some(block) = &temporary {
        let source = block.as_ptr().cast::<T>().cast_const();
        for (index, place) in places.iter().enumerate() {
            // SAFETY: the temporary holds so many sums; the result is the caller's promise.
            unsafe {
                let source = source.add(index * row_count * column_count);
                let target = result.offset(place[2] * dot.result.byte_width() as isize);
                T::round(E::known(dot.result), context, source, &rows, &columns, target);
            }
        }
    }
    Ok(())
}

/// Runs all products, small ones in parallel and large ones one after the other.
///
/// # Safety
///
/// As for [`gemm::multiply`], for each of them.
pub(crate) unsafe fn multiply_all<'a, T: Compute>(
    context: &Context,
    count: usize,
    product: &(dyn Fn(usize) -> Product<'a, T> + '_),
) -> Result<()> {
    if count == 0 {
        return Ok(());
    }
    let first = product(0);
    let work = first.m.len().saturating_mul(first.n.len()).saturating_mul(first.k.len().max(1));
    const LARGE: usize = 1 << 22;
    // With many products nobody has to wait for parts of one.
    const MANY: usize = 4;
    let threads = context.threads();
    if count == 1 || count < threads || (work >= LARGE && count < MANY * threads) {
        let mut workspace = Workspace::default();
        for index in 0..count {
            // SAFETY: the caller's promise.
            unsafe { gemm::multiply(context, &product(index), &mut workspace)? };
        }
        return Ok(());
    }
    struct Shared<'f, 'a, T>(&'f (dyn Fn(usize) -> Product<'a, T> + 'f));
    // SAFETY: the function only computes addresses.
    unsafe impl<T> Sync for Shared<'_, '_, T> {}
    impl<'a, T> Shared<'_, 'a, T> {
        fn get(&self, index: usize) -> Product<'a, T> {
            (self.0)(index)
        }
    }
    let shared = Shared(product);
    let alone = Context::default();
    let failure = std::sync::Mutex::new(None);
    context.parallel_for(count, ((1 << 17) / work.max(1)).max(1), |begin, end| {
        let mut workspace = Workspace::default();
        for index in begin..end {
            let product = shared.get(index);
            // SAFETY: the caller's promise; results of different products do not overlap.
            if let Err(error) = unsafe { gemm::multiply(&alone, &product, &mut workspace) } {
                *failure.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(error);
            }
        }
    });
    match failure.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner) {
        Some(error) => Err(error),
        None => Ok(()),
    }
}

fn count(dims: &[Dim]) -> usize {
    dims.iter().map(|dim| dim.size).product()
}

/// Gives dimensions the strides of a dense row-major target.
fn make_dense(dims: &mut [Dim], inner: usize) {
    let mut stride = inner;
    for dim in dims.iter_mut().rev() {
        dim.strides[1] = stride as isize;
        stride *= dim.size;
    }
}

/// Tiles are written fastest where columns lie together in the result; but few columns leave most of a
/// tile unused.
fn prefers_swap(m: &Axis, n: &Axis) -> bool {
    if m.len().min(n.len()) < 4 {
        return n.len() < m.len();
    }
    let last = |axis: &Axis| axis.dims.last().map_or(isize::MAX, |dim| dim.strides[1]);
    last(n) != 1 && last(m) == 1
}

/// Whether the result is written fastest with the operands in each other's place.
fn is_turned(dot: &Dot) -> bool {
    let axis = |dims: &[Dim]| {
        let mut dims = dims.to_vec();
        dims.sort_by_key(|dim| std::cmp::Reverse(dim.strides[1].unsigned_abs()));
        Axis::new(dims)
    };
    prefers_swap(&axis(&dot.rows), &axis(&dot.columns))
}

/// Where each matrix of the batch is in the three operands.
fn places(batch: &[BatchDim]) -> Vec<[isize; 3]> {
    let mut places = vec![[0; 3]];
    for dim in batch {
        places = places
            .iter()
            .flat_map(|place| {
                (0..dim.size as isize)
                    .map(move |index| std::array::from_fn(|o| place[o] + index * dim.strides[o]))
            })
            .collect();
    }
    places
}

#[cfg(test)]
#[path = "dot_test.rs"]
mod tests;
