//! The attributes of a typed FFI call. They stand in the call's backend config as an MLIR
//! dictionary, `{eps = 1.0e-3 : f32, mode = "left", sizes = array<i64: 1, 2>}`; a handler gets them
//! by name and type.

use rxla::hlo::ElementType;
use rxla::{Error, Result};

/// The value of an attribute, with the element type handlers see.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Attribute {
    Scalar(ElementType, Vec<u8>),
    /// Elements one after the other.
    Array(ElementType, Vec<u8>),
    String(String),
    /// Sorted by name, as handlers search it.
    Dictionary(Vec<(String, Attribute)>),
}

/// Reads a dictionary; no text is the empty one.
pub(crate) fn parse(text: &str) -> Result<Vec<(String, Attribute)>> {
    let mut parser = Parser { rest: text.trim() };
    if parser.rest.is_empty() {
        return Ok(Vec::new());
    }
    let attributes = parser.dictionary(0)?;
    parser.skip_space();
    if parser.rest.is_empty() { Ok(attributes) } else { Err(parser.expected("the end")) }
}

struct Parser<'a> {
    rest: &'a str,
}

/// No sensible call nests dictionaries deeper.
const DEEPEST: usize = 32;

/// A number as written, before its type is known.
enum Token<'a> {
    Number(&'a str),
    True,
    False,
}

impl<'a> Parser<'a> {
    fn expected(&self, what: &str) -> Error {
        let found: String = self.rest.chars().take(24).collect();
        Error::invalid_argument(format!(
            "the attributes of a custom call are broken: expected {what} at `{found}`"
        ))
    }

    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn eat(&mut self, token: &str) -> bool {
        self.skip_space();
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, token: &str) -> Result<()> {
        if self.eat(token) { Ok(()) } else { Err(self.expected(&format!("`{token}`"))) }
    }

