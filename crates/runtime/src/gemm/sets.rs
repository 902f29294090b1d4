//! Functions compiled once for each set of instructions and chosen where they run.

/// Makes `$name` call the body compiled for the best instruction set there is.
macro_rules! for_each_set {
    ($(#[$doc:meta])* unsafe fn $name:ident = $body:ident($($argument:ident: $type:ty),*) -> $result:ty) => {
        $crate::gemm::sets::for_each_set! {
            $(#[$doc])* unsafe fn $name[Compute] = $body($($argument: $type),*) -> $result
        }
    };
    // For types of another trait.
    ($(#[$doc:meta])* unsafe fn $name:ident[$bound:path] = $body:ident($($argument:ident: $type:ty),*) -> $result:ty) => {
        $(#[$doc])*
        unsafe fn $name<T: $bound>($($argument: $type),*) -> $result {
            #[cfg(target_arch = "x86_64")]
            {
                /// # Safety
                ///
                /// That of the body, and the processor has the instructions.
                #[target_feature(enable = "avx512f,fma")]
                unsafe fn avx512<T: $bound>($($argument: $type),*) -> $result {
                    // SAFETY: the caller's promise.
                    unsafe { $body($($argument),*) }
                }
                /// # Safety
                ///
                /// That of the body, and the processor has the instructions.
                #[target_feature(enable = "avx2,fma")]
                unsafe fn avx2<T: $bound>($($argument: $type),*) -> $result {
                    // SAFETY: the caller's promise.
                    unsafe { $body($($argument),*) }
                }
                if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("fma") {
                    // SAFETY: the caller's promise, and just detected.
                    return unsafe { avx512($($argument),*) };
                }
                if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                    // SAFETY: the caller's promise, and just detected.
                    return unsafe { avx2($($argument),*) };
                }
            }
            // SAFETY: the caller's promise.
            unsafe { $body($($argument),*) }
        }
    };
}
pub(crate) use for_each_set;
