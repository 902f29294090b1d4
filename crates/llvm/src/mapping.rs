//! Memory that is written, then run.

use std::ptr;

use rxla_base::{Error, Result};

/// Pages of which the first part becomes executable and the rest readable; none stays writable.
pub(crate) struct Mapping {
    start: *mut u8,
    length: usize,
}

// SAFETY: the pages are only read after `protect`, and `Mapping` alone frees them.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    pub(crate) fn new(length: usize) -> Result<Mapping> {
        let length = length.max(1).next_multiple_of(page_size());
        // SAFETY: new anonymous memory, at an address of the kernel's choice.
        let start = unsafe {
            libc::mmap(
                ptr::null_mut(),
                length,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(world(format!("no {length} bytes of memory for code")));
        }
        Ok(Mapping { start: start.cast(), length })
    }

    pub(crate) fn start(&self) -> *mut u8 {
        self.start
    }

    /// The bytes, before [`protect`](Self::protect).
    pub(crate) fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: the pages are ours, mapped, zeroed by the system, and borrowed with `self`.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.length) }
    }

    /// The bytes, to be read.
    pub(crate) fn contents(&self) -> &[u8] {
        // SAFETY: the pages are ours, mapped, readable before and after `protect`, and nobody writes
        // to them while `self` is borrowed.
        unsafe { std::slice::from_raw_parts(self.start, self.length) }
    }

    /// Makes the first `executable` bytes (a multiple of the page size) executable.
    pub(crate) fn protect(&mut self, executable: usize) -> Result<()> {
        let executable = executable.min(self.length);
        let rest = self.length - executable;
        // SAFETY: both ranges lie in the mapping, at page boundaries.
        let failed = unsafe {
            let code = self.start.cast();
            let data = self.start.add(executable).cast();
            (executable > 0
                && libc::mprotect(code, executable, libc::PROT_READ | libc::PROT_EXEC) != 0)
                || (rest > 0 && libc::mprotect(data, rest, libc::PROT_READ) != 0)
        };
        if failed { Err(world("code could not be made executable".to_owned())) } else { Ok(()) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped in `new`, unmapped once.
        unsafe {
            libc::munmap(self.start.cast(), self.length);
        }
    }
}

pub(crate) fn page_size() -> usize {
    // SAFETY: asks for a constant of the system.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(size).unwrap_or(4096).max(4096)
}

fn world(what: String) -> Error {
    let reason = std::io::Error::last_os_error();
    Error::resource_exhausted(format!("{what}: {reason}"))
}
