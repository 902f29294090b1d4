//! Every bit pattern decoded against the definition; every rounding boundary encoded against a
//! search over all values; and checksums of what `ml_dtypes` 0.6.0 computes for whole ranges.

use half::bf16;

use super::*;
use crate::with_native;

const SMALL: [ElementType; 11] = [
    ElementType::F8e5m2,
    ElementType::F8e4m3,
    ElementType::F8e4m3fn,
    ElementType::F8e4m3b11fnuz,
    ElementType::F8e3m4,
    ElementType::F8e5m2fnuz,
    ElementType::F8e4m3fnuz,
    ElementType::F8e8m0fnu,
    ElementType::F6e3m2fn,
    ElementType::F6e2m3fn,
    ElementType::F4e2m1fn,
];

fn format(element_type: ElementType) -> Format {
    Format::of(element_type).unwrap()
}

fn fnv(bytes: impl IntoIterator<Item = u8>) -> u64 {
    bytes.into_iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    })
}

/// FNV-1a over the values of all bit patterns as `f32` (NaNs as 7fc00000), over the results for
/// all `bf16` values, and over those for all `f16` values.
const ML_DTYPES: [(ElementType, u64, u64, u64); 11] = [
    (ElementType::F8e5m2, 0x6c1e56b6fb09c905, 0xdc7c834c45934ea5, 0xbd846ad273634325),
    (ElementType::F8e4m3, 0x225eaf4799a27e65, 0x27fcd773a5ef9165, 0xf9e31c9f19fb6325),
    (ElementType::F8e4m3fn, 0xdad1d9c50f749ca5, 0xfcf9b06835fb1295, 0xbd571fcbcd351aa5),
    (ElementType::F8e4m3b11fnuz, 0xd90d7a600530d158, 0x97e56740791cb325, 0xdbf58453dd7ed9a5),
    (ElementType::F8e3m4, 0xf47936f19e549625, 0xd9fc11fbe423f925, 0xde849e1ad9c55e25),
    (ElementType::F8e5m2fnuz, 0x94ae6fc493d49818, 0xaf07a31aa01e3025, 0xf336d4e1e12edda5),
    (ElementType::F8e4m3fnuz, 0xf51851cb11c63018, 0xb470b8feac94b325, 0x5baaf26b4d46d9a5),
    (ElementType::F8e8m0fnu, 0x6d2c8b41c3f0e5a5, 0x29ac22fd87f3649b, 0xf66e04a493e77b06),
    (ElementType::F6e3m2fn, 0x25da13434201d785, 0xdaf53f6236041025, 0xcfea8c0b1d587925),
    (ElementType::F6e2m3fn, 0x7ffacb24ad8b0aa5, 0xdb60f1f6ee680e65, 0x476414a0b5a75325),
    (ElementType::F4e2m1fn, 0x2403bb76b85dfea5, 0x276f195977c0e865, 0x93e60c1ef55ccd25),
];

#[test]
fn agrees_with_ml_dtypes_over_whole_ranges() {
    for (element_type, decoded, from_bf16, from_f16) in ML_DTYPES {
        let format = format(element_type);
        let values = (0..=format.mask()).flat_map(|bits| {
            let value = format.decode(bits) as f32;
            if value.is_nan() { 0x7fc0_0000u32 } else { value.to_bits() }.to_le_bytes()
        });
        assert_eq!(fnv(values), decoded, "values of {element_type}");
        let all = 0..=u16::MAX;
        let encoded = all.clone().map(|b| encode(format, bf16::from_bits(b).to_f64()) as u8);
        assert_eq!(fnv(encoded), from_bf16, "{element_type} from bf16");
        let encoded = all.map(|b| encode(format, half::f16::from_bits(b).to_f64()) as u8);
        assert_eq!(fnv(encoded), from_f16, "{element_type} from f16");
    }
}

#[test]
fn traits_agree_with_formats() {
    fn check<T: SmallFloat>() {
        for bits in 0..=T::FORMAT.mask() {
            let value = T::from_bits(bits as u8).to_f32();
            assert_eq!(value.to_bits(), (T::FORMAT.decode(bits) as f32).to_bits());
            if !value.is_nan() {
                assert_eq!(u64::from(T::from_f32(value).to_bits()), bits, "{}", T::TYPE);
            }
        }
        assert_eq!(T::FORMAT.width() as usize, T::TYPE.bit_width());
    }
    check::<F8e5m2>();
    check::<F8e4m3>();
    check::<F8e4m3fn>();
    check::<F8e4m3b11fnuz>();
    check::<F8e3m4>();
    check::<F8e5m2fnuz>();
    check::<F8e4m3fnuz>();
    check::<F8e8m0fnu>();
    check::<F6e3m2fn>();
    check::<F6e2m3fn>();
    check::<F4e2m1fn>();
}

/// Between neighbours a < b: everything below the middle goes to a, above it to b, the middle to
/// the even one. `f64` holds every middle exactly and has values on both sides of it.
fn check_boundaries(format: Format) {
    for bits in 0..format.max_finite_bits() {
        let (a, b) = (format.decode(bits), format.decode(bits + 1));
        assert!(a < b);
        let middle = a / 2.0 + b / 2.0;
        let tie = bits + (bits & 1);
        for (value, expected) in [
            (a, bits),
            (a.next_up(), bits),
            (middle.next_down(), bits),
            (middle, tie),
            (middle.next_up(), bits + 1),
            (b.next_down(), bits + 1),
            (b, bits + 1),
        ] {
            assert_eq!(encode(format, value), expected, "{format:?} of {value:e}");
            if format.has_sign() {
                let none = expected == 0 && format.specials == Specials::NanIsNegativeZero;
                let expected = if none { 0 } else { expected | format.sign_bit() };
                assert_eq!(encode(format, -value), expected, "{format:?} of -{value:e}");
            }
        }
    }
}

