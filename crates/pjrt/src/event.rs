//! `PJRT_Event`.

use rxla::{Error, Event, Result};

use crate::abi::{self, entry};
use crate::error;
use crate::ffi;
use crate::handle::Table;

static EVENTS: Table<ffi::PJRT_Event, Event> = Table::new("PJRT_Event");

/// Hands an event to the caller, who must destroy it.
pub(crate) fn give(event: Event) -> *mut ffi::PJRT_Event {
    EVENTS.insert(event)
}

/// Hands out an event that is complete.
pub(crate) fn give_done(result: Result<()>) -> *mut ffi::PJRT_Event {
    give(Event::done(result))
}

entry! {
    fn PJRT_Event_Destroy(args: PJRT_Event_Destroy_Args) {
        EVENTS.destroy(args.event)
    }

    fn PJRT_Event_IsReady(args: PJRT_Event_IsReady_Args) {
        args.is_ready = EVENTS.get(args.event)?.is_ready();
        Ok(())
    }

    fn PJRT_Event_Error(args: PJRT_Event_Error_Args) {
        match EVENTS.get(args.event)?.result() {
            Some(result) => result,
            None => Err(Error::invalid_argument("`PJRT_Event_Error` of an event that is not ready")),
        }
    }

    fn PJRT_Event_Await(args: PJRT_Event_Await_Args) {
        EVENTS.get(args.event)?.wait()
    }

    fn PJRT_Event_OnReady(args: PJRT_Event_OnReady_Args) {
        let event = EVENTS.get(args.event)?;
        let callback = args
            .callback
            .ok_or_else(|| Error::invalid_argument("`PJRT_Event_OnReady` without a callback"))?;
        let user_arg = args.user_arg.expose_provenance();
        event.on_ready(move |result| {
            let error = match result {
                Ok(()) => std::ptr::null_mut(),
                Err(error) => error::raise(error.clone()),
            };
            // SAFETY: the caller gave a callback that may be called once from any thread.
            unsafe { callback(error, std::ptr::with_exposed_provenance_mut(user_arg)) }
        });
        Ok(())
    }

    fn PJRT_Event_Create(args: PJRT_Event_Create_Args) {
        args.event = give(Event::new());
        Ok(())
    }

    fn PJRT_Event_Set(args: PJRT_Event_Set_Args) {
        let event = EVENTS.get(args.event)?;
        let result = if args.error_code == ffi::PJRT_Error_Code_OK {
            Ok(())
        } else {
            // SAFETY: the caller passes a string of that size.
            let message = unsafe {
                abi::text(args.error_message, args.error_message_size, "error_message")
            }?;
            Err(Error::new(error::code(args.error_code), message))
        };
        if event.complete(result) {
            Ok(())
        } else {
            Err(Error::invalid_argument("`PJRT_Event_Set` of an event that is set already"))
        }
    }
}
