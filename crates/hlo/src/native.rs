//! Rust types for every element type. Those the language lacks are newtypes over their bits;
//! conversions with correct rounding are in [`crate::small_float`] and `convert`.

use bytemuck::{Pod, Zeroable};
pub use half::{bf16, f16};

use crate::ElementType;

/// Complex numbers, interleaved as XLA lays them out.
pub type C64 = num_complex::Complex<f32>;
pub type C128 = num_complex::Complex<f64>;

/// A Rust type that holds one element of an [`ElementType`] in its in-memory form.
pub trait NativeType: Pod + PartialEq + std::fmt::Debug + Default + Send + Sync {
    const TYPE: ElementType;
}

macro_rules! primitive {
    ($($t:ty => $variant:ident),+ $(,)?) => { $(impl NativeType for $t { const TYPE: ElementType = ElementType::$variant; })+ };
}
primitive! {
    i8 => S8, i16 => S16, i32 => S32, i64 => S64,
    u8 => U8, u16 => U16, u32 => U32, u64 => U64,
    f16 => F16, bf16 => Bf16, f32 => F32, f64 => F64,
    C64 => C64, C128 => C128,
}

macro_rules! newtypes {
    ($($(#[$doc:meta])* $name:ident($bits:ty) => $variant:ident;)+) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Pod, Zeroable)]
        #[repr(transparent)]
        pub struct $name(pub $bits);
        impl NativeType for $name { const TYPE: ElementType = ElementType::$variant; }
    )+ };
}
newtypes! {
    /// 0 is false, 1 is true; no other value is stored.
    Pred(u8) => Pred;
    /// Sub-byte integers hold their value, sign-extended, in a whole byte.
    S1(i8) => S1;
    S2(i8) => S2;
    S4(i8) => S4;
    U1(u8) => U1;
    U2(u8) => U2;
    U4(u8) => U4;
    /// Small floats hold their bit pattern in the low bits of a byte; equality is of bits.
    F8e5m2(u8) => F8e5m2;
    F8e4m3(u8) => F8e4m3;
    F8e4m3fn(u8) => F8e4m3fn;
    F8e4m3b11fnuz(u8) => F8e4m3b11fnuz;
    F8e3m4(u8) => F8e3m4;
    F8e5m2fnuz(u8) => F8e5m2fnuz;
    F8e4m3fnuz(u8) => F8e4m3fnuz;
    F8e8m0fnu(u8) => F8e8m0fnu;
    F6e3m2fn(u8) => F6e3m2fn;
    F6e2m3fn(u8) => F6e2m3fn;
    F4e2m1fn(u8) => F4e2m1fn;
}

impl Pred {
    pub const FALSE: Pred = Pred(0);
    pub const TRUE: Pred = Pred(1);

    pub const fn get(self) -> bool {
        self.0 != 0
    }
}

impl From<bool> for Pred {
    fn from(value: bool) -> Pred {
        Pred(u8::from(value))
    }
}

/// Runs a block with the type `$T` bound to the native type of an element type:
/// `with_native!(element_type, T => { …::<T>() })`. Exhaustive over all element types.
#[macro_export]
macro_rules! with_native {
    ($element_type:expr, $T:ident => $body:expr) => {
        $crate::with_native!(@ $element_type, $T, $body,
            Pred: $crate::native::Pred, S1: $crate::native::S1, S2: $crate::native::S2,
            S4: $crate::native::S4, S8: i8, S16: i16, S32: i32, S64: i64,
            U1: $crate::native::U1, U2: $crate::native::U2, U4: $crate::native::U4,
            U8: u8, U16: u16, U32: u32, U64: u64,
            F16: $crate::native::f16, Bf16: $crate::native::bf16, F32: f32, F64: f64,
            F8e5m2: $crate::native::F8e5m2, F8e4m3: $crate::native::F8e4m3,
            F8e4m3fn: $crate::native::F8e4m3fn, F8e4m3b11fnuz: $crate::native::F8e4m3b11fnuz,
            F8e3m4: $crate::native::F8e3m4, F8e5m2fnuz: $crate::native::F8e5m2fnuz,
            F8e4m3fnuz: $crate::native::F8e4m3fnuz, F8e8m0fnu: $crate::native::F8e8m0fnu,
            F6e3m2fn: $crate::native::F6e3m2fn, F6e2m3fn: $crate::native::F6e2m3fn,
            F4e2m1fn: $crate::native::F4e2m1fn,
            C64: $crate::native::C64, C128: $crate::native::C128)
    };
    (@ $element_type:expr, $T:ident, $body:expr, $($variant:ident: $native:ty),+) => {
        match $element_type {
            $($crate::ElementType::$variant => { type $T = $native; $body })+
        }
    };
}
