//! Conversion of arrays between element types, as the op `convert` does it.

use rxla_base::Result;

use super::ArrayLiteral;
use super::element::{Element, Wide};
use crate::native::C128;
use crate::{ElementType, with_native};

/// Elements that pass through the widest type of their class at a time: few enough to stay in the
/// first cache.
const CHUNK: usize = 512;

impl ArrayLiteral {
    /// The values in another element type; see [`Element`] for the rules.
    pub fn convert(&self, to: ElementType) -> Result<ArrayLiteral> {
        if to == self.element_type() {
            return Ok(self.clone());
        }
        let mut result = ArrayLiteral::zeros(&self.shape().with_element_type(to))?;
        let out = result.bytes_mut();
        with_native!(self.element_type(), T => convert_values(self.values::<T>(), to, out));
        Ok(result)
    }

    /// The value of one element as an integer. `None` for floats, complex numbers, values beyond
    /// `i64` and indices out of range.
    pub fn integer(&self, index: usize) -> Option<i64> {
        if self.element_type() == ElementType::U64 {
            return i64::try_from(*self.values::<u64>().get(index)?).ok();
        }
        if self.element_type().is_float() || self.element_type().is_complex() {
            return None;
        }
        with_native!(self.element_type(), T => {
            self.values::<T>().get(index).map(|value| value.widen().narrow::<i64>())
        })
    }

    /// The elements as integers; `None` where [`ArrayLiteral::integer`] would be.
    pub fn integers(&self) -> Option<Vec<i64>> {
        (0..self.len()).map(|index| self.integer(index)).collect()
    }

    /// The value of one element as a complex number, which holds every type's but wide integers'
    /// exactly. `None` for an index out of range.
    pub fn complex(&self, index: usize) -> Option<C128> {
        with_native!(self.element_type(), T => {
            self.values::<T>().get(index).map(|value| value.widen().narrow::<C128>())
        })
    }

    /// The value of one element that is no complex number as `f64`.
    pub fn float(&self, index: usize) -> Option<f64> {
        if self.element_type().is_complex() { None } else { Some(self.complex(index)?.re) }
    }
}

fn convert_values<S: Element>(values: &[S], to: ElementType, out: &mut [u8]) {
    let mut wide = [S::Wide::default(); CHUNK];
    let chunks = out.chunks_mut(CHUNK * to.byte_width());
    for (values, out) in values.chunks(CHUNK).zip(chunks) {
        let wide = &mut wide[..values.len()];
        for (wide, &value) in wide.iter_mut().zip(values) {
            *wide = value.widen();
        }
        narrow_values(wide, to, out);
    }
}

