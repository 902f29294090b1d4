//! `PJRT_Event`.

use std::ptr;

use rxla::{Error, Event, Result};

use crate::abi::{self, entry};
use crate::error;
use crate::ffi;
use crate::slab::{Share, Slab};

static EVENTS: Slab<ffi::PJRT_Event, Event> = Slab::new("PJRT_Event");

/// What the handle of all events that are complete and well points to: there is nothing to know of
/// one that is not true of the others.
static PAST: u8 = 0;

fn past() -> *mut ffi::PJRT_Event {
    (&raw const PAST).cast_mut().cast()
}

/// What is behind a handle: nothing, if it is past and well.
fn find(handle: *mut ffi::PJRT_Event) -> Result<Option<Share<Event>>> {
    if ptr::eq(handle, past()) { Ok(None) } else { EVENTS.get(handle).map(Some) }
}

/// Hands an event to the caller, who must destroy it.
pub(crate) fn give(event: Event) -> *mut ffi::PJRT_Event {
    match event.result() {
        Some(Ok(())) => past(),
        Some(Err(_)) | None => EVENTS.insert(event),
    }
}

/// Hands out an event that is complete.
pub(crate) fn give_done(result: Result<()>) -> *mut ffi::PJRT_Event {
    give(Event::done(result))
}

entry! {
    fn PJRT_Event_Destroy(args: PJRT_Event_Destroy_Args) {
        if ptr::eq(args.event, past()) { Ok(()) } else { EVENTS.destroy(args.event) }
    }

    fn PJRT_Event_IsReady(args: PJRT_Event_IsReady_Args) {
        args.is_ready = find(args.event)?.is_none_or(|event| event.is_ready());
        Ok(())
    }

    fn PJRT_Event_Error(args: PJRT_Event_Error_Args) {
        match find(args.event)?.map_or(Some(Ok(())), |event| event.result()) {
            Some(result) => result,
            None => Err(Error::invalid_argument("`PJRT_Event_Error` of an event that is not ready")),
        }
    }

    fn PJRT_Event_Await(args: PJRT_Event_Await_Args) {
        find(args.event)?.map_or(Ok(()), |event| event.wait())
    }

    fn PJRT_Event_OnReady(args: PJRT_Event_OnReady_Args) {
        let event = find(args.event)?.map_or(Event::done(Ok(())), |event| Event::clone(&event));
        let callback = args
            .callback
            .ok_or_else(|| Error::invalid_argument("`PJRT_Event_OnReady` without a callback"))?;
        let user_arg = args.user_arg.expose_provenance();
        event.on_ready(move |result| {
            let error = match result {
                Ok(()) => ptr::null_mut(),
                Err(error) => error::raise(error.clone()),
            };
            // SAFETY: the caller gave a callback that may be called once from any thread.
            unsafe { callback(error, ptr::with_exposed_provenance_mut(user_arg)) }
        });
        Ok(())
    }

    fn PJRT_Event_Create(args: PJRT_Event_Create_Args) {
        args.event = give(Event::new());
        Ok(())
    }

    fn PJRT_Event_Set(args: PJRT_Event_Set_Args) {
        let event = find(args.event)?;
        let result = if args.error_code == ffi::PJRT_Error_Code_OK {
            Ok(())
        } else {
            // SAFETY: the caller passes a string of that size.
            let message = unsafe {
                abi::text(args.error_message, args.error_message_size, "error_message")
            }?;
            Err(Error::new(error::code(args.error_code), message))
        };
        if event.is_some_and(|event| event.complete(result)) {
            Ok(())
        } else {
            Err(Error::invalid_argument("`PJRT_Event_Set` of an event that is set already"))
        }
    }
}
