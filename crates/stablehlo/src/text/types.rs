//! Types from text.

use std::sync::Arc;

use rxla_base::Span;

use super::cursor::Result;
use super::parser::Parser;
use crate::mlir::{
    Attribute, DYNAMIC, Float, MemRefType, Opaque, Signedness, TensorType, Type, VectorType,
};

/// The widest integer type that MLIR has.
const MAX_INTEGER_WIDTH: u32 = (1 << 24) - 1;

impl<'a> Parser<'a> {
    /// Any type, `(a) -> b` too.
    pub(super) fn ty(&mut self) -> Result<Type> {
        self.nested(|parser| match parser.peek() {
            Some(b'(') => {
                let inputs = parser.list("(", ")", |parser| parser.ty())?;
                parser.expect("->")?;
                let results = parser.result_types()?;
                Ok(Type::function(inputs, results))
            }
            Some(b'!') => parser.dialect_type(),
            _ => parser.builtin_type(),
        })
    }

    /// `type`, or `(type, …)` for any number; a function type needs the parentheses.
    pub(super) fn result_types(&mut self) -> Result<Vec<Type>> {
        if self.sees("(") {
            return self.list("(", ")", |parser| parser.ty());
        }
        Ok(vec![self.ty()?])
    }

    /// `type, type`, at least one.
    pub(super) fn type_list(&mut self) -> Result<Vec<Type>> {
        let mut types = vec![self.ty()?];
        while self.eat(",") {
            types.push(self.ty()?);
        }
        Ok(types)
    }

    /// Whether a type other than a function's stands next, judged by its first word.
    pub(super) fn sees_type(&mut self) -> bool {
        match self.peek() {
            Some(b'!' | b'(') => true,
            _ => {
                let word = self.peek_word();
                named_type(word).is_some()
                    || matches!(word, "tensor" | "vector" | "memref" | "complex" | "tuple" | "none")
            }
        }
    }

    fn builtin_type(&mut self) -> Result<Type> {
        let word = self.peek_word();
        let start = self.offset();
        if word.is_empty() {
            return Err(self.unexpected("a type"));
        }
        self.move_to(start + word.len());
        let span = Span::new(start, start + word.len());
        match word {
            "tensor" => self.tensor(),
            "vector" => self.vector(),
            "memref" => self.memref(),
            "complex" => {
                self.expect("<")?;
                let element = self.ty()?;
                self.expect(">")?;
                Ok(Type::complex(element))
            }
            "tuple" => Ok(Type::Tuple(self.list("<", ">", |parser| parser.ty())?.into())),
            "none" => Ok(Type::None),
            _ => match named_type(word) {
                Some(Ok(ty)) => Ok(ty),
                Some(Err(TooWide)) => Err(self
                    .error(span, format!("integer types have at most {MAX_INTEGER_WIDTH} bits"))),
                None => {
                    self.move_to(start);
                    Err(self.unexpected("a type"))
                }
            },
        }
    }

    fn tensor(&mut self) -> Result<Type> {
        self.expect("<")?;
        if self.eat("*") {
            self.expect("x")?;
            let element = self.ty()?;
            self.expect(">")?;
            return Ok(Type::UnrankedTensor(Arc::new(element)));
        }
        let shape = self.dimensions()?;
        let element = self.ty()?;
        let encoding = if self.eat(",") { Some(self.attribute()?) } else { None };
        self.expect(">")?;
        Ok(Type::Tensor(Arc::new(TensorType { shape, element, encoding })))
    }

    fn vector(&mut self) -> Result<Type> {
        self.expect("<")?;
        let (mut shape, mut scalable) = (Vec::new(), Vec::new());
        loop {
            let is_scalable = self.eat("[");
            self.skip_space();
            if !is_scalable && !self.sees_number() {
                break;
            }
            shape.push(self.dimension()?);
            scalable.push(is_scalable);
            if is_scalable {
                self.expect("]")?;
            }
            self.expect("x")?;
        }
        if !scalable.contains(&true) {
            scalable.clear();
        }
        let element = self.ty()?;
        self.expect(">")?;
        Ok(Type::Vector(Arc::new(VectorType { shape, scalable, element })))
    }

    fn memref(&mut self) -> Result<Type> {
        self.expect("<")?;
        let unranked = self.eat("*");
        let shape = if unranked {
            self.expect("x")?;
            Vec::new()
        } else {
            self.dimensions()?
        };
        let element = self.ty()?;
        let (mut layout, mut memory_space) = (None, None);
        while self.eat(",") {
            let attribute = self.attribute()?;
            let is_layout = !unranked && layout.is_none() && is_layout(&attribute);
            if is_layout && memory_space.is_none() {
                layout = Some(attribute);
            } else if memory_space.is_none() {
                memory_space = Some(attribute);
            } else {
                return Err(self.unexpected("`>` after the memory space"));
            }
        }
        self.expect(">")?;
        if unranked {
            return Ok(Type::UnrankedMemRef(Arc::new((element, memory_space))));
        }
        Ok(Type::MemRef(Arc::new(MemRefType { shape, element, layout, memory_space })))
    }

    /// `4x?x`, up to the element type.
    pub(super) fn dimensions(&mut self) -> Result<Vec<i64>> {
        let mut shape = Vec::new();
        loop {
            match self.peek() {
                Some(b'?') => {
                    self.expect("?")?;
                    shape.push(DYNAMIC);
                }
                Some(byte) if byte.is_ascii_digit() => shape.push(self.dimension()?),
                _ => return Ok(shape),
            }
            self.expect("x")?;
        }
    }