#[test]
fn rounds_at_every_boundary() {
    for element_type in SMALL.into_iter().chain([ElementType::F16, ElementType::Bf16]) {
        if element_type != ElementType::F8e8m0fnu {
            check_boundaries(format(element_type));
        }
    }
}

#[test]
fn e8m0_rounds_as_xla_says() {
    let encode = |value: f64| encode(format(ElementType::F8e8m0fnu), value);
    for exponent in -126..=127 {
        let value = 2f64.powi(exponent);
        let bits = (exponent + 127) as u64;
        assert_eq!(encode(value), bits);
        assert_eq!(encode(value * 1.49), bits);
        assert_eq!(encode(value * 1.5), bits + 1);
    }
    // Nearest would be 0 for the second; XLA's way through subnormal `f32` gives 1.
    assert_eq!(encode(2f64.powi(-127)), 0);
    assert_eq!(encode(2f64.powi(-127) * 1.02), 1);
    assert_eq!(encode(2f64.powi(-149)), 0);
    for value in [0.0, -0.0, 1e-310, -1.0, f64::NEG_INFINITY, f64::NAN] {
        assert_eq!(encode(value), 0xff, "{value}");
    }
}

#[test]
fn overflows_as_each_format_says() {
    for element_type in SMALL.into_iter().chain([ElementType::F16, ElementType::Bf16]) {
        let format = format(element_type);
        let max = format.max_finite();
        // The tie above the greatest number rounds as if the next one existed.
        let below = format.decode(format.max_finite_bits() - 1);
        let tie = max + (max - below) / 2.0;
        let exponent_only = format.specials == Specials::ExponentOnly;
        let tie = if exponent_only { max * 1.5 } else { tie };
        let inside = if exponent_only { max * 1.49 } else { tie.next_down() };
        assert_eq!(encode(format, inside), format.max_finite_bits(), "{element_type}");
        let (plus, minus) = match format.specials {
            Specials::Ieee => (format.infinity_bits(), format.infinity_bits() | format.sign_bit()),
            Specials::NanAllOnes => (format.nan_bits(), format.nan_bits() | format.sign_bit()),
            Specials::NanIsNegativeZero | Specials::ExponentOnly => {
                (format.nan_bits(), format.nan_bits())
            }
            Specials::FiniteOnly => {
                (format.max_finite_bits(), format.max_finite_bits() | format.sign_bit())
            }
        };
        for value in [tie.next_up(), max * 2.0, f64::MAX, f64::INFINITY] {
            assert_eq!(encode(format, value), plus, "{element_type} of {value:e}");
            assert_eq!(encode(format, -value), minus, "{element_type} of -{value:e}");
        }
        let nan = encode(format, f64::NAN);
        assert_eq!(format.has_nan(), format.is_nan(nan), "{element_type}");
        assert_eq!(nan, format.nan_bits(), "{element_type}");
    }
}

#[test]
fn halves_round_once() {
    // A hair above a tie: `f32` would land on the tie and then go to even.
    let value = 1.0 + 2f64.powi(-11) + 2f64.powi(-40);
    assert_eq!(f16_from_f64(value).to_bits(), 0x3c01);
    assert_eq!(half::f16::from_f32(value as f32).to_bits(), 0x3c00);
    let value = 1.0 + 2f64.powi(-8) + 2f64.powi(-40);
    assert_eq!(bf16_from_f64(value).to_bits(), 0x3f81);
    assert_eq!(bf16::from_f32(value as f32).to_bits(), 0x3f80);
    // The general encoder is the reference, on ties, beside them and elsewhere.
    let (f16_format, bf16_format) = (format(ElementType::F16), format(ElementType::Bf16));
    for bits in (0..=u32::MAX).step_by(4_099) {
        let value = f64::from(f32::from_bits(bits & !0xfff));
        for value in [value, value.next_up(), value.next_down(), value * 1.000_000_1] {
            if !value.is_nan() {
                let f16_bits = encode(f16_format, value);
                assert_eq!(u64::from(f16_from_f64(value).to_bits()), f16_bits, "{value:e}");
                let bf16_bits = encode(bf16_format, value);
                assert_eq!(u64::from(bf16_from_f64(value).to_bits()), bf16_bits, "{value:e}");
            }
        }
    }
    assert_eq!(bf16_from_f64(-f64::NAN).to_bits(), 0xffc0);
}

#[test]
fn formats_cover_the_float_types() {
    for &element_type in ElementType::ALL {
        let format = Format::of(element_type);
        assert_eq!(format.is_some(), element_type.is_float(), "{element_type}");
        if let Some(format) = format {
            assert_eq!(format.width() as usize, element_type.bit_width());
        }
        let _size = with_native!(element_type, T => size_of::<T>());
    }
    let digits = |t| format(t).round_trip_digits();
    assert_eq!((digits(ElementType::F64), digits(ElementType::F32)), (17, 9));
    assert_eq!((digits(ElementType::F16), digits(ElementType::Bf16)), (5, 4));
    assert_eq!((digits(ElementType::F8e4m3fn), digits(ElementType::F4e2m1fn)), (3, 2));
}
