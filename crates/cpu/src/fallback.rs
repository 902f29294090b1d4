//! Instructions that have no kernel, evaluated by the interpreter in the middle of a compiled run.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use rxla_base::{Error, Result};
use rxla_hlo::literal::Bytes;
use rxla_hlo::{ArrayLiteral, InstructionId, Literal, Module, Op, Shape};
use rxla_interpreter::Session;
use rxla_runtime::{Context, Subnormals};
use smallvec::SmallVec;

use crate::early::Early;
use crate::exchange::Exchange;
use crate::marks::Mark;

/// What the driver gets as its context. It begins with what the runtime wants to see there.
#[repr(C)]
pub(crate) struct RunContext<'a> {
    pub(crate) runtime: Context,
    pub(crate) module: &'a Module,
    pub(crate) fallbacks: &'a [InstructionId],
    pub(crate) marks: &'a [Mark],
    /// `None` in programs without fallbacks.
    pub(crate) session: Option<&'a Session<'a>>,
    /// `None` where nobody is told of results before the run ends.
    pub(crate) early: Option<Early<'a>>,
    /// Why a fallback failed.
    pub(crate) failure: RefCell<Option<Failure>>,
}

pub(crate) enum Failure {
    Error(Error),
    /// A fault of ours on its way to where faults are caught.
    Panic(Box<dyn Any + Send>),
}

/// The status of a run that a fallback has ended; the context says why.
pub(crate) const FAILED: i64 = -1;

/// Called by the driver: evaluates fallback number `index` on the memory at `operands`, an address
/// for each array among the operands' leaves, and writes to that at `results`.
///
/// # Safety
///
/// `context` is that of the run, and the addresses are those of arrays of the shapes that the
/// instruction says; results overlap no operand.
pub(crate) unsafe extern "C" fn rxla_fallback(
    context: *const RunContext<'_>,
    index: i64,
    operands: *const *const u8,
    results: *const *mut u8,
) -> i64 {
    // SAFETY: the context lives until the driver returns.
    let context = unsafe { &*context };
    // The interpreter's arithmetic, and that of callbacks of the user's, is the usual one.
    let _mode = Subnormals::keep();
    let failure = match catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: passed on from the caller.
        unsafe { evaluate(context, index as usize, operands, results) }
    })) {
        Ok(Ok(())) => return 0,
        Ok(Err(error)) => Failure::Error(error),
        Err(panic) => Failure::Panic(panic),
    };
    *context.failure.borrow_mut() = Some(failure);
    FAILED
}

/// # Safety
///
/// As for [`rxla_fallback`].
unsafe fn evaluate(
    context: &RunContext<'_>,
    index: usize,
    operands: *const *const u8,
    results: *const *mut u8,
) -> Result<()> {
    let module = context.module;
    let id = context.fallbacks[index];
    let session = context
        .session
        .ok_or_else(|| Error::internal("a program without fallbacks has one after all"))?;
    if let Some(exchange) = Exchange::of(module, id)
        // SAFETY: the caller's promise; of arrays each has its address.
        && unsafe { exchange.run(session, (module, id), operands, results)? }
    {
        return Ok(());
    }
    // SAFETY: passed on from the caller.
    if unsafe { call_in_place(session, module, id, operands, results)? } {
        return Ok(());
    }
    let mut addresses = 0..;
    let literals = module[id]
        .operands()
        .iter()
        .map(|&operand| {
            // SAFETY: the list has an address for each array, and each array its bytes.
            unsafe {
                read(&module[operand].shape, &mut || {
                    *operands.add(addresses.next().unwrap_or_default())
                })
            }
        })
        .collect::<Result<Vec<_>>>()?;
    let result = session.evaluate(id, literals)?;
    // What was sent stays where it is.
    if matches!(module[id].op, Op::Send(_)) {
        return Ok(());
    }
    let mut addresses = 0..;
    // SAFETY: as above.
    unsafe {
        write(&module[id].shape, &result, &mut || {
            *results.add(addresses.next().unwrap_or_default())
        })
    }
}

