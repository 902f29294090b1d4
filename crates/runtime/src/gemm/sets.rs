//! Sets of instructions: which of them the processor has, and functions compiled once for each.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};

/// What code is compiled for; each has all that the ones before it have.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub(crate) enum Set {
    Baseline = 1,
    /// With fused multiply-adds, and with `popcnt`.
    Avx2,
    /// As servers have it since 2017: foundation, words, double words, and all lengths of vectors.
    Avx512,
}

/// The best set of this processor.
pub(crate) fn best() -> Set {
    #[cfg(test)]
    if let Some(set) = forced::get() {
        return set.min(detected());
    }
    detected()
}

/// Whether the processor has a unit for products of tiles, besides [`Set::Avx512`], and we may use it.
pub(crate) fn has_amx() -> bool {
    #[cfg(target_arch = "x86_64")]
    return best() == Set::Avx512 && super::micro::amx::is_there();
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// Whether the processor multiplies and adds pairs of bf16 faster than it does singles in f32.
pub(crate) fn has_fast_bf16() -> bool {
    #[cfg(target_arch = "x86_64")]
    return has_amx()
        || best() == Set::Avx512 && is_x86_feature_detected!("avx512bf16") && !is_intel();
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// Intel's processors take `vdpbf16ps` apart: on a Xeon of the fifth generation (model 207) a pair
/// takes four times as long as a fused multiply-add of singles, on AMD's Zen 5 as long.
#[cfg(target_arch = "x86_64")]
fn is_intel() -> bool {
    static VENDOR: OnceLock<[u32; 3]> = OnceLock::new();
    let vendor = VENDOR.get_or_init(|| {
        let leaf = std::arch::x86_64::__cpuid(0);
        [leaf.ebx, leaf.edx, leaf.ecx]
    });
    vendor.map(u32::to_le_bytes).as_flattened() == b"GenuineIntel"
}

/// Whether the processor multiplies and adds pairs of words and quads of bytes, besides
/// [`Set::Avx512`].
pub(crate) fn has_vnni() -> bool {
    #[cfg(target_arch = "x86_64")]
    return best() == Set::Avx512 && is_x86_feature_detected!("avx512vnni");
    #[cfg(not(target_arch = "x86_64"))]
    false
}

fn detected() -> Set {
    static KNOWN: AtomicU8 = AtomicU8::new(0);
    match KNOWN.load(Ordering::Relaxed) {
        1 => Set::Baseline,
        2 => Set::Avx2,
        3 => Set::Avx512,
        _ => {
            let set = detect();
            KNOWN.store(set as u8, Ordering::Relaxed);
            set
        }
    }
}

fn detect() -> Set {
    #[cfg(target_arch = "x86_64")]
    {
        let avx2 = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("popcnt");
        let avx512 = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl");
        if avx2 && avx512 {
            return Set::Avx512;
        }
        if avx2 {
            return Set::Avx2;
        }
    }
    Set::Baseline
}

/// Lets tests try the sets below the best one. Only the calling thread is told.
#[cfg(test)]
pub(crate) mod forced {
    use std::cell::Cell;

    use super::Set;

    thread_local! {
        static FORCED: Cell<Option<Set>> = const { Cell::new(None) };
    }

    pub(super) fn get() -> Option<Set> {
        FORCED.get()
    }

    /// Runs the test with each set that the processor has, on this thread.
    pub(crate) fn each(test: impl Fn()) {
        for set in [Set::Baseline, Set::Avx2, Set::Avx512] {
            FORCED.set(Some(set));
            test();
            FORCED.set(None);
        }
    }
}

/// Makes `$name` call the body compiled for the best instruction set there is.
macro_rules! for_each_set {
    // For one type of some trait.
    ($(#[$doc:meta])* $visible:vis unsafe fn $name:ident[$bound:path] =
        $body:ident($($argument:ident: $type:ty),*) -> $result:ty) => {
        $crate::gemm::sets::for_each_set! {
            $(#[$doc])* $visible unsafe fn $name[T: $bound] = $body($($argument: $type),*) -> $result
        }
    };
    ($(#[$doc:meta])* $visible:vis unsafe fn $name:ident[$($generic:ident: $bound:path),*] =
        $body:ident($($argument:ident: $type:ty),*) -> $result:ty) => {
        $(#[$doc])*
        $visible unsafe fn $name<$($generic: $bound),*>($($argument: $type),*) -> $result {
            #[cfg(target_arch = "x86_64")]
            {
                /// # Safety
                ///
                /// That of the body, and the processor has the instructions.
                #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,fma")]
                unsafe fn avx512<$($generic: $bound),*>($($argument: $type),*) -> $result {
                    // SAFETY: the caller's promise.
                    unsafe { $body::<$($generic),*>($($argument),*) }
                }
                /// # Safety
                ///
                /// That of the body, and the processor has the instructions.
                #[target_feature(enable = "avx2,fma")]
                unsafe fn avx2<$($generic: $bound),*>($($argument: $type),*) -> $result {
                    // SAFETY: the caller's promise.
                    unsafe { $body::<$($generic),*>($($argument),*) }
                }
                match $crate::gemm::sets::best() {
                    $crate::gemm::sets::Set::Avx512 => {
                        // SAFETY: the caller's promise, and detected.
                        return unsafe { avx512::<$($generic),*>($($argument),*) };
                    }
                    $crate::gemm::sets::Set::Avx2 => {
                        // SAFETY: the caller's promise, and detected.
                        return unsafe { avx2::<$($generic),*>($($argument),*) };
                    }
                    $crate::gemm::sets::Set::Baseline => {}
                }
            }
            // SAFETY: the caller's promise.
            unsafe { $body::<$($generic),*>($($argument),*) }
        }
    };
}
pub(crate) use for_each_set;
