//! Element types as kernel scalars: registers, constants, loads and stores.

use rxla_base::{Error, Result};
use rxla_hlo::{ArrayLiteral, ElementType};
use rxla_kernel::{Builder, Scalar, Value};

use crate::Element;

/// The scalar that holds an element, or each part of a complex one.
pub(crate) fn scalar_of(element_type: ElementType) -> Scalar {
    use ElementType::*;
    match element_type {
        Pred => Scalar::I1,
        S1 | S2 | S4 | S8 | U1 | U2 | U4 | U8 => Scalar::I8,
        S16 | U16 => Scalar::I16,
        S32 | U32 => Scalar::I32,
        S64 | U64 => Scalar::I64,
        F16 => Scalar::F16,
        Bf16 => Scalar::BF16,
        F32 | C64 => Scalar::F32,
        F64 | C128 => Scalar::F64,
        F8e5m2 | F8e4m3 | F8e4m3fn | F8e4m3b11fnuz | F8e3m4 | F8e5m2fnuz | F8e4m3fnuz
        | F8e8m0fnu | F6e3m2fn | F6e2m3fn | F4e2m1fn => Scalar::I8,
    }
}

impl Element {
    /// The value of an element that is not complex.
    pub(crate) fn one(self) -> Result<Value> {
        match self {
            Element::One(value) => Ok(value),
            Element::Complex(..) => {
                Err(Error::internal("a complex number where a real one is due"))
            }
        }
    }

    pub(crate) fn parts(self) -> Result<(Value, Value)> {
        match self {
            Element::Complex(re, im) => Ok((re, im)),
            Element::One(_) => Err(Error::internal("a real number where a complex one is due")),
        }
    }

    /// The kernel values of the element in order.
    pub(crate) fn values(self) -> smallvec::SmallVec<[Value; 2]> {
        match self {
            Element::One(value) => smallvec::smallvec![value],
            Element::Complex(re, im) => smallvec::smallvec![re, im],
        }
    }
}

/// Element `index` of an array at `base`.
pub(crate) fn load(
    b: &mut Builder,
    element_type: ElementType,
    base: Value,
    index: Value,
) -> Element {
    let scalar = scalar_of(element_type);
    if !element_type.is_complex() {
        return Element::One(b.load(scalar, base, index));
    }
    let two = b.index(2);
    let one = b.index(1);
    let re = b.mul(index, two);
    let im = b.add(re, one);
    Element::Complex(b.load(scalar, base, re), b.load(scalar, base, im))
}

pub(crate) fn store(b: &mut Builder, base: Value, index: Value, element: Element) {
    match element {
        Element::One(value) => b.store(base, index, value),
        Element::Complex(re, im) => {
            let two = b.index(2);
            let one = b.index(1);
            let at = b.mul(index, two);
            let next = b.add(at, one);
            b.store(base, at, re);
            b.store(base, next, im);
        }
    }
}

/// One element of a literal as a constant.
pub(crate) fn constant(b: &mut Builder, literal: &ArrayLiteral, at: usize) -> Element {
    let element_type = literal.element_type();
    let width = element_type.byte_width();
    let bytes = &literal.bytes()[at * width..][..width];
    let bits =
        |bytes: &[u8]| bytes.iter().rev().fold(0u64, |bits, &byte| bits << 8 | u64::from(byte));
    let scalar = scalar_of(element_type);
    if element_type.is_complex() {
        let (re, im) = bytes.split_at(width / 2);
        return Element::Complex(b.constant(scalar, bits(re)), b.constant(scalar, bits(im)));
    }
    Element::One(b.constant(scalar, bits(bytes)))
}

/// A small integer as a constant of a scalar type, floats included.
pub(crate) fn number(b: &mut Builder, scalar: Scalar, value: f64) -> Value {
    let bits = match scalar {
        Scalar::I1 => u64::from(value != 0.0),
        Scalar::I8 => value as i64 as u8 as u64,
        Scalar::I16 => value as i64 as u16 as u64,
        Scalar::I32 => value as i64 as u32 as u64,
        Scalar::I64 | Scalar::Ptr => value as i64 as u64,
        Scalar::F16 => rxla_hlo::small_float::f16_from_f64(value).to_bits().into(),
        Scalar::BF16 => rxla_hlo::small_float::bf16_from_f64(value).to_bits().into(),
        Scalar::F32 => (value as f32).to_bits().into(),
        Scalar::F64 => value.to_bits(),
    };
    b.constant(scalar, bits)
}
