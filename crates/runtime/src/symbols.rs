//! The names that compiled code may refer to, and where they are.
//!
//! Besides the functions of this crate these are the ones that LLVM calls of its own accord: copies
//! and fills, remainders of floats, conversions of half floats.

use std::ffi::c_void;

use half::{bf16, f16};

use crate::context::rxla_forget;
use crate::convolution::rxla_convolution;
use crate::copy::rxla_copy;
use crate::dot::rxla_dot;
use crate::fourier::rxla_fft;
use crate::linear::{
    rxla_cholesky, rxla_eigh, rxla_gees, rxla_geev, rxla_geev_real, rxla_gehrd, rxla_geqrf,
    rxla_gesdd, rxla_getrf, rxla_orgqr, rxla_potrf, rxla_syevd, rxla_triangular_solve,
};
use crate::pool::rxla_parallel_for;
use crate::scratch::{rxla_scratch_give_back, rxla_scratch_take};
use crate::sort::{rxla_sort, rxla_topk};

/// The address of the function called `name`, if compiled code may call it.
pub fn address(name: &str) -> Option<*const c_void> {
    let place = TABLE.binary_search_by(|symbol| symbol.name.cmp(name)).ok()?;
    Some((TABLE[place].address)())
}

/// All names, sorted.
pub fn names() -> impl Iterator<Item = &'static str> {
    TABLE.iter().map(|symbol| symbol.name)
}

struct Symbol {
    name: &'static str,
    /// A function, since addresses are not constants.
    address: fn() -> *const c_void,
}

macro_rules! table {
    ($($name:literal => $function:expr,)*) => {
        &[$(Symbol { name: $name, address: || $function as *const c_void }),*]
    };
}

/// Sorted by name.
const TABLE: &[Symbol] = table! {
    "__extendhfsf2" => extend_f16,
    "__gnu_f2h_ieee" => f32_to_f16_bits,
    "__gnu_h2f_ieee" => f16_bits_to_f32,
    "__truncdfbf2" => truncate_f64_to_bf16,
    "__truncdfhf2" => truncate_f64_to_f16,
    "__truncsfbf2" => truncate_f32_to_bf16,
    "__truncsfhf2" => truncate_f32_to_f16,
    "bcmp" => libc::memcmp,
    "fmod" => fmod,
    "fmodf" => fmodf,
    "memcmp" => libc::memcmp,
    "memcpy" => libc::memcpy,
    "memmove" => libc::memmove,
    "memset" => libc::memset,
    "rxla_cholesky" => rxla_cholesky,
    "rxla_convolution" => rxla_convolution,
    "rxla_copy" => rxla_copy,
    "rxla_dot" => rxla_dot,
    "rxla_eigh" => rxla_eigh,
    "rxla_fft" => rxla_fft,
    "rxla_forget" => rxla_forget,
    "rxla_gees" => rxla_gees,
    "rxla_geev" => rxla_geev,
    "rxla_geev_real" => rxla_geev_real,
    "rxla_gehrd" => rxla_gehrd,
    "rxla_geqrf" => rxla_geqrf,
    "rxla_gesdd" => rxla_gesdd,
    "rxla_getrf" => rxla_getrf,
    "rxla_orgqr" => rxla_orgqr,
    "rxla_parallel_for" => rxla_parallel_for,
    "rxla_potrf" => rxla_potrf,
    "rxla_scratch_give_back" => rxla_scratch_give_back,
    "rxla_scratch_take" => rxla_scratch_take,
    "rxla_sort" => rxla_sort,
    "rxla_syevd" => rxla_syevd,
    "rxla_topk" => rxla_topk,
    "rxla_triangular_solve" => rxla_triangular_solve,
};

// Remainders of integers and floats have the signs and special cases of C's in Rust too.

extern "C" fn fmod(x: f64, y: f64) -> f64 {
    x % y
}

extern "C" fn fmodf(x: f32, y: f32) -> f32 {
    x % y
}

// LLVM passes halves in the low bits of a vector register, which is where a float's bits are too.

pub extern "C" fn extend_f16(x: f32) -> f32 {
    f16::from_bits(x.to_bits() as u16).to_f32()
}

pub extern "C" fn truncate_f32_to_f16(x: f32) -> f32 {
    f32::from_bits(u32::from(f16::from_f32(x).to_bits()))
}

pub extern "C" fn truncate_f64_to_f16(x: f64) -> f32 {
    f32::from_bits(u32::from(f16::from_f32(round_to_odd(x)).to_bits()))
}

pub extern "C" fn truncate_f32_to_bf16(x: f32) -> f32 {
    f32::from_bits(u32::from(bf16::from_f32(x).to_bits()))
}

pub extern "C" fn truncate_f64_to_bf16(x: f64) -> f32 {
    f32::from_bits(u32::from(bf16::from_f32(round_to_odd(x)).to_bits()))
}

/// The float whose last bit says whether anything was cut off: rounding it again gives what rounding
/// `x` once would.
fn round_to_odd(x: f64) -> f32 {
    let near = x as f32;
    if f64::from(near) == x || x.is_nan() {
        return near;
    }
    let bits = near.to_bits();
    let towards_zero = if f64::from(near).abs() > x.abs() { bits - 1 } else { bits };
    f32::from_bits(towards_zero | 1)
}

// The older names pass halves as integers.

pub extern "C" fn f32_to_f16_bits(x: f32) -> u16 {
    f16::from_f32(x).to_bits()
}

pub extern "C" fn f16_bits_to_f32(bits: u16) -> f32 {
    f16::from_bits(bits).to_f32()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_searched() {
        assert!(TABLE.is_sorted_by(|a, b| a.name < b.name));
        assert!(names().all(|name| address(name).is_some_and(|address| !address.is_null())));
        assert_eq!(address("rxla_parallel_fo"), None);
    }

    #[test]
    fn halves_travel_in_floats() {
        let half = truncate_f32_to_f16(1.5);
        assert_eq!(half.to_bits(), u32::from(f16::from_f32(1.5).to_bits()));
        assert_eq!(extend_f16(half), 1.5);
        // Halfway in f32, above it in f64: to be rounded once.
        let above = 1.0 + 1.0 / 256.0 + 1e-12;
        assert_eq!(truncate_f64_to_bf16(above).to_bits(), 0x3f81);
        assert_eq!(truncate_f64_to_bf16(-above).to_bits(), 0xbf81);
        assert_eq!(truncate_f64_to_bf16(1.0 + 1.0 / 256.0).to_bits(), 0x3f80);
        assert_eq!(truncate_f64_to_f16(1.0 + 1.0 / 2048.0 + 1e-12).to_bits(), 0x3c01);
        assert_eq!(truncate_f64_to_f16(1e300).to_bits(), 0x7c00);
        assert_eq!(truncate_f64_to_bf16(f64::NAN).to_bits() & 0x7fc0, 0x7fc0);
        assert_eq!(f16_bits_to_f32(f32_to_f16_bits(-2.25)), -2.25);
        assert_eq!((fmod(-5.5, 2.0), fmodf(5.5, -2.0)), (-1.5, 1.5));
    }
}
