//! Attributes of typed FFI calls as text: the printed MLIR dictionary that XLA keeps in
//! `backend_config`, such as `{dims = array<i64: 1, 2>, eps = 1.000000e-05 : f32, name = "x"}`.
//! [`print`] writes it and [`attributes`] reads it back; numbers survive the way there and back
//! bit for bit.

mod parse;
mod print;

pub use parse::attributes;
pub use print::print;

/// A value of an FFI attribute.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    Bool(bool),
    /// An integer; unsigned ones above `i64::MAX` wrap, as `scalar` says how to read the bits.
    Integer {
        scalar: Scalar,
        value: i64,
    },
    Float {
        scalar: Scalar,
        value: f64,
    },
    String(Vec<u8>),
    /// `array<i64: …>` or a dense constant of rank 1.
    Array {
        scalar: Scalar,
        values: Vec<Number>,
    },
    Dictionary(Vec<(String, Value)>),
}

/// The element type of a number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Scalar {
    Bool,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F32,
    F64,
}

/// One number of an array.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Number {
    Integer(i64),
    Float(f64),
}

impl Scalar {
    /// MLIR's spelling.
    pub fn name(self) -> &'static str {
        match self {
            Scalar::Bool => "i1",
            Scalar::I8 => "i8",
            Scalar::I16 => "i16",
            Scalar::I32 => "i32",
            Scalar::I64 => "i64",
            Scalar::U8 => "ui8",
            Scalar::U16 => "ui16",
            Scalar::U32 => "ui32",
            Scalar::U64 => "ui64",
            Scalar::F32 => "f32",
            Scalar::F64 => "f64",
        }
    }

    fn from_name(name: &str) -> Option<Scalar> {
        Some(match name {
            "i1" => Scalar::Bool,
            "i8" | "si8" => Scalar::I8,
            "i16" | "si16" => Scalar::I16,
            "i32" | "si32" => Scalar::I32,
            "i64" | "si64" | "index" => Scalar::I64,
            "ui8" => Scalar::U8,
            "ui16" => Scalar::U16,
            "ui32" => Scalar::U32,
            "ui64" => Scalar::U64,
            "f32" => Scalar::F32,
            "f64" => Scalar::F64,
            _ => return None,
        })
    }

    fn is_float(self) -> bool {
        matches!(self, Scalar::F32 | Scalar::F64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mlir::{
        Attribute, DenseArray, DenseElements, Float, NamedAttribute, Type, dictionary,
    };

    fn entry(name: &str, value: Attribute) -> NamedAttribute {
        NamedAttribute { name: name.into(), value }
    }

    #[test]
    fn dense_constants_read_back() {
        let dense = |ty: Type, bytes: &[u8]| {
            let ty = Type::tensor([2, 2], ty);
            Attribute::DenseElements(DenseElements::new(ty, bytes).unwrap().into())
        };
        let floats: Vec<u8> = [0.1f64, -2.0, f64::NAN, 1e300].map(f64::to_le_bytes).concat();
        let attribute = dictionary(vec![
            entry("all", dense(Type::Float(Float::F64), &floats)),
            entry("bytes", dense(Type::I8, &[1, 2, 3, 0xff])),
            entry("splat", dense(Type::Float(Float::F32), &0.5f32.to_le_bytes())),
        ]);
        let values = attributes(&print(&attribute).unwrap()).unwrap();
        let [(_, Value::Array { scalar: Scalar::F64, values: all }), (_, bytes), (_, splat)] =
            &values[..]
        else {
            panic!("{values:?}")
        };
        let bits = |number: &Number| match number {
            Number::Float(value) => value.to_le_bytes(),
            Number::Integer(value) => value.to_le_bytes(),
        };
        assert_eq!(all.iter().flat_map(bits).collect::<Vec<u8>>(), floats);
        let integers = [1, 2, 3, -1].map(Number::Integer).to_vec();
        assert_eq!(*bytes, Value::Array { scalar: Scalar::I8, values: integers });
        let halves = vec![Number::Float(0.5); 4];
        assert_eq!(*splat, Value::Array { scalar: Scalar::F32, values: halves });
    }

    #[test]
    fn what_is_printed_reads_back() {
        let attribute = dictionary(vec![
            entry("a", Attribute::i64(-3)),
            entry("b", Attribute::Bool(true)),
            entry("c", Attribute::f32(0.1)),
            entry("d", Attribute::string("q\"\n\\")),
            entry("e", Attribute::i64_array([1, 2])),
            entry("f", dictionary(vec![entry("inner", Attribute::i32(7))])),
            entry("g", Attribute::Integer { ty: Type::unsigned(64), value: -1 }),
            entry("h", Attribute::f64(f64::INFINITY)),
            entry("i", Attribute::DenseArray(DenseArray::F32([1.5f32.to_bits()].into()))),
            entry("odd name", Attribute::f32(2.0)),
        ]);
        let text = print(&attribute).unwrap();
        assert_eq!(
            text,
            "{a = -3 : i64, b = true, c = 1.000000e-01 : f32, d = \"q\\22\\0A\\\\\", \
             e = array<i64: 1, 2>, f = {inner = 7 : i32}, g = 18446744073709551615 : ui64, \
             h = 0x7FF0000000000000 : f64, i = array<f32: 1.500000e+00>, \
             \"odd name\" = 2.000000e+00 : f32}"
        );
        let values = attributes(&text).unwrap();
        let get = |name: &str| values.iter().find(|(n, _)| n == name).unwrap().1.clone();
        assert_eq!(get("a"), Value::Integer { scalar: Scalar::I64, value: -3 });
        assert_eq!(get("b"), Value::Bool(true));
        assert_eq!(get("c"), Value::Float { scalar: Scalar::F32, value: 0.1f32.into() });
        assert_eq!(get("d"), Value::String(b"q\"\n\\".to_vec()));
        let numbers = vec![Number::Integer(1), Number::Integer(2)];
        assert_eq!(get("e"), Value::Array { scalar: Scalar::I64, values: numbers });
        let inner = vec![("inner".into(), Value::Integer { scalar: Scalar::I32, value: 7 })];
        assert_eq!(get("f"), Value::Dictionary(inner));
        assert_eq!(get("g"), Value::Integer { scalar: Scalar::U64, value: -1 });
        assert_eq!(get("h"), Value::Float { scalar: Scalar::F64, value: f64::INFINITY });
        let numbers = vec![Number::Float(1.5)];
        assert_eq!(get("i"), Value::Array { scalar: Scalar::F32, values: numbers });
        assert_eq!(get("odd name"), Value::Float { scalar: Scalar::F32, value: 2.0 });
    }

    #[test]
    fn malformed_text_is_refused() {
        for text in ["", "{", "{a}", "{a = }", "{a = 1 : q9}", "{a = [}", "{a = \"x}", "{} x"] {
            assert!(attributes(text).is_err(), "{text}");
        }
        let deep = format!("{}{}", "{a = ".repeat(100_000), "}".repeat(100_000));
        assert!(attributes(&deep).is_err());
    }
}
