//! Builtin attributes from text, and the way to those of the dialects.

use std::sync::Arc;

use rxla_base::Span;

use super::cursor::{Number, NumberKind, Result};
use super::float;
use super::parser::Parser;
use super::types::names_dialect;
use crate::mlir::{
    Attribute, ByteString, DenseArray, DenseResource, NamedAttribute, Opaque, Signedness,
    SymbolRef, Type, dictionary,
};

impl<'a> Parser<'a> {
    /// Any attribute.
    pub(super) fn attribute(&mut self) -> Result<Attribute> {
        self.nested(|parser| match parser.peek() {
            Some(b'@') => parser.symbol(),
            Some(b'[') => Ok(Attribute::array(parser.list("[", "]", |parser| parser.attribute())?)),
            Some(b'{') => Ok(dictionary(parser.dictionary_entries()?)),
            Some(b'"') => {
                let text = ByteString::from(parser.string()?);
                if !parser.eat(":") {
                    return Ok(Attribute::String(text));
                }
                Ok(match parser.ty()? {
                    Type::None => Attribute::String(text),
                    ty => Attribute::TypedString(Arc::new((text, ty))),
                })
            }
            Some(b'#') => parser.hash_attribute(),
            _ if parser.sees_number() => {
                let number = parser.number()?;
                let ty = match (parser.eat(":"), number.kind) {
                    (true, _) => parser.ty()?,
                    (false, NumberKind::Float) => Type::Float(crate::mlir::Float::F64),
                    (false, NumberKind::Decimal | NumberKind::Hexadecimal) => Type::I64,
                };
                parser.number_attribute(number, ty)
            }
            _ => parser.word_attribute(),
        })
    }

    fn word_attribute(&mut self) -> Result<Attribute> {
        let word = self.peek_word();
        let start = self.offset();
        let after = start + word.len();
        match word {
            "true" | "false" => {
                self.move_to(after);
                Ok(Attribute::Bool(word == "true"))
            }
            "unit" => {
                self.move_to(after);
                Ok(Attribute::Unit)
            }
            "dense" => {
                self.move_to(after);
                self.dense()
            }
            "dense_resource" => {
                self.move_to(after);
                self.expect("<")?;
                let key = self.key()?;
                self.expect(">")?;
                self.expect(":")?;
                let ty = self.ty()?;
                Ok(Attribute::DenseResource(Arc::new(DenseResource { ty, key })))
            }
            "array" => {
                self.move_to(after);
                self.dense_array()
            }
            "loc" => Ok(Attribute::Location(self.location()?)),
            "affine_map" | "affine_set" | "strided" | "distinct" | "opaque" | "sparse" => {
                self.move_to(after);
                self.kept_as_text(start)
            }
            _ if self.sees_type() => Ok(Attribute::Type(self.ty()?)),
            _ => Err(self.unexpected("an attribute")),
        }
    }

    /// Builtin attributes that no StableHLO program computes with stay as they are spelled, but
    /// for the spaces.
    fn kept_as_text(&mut self, start: usize) -> Result<Attribute> {
        let mut text = self.text()[start..self.offset()].to_owned();
        if self.sees("[") {
            text.push_str(&self.balanced()?);
        }
        if !self.sees("<") {
            return Err(self.unexpected("`<`"));
        }
        text.push_str(&self.balanced()?);
        if text.starts_with("sparse") {
            self.expect(":")?;
            let ty = self.ty()?;
            text.push_str(" : ");
            text.push_str(&super::print::type_text(&ty));
        }
        Ok(Attribute::Opaque(Arc::new(Opaque { dialect: "".into(), text: text.into() })))
    }

    /// A name that may be a bare word, a number or a string.
    fn key(&mut self) -> Result<ByteString> {
        if self.peek() == Some(b'"') {
            return Ok(self.string()?.into());
        }
        Ok(self.expect_word("a name")?.into())
    }

    /// `@name` or `@"any text"`.
    pub(super) fn symbol_name(&mut self) -> Result<ByteString> {
        self.expect("@")?;
        if self.peek_here() == Some(b'"') {
            return Ok(self.string()?.into());
        }
        let name = self.suffix_word();
        if name.is_empty() {
            return Err(self.unexpected("a name after `@`"));
        }
        Ok(name.into())
    }