    fn dimension(&mut self) -> Result<i64> {
        self.skip_space();
        let start = self.offset();
        let digits = self.digits();
        let span = self.span_from(start);
        match digits.parse() {
            Ok(size) => Ok(size),
            Err(_) if digits.is_empty() => Err(self.unexpected("the size of a dimension")),
            Err(_) => Err(self.error(span, "the size of a dimension must fit 63 bits")),
        }
    }

    /// `!alias`, `!stablehlo.token`, `!quant.uniform<…>` or any other dialect's.
    fn dialect_type(&mut self) -> Result<Type> {
        self.skip_space();
        let start = self.offset();
        self.move_to(start + 1);
        let name = self.suffix_word();
        let span = self.span_from(start);
        if !name.contains('.') && self.peek_here() != Some(b'<') {
            return self.type_alias(&self.text()[start..start + 1 + name.len()], span);
        }
        if !names_dialect(name) {
            return Err(self.error(span, "expected the name of a type after `!`"));
        }
        match name {
            "stablehlo.token" | "mhlo.token" => Ok(Type::Token),
            "stablehlo.future" => {
                Ok(Type::Future(self.list("<", ">", |parser| parser.ty())?.into()))
            }
            "quant.uniform" | "quant.any" | "quant.calibrated" => {
                self.quantized(&name["quant.".len()..])
            }
            _ => Ok(Type::Opaque(Arc::new(self.opaque(name)?))),
        }
    }

    /// The rest of `dialect.name<…>` or `dialect<…>`, kept as text.
    pub(super) fn opaque(&mut self, name: &str) -> Result<Opaque> {
        let (dialect, member) = name.split_once('.').unwrap_or((name, ""));
        let body = if self.peek_here() == Some(b'<') { self.balanced()? } else { String::new() };
        Ok(Opaque { dialect: dialect.into(), text: format!("{member}{body}").into() })
    }

    /// Passes `<…>` with whatever brackets and strings are inside, and gives it with the brackets, on
    /// one line and without comments.
    pub(super) fn balanced(&mut self) -> Result<String> {
        let mut text = String::new();
        self.pass_balanced(|piece| text.push_str(piece))?;
        Ok(text)
    }

    /// Passes `<…>`, handing on its pieces.
    pub(super) fn pass_balanced(&mut self, mut take: impl FnMut(&'a str)) -> Result<()> {
        self.skip_space();
        let start = self.offset();
        let mut open = Vec::new();
        loop {
            let before = self.offset();
            let Some(byte) = self.peek() else {
                return Err(self.error(Span::new(start, start + 1), "this bracket is not closed"));
            };
            if self.offset() > before {
                take(" ");
            }
            let here = self.offset();
            if byte == b'"' {
                self.string()?;
                take(&self.text()[here..self.offset()]);
                continue;
            }
            if self.eat("->") {
                take("->");
                continue;
            }
            // Whole characters, so that slices stay valid.
            let width = self.text()[here..].chars().next().map_or(1, char::len_utf8);
            self.move_to(here + width);
            take(&self.text()[here..here + width]);
            let closing = match byte {
                b'<' => b'>',
                b'(' => b')',
                b'[' => b']',
                b'{' => b'}',
                b'>' | b')' | b']' | b'}' => {
                    if open.pop() != Some(byte) {
                        let span = Span::new(here, here + 1);
                        return Err(self.error(span, "this bracket closes none that is open"));
                    }
                    if open.is_empty() {
                        return Ok(());
                    }
                    continue;
                }
                _ => continue,
            };
            open.push(closing);
        }
    }
}

/// Whether what follows `!` or `#` starts with a dialect's name and, if it has a dot, goes on.
pub(super) fn names_dialect(name: &str) -> bool {
    let word = |text: &str| text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    match name.split_once('.') {
        Some((dialect, member)) => word(dialect) && word(member),
        None => word(name),
    }
}

/// An integer type wider than MLIR allows.
struct TooWide;

/// `i32`, `f32`, `index` and their like.
fn named_type(word: &str) -> Option<std::result::Result<Type, TooWide>> {
    if word == "index" {
        return Some(Ok(Type::Index));
    }
    if let Some(float) = Float::from_name(word) {
        return Some(Ok(Type::Float(float)));
    }
    let (digits, signedness) = if let Some(digits) = word.strip_prefix("si") {
        (digits, Signedness::Signed)
    } else if let Some(digits) = word.strip_prefix("ui") {
        (digits, Signedness::Unsigned)
    } else {
        (word.strip_prefix('i')?, Signedness::Signless)
    };
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(match digits.parse() {
        Ok(width) if width <= MAX_INTEGER_WIDTH => Ok(Type::Integer { width, signedness }),
        _ => Err(TooWide),
    })
}

/// Whether the attribute is a layout of a buffer rather than its memory space.
fn is_layout(attribute: &Attribute) -> bool {
    match attribute {
        Attribute::Opaque(opaque) if opaque.dialect.as_bytes().is_empty() => {
            let text = opaque.text.as_bytes();
            text.starts_with(b"affine_map") || text.starts_with(b"strided")
        }
        _ => false,
    }
}
