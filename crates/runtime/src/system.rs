//! What the operating system is asked for: memory in pages, and how much there is.

use std::ptr::NonNull;
use std::sync::OnceLock;

/// Zeroed memory of `size` bytes whose address is a multiple of `align` and of the page. From one
/// huge page on the system is asked to use such.
pub(crate) fn map(size: usize, align: usize) -> Option<NonNull<u8>> {
    let total = if align > 4096 { size.checked_add(align)? } else { size };
    // SAFETY: a new private mapping touches no memory in use.
    let start = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            total,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    if start == libc::MAP_FAILED {
        return None;
    }
    let start = start.cast::<u8>();
    let before = if align > 4096 { start.align_offset(align) } else { 0 };
    let after = total - size - before;
    // SAFETY: what is unmapped lies in the mapping made above, outside the part that is used, on
    // borders of pages, as sizes of aligned mappings are whole huge pages.
    unsafe {
        if before > 0 {
            libc::munmap(start.cast(), before);
        }
        if after > 0 {
            libc::munmap(start.add(before + size).cast(), after);
        }
    }
    // SAFETY: in bounds of the mapping.
    let address = unsafe { start.add(before) };
    #[cfg(target_os = "linux")]
    if align > 4096 {
        // SAFETY: advice about memory that is ours; that it may be refused does no harm.
        unsafe { libc::madvise(address.cast(), size, libc::MADV_HUGEPAGE) };
    }
    NonNull::new(address)
}

/// # Safety
///
/// `address` came from [`map`] with this size, and nobody uses the memory any more.
pub(crate) unsafe fn unmap(address: NonNull<u8>, size: usize) {
    // SAFETY: the caller's promise.
    unsafe { libc::munmap(address.as_ptr().cast(), size) };
}

/// Bytes that this process may use: what the machine has, or less if a cgroup says so. Looked up once: convolutions ask
/// at every call, and files take longer than small ones.
pub(crate) fn memory_limit() -> usize {
    static KNOWN: OnceLock<usize> = OnceLock::new();
    *KNOWN.get_or_init(|| {
        // SAFETY: asks for numbers.
        let (pages, page) =
            unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
        let physical =
            usize::try_from(pages).unwrap_or(1 << 18) * usize::try_from(page).unwrap_or(4096);
        let cgroup = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"]
            .into_iter()
            .filter_map(|path| std::fs::read_to_string(path).ok()?.trim().parse::<usize>().ok())
            .min();
        physical.min(cgroup.unwrap_or(usize::MAX))
    })
}

/// Bytes of the cache that a core has to itself, besides the first and smallest.
pub(crate) fn second_cache() -> usize {
    static KNOWN: OnceLock<usize> = OnceLock::new();
    *KNOWN.get_or_init(|| {
        #[cfg(all(target_os = "linux", target_env = "gnu"))]
        if let Some(size) = number(libc::_SC_LEVEL2_CACHE_SIZE) {
            return size.clamp(128 << 10, 4 << 20);
        }
        512 << 10
    })
}

/// Lines that the first cache keeps of those whose addresses differ by multiples of 4096.
pub(crate) fn first_cache_ways() -> usize {
    static KNOWN: OnceLock<usize> = OnceLock::new();
    *KNOWN.get_or_init(|| {
        #[cfg(all(target_os = "linux", target_env = "gnu"))]
        if let Some(ways) = number(libc::_SC_LEVEL1_DCACHE_ASSOC) {
            return ways;
        }
        8
    })
}

/// What the system says of the machine, if it knows.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn number(name: libc::c_int) -> Option<usize> {
    // SAFETY: asks for a number.
    let value = unsafe { libc::sysconf(name) };
    usize::try_from(value).ok().filter(|&value| value > 0)
}