    fn symbol(&mut self) -> Result<Attribute> {
        let root = self.symbol_name()?;
        let mut nested = Vec::new();
        while self.eat("::") {
            nested.push(self.symbol_name()?);
        }
        Ok(Attribute::SymbolRef(Arc::new(SymbolRef { root, nested })))
    }

    /// `{name = value, name, "any text" = value}` with its braces.
    pub(super) fn dictionary_entries(&mut self) -> Result<Vec<NamedAttribute>> {
        let mut spans: Vec<(ByteString, Span)> = Vec::new();
        let entries = self.list("{", "}", |parser| {
            parser.skip_space();
            let start = parser.offset();
            let name = parser.key()?;
            spans.push((name.clone(), parser.span_from(start)));
            let value = if parser.eat("=") { parser.attribute()? } else { Attribute::Unit };
            Ok(NamedAttribute { name, value })
        })?;
        spans.sort_by(|a, b| a.0.cmp(&b.0));
        for pair in spans.windows(2) {
            if pair[0].0 == pair[1].0 {
                let message = format!("attribute `{}` is given twice", pair[0].0);
                return Err(Box::new(
                    rxla_base::Diagnostic::error(message)
                        .at(pair[1].1)
                        .label(pair[0].1, "given here first"),
                ));
            }
        }
        Ok(entries)
    }

    /// An integer, truth value or float of the given type.
    pub(super) fn number_attribute(&mut self, number: Number<'a>, ty: Type) -> Result<Attribute> {
        if let Type::Float(float) = ty {
            return Ok(Attribute::Float { ty: float, bits: self.float_bits(number, float)? });
        }
        let value = self.integer_of(number, &ty)?;
        Ok(match ty {
            Type::I1 => Attribute::Bool(value != 0),
            ty => Attribute::Integer { ty, value },
        })
    }

    /// The value of an integer of the given type, as [`Attribute::Integer`] holds it.
    pub(super) fn integer_of(&self, number: Number<'_>, ty: &Type) -> Result<i64> {
        let wrong = |message: String| Err(self.error(number.span, message));
        let (width, signedness) = match ty {
            Type::Integer { width, signedness } => (*width, *signedness),
            Type::Index => (64, Signedness::Signless),
            _ => return wrong(format!("`{}` has no numbers", super::print::type_text(ty))),
        };
        if number.kind == NumberKind::Float {
            let text = super::print::type_text(ty);
            return wrong(format!("expected an integer of type `{text}`, found a float"));
        }
        if width > 64 {
            return wrong(format!("integers of {width} bits are not implemented"));
        }
        let (least, greatest) = match (signedness, width) {
            (_, 0) => (0, 0),
            (Signedness::Signless, _) => (-(1i128 << (width - 1)), (1i128 << width) - 1),
            (Signedness::Signed, _) => (-(1i128 << (width - 1)), (1i128 << (width - 1)) - 1),
            (Signedness::Unsigned, _) => (0, (1i128 << width) - 1),
        };
        match number.to_i128() {
            Some(value) if (least..=greatest).contains(&value) => {
                // The bits, then extended by the type.
                let bits = value as u64;
                let shift = 64 - width.max(1);
                Ok(match signedness {
                    Signedness::Unsigned => bits as i64,
                    Signedness::Signless | Signedness::Signed => ((bits << shift) as i64) >> shift,
                })
            }
            _ => {
                let text = super::print::type_text(ty);
                wrong(format!("the number does not fit type `{text}`"))
            }
        }
    }

    /// The bits of a float: a decimal with a point is rounded, a hexadecimal gives the bits.
    pub(super) fn float_bits(&self, number: Number<'_>, ty: crate::mlir::Float) -> Result<u64> {
        let name = ty.name();
        match number.kind {
            NumberKind::Decimal => Err(Box::new(
                rxla_base::Diagnostic::error(format!(
                    "expected a float of type `{name}`, found an integer"
                ))
                .at(number.span)
                .hint(format!("write `{}.0`, or the bits in hexadecimal", number.digits)),
            )),
            NumberKind::Float => match number.to_f64().and_then(|value| float::encode(ty, value)) {
                Some(bits) => Ok(bits),
                None => {
                    Err(self.error(number.span, format!("`{name}` values are not implemented")))
                }
            },
            NumberKind::Hexadecimal => {
                let bits = u64::from_str_radix(&number.digits[2..], 16).ok();
                let fits = |bits: &u64| ty.bits() >= 64 || bits >> ty.bits() == 0;
                match bits.filter(fits) {
                    Some(bits) if !number.negative => Ok(bits),
                    _ => Err(self.error(
                        number.span,
                        format!("`{name}` takes {} bits in hexadecimal, no sign", ty.bits()),
                    )),
                }
            }
        }
    }