    /// The longest run of characters that `belongs` accepts.
    fn run(&mut self, belongs: impl Fn(char) -> bool) -> &'a str {
        self.skip_space();
        let end = self.rest.find(|c| !belongs(c)).unwrap_or(self.rest.len());
        let (run, rest) = self.rest.split_at(end);
        self.rest = rest;
        run
    }

    fn name(&mut self) -> Result<String> {
        self.skip_space();
        if self.rest.starts_with('"') {
            return self.string();
        }
        let name = self.run(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '$' | '-'));
        if name.is_empty() { Err(self.expected("a name")) } else { Ok(name.to_owned()) }
    }

    fn string(&mut self) -> Result<String> {
        self.expect("\"")?;
        let mut bytes = Vec::new();
        let mut rest = self.rest.bytes().enumerate();
        while let Some((at, byte)) = rest.next() {
            match byte {
                b'"' => {
                    self.rest = &self.rest[at + 1..];
                    return String::from_utf8(bytes).map_err(|_| {
                        Error::invalid_argument("a string attribute of a custom call is not UTF-8")
                    });
                }
                b'\\' => match rest.next().map(|(_, byte)| byte) {
                    Some(b'n') => bytes.push(b'\n'),
                    Some(b't') => bytes.push(b'\t'),
                    Some(escaped @ (b'"' | b'\\')) => bytes.push(escaped),
                    Some(high) => {
                        let digit = |byte: u8| (byte as char).to_digit(16);
                        let low = rest.next().and_then(|(_, byte)| digit(byte));
                        let (Some(high), Some(low)) = (digit(high), low) else {
                            return Err(self.expected("an escape in a string"));
                        };
                        bytes.push((high * 16 + low) as u8);
                    }
                    None => break,
                },
                byte => bytes.push(byte),
            }
        }
        Err(self.expected("a string with an end"))
    }

    fn dictionary(&mut self, depth: usize) -> Result<Vec<(String, Attribute)>> {
        if depth > DEEPEST {
            return Err(self.expected("less nesting"));
        }
        self.expect("{")?;
        let mut attributes = Vec::new();
        while !self.eat("}") {
            if !attributes.is_empty() {
                self.expect(",")?;
            }
            let name = self.name()?;
            // A name alone is a unit attribute, which handlers do not see.
            if self.eat("=") {
                attributes.push((name, self.value(depth)?));
            }
        }
        attributes.sort_by(|(a, _), (b, _)| a.cmp(b));
        Ok(attributes)
    }

    fn value(&mut self, depth: usize) -> Result<Attribute> {
        self.skip_space();
        if self.rest.starts_with('{') {
            return Ok(Attribute::Dictionary(self.dictionary(depth + 1)?));
        }
        if self.rest.starts_with('"') {
            let text = self.string()?;
            if self.eat(":") {
                self.element_type()?;
            }
            return Ok(Attribute::String(text));
        }
        if self.eat("array<") {
            let element_type = self.element_type()?;
            let mut bytes = Vec::new();
            if self.eat(":") {
                loop {
                    let token = self.token()?;
                    self.push(&token, element_type, &mut bytes)?;
                    if !self.eat(",") {
                        break;
                    }
                }
            }
            self.expect(">")?;
            return Ok(Attribute::Array(element_type, bytes));
        }
        if self.eat("dense<") {
            return self.dense();
        }
        if self.eat("[") {
            self.expect("]")?;
            return Ok(Attribute::Array(ElementType::S32, Vec::new()));
        }
        let token = self.token()?;
        let element_type = match token {
            Token::True | Token::False => ElementType::Pred,
            Token::Number(number) => {
                if self.eat(":") {
                    self.element_type()?
                } else if is_float(number) {
                    ElementType::F64
                } else {
                    ElementType::S64
                }
            }
        };
        let mut bytes = Vec::new();
        self.push(&token, element_type, &mut bytes)?;
        Ok(Attribute::Scalar(element_type, bytes))
    }

    fn token(&mut self) -> Result<Token<'a>> {
        let word = self.run(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.' | '_'));
        match word {
            "true" => Ok(Token::True),
            "false" => Ok(Token::False),
            "" => Err(self.expected("a value")),
            number
                if number.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+')) =>
            {
                Ok(Token::Number(number))
            }
            _ => {
                Err(Error::unimplemented(format!("the attribute value `{word}` of a custom call")))
            }
        }
    }

    /// `dense<…> : tensor<2x3xf32>` after `dense<`.
    fn dense(&mut self) -> Result<Attribute> {
        let mut tokens = Vec::new();
        let mut hex = None;
        let mut depth = 0usize;
        loop {
            if self.eat("[") {
                depth += 1;
            } else if self.eat("]") {
                depth = depth.checked_sub(1).ok_or_else(|| self.expected("a value"))?;
            } else if self.eat(",") {
            } else if depth == 0 && self.eat(">") {
                break;
            } else if self.rest.starts_with('"') {
                hex = Some(self.string()?);
            } else {
                tokens.push(self.token()?);
            }
        }
        self.expect(":")?;
        if !self.eat("tensor<") && !self.eat("vector<") {
            return Err(self.expected("`tensor<`"));
        }
        let mut count = 1usize;
        loop {
            let digits = self.rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(0);
            if digits == 0 || !self.rest[digits..].starts_with('x') {
                break;
            }
            let dim: usize = self.rest[..digits].parse().map_err(|_| self.expected("a size"))?;
            count = count.checked_mul(dim).ok_or_else(|| self.expected("smaller sizes"))?;
            self.rest = &self.rest[digits + 1..];
        }
        let element_type = self.element_type()?;
        self.expect(">")?;
        let size = count
            .checked_mul(element_type.byte_width())
            .filter(|&size| size <= 1 << 32)
            .ok_or_else(|| self.expected("smaller sizes"))?;
        let mut bytes = Vec::new();
        if let Some(hex) = hex {
            let digits = hex.strip_prefix("0x").ok_or_else(|| self.expected("hex digits"))?;
            for pair in digits.as_bytes().chunks(2) {
                let pair = std::str::from_utf8(pair).map_err(|_| self.expected("hex digits"))?;
                bytes.push(u8::from_str_radix(pair, 16).map_err(|_| self.expected("hex digits"))?);
            }
        } else {
            for token in &tokens {
                self.push(token, element_type, &mut bytes)?;
            }
        }
        if bytes.len() == element_type.byte_width() && count != 1 {
            bytes = bytes.repeat(count);
        }
        if bytes.len() == size {
            Ok(Attribute::Array(element_type, bytes))
        } else {
            Err(self.expected("as many elements as the type says"))
        }
    }

    fn element_type(&mut self) -> Result<ElementType> {
        let name = self.run(|c| c.is_ascii_alphanumeric() || c == '_');
        if name == "complex" {
            self.expect("<")?;
            let part = self.element_type()?;
            self.expect(">")?;
            return part.complex_of().ok_or_else(|| self.expected("`f32` or `f64`"));
        }
        let ours = match name {
            "i1" => Some(ElementType::Pred),
            "index" => Some(ElementType::S64),
            _ => match name.strip_prefix("ui").map(|bits| format!("u{bits}")) {
                Some(unsigned) => ElementType::from_name(&unsigned),
                None => match name.strip_prefix("si").or_else(|| name.strip_prefix('i')) {
                    Some(bits) => ElementType::from_name(&format!("s{bits}")),
                    None => ElementType::from_name(&name.to_ascii_lowercase()),
                },
            },
        };
        ours.ok_or_else(|| {
            Error::unimplemented(format!("attributes of type `{name}` of a custom call"))
        })
    }

    /// Appends the number's bytes.
    fn push(
        &self,
        token: &Token<'_>,
        element_type: ElementType,
        bytes: &mut Vec<u8>,
    ) -> Result<()> {
        use ElementType::*;
        let number = match token {
            Token::True | Token::False => {
                if element_type != Pred {
                    return Err(self.expected("a number before"));
                }
                bytes.push(u8::from(matches!(token, Token::True)));
                return Ok(());
            }
            Token::Number(number) => *number,
        };
        let broken =
            || Error::invalid_argument(format!("`{number}` is no value of type `{element_type}`"));
        match element_type {
            F32 => {
                let value = match bits(number) {
                    Some(bits) => f32::from_bits(u32::try_from(bits).map_err(|_| broken())?),
                    None => number.parse().map_err(|_| broken())?,
                };
                bytes.extend_from_slice(&value.to_le_bytes());
            }
            F64 => {
                let value = match bits(number) {
                    Some(bits) => f64::from_bits(bits),
                    None => number.parse().map_err(|_| broken())?,
                };
                bytes.extend_from_slice(&value.to_le_bytes());
            }
            S8 | S16 | S32 | S64 | U8 | U16 | U32 | U64 | Pred => {
                let value: i128 = match bits(number) {
                    Some(bits) => i128::from(bits),
                    None => number.parse().map_err(|_| broken())?,
                };
                // Unsigned values may be written as the signed ones of the same bits.
                let width = element_type.bit_width() as u32;
                if value >= 1i128 << width || value < -(1i128 << (width - 1).max(1)) {
                    return Err(broken());
                }
                bytes.extend_from_slice(&value.to_le_bytes()[..element_type.byte_width()]);
            }
            S1 | S2 | S4 | U1 | U2 | U4 | F16 | Bf16 | F8e5m2 | F8e4m3 | F8e4m3fn
            | F8e4m3b11fnuz | F8e3m4 | F8e5m2fnuz | F8e4m3fnuz | F8e8m0fnu | F6e3m2fn
            | F6e2m3fn | F4e2m1fn | C64 | C128 => {
                return Err(Error::unimplemented(format!(
                    "attributes of type `{element_type}` of a custom call"
                )));
            }
        }
        Ok(())
    }
}

