//! What a running program may ask of the world outside: custom calls and transfers to and from the
//! host. Calls arrive on the thread that runs the program, with no lock held, so they may compile
//! and execute other programs.

use std::any::Any;
use std::sync::OnceLock;

use rxla_base::{Error, Result};
use rxla_hlo::op::CustomCallApiVersion;
use rxla_hlo::{Literal, Shape};

/// One custom call of a running program.
pub struct CustomCall<'a> {
    pub target: &'a str,
    /// With the layouts that the call fixes for its operands, where it does.
    pub operand_shapes: &'a [&'a Shape],
    /// A tuple if the call has not exactly one result; with layouts where the call fixes them.
    pub result_shape: &'a Shape,
    /// The backend config as text.
    pub config: &'a str,
    pub api_version: CustomCallApiVersion,
    /// Results, by number, that start as an operand's contents and may share its memory.
    pub aliases: &'a [(usize, usize)],
    /// Position of the device among the client's.
    pub device: usize,
    pub run_id: u64,
    /// The host's own for this call.
    pub kept: &'a Kept,
}

/// What a host keeps for one call of a loaded program from its first execution to the end of the
/// program.
#[derive(Default)]
pub struct Kept(OnceLock<Box<dyn Any + Send + Sync>>);

impl Kept {
    /// What is kept, made by `make` if there is nothing yet. No lock is held while it runs; should
    /// two devices come first at once, what one of them has made is dropped.
    pub fn get_or_make<T: Send + Sync + 'static>(
        &self,
        make: impl FnOnce() -> Result<T>,
    ) -> Result<&T> {
        if self.0.get().is_none() {
            // What came first stays.
            let _ = self.0.set(Box::new(make()?));
        }
        self.get().ok_or_else(|| Error::internal("two hosts keep things for one custom call"))
    }

    /// What is kept, if there is something of this type.
    pub fn get<T: Send + Sync + 'static>(&self) -> Option<&T> {
        self.0.get()?.downcast_ref()
    }
}

/// The world outside a program.
pub trait Host: Send + Sync {
    /// Runs a custom call; `None` if nobody has registered the target.
    fn custom_call(&self, call: &CustomCall<'_>, operands: &[Literal]) -> Option<Result<Literal>>;

    /// Runs a custom call where its arrays lie, which are dense and row-major whatever their layouts; tokens are not
    /// among them. Results begin as zeros. `None` if only [`Host::custom_call`] can, and nothing has been done.
    fn custom_call_in_place(
        &self,
        call: &CustomCall<'_>,
        operands: &[&[u8]],
        results: &mut [&mut [u8]],
    ) -> Option<Result<()>> {
        let _ = (call, operands, results);
        None
    }

    /// Takes a value that the program sends to the host.
    fn send(&self, device: usize, channel: i64, value: &Literal) -> Result<()>;

    /// Gives a value that the program receives from the host.
    fn receive(&self, device: usize, channel: i64, shape: &Shape) -> Result<Literal>;
}

/// A world without callbacks and with no custom calls.
#[derive(Clone, Copy, Default, Debug)]
pub struct Nobody;

impl Host for Nobody {
    fn custom_call(
        &self,
        _call: &CustomCall<'_>,
        _operands: &[Literal],
    ) -> Option<Result<Literal>> {
        None
    }

    fn send(&self, _device: usize, channel: i64, _value: &Literal) -> Result<()> {
        Err(no_callback("send", channel))
    }

    fn receive(&self, _device: usize, channel: i64, _shape: &Shape) -> Result<Literal> {
        Err(no_callback("recv", channel))
    }
}

fn no_callback(what: &str, channel: i64) -> Error {
    Error::invalid_argument(format!(
        "the program has a host `{what}` on channel {channel}, but the execution was given no \
         callback for it"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_made_once() {
        let kept = Kept::default();
        assert!(kept.get_or_make::<u32>(|| Err(Error::internal("no"))).is_err());
        assert_eq!(*kept.get_or_make(|| Ok(1u32)).unwrap(), 1);
        assert_eq!(*kept.get_or_make(|| Ok(2u32)).unwrap(), 1);
        assert!(kept.get_or_make(|| Ok("another type")).is_err());
    }
}
