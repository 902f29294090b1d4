//! Which build of rxla this is: the id that the linker made of the content of the library or
//! program that holds this code. Two builds that differ anywhere have different ids.

use std::ffi::{c_int, c_void};
use std::sync::OnceLock;

/// The id, if the linker was asked for one.
pub(crate) fn build_id() -> Option<&'static [u8]> {
    static ID: OnceLock<Option<Vec<u8>>> = OnceLock::new();
    ID.get_or_init(find).as_deref()
}

fn find() -> Option<Vec<u8>> {
    let mut search = Search { address: find as *const () as u64, found: None };
    // SAFETY: the callback is called for each loaded object before this returns, with our pointer.
    unsafe {
        libc::dl_iterate_phdr(Some(visit), (&raw mut search).cast());
    }
    search.found
}

struct Search {
    /// Where this code lies.
    address: u64,
    found: Option<Vec<u8>>,
}

unsafe extern "C" fn visit(
    info: *mut libc::dl_phdr_info,
    _size: usize,
    search: *mut c_void,
) -> c_int {
    // SAFETY: the loader passes a valid description, and our pointer back.
    let (info, search) = unsafe { (&*info, &mut *search.cast::<Search>()) };
    if info.dlpi_phdr.is_null() {
        return 0;
    }
    // SAFETY: the loader says how many headers there are.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum as usize) };
    let ours = headers.iter().any(|header| {
        let start = info.dlpi_addr + header.p_vaddr;
        header.p_type == libc::PT_LOAD && (start..start + header.p_memsz).contains(&search.address)
    });
    if !ours {
        return 0;
    }
    for header in headers.iter().filter(|header| header.p_type == libc::PT_NOTE) {
        let start = (info.dlpi_addr + header.p_vaddr) as *const u8;
        // SAFETY: notes are loaded where their header says, and stay.
        let notes = unsafe { std::slice::from_raw_parts(start, header.p_memsz as usize) };
        if let Some(id) = id_in(notes) {
            search.found = Some(id.to_vec());
            break;
        }
    }
    1
}

/// The build id among notes: each has the lengths of its name and its content, a type, and both,
/// padded to words.
fn id_in(mut notes: &[u8]) -> Option<&[u8]> {
    const BUILD_ID: u32 = 3;
    let word =
        |bytes: &[u8], at: usize| Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    loop {
        let name_length = word(notes, 0)? as usize;
        let length = word(notes, 4)? as usize;
        let kind = word(notes, 8)?;
        let name = notes.get(12..12 + name_length)?;
        let start = 12 + name_length.next_multiple_of(4);
        let content = notes.get(start..start + length)?;
        if kind == BUILD_ID && name == b"GNU\0" {
            return Some(content).filter(|id| !id.is_empty());
        }
        notes = notes.get(start + length.next_multiple_of(4)..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(name: &[u8], kind: u32, content: &[u8]) -> Vec<u8> {
        let mut note = Vec::new();
        for word in [name.len() as u32, content.len() as u32, kind] {
            note.extend(word.to_ne_bytes());
        }
        note.extend(name);
        note.resize(note.len().next_multiple_of(4), 0);
        note.extend(content);
        note.resize(note.len().next_multiple_of(4), 0);
        note
    }

    #[test]
    fn the_id_is_found_among_notes() {
        let mut notes = note(b"GNU\0", 1, &[0; 16]);
        notes.extend(note(b"other\0", 3, &[7; 5]));
        assert_eq!(id_in(&notes), None);
        notes.extend(note(b"GNU\0", 3, &[1, 2, 3]));
        assert_eq!(id_in(&notes), Some(&[1, 2, 3][..]));
        for end in 0..notes.len() - 4 {
            assert_eq!(id_in(&notes[..end]), None);
        }
    }

    #[test]
    fn looking_ends() {
        assert_eq!(find(), find());
    }
}