    /// What follows `array`: `<i64: 1, 2>`.
    fn dense_array(&mut self) -> Result<Attribute> {
        self.expect("<")?;
        self.skip_space();
        let start = self.offset();
        let ty = self.ty()?;
        let span = self.span_from(start);
        let empty = self.eat(">");
        if !empty {
            self.expect(":")?;
        }
        let mut values = Vec::new();
        if !empty {
            values = self.list_until(">", |parser| parser.array_element(&ty))?;
        }
        let array = match &ty {
            &Type::I1 => DenseArray::I1(values.iter().map(|&v| v != 0).collect()),
            &Type::I8 => DenseArray::I8(values.iter().map(|&v| v as i8).collect()),
            Type::Integer { width: 16, .. } => {
                DenseArray::I16(values.iter().map(|&v| v as i16).collect())
            }
            &Type::I32 => DenseArray::I32(values.iter().map(|&v| v as i32).collect()),
            &Type::I64 => DenseArray::I64(values.iter().map(|&v| v as i64).collect()),
            Type::Float(crate::mlir::Float::F32) => {
                DenseArray::F32(values.iter().map(|&v| v as u32).collect())
            }
            Type::Float(crate::mlir::Float::F64) => DenseArray::F64(values.into()),
            _ => {
                return Err(Box::new(
                    rxla_base::Diagnostic::error(format!(
                        "arrays of `{}` do not exist",
                        super::print::type_text(&ty)
                    ))
                    .at(span)
                    .hint("element types are i1, i8, i16, i32, i64, f32 and f64"),
                ));
            }
        };
        Ok(Attribute::DenseArray(array))
    }

    fn array_element(&mut self, ty: &Type) -> Result<u64> {
        if *ty == Type::I1 && (self.sees("true") || self.sees("false")) {
            return Ok(u64::from(self.boolean()?));
        }
        let number = self.number()?;
        match ty {
            Type::Float(float) => self.float_bits(number, *float),
            _ => Ok(self.integer_of(number, ty)? as u64),
        }
    }

    pub(super) fn boolean(&mut self) -> Result<bool> {
        if self.eat_word("true") {
            return Ok(true);
        }
        self.expect_keyword("false").map_err(|_| self.unexpected("`true` or `false`"))?;
        Ok(false)
    }

    /// `#alias`, `#dialect.name<…>` or `#dialect<name …>`.
    fn hash_attribute(&mut self) -> Result<Attribute> {
        self.skip_space();
        let start = self.offset();
        self.move_to(start + 1);
        let name = self.suffix_word();
        let span = self.span_from(start);
        if !name.contains('.') && self.peek_here() != Some(b'<') {
            return self.attribute_alias(&self.text()[start..start + 1 + name.len()], span);
        }
        if !names_dialect(name) {
            return Err(self.error(span, "expected the name of an attribute after `#`"));
        }
        let (dialect, member) = name.split_once('.').unwrap_or((name, ""));
        let dialect = if dialect == "mhlo" { "stablehlo" } else { dialect };
        let known = matches!(dialect, "stablehlo" | "chlo" | "sdy");
        if !known {
            return Ok(Attribute::Opaque(Arc::new(self.opaque(name)?)));
        }
        if !member.is_empty() {
            return self.dialect_attribute(dialect, member, span);
        }
        self.expect("<")?;
        let member = self.expect_word("the name of an attribute")?;
        let span = self.span_from(start);
        let attribute = self.dialect_attribute(dialect, member, span)?;
        self.expect(">")?;
        Ok(attribute)
    }

    fn dialect_attribute(&mut self, dialect: &str, name: &str, span: Span) -> Result<Attribute> {
        if dialect == "sdy" {
            return self.sdy_attribute(name, span).map(Attribute::sdy);
        }
        self.stablehlo_attribute(dialect, name, span)
    }
}
