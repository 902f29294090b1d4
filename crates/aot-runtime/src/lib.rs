//! What programs compiled ahead of time call while they run, as a static library: the kernels and the
//! pool of `rxla-runtime` under the names that compiled code knows.
//!
//! `crates/aot` takes out of it, section by section, what a program needs, and leaves unwinding behind: a
//! panic ends the process there. So each function here stands alone, and what one element type needs is
//! not reached from another's function.

#![allow(unsafe_code)]

use std::ffi::c_void;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, Ordering};

use rxla_runtime::element::{Element, Only};
use rxla_runtime::pool::Thunk;
use rxla_runtime::scratch::Scratch;
use rxla_runtime::sort::Less;
use rxla_runtime::status::Status;
use rxla_runtime::{Context, Pool};
use rxla_runtime::{
    context, convolution, copy, dot, fourier, linear, pool, scratch, sort, symbols,
};

/// Of how many threads the pool is made. 0: as many as there are cores for this process.
static THREADS: AtomicI32 = AtomicI32::new(0);

/// More only serves to spend memory.
const MOST_THREADS: i32 = 1024;

/// How many threads the program's runs share; without effect once it has run.
#[unsafe(no_mangle)]
pub extern "C" fn rxla_aot_set_threads(threads: i32) {
    THREADS.store(threads.clamp(0, MOST_THREADS), Ordering::Relaxed);
}

/// The context that the driver passes on; the same for all runs, which may happen at once.
#[unsafe(no_mangle)]
pub extern "C" fn rxla_aot_context() -> *const Context {
    static CONTEXT: OnceLock<Context> = OnceLock::new();
    let context = CONTEXT.get_or_init(|| {
        Context::new(match THREADS.load(Ordering::Relaxed) {
            0 => Some(Pool::of_machine()),
            1 => None,
            threads => Some(Pool::with_threads(threads as usize)),
        })
    });
    context.as_ptr()
}

/// Gives functions of the runtime their names in C.
macro_rules! export {
    ($list:ident: $($name:literal = $path:path as ($($argument:ident: $type:ty),*) $(-> $result:ty)?;)*) => {$(
        const _: () = {
            /// # Safety
            ///
            /// That of the function it stands for.
            #[unsafe(export_name = $name)]
            unsafe extern "C" fn exported($($argument: $type),*) $(-> $result)? {
                // SAFETY: the caller's promise.
                #[allow(unused_unsafe)]
                unsafe { $path($($argument),*) }
            }
        };
    )*
        /// Names of functions here.
        pub const $list: &[&str] = &[$($name),*];
    };
}

type Run = *const Context;
type In = *const u8;
type Out = *mut u8;
type Numbers = *mut i32;
type Code = *const i64;

// What a kernel is told about its work ends every list of arguments.
export! { KERNELS:
    "rxla_parallel_for" = pool::rxla_parallel_for
        as (run: Run, thunk: Thunk, arguments: *const c_void, count: i64, grain: i64);
    "rxla_copy" = copy::rxla_copy as (run: Run, to: Out, from: In, bytes: i64) -> Status;
    "rxla_dot" = dot::rxla_dot as (run: Run, a: In, b: In, c: Out, code: Code) -> Status;
    "rxla_convolution" = convolution::rxla_convolution
        as (run: Run, a: In, b: In, c: Out, code: Code) -> Status;
    "rxla_forget" = context::rxla_forget as (run: Run, slot: i64);
    "rxla_fft" = fourier::rxla_fft as (run: Run, a: In, b: Out, code: Code) -> Status;
    "rxla_cholesky" = linear::rxla_cholesky as (run: Run, a: In, b: Out, code: Code) -> Status;
    "rxla_potrf" = linear::rxla_potrf
        as (run: Run, a: In, b: Out, failures: Numbers, code: Code) -> Status;
    "rxla_getrf" = linear::rxla_getrf
        as (run: Run, a: In, b: Out, pivots: Numbers, failures: Numbers, code: Code) -> Status;
    "rxla_geqrf" = linear::rxla_geqrf
        as (run: Run, a: In, b: Out, taus: Out, code: Code) -> Status;
    "rxla_orgqr" = linear::rxla_orgqr
        as (run: Run, a: In, taus: In, b: Out, code: Code) -> Status;
    "rxla_syevd" = linear::rxla_syevd
        as (run: Run, a: In, vectors: Out, values: Out, failures: Numbers, code: Code) -> Status;
    "rxla_eigh" = linear::rxla_eigh
        as (run: Run, a: In, vectors: Out, values: Out, code: Code) -> Status;
    "rxla_gesdd" = linear::rxla_gesdd
        as (run: Run, a: In, copy: Out, values: Out, left: Out, right: Out, failures: Numbers,
            code: Code) -> Status;
    "rxla_gehrd" = linear::rxla_gehrd
        as (run: Run, a: In, form: Out, taus: Out, failures: Numbers, code: Code) -> Status;
    "rxla_gees" = linear::rxla_gees
        as (run: Run, a: In, form: Out, vectors: Out, real: Out, imaginary: Out,
            selected: Numbers, failures: Numbers, code: Code) -> Status;
    "rxla_geev" = linear::rxla_geev
        as (run: Run, a: In, values: Out, left: Out, right: Out, failures: Numbers, code: Code)
            -> Status;
    "rxla_geev_real" = linear::rxla_geev_real
        as (run: Run, a: In, real: Out, imaginary: Out, left: Out, right: Out,
            failures: Numbers, code: Code) -> Status;
    "rxla_triangular_solve" = linear::rxla_triangular_solve
        as (run: Run, a: In, b: In, x: Out, code: Code) -> Status;
    "rxla_scratch_take" = scratch::rxla_scratch_take as (into: *mut Scratch, bytes: i64) -> Status;
    "rxla_scratch_give_back" = scratch::rxla_scratch_give_back
        as (taken: *const Scratch) -> Status;
    "rxla_sort" = sort::rxla_sort
        as (run: Run, from: *const In, to: *const Out, less: Option<Less>,
            data: *const c_void, code: Code) -> Status;
    "rxla_topk" = sort::rxla_topk
        as (run: Run, from: In, values: Out, places: Numbers, code: Code) -> Status;
}