fn narrow_values<W: Wide>(values: &[W], to: ElementType, out: &mut [u8]) {
    with_native!(to, T => {
        for (out, &value) in bytemuck::cast_slice_mut::<u8, T>(out).iter_mut().zip(values) {
            *out = value.narrow::<T>();
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::native::*;

    fn converted<S: NativeType, T: NativeType>(values: &[S]) -> Vec<T> {
        let literal = ArrayLiteral::from_values([values.len() as i64], values);
        literal.convert(T::TYPE).unwrap().values::<T>().to_vec()
    }

    #[test]
    fn floats_saturate_to_integers() {
        let values = [
            f32::NAN,
            f32::INFINITY,
            f32::NEG_INFINITY,
            -0.0,
            1.9,
            -1.9,
            127.5,
            300.0,
            -300.0,
            3e9,
        ];
        assert_eq!(converted::<_, i8>(&values), [0, 127, -128, 0, 1, -1, 127, 127, -128, 127]);
        assert_eq!(converted::<_, u8>(&values), [0, 255, 0, 0, 1, 0, 127, 255, 0, 255]);
        let s4 = |v: &[i8]| v.iter().map(|&v| S4(v)).collect::<Vec<_>>();
        assert_eq!(converted::<_, S4>(&values), s4(&[0, 7, -8, 0, 1, -1, 7, 7, -8, 7]));
        let u2 = |v: &[u8]| v.iter().map(|&v| U2(v)).collect::<Vec<_>>();
        assert_eq!(converted::<_, U2>(&values), u2(&[0, 3, 0, 0, 1, 0, 3, 3, 0, 3]));
        assert_eq!(converted::<_, S1>(&[-0.5f64, -1.0, -7.0, 2.0]), [S1(0), S1(-1), S1(-1), S1(0)]);
        assert_eq!(
            converted::<f64, i64>(&[1e300, -1e300, 9007199254740993.0, f64::NAN]),
            [i64::MAX, i64::MIN, 9007199254740992, 0]
        );
        assert_eq!(converted::<f64, u64>(&[1e300, -1.0, 1e19]), [u64::MAX, 0, 10u64.pow(19)]);
    }

    #[test]
    fn integers_wrap() {
        assert_eq!(converted::<i32, i8>(&[300, -300, 128, -1]), [44, -44, -128, -1]);
        assert_eq!(converted::<i32, u16>(&[-1, 65536, 7]), [65535, 0, 7]);
        assert_eq!(converted::<i8, u64>(&[-1]), [u64::MAX]);
        assert_eq!(converted::<u64, i32>(&[u64::MAX, 1 << 31]), [-1, i32::MIN]);
        assert_eq!(converted::<i32, S4>(&[8, -9, 15]), [S4(-8), S4(7), S4(-1)]);
        assert_eq!(converted::<S4, u8>(&[S4(-8)]), [0xf8]);
        assert_eq!(converted::<U4, i8>(&[U4(15)]), [15]);
        assert_eq!(converted::<Pred, i32>(&[Pred::TRUE, Pred::FALSE]), [1, 0]);
        assert_eq!(converted::<i16, S1>(&[1, 2, 3]), [S1(-1), S1(0), S1(-1)]);
    }

    #[test]
    fn anything_but_zero_is_true() {
        let t = Pred::TRUE;
        let f = Pred::FALSE;
        assert_eq!(converted::<f32, Pred>(&[0.0, -0.0, f32::NAN, 1e-45, 2.0]), [f, f, t, t, t]);
        assert_eq!(converted::<i64, Pred>(&[0, 256, -1]), [f, t, t]);
        assert_eq!(converted::<C64, Pred>(&[C64::new(0.0, 1.0), C64::new(2.0, -0.0)]), [f, t]);
        assert_eq!(converted::<F8e8m0fnu, Pred>(&[F8e8m0fnu(0)]), [t]);
        assert_eq!(converted::<Pred, C64>(&[t]), [C64::new(1.0, 0.0)]);
    }

    #[test]
    fn integers_round_once_to_floats() {
        // Just above a tie of `bf16` and of `f32`, by less than `f64` can tell.
        let value = (0x81_i64 << 55) + (1 << 54) + 1;
        assert_eq!(converted::<i64, bf16>(&[value]), [bf16::from_bits(0x5e82)]);
        assert_eq!(converted::<i64, bf16>(&[value - 1]), [bf16::from_bits(0x5e82)]);
        let even = (0x80_i64 << 55) + (1 << 54);
        assert_eq!(converted::<i64, bf16>(&[even]), [bf16::from_bits(0x5e80)]);
        assert_eq!(converted::<i64, bf16>(&[even + 1]), [bf16::from_bits(0x5e81)]);
        assert_eq!(converted::<i64, bf16>(&[-even - 1]), [bf16::from_bits(0xde81)]);
        assert_eq!(
            converted::<i64, f32>(&[(1 << 62) + (1 << 38) + 1]),
            [(1u64 << 62) as f32 + (1u64 << 39) as f32]
        );
        assert_eq!(converted::<u64, f64>(&[u64::MAX]), [18446744073709551616.0]);
        assert_eq!(
            converted::<u64, f16>(&[u64::MAX, 65519, 65520]),
            [f16::INFINITY, f16::MAX, f16::INFINITY]
        );
    }

    #[test]
    fn complex_numbers_lose_the_imaginary_part() {
        let z = C128::new(-1.5, 7.0);
        assert_eq!(converted::<C128, f32>(&[z]), [-1.5]);
        assert_eq!(converted::<C128, i32>(&[z]), [-1]);
        assert_eq!(converted::<C128, C64>(&[z]), [C64::new(-1.5, 7.0)]);
        assert_eq!(converted::<C64, C128>(&[C64::new(-1.5, 7.0)]), [z]);
    }

    #[test]
    fn every_pair_converts_one_and_zero() {
        for &from in ElementType::ALL {
            let ones = ArrayLiteral::from_values([2], &[1i32, 0]).convert(from).unwrap();
            for &to in ElementType::ALL {
                let back = ones.convert(to).unwrap();
                let one = if from == ElementType::S1 { -1.0 } else { 1.0 };
                let expected = ArrayLiteral::from_values([2], &[one, 0.0]).convert(to).unwrap();
                let special = from == ElementType::F8e8m0fnu || to == ElementType::F8e8m0fnu;
                if special {
                    // There is no zero, and unsigned types lose what is below.
                    continue;
                }
                if from == ElementType::S1 && !to.is_float() && !to.is_complex() {
                    // All ones in an integer of any width.
                    let all = ArrayLiteral::from_values([2], &[-1i64, 0]).convert(to).unwrap();
                    assert_eq!(back, all, "{from} to {to}");
                    continue;
                }
                if to == ElementType::S1 {
                    let wraps = !from.is_float() && !from.is_complex();
                    let expected = S1(if wraps { -1 } else { 0 });
                    assert_eq!(back.values::<S1>(), [expected, S1(0)], "{from} to {to}");
                    continue;
                }
                assert_eq!(back, expected, "{from} to {to}");
            }
        }
    }

    #[test]
    fn long_arrays_cross_chunks() {
        let values: Vec<i32> = (0..5000).collect();
        let literal = ArrayLiteral::from_values([50, 100], &values);
        let back = literal.convert(ElementType::C64).unwrap().convert(ElementType::S32).unwrap();
        assert_eq!(back, literal);
        assert_eq!(literal.integer(4999), Some(4999));
        assert_eq!(literal.integer(5000), None);
        assert_eq!(literal.float(7), Some(7.0));
    }
}
