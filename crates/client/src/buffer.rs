//! Buffers: values that live in a memory of a device.
//!
//! A buffer's contents are an immutable [`Literal`] with shared storage. Donating or deleting a
//! buffer takes the literal out of it; whoever still holds a clone keeps valid bytes, because a
//! write to shared bytes copies first. So nothing a caller does can change bytes under a reader.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rxla_base::{Code, Error, Result};
use rxla_hlo::literal::Bytes;
use rxla_hlo::{ArrayLiteral, Dims, Literal, Shape};

use crate::device::{Device, Memory, Reservation};
use crate::event::Event;

enum State {
    /// The contents are being computed or transferred.
    Pending,
    Ready {
        literal: Literal,
        _reservation: Reservation,
    },
    Failed(Error),
    Deleted,
    Donated,
}

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
            state: Mutex::new(State::Pending),
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
            let reservation = self.device.usage.reserve(size_of_contents(&literal))?;
            Ok((literal, reservation))
        });
        let result = checked.as_ref().map(|_| ()).map_err(Error::clone);
        {
            let mut state = self.state();
            match *state {
                State::Pending => {
                    *state = match checked {
                        Ok((literal, _reservation)) => State::Ready { literal, _reservation },
                        Err(error) => State::Failed(error),
                    };
                }
                // Deleted while it was under way: the contents have no home any more.
                State::Deleted | State::Donated => {}
                State::Ready { .. } | State::Failed(_) => {
                    return Err(Error::new(
                        Code::FailedPrecondition,
                        "the buffer has contents already",
                    ));
                }
            }
        }
        self.ready.complete(result);
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
            State::Deleted | State::Donated => Some(Err(self.gone())),
            State::Pending => None,
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

    /// Takes the contents out for a program to reuse; afterwards the buffer counts as deleted.
    pub fn donate(&self) -> Result<Literal> {
        self.check_alive()?;
        self.ready.wait()?;
        let mut state = self.state();
        match std::mem::replace(&mut *state, State::Donated) {
            State::Ready { literal, .. } => Ok(literal),
            State::Failed(error) => Err(error),
            State::Deleted | State::Donated => Err(self.gone()),
            State::Pending => Err(Error::internal("a ready buffer is still pending")),
        }
    }

    /// Drops the contents. Deleting twice is no error.
    pub fn delete(&self) {
        // Assigned first and dropped after the lock is released: dropping foreign memory runs its
        // owner's code.
        let before = {
            let mut state = self.state();
            if matches!(*state, State::Donated) {
                return;
            }
            std::mem::replace(&mut *state, State::Deleted)
        };
        drop(before);
    }

    /// Deleted or donated.
    pub fn is_deleted(&self) -> bool {
        matches!(*self.state(), State::Deleted | State::Donated)
    }

    /// The same value in another memory. Memories of one device share the bytes, being the same
    /// RAM; another device gets bytes of its own, as programs expect of devices.
    pub fn copy_to(&self, device: &Arc<Device>, memory: &Memory) -> Result<Arc<Buffer>> {
        self.check_alive()?;
        let own = |literal: Literal| match literal {
            Literal::Array(array) if !Arc::ptr_eq(device, &self.device) => {
                let bytes = Bytes::copy_of(array.bytes())?;
                Ok(Literal::Array(ArrayLiteral::from_bytes(array.shape(), bytes)?))
            }
            literal => Ok(literal),
        };
        let copy = Arc::new(Buffer::pending(Arc::clone(&self.shape), device, memory)?);
        let contents = self.contents();
        match contents {
            Some(contents) => copy.fulfil(contents.and_then(own))?,
            // Everything that runs asynchronously owns its inputs, so only a transfer that is
            // still fed by its caller is waited for.
            None => {
                let contents = self.literal();
                copy.fulfil(contents.and_then(own))?;
            }
        }
        Ok(copy)
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
            State::Pending => "pending",
            State::Ready { .. } => "ready",
            State::Failed(_) => "failed",
            State::Deleted => "deleted",
            State::Donated => "donated",
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
