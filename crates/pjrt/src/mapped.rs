//! What memory of this process an address is in, for addresses that stand in programs: one of a
//! program that another process wrote leads nowhere, and is not to be followed.

/// What is done at an address.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    Call,
    Read,
}

/// Whether there is memory for this use at the address. Where the system does not tell, there is.
pub(crate) fn is_mapped(address: usize, for_what: Use) -> bool {
    match std::fs::read_to_string("/proc/self/maps") {
        Ok(maps) => maps.lines().any(|line| line_has(line, address, for_what).unwrap_or(false)),
        Err(_) => true,
    }
}

/// A line begins with `7f00-7fff r-xp`.
fn line_has(line: &str, address: usize, for_what: Use) -> Option<bool> {
    let mut words = line.split(' ');
    let (begin, end) = words.next()?.split_once('-')?;
    let number = |digits| usize::from_str_radix(digits, 16).ok();
    let inside = (number(begin)?..number(end)?).contains(&address);
    let wanted = match for_what {
        Use::Call => 'x',
        Use::Read => 'r',
    };
    Some(inside && words.next()?.contains(wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_can_be_called_and_data_read() {
        let code = code_can_be_called_and_data_read as fn() as usize;
        let data = Box::new(1u64);
        let data = std::ptr::from_ref(&*data) as usize;
        assert!(is_mapped(code, Use::Call) && is_mapped(data, Use::Read));
        assert!(!is_mapped(data, Use::Call));
        assert!(!is_mapped(8, Use::Read) && !is_mapped(usize::MAX, Use::Call));
    }
}