// Products of one type each, by far the most frequent: a program takes what it needs.
export! { TYPED:
    "rxla_dot.bf16" = dot::rxla_dot_of::<Only<{ Element::BF16 as usize }>>
        as (run: Run, a: In, b: In, c: Out, code: Code) -> Status;
    "rxla_dot.f16" = dot::rxla_dot_of::<Only<{ Element::F16 as usize }>>
        as (run: Run, a: In, b: In, c: Out, code: Code) -> Status;
    "rxla_dot.f32" = dot::rxla_dot_of::<Only<{ Element::F32 as usize }>>
        as (run: Run, a: In, b: In, c: Out, code: Code) -> Status;
    "rxla_dot.f64" = dot::rxla_dot_of::<Only<{ Element::F64 as usize }>>
        as (run: Run, a: In, b: In, c: Out, code: Code) -> Status;
    "rxla_dot.i32" = dot::rxla_dot_of::<Only<{ Element::I32 as usize }>>
        as (run: Run, a: In, b: In, c: Out, code: Code) -> Status;
    "rxla_convolution.f32" = convolution::rxla_convolution_of::<Only<{ Element::F32 as usize }>>
        as (run: Run, a: In, b: In, c: Out, code: Code) -> Status;
    "rxla_convolution.f64" = convolution::rxla_convolution_of::<Only<{ Element::F64 as usize }>>
        as (run: Run, a: In, b: In, c: Out, code: Code) -> Status;
}

// What LLVM calls where the processor has no instruction, and C's libraries lack in places.
export! { BUILTINS:
    "__extendhfsf2" = symbols::extend_f16 as (x: f32) -> f32;
    "__gnu_f2h_ieee" = symbols::f32_to_f16_bits as (x: f32) -> u16;
    "__gnu_h2f_ieee" = symbols::f16_bits_to_f32 as (bits: u16) -> f32;
    "__truncdfbf2" = symbols::truncate_f64_to_bf16 as (x: f64) -> f32;
    "__truncdfhf2" = symbols::truncate_f64_to_f16 as (x: f64) -> f32;
    "__truncsfbf2" = symbols::truncate_f32_to_bf16 as (x: f32) -> f32;
    "__truncsfhf2" = symbols::truncate_f32_to_f16 as (x: f32) -> f32;
}

/// Where unwinding would begin: there is nobody above who could end it.
#[unsafe(no_mangle)]
pub extern "C" fn rxla_aot_panic() -> ! {
    const MESSAGE: &str =
        "rxla: a kernel failed in a way that is a fault of rxla; the process ends\n";
    // SAFETY: writes bytes that are there. That nobody may read them does no harm.
    unsafe {
        libc::write(libc::STDERR_FILENO, MESSAGE.as_ptr().cast(), MESSAGE.len());
        libc::abort()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_kernels_have_their_names() {
        for name in symbols::names().filter(|name| name.starts_with("rxla_")) {
            assert!(KERNELS.contains(&name), "{name} is missing in `KERNELS`");
        }
    }
}