/// Numbers in hex are bits.
fn bits(number: &str) -> Option<u64> {
    u64::from_str_radix(number.strip_prefix("0x")?, 16).ok()
}

fn is_float(number: &str) -> bool {
    !number.starts_with("0x") && number.contains(['.', 'e', 'E'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_value_is_read() {
        let text = r#"{uplo = 76 : ui8, b = true, "a b" = "x\22\0A", d = {y = 1.5 : f32, x = -1},
            arr = array<i64: 1, -2>, e = array<i32>, m = dense<[[1, 2], [3, 4]]> : tensor<2x2xi8>,
            s = dense<7> : tensor<3xi16>, unit, f = 0x7FC00000 : f32, h = 2.0}"#;
        let attributes = parse(text).unwrap();
        let get = |name: &str| attributes.iter().find(|(n, _)| n == name).unwrap().1.clone();
        assert_eq!(get("uplo"), Attribute::Scalar(ElementType::U8, vec![76]));
        assert_eq!(get("b"), Attribute::Scalar(ElementType::Pred, vec![1]));
        assert_eq!(get("a b"), Attribute::String("x\"\n".to_owned()));
        let inner = vec![
            ("x".to_owned(), Attribute::Scalar(ElementType::S64, (-1i64).to_le_bytes().to_vec())),
            ("y".to_owned(), Attribute::Scalar(ElementType::F32, 1.5f32.to_le_bytes().to_vec())),
        ];
        assert_eq!(get("d"), Attribute::Dictionary(inner));
        let numbers = [1i64.to_le_bytes(), (-2i64).to_le_bytes()].concat();
        assert_eq!(get("arr"), Attribute::Array(ElementType::S64, numbers));
        assert_eq!(get("e"), Attribute::Array(ElementType::S32, vec![]));
        assert_eq!(get("m"), Attribute::Array(ElementType::S8, vec![1, 2, 3, 4]));
        assert_eq!(get("s"), Attribute::Array(ElementType::S16, vec![7, 0, 7, 0, 7, 0]));
        assert_eq!(
            get("f"),
            Attribute::Scalar(ElementType::F32, 0x7fc00000u32.to_le_bytes().to_vec())
        );
        assert_eq!(get("h"), Attribute::Scalar(ElementType::F64, 2f64.to_le_bytes().to_vec()));
        assert!(attributes.is_sorted_by(|(a, _), (b, _)| a <= b));
        assert_eq!(attributes.len(), 10);
        assert_eq!(parse("").unwrap(), vec![]);
    }

    #[test]
    fn broken_text_is_an_error() {
        for text in [
            "{",
            "{a",
            "{a=",
            "{a = \"",
            "{a = array<i64: >}",
            "{a = 300 : ui8}",
            "{} x",
            "{a = dense<[1,2]> : tensor<3xi8>}",
            "{a = dense<]> : tensor<1xi8>}",
            "{a = 1 : q9}",
            "{a = \"\\",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(parse(&"{a = ".repeat(5000)).is_err());
    }
}
