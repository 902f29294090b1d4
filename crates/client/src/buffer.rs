//! Buffers: values that live in a memory of a device.
//!
//! A buffer's contents are an immutable [`Literal`] with shared storage. Donating or deleting a
//! buffer takes the literal out of it; whoever still holds a clone keeps valid bytes, because a
//! write to shared bytes copies first. So nothing a caller does can change bytes under a reader.
//!
//! Contents that are still to come may be claimed: whoever did gets them when they come, in the
//! order of claims, whatever becomes of the buffer meanwhile.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rxla_base::{Code, Error, Result};
use rxla_hlo::literal::Bytes;
use rxla_hlo::{ArrayLiteral, Dims, Literal, Shape};

use crate::device::{Device, Memory, Reservation};
use crate::event::Event;

enum State {
    /// The contents are being computed or transferred. `gone` says that they have no home here any
    /// more, only with those who claimed them.
    Pending {
        gone: Option<Gone>,
        claims: Vec<Claim>,
    },
    Ready {
        literal: Literal,
        _reservation: Reservation,
    },
    Failed(Error),
    Gone(Gone),
}

/// Why a buffer has no contents any more.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Gone {
    Deleted,
    Donated,
}

/// What a claim leaves to the buffer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hold {
    /// Its contents, shared.
    Share,
    /// Nothing: the buffer counts as deleted.
    Take,
}

type Claim = Box<dyn FnOnce(Result<Literal>) + Send>;

/// A value on a device: an array or a token.
pub struct Buffer {
    shape: Arc<Shape>,
    device: Arc<Device>,
    memory: Memory,
    state: Mutex<State>,
    ready: Event,
}

impl Buffer {
    /// A buffer with contents. Tuples have no buffer; their leaves have.
    pub fn from_literal(literal: Literal, device: &Arc<Device>, memory: &Memory) -> Result<Buffer> {
        Buffer::with_contents(Arc::new(literal.shape()), literal, device, memory)
    }

    /// [`Buffer::from_literal`] with the shape known, which may add a layout to the literal's.
    pub(crate) fn with_contents(
        shape: Arc<Shape>,
        literal: Literal,
        device: &Arc<Device>,
        memory: &Memory,
    ) -> Result<Buffer> {
        check_kind(&shape)?;
        let _reservation = device.usage.reserve(size_of_contents(&literal))?;
        Ok(Buffer {
            shape,
            device: Arc::clone(device),
            memory: memory.clone(),
            state: Mutex::new(State::Ready { literal, _reservation }),
            ready: Event::done(Ok(())),
        })
    }

    /// A buffer whose contents arrive through [`Buffer::fulfil`].
    pub fn pending(
        shape: impl Into<Arc<Shape>>,
        device: &Arc<Device>,
        memory: &Memory,
    ) -> Result<Buffer> {
        let shape = shape.into();
        check_kind(&shape)?;
        Ok(Buffer {
            shape,
            device: Arc::clone(device),
            memory: memory.clone(),
            state: Mutex::new(State::Pending { gone: None, claims: Vec::new() }),
            ready: Event::new(),
        })
    }

