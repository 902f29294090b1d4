//! Bits of one element type seen as another's, as the op `bitcast-convert` does it.

use rxla_base::{Error, Result};

use super::ArrayLiteral;
use super::pack::canonicalize;
use crate::{ArrayShape, ElementType};

impl ArrayLiteral {
    /// The bits seen as `shape`. Where widths differ, the narrower side has one more dimension, the
    /// last, along which a wide element's bits lie from the lowest to the highest.
    pub fn bitcast_convert(&self, shape: &ArrayShape) -> Result<ArrayLiteral> {
        let from = self.element_type();
        let to = shape.element_type;
        check_dims(self.shape(), shape)?;
        let mut result = ArrayLiteral::zeros(shape)?;
        if bits_fill_bytes(from) && bits_fill_bytes(to) {
            result.bytes_mut().copy_from_slice(self.bytes());
            return Ok(result);
        }
        let split = from.bit_width().max(to.bit_width()) / from.bit_width().min(to.bit_width());
        let source = self.bytes();
        let target = result.bytes_mut();
        if from.bit_width() >= to.bit_width() {
            let mask = low_bits(to.bit_width());
            for (wide, narrow) in
                source.chunks(from.byte_width()).zip(target.chunks_mut(to.byte_width() * split))
            {
                let bits = read(wide);
                for (place, out) in narrow.chunks_mut(to.byte_width()).enumerate() {
                    write((bits >> (place * to.bit_width())) & mask, out);
                }
            }
        } else {
            let mask = low_bits(from.bit_width());
            for (narrow, wide) in
                source.chunks(from.byte_width() * split).zip(target.chunks_mut(to.byte_width()))
            {
                let mut bits = 0;
                for (place, element) in narrow.chunks(from.byte_width()).enumerate() {
                    bits |= (read(element) & mask) << (place * from.bit_width());
                }
                write(bits, wide);
            }
        }
        canonicalize(to, target);
        Ok(result)
    }
}

fn check_dims(from: &ArrayShape, to: &ArrayShape) -> Result<()> {
    let (wide, narrow) = (from.element_type.bit_width(), to.element_type.bit_width());
    let fits = if wide == narrow {
        from.dims == to.dims
    } else if wide > narrow {
        has_extra_dimension(&to.dims, &from.dims, wide, narrow)
    } else {
        has_extra_dimension(&from.dims, &to.dims, narrow, wide)
    };
    if fits {
        Ok(())
    } else {
        Err(Error::invalid_argument(format!(
            "`bitcast-convert` cannot turn `{from}` ({wide} bits an element) into `{to}` \
             ({narrow} bits an element): the narrower type has one more dimension, of size \
             {wide} / {narrow} or its inverse"
        )))
    }
}

fn has_extra_dimension(long: &[i64], short: &[i64], wide: usize, narrow: usize) -> bool {
    wide.is_multiple_of(narrow) && long.split_last() == Some((&((wide / narrow) as i64), short))
}

fn bits_fill_bytes(element_type: ElementType) -> bool {
    element_type.bit_width() == 8 * element_type.byte_width()
}

fn low_bits(count: usize) -> u128 {
    u128::MAX >> (128 - count)
}

fn read(bytes: &[u8]) -> u128 {
    let mut padded = [0; 16];
    padded[..bytes.len()].copy_from_slice(bytes);
    u128::from_le_bytes(padded)
}

fn write(bits: u128, bytes: &mut [u8]) {
    let len = bytes.len();
    bytes.copy_from_slice(&bits.to_le_bytes()[..len]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::native::*;

    fn bitcast<T: NativeType>(from: &ArrayLiteral, dims: &[i64]) -> Vec<T> {
        let shape = ArrayShape::new(T::TYPE, dims.iter().copied());
        let result = from.bitcast_convert(&shape).unwrap();
        assert_eq!(result.bitcast_convert(from.shape()).unwrap(), *from, "and back");
        result.values::<T>().to_vec()
    }

    #[test]
    fn same_width_keeps_bits() {
        let ones = ArrayLiteral::from_values([2], &[1.0f32, -0.0]);
        assert_eq!(bitcast::<u32>(&ones, &[2]), [0x3f80_0000, 0x8000_0000]);
        let s4 = ArrayLiteral::from_values([2], &[S4(-1), S4(3)]);
        assert_eq!(bitcast::<U4>(&s4, &[2]), [U4(15), U4(3)]);
        assert_eq!(bitcast::<F4e2m1fn>(&s4, &[2]), [F4e2m1fn(15), F4e2m1fn(3)]);
    }

    #[test]
    fn lowest_bits_come_first() {
        let words = ArrayLiteral::from_values([2], &[0x0102_0304u32, 0xff00_00fe]);
        assert_eq!(bitcast::<u8>(&words, &[2, 4]), [4, 3, 2, 1, 0xfe, 0, 0, 0xff]);
        assert_eq!(bitcast::<u16>(&words, &[2, 2]), [0x0304, 0x0102, 0x00fe, 0xff00]);
        let bytes = ArrayLiteral::from_values([1], &[0xf1u8]);
        assert_eq!(bitcast::<S4>(&bytes, &[1, 2]), [S4(1), S4(-1)]);
        assert_eq!(bitcast::<U2>(&bytes, &[1, 4]), [U2(1), U2(0), U2(3), U2(3)]);
        assert_eq!(
            bitcast::<U1>(&bytes, &[1, 8]).iter().map(|b| b.0).collect::<Vec<_>>(),
            [1, 0, 0, 0, 1, 1, 1, 1]
        );
        let half = ArrayLiteral::from_values([], &[f16::from_bits(0x1234)]);
        assert_eq!(bitcast::<U4>(&half, &[4]), [U4(4), U4(3), U4(2), U4(1)]);
        let complex = ArrayLiteral::from_values([1], &[C64::new(1.0, 2.0)]);
        assert_eq!(bitcast::<f32>(&complex, &[1, 2]), [1.0, 2.0]);
    }

    #[test]
    fn wrong_dimensions_are_an_error() {
        let words = ArrayLiteral::from_values([2], &[1u32, 2]);
        for (element_type, dims) in [
            (ElementType::U8, vec![2, 2]),
            (ElementType::U8, vec![8]),
            (ElementType::U64, vec![1]),
            (ElementType::F32, vec![1, 2]),
        ] {
            let shape = ArrayShape::new(element_type, dims);
            assert!(words.bitcast_convert(&shape).is_err(), "{shape}");
        }
        let six = ArrayLiteral::from_values([1], &[F6e2m3fn(1)]);
        assert!(six.bitcast_convert(&ArrayShape::new(ElementType::U4, [1, 1])).is_err());
    }
}
