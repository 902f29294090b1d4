//! How kernels say that they failed: a number across the C ABI, an [`Error`] on the other side.

use std::panic::{AssertUnwindSafe, catch_unwind};

use rxla_base::{Code, Error, Result};

/// What a kernel returns.
pub type Status = i32;

pub const OK: Status = 0;

/// Runs a kernel's body; a panic becomes `INTERNAL`.
pub(crate) fn guard(body: impl FnOnce() -> Result<()>) -> Status {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => OK,
        Ok(Err(error)) => error.code as Status,
        Err(_) => Code::Internal as Status,
    }
}

/// The error that a status stands for; `None` for success.
pub fn error(status: Status) -> Option<Error> {
    if status == OK {
        return None;
    }
    let code = Code::from_number(status).unwrap_or(Code::Internal);
    let message = match code {
        Code::ResourceExhausted => "out of memory while the program ran",
        _ => "a kernel failed while the program ran",
    };
    Some(Error::new(code, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_are_codes() {
        assert_eq!(guard(|| Ok(())), OK);
        assert!(error(OK).is_none());
        let status = guard(|| Err(Error::new(Code::ResourceExhausted, "none left")));
        assert_eq!(error(status).unwrap().code, Code::ResourceExhausted);
        assert_eq!(error(guard(|| panic!("on purpose"))).unwrap().code, Code::Internal);
        assert_eq!(error(-7).unwrap().code, Code::Internal);
    }
}