    /// A buffer that never gets contents: programs it is passed to fail with `error`.
    pub fn failed(
        shape: Shape,
        device: &Arc<Device>,
        memory: &Memory,
        error: Error,
    ) -> Result<Buffer> {
        let buffer = Buffer::pending(shape, device, memory)?;
        buffer.fulfil(Err(error))?;
        Ok(buffer)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Each critical section replaces the state as a whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives a pending buffer its contents, or the reason why there are none. The returned error
    /// is about the call (not pending, another shape, no memory left), not about `contents`.
    pub fn fulfil(&self, contents: Result<Literal>) -> Result<()> {
        let checked = contents.and_then(|literal| {
            let shape = literal.shape();
            if !shape.compatible(&self.shape) {
                return Err(Error::internal(format!(
                    "a buffer of shape `{}` was given a value of shape `{shape}`",
                    self.shape
                )));
            }
            Ok(literal)
        });
        let mut state = self.state();
        let State::Pending { gone, claims } = &mut *state else {
            let message = "the buffer has contents already";
            return Err(Error::new(Code::FailedPrecondition, message));
        };
        let (gone, claims) = (*gone, std::mem::take(claims));
        // What has no home here takes no memory of the buffer's.
        let contents = checked.and_then(|literal| {
            let size = if gone.is_some() { 0 } else { size_of_contents(&literal) };
            Ok((literal, self.device.usage.reserve(size)?))
        });
        let result = contents.as_ref().map(drop).map_err(Error::clone);
        let mut left;
        *state = match (gone, contents) {
            (None, Ok((literal, _reservation))) => {
                left = (!claims.is_empty()).then(|| Ok(literal.clone()));
                State::Ready { literal, _reservation }
            }
            (None, Err(error)) => {
                left = Some(Err(error.clone()));
                State::Failed(error)
            }
            (Some(gone), contents) => {
                left = Some(contents.map(|(literal, _)| literal));
                State::Gone(gone)
            }
        };
        drop(state);
        let last = claims.len().wrapping_sub(1);
        for (index, claim) in claims.into_iter().enumerate() {
            // The last one gets what is left: nobody else may hold what was taken.
            let one = if index == last { left.take() } else { left.clone() };
            claim(one.unwrap_or_else(|| Err(Error::internal("a claim on nothing"))));
        }
        drop(left);
        self.ready.complete(result);
        Ok(())
    }

    /// Has `take` get the contents: now if they are there, else when they come, on the thread that
    /// brings them.
    pub(crate) fn claim(
        &self,
        hold: Hold,
        take: impl FnOnce(Result<Literal>) + Send + 'static,
    ) -> Result<()> {
        let contents = {
            let mut state = self.state();
            match &mut *state {
                State::Pending { gone: gone @ None, claims } => {
                    claims.push(Box::new(take));
                    *gone = (hold == Hold::Take).then_some(Gone::Donated);
                    return Ok(());
                }
                State::Pending { gone: Some(_), .. } | State::Gone(_) => return Err(self.gone()),
                State::Failed(error) => Err(error.clone()),
                State::Ready { literal, .. } if hold == Hold::Share => Ok(literal.clone()),
                State::Ready { .. } => {
                    match std::mem::replace(&mut *state, State::Gone(Gone::Donated)) {
                        State::Ready { literal, .. } => Ok(literal),
                        _ => Err(Error::internal("a ready buffer is not ready")),
                    }
                }
            }
        };
        take(contents);
        Ok(())
    }

    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The sizes; none for a token.
    pub fn dims(&self) -> Dims {
        self.shape.as_array().map(|array| array.dims.clone()).unwrap_or_default()
    }

    pub fn device(&self) -> &Arc<Device> {
        &self.device
    }

    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Completes when the contents are there, or known not to come.
    pub fn ready(&self) -> &Event {
        &self.ready
    }

    /// Bytes of the contents, dense and with whole bytes per element.
    pub fn byte_size(&self) -> usize {
        self.shape.byte_size().unwrap_or(0)
    }

    /// The contents, waited for. Shares storage with the buffer.
    pub fn literal(&self) -> Result<Literal> {
        if let Some(contents) = self.contents() {
            return contents;
        }
        // The state says why there are no contents, should there be none.
        let _ = self.ready.wait();
        self.contents().unwrap_or_else(|| Err(Error::internal("a ready buffer is still pending")))
    }

    /// The contents, or why there are none; nothing while they are under way.
    fn contents(&self) -> Option<Result<Literal>> {
        match &*self.state() {
            State::Ready { literal, .. } => Some(Ok(literal.clone())),
            State::Failed(error) => Some(Err(error.clone())),
            State::Gone(_) | State::Pending { gone: Some(_), .. } => Some(Err(self.gone())),
            State::Pending { gone: None, .. } => None,
        }
    }

    /// The contents as an array.
    pub fn array(&self) -> Result<ArrayLiteral> {
        match self.literal()? {
            Literal::Array(array) => Ok(array),
            Literal::Token => Err(Error::invalid_argument("a token has no data")),
            Literal::Tuple(_) => Err(Error::internal("a buffer holds a tuple")),
        }
    }

    /// The contents as an array whose address goes outside, where it may be written to. From then on it stays
    /// the same, and results of programs do not share it.
    pub fn show(&self) -> Result<ArrayLiteral> {
        self.array()?;
        match &mut *self.state() {
            State::Ready { literal: Literal::Array(array), .. } => {
                array.show()?;
                Ok(array.clone())
            }
            State::Ready { .. } | State::Failed(_) | State::Gone(_) | State::Pending { .. } => {
                Err(self.gone())
            }
        }
    }

    /// Has `take` get the contents: now if they are there, else when they come, whatever becomes of
    /// the buffer, on the thread that brings them.
    pub fn when_there(&self, take: impl FnOnce(Result<Literal>) + Send + 'static) -> Result<()> {
        self.claim(Hold::Share, take)
    }

    /// Takes the contents out for a program to reuse; afterwards the buffer counts as deleted.
    pub fn donate(&self) -> Result<Literal> {
        self.check_alive()?;
        self.ready.wait()?;
        let mut state = self.state();
        match std::mem::replace(&mut *state, State::Gone(Gone::Donated)) {
            State::Ready { literal, .. } => Ok(literal),
            State::Failed(error) => Err(error),
            State::Gone(_) => Err(self.gone()),
            State::Pending { .. } => Err(Error::internal("a ready buffer is still pending")),
        }
    }

    /// Drops the contents. Deleting twice is no error.
    pub fn delete(&self) {
        // Assigned first and dropped after the lock is released: dropping foreign memory runs its
        // owner's code.
        let before = {
            let mut state = self.state();
            match &mut *state {
                State::Pending { gone, .. } => {
                    gone.get_or_insert(Gone::Deleted);
                    return;
                }
                State::Gone(_) => return,
                State::Ready { .. } | State::Failed(_) => {
                    std::mem::replace(&mut *state, State::Gone(Gone::Deleted))
                }
            }
        };
        drop(before);
    }

    /// Deleted or donated.
    pub fn is_deleted(&self) -> bool {
        matches!(*self.state(), State::Gone(_) | State::Pending { gone: Some(_), .. })
    }

    /// The same value in another memory. Memories of one device share the bytes, being the same
    /// RAM, unless somebody outside may write to them; another device gets bytes of its own, as
    /// programs expect of devices.
    pub fn copy_to(&self, device: &Arc<Device>, memory: &Memory) -> Result<Arc<Buffer>> {
        let copy = Arc::new(Buffer::pending(Arc::clone(&self.shape), device, memory)?);
        let elsewhere = !Arc::ptr_eq(device, &self.device);
        let target = Arc::clone(&copy);
        self.claim(Hold::Share, move |contents| {
            let own = contents.and_then(|literal| match literal {
                Literal::Array(array) if elsewhere || array.is_shown() => {
                    let bytes = Bytes::copy_of(array.bytes())?;
                    Ok(Literal::Array(ArrayLiteral::from_bytes(array.shape(), bytes)?))
                }
                literal => Ok(literal),
            });
            // Only this gives the copy contents.
            let _ = target.fulfil(own);
        })?;
        Ok(copy)
    }

    /// Gives this buffer, which has none yet, the contents of another when they are there. Their
    /// bytes are shared.
    pub fn fulfil_from(self: &Arc<Self>, other: &Buffer) -> Result<()> {
        let target = Arc::clone(self);
        other.claim(Hold::Share, move |contents| {
            let _ = target.fulfil(contents);
        })
    }

    fn check_alive(&self) -> Result<()> {
        if self.is_deleted() { Err(self.gone()) } else { Ok(()) }
    }

    fn gone(&self) -> Error {
        Error::invalid_argument(format!("the buffer `{}` has been deleted or donated", self.shape))
    }
}

/// Refuses shapes that no buffer has.
fn check_kind(shape: &Shape) -> Result<()> {
    match shape {
        Shape::Array(_) | Shape::Token => Ok(()),
        Shape::Tuple(_) | Shape::Opaque | Shape::Buffer(_) => Err(Error::invalid_argument(
            format!("a buffer holds an array or a token, not `{shape}`"),
        )),
    }
}

fn size_of_contents(literal: &Literal) -> u64 {
    literal.as_array().map_or(0, |array| array.bytes().len() as u64)
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match &*self.state() {
            State::Pending { gone: None, .. } => "pending",
            State::Ready { .. } => "ready",
            State::Failed(_) => "failed",
            State::Gone(Gone::Deleted) | State::Pending { gone: Some(Gone::Deleted), .. } => {
                "deleted"
            }
            State::Gone(Gone::Donated) | State::Pending { gone: Some(Gone::Donated), .. } => {
                "donated"
            }
        };
        write!(f, "Buffer({}, {}, {state})", self.shape, self.memory.label())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::MemoryUsage;

    fn device() -> Arc<Device> {
        Arc::new(Device::new(0, "cpu", Arc::new(MemoryUsage::new(1 << 20))))
    }

    #[test]
    fn donation_takes_the_contents_and_the_memory() {
        let device = device();
        let literal = Literal::from_values([2], &[1f32, 2.0]);
        let buffer =
            Buffer::from_literal(literal.clone(), &device, device.default_memory()).unwrap();
        assert_eq!(device.usage.stats().bytes_in_use, 8);
        assert_eq!(buffer.donate().unwrap(), literal);
        assert!(buffer.is_deleted());
        assert!(buffer.literal().is_err());
        assert_eq!(device.usage.stats().bytes_in_use, 0);
    }

    #[test]
    fn a_pending_buffer_refuses_another_shape() {
        let device = device();
        let shape = Literal::scalar(1i32).shape();
        let buffer = Buffer::pending(shape, &device, device.default_memory()).unwrap();
        assert!(!buffer.ready().is_ready());
        buffer.fulfil(Ok(Literal::scalar(1f32))).unwrap();
        let error = buffer.literal().unwrap_err();
        assert_eq!(error.message, "a buffer of shape `s32[]` was given a value of shape `f32[]`");
        assert!(buffer.fulfil(Ok(Literal::scalar(1i32))).is_err());
    }

    #[test]
    fn deleting_leaves_holders_their_bytes() {
        let device = device();
        let literal = Literal::scalar(7i32);
        let buffer = Buffer::from_literal(literal, &device, device.default_memory()).unwrap();
        let held = buffer.literal().unwrap();
        buffer.delete();
        buffer.delete();
        assert_eq!(held, Literal::scalar(7i32));
        let message = buffer.literal().unwrap_err().message;
        assert_eq!(message, "the buffer `s32[]` has been deleted or donated");
    }
}