/// Has a custom call done where its arrays lie, if it is one and somebody can; says whether. Of tuples only the result
/// may be one.
///
/// # Safety
///
/// As for [`rxla_fallback`].
unsafe fn call_in_place(
    session: &Session<'_>,
    module: &Module,
    id: InstructionId,
    operands: *const *const u8,
    results: *const *mut u8,
) -> Result<bool> {
    let Op::CustomCall(_) = &module[id].op else { return Ok(false) };
    let operand_shapes = module[id].operands().iter().map(|&operand| &module[operand].shape);
    let result_shapes = match &module[id].shape {
        Shape::Tuple(elements) => &elements[..],
        single => std::slice::from_ref(single),
    };
    // SAFETY: the caller's promise: each array has its address, and its bytes; results overlap nothing.
    let (operands, results) = unsafe {
        let operands = sizes(operand_shapes).map(|(number, size)| match size? {
            0 => Some(&[][..]),
            size => Some(std::slice::from_raw_parts(*operands.add(number), size)),
        });
        let results = sizes(result_shapes).map(|(number, size)| match size? {
            0 => Some(&mut [][..]),
            size => {
                // What the call leaves is no chance.
                let result = *results.add(number);
                result.write_bytes(0, size);
                Some(std::slice::from_raw_parts_mut(result, size))
            }
        });
        (operands.collect::<Option<Few<_>>>(), results.collect::<Option<Few<_>>>())
    };
    let (Some(operands), Some(mut results)) = (operands, results) else { return Ok(false) };
    session.call_in_place(id, &operands, &mut results)
}

/// A list that is short as a rule.
type Few<T> = SmallVec<[T; 8]>;

/// The number and the bytes of each array; `None` for what is neither an array nor a token.
fn sizes<'s>(
    shapes: impl IntoIterator<Item = &'s Shape>,
) -> impl Iterator<Item = (usize, Option<usize>)> {
    let arrays = shapes.into_iter().filter(|shape| !matches!(shape, Shape::Token));
    arrays.map(|shape| shape.as_array()?.byte_size()).enumerate()
}

/// A literal with the contents of the addresses that `next` gives.
///
/// # Safety
///
/// Each address is that of an array of the shape's next array leaf.
unsafe fn read(shape: &Shape, next: &mut dyn FnMut() -> *const u8) -> Result<Literal> {
    match shape {
        Shape::Array(array) => {
            let array = array.without_layout();
            let len = array.byte_size().unwrap_or(0);
            let bytes = match len {
                0 => {
                    next();
                    Bytes::zeroed(0)?
                }
                _ => {
                    let mut bytes = Bytes::provided(crate::memory(len)?);
                    // SAFETY: the caller's promise.
                    let value = unsafe { std::slice::from_raw_parts(next(), len) };
                    bytes.make_mut().copy_from_slice(value);
                    bytes
                }
            };
            Ok(Literal::Array(ArrayLiteral::from_bytes(&array, bytes)?))
        }
        Shape::Tuple(elements) => {
            let elements = elements
                .iter()
                // SAFETY: passed on.
                .map(|element| unsafe { read(element, next) })
                .collect::<Result<_>>()?;
            Ok(Literal::Tuple(elements))
        }
        Shape::Token => Ok(Literal::Token),
        Shape::Opaque | Shape::Buffer(_) => {
            Err(Error::internal(format!("a value of `{shape}` in compiled code")))
        }
    }
}

/// Puts the arrays of a literal to the addresses that `next` gives.
///
/// # Safety
///
/// As for [`read`].
unsafe fn write(shape: &Shape, value: &Literal, next: &mut dyn FnMut() -> *mut u8) -> Result<()> {
    match (shape, value) {
        (Shape::Array(array), Literal::Array(value)) if array.same_dims(value.shape()) => {
            let (address, bytes) = (next(), value.bytes());
            if array.byte_size() != Some(bytes.len()) {
                return Err(Error::internal(format!("`{shape}` has {} bytes", bytes.len())));
            }
            if !bytes.is_empty() {
                // SAFETY: the caller's promise; the literal is memory of its own.
                unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), address, bytes.len()) };
            }
            Ok(())
        }
        (Shape::Tuple(shapes), Literal::Tuple(values)) if shapes.len() == values.len() => {
            for (shape, value) in shapes.iter().zip(values) {
                // SAFETY: passed on.
                unsafe { write(shape, value, next)? };
            }
            Ok(())
        }
        (Shape::Token, _) => Ok(()),
        _ => Err(Error::internal(format!(
            "an instruction of shape `{shape}` gave a value of shape `{}`",
            value.shape()
        ))),
    }
}
