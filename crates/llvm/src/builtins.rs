//! Functions that LLVM calls of its own accord: copies of memory, and arithmetic that the CPU at
//! hand has no instruction for.

/// The address of a function of that name, if it is one of them.
pub(crate) fn address(name: &str) -> Option<*const u8> {
    let address = match name {
        "memcpy" => libc::memcpy as *const (),
        "memmove" => libc::memmove as *const (),
        "memset" => libc::memset as *const (),
        "memcmp" => libc::memcmp as *const (),
        "fmodf" => fmodf as *const (),
        "fmod" => fmod as *const (),
        "fmaf" => fmaf as *const (),
        "fma" => fma as *const (),
        "floorf" => floorf as *const (),
        "floor" => floor as *const (),
        "ceilf" => ceilf as *const (),
        "ceil" => ceil as *const (),
        "truncf" => truncf as *const (),
        "trunc" => trunc as *const (),
        "roundevenf" => roundevenf as *const (),
        "roundeven" => roundeven as *const (),
        "__extendhfsf2" => extend_half as *const (),
        "__truncsfhf2" => truncate_to_half as *const (),
        _ => return None,
    };
    Some(address.cast())
}

extern "C" fn fmodf(a: f32, b: f32) -> f32 {
    a % b
}

extern "C" fn fmod(a: f64, b: f64) -> f64 {
    a % b
}

extern "C" fn fmaf(a: f32, b: f32, c: f32) -> f32 {
    a.mul_add(b, c)
}

extern "C" fn fma(a: f64, b: f64, c: f64) -> f64 {
    a.mul_add(b, c)
}

extern "C" fn floorf(a: f32) -> f32 {
    a.floor()
}

extern "C" fn floor(a: f64) -> f64 {
    a.floor()
}

extern "C" fn ceilf(a: f32) -> f32 {
    a.ceil()
}

extern "C" fn ceil(a: f64) -> f64 {
    a.ceil()
}

extern "C" fn truncf(a: f32) -> f32 {
    a.trunc()
}

extern "C" fn trunc(a: f64) -> f64 {
    a.trunc()
}

extern "C" fn roundevenf(a: f32) -> f32 {
    a.round_ties_even()
}

extern "C" fn roundeven(a: f64) -> f64 {
    a.round_ties_even()
}

/// A half is passed in the lowest bits of the register that a float is passed in.
extern "C" fn extend_half(half: f32) -> f32 {
    half::f16::from_bits(half.to_bits() as u16).to_f32()
}

extern "C" fn truncate_to_half(single: f32) -> f32 {
    f32::from_bits(u32::from(half::f16::from_f32(single).to_bits()))
}
