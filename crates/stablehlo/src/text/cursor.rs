//! [`Cursor`]: a place in MLIR text and the small pieces that can be read there: punctuation,
//! words, numbers and strings, with white space and comments skipped before each.
//!
//! There is no token stream: what `4x8xf32` is made of depends on where it stands, and reading by
//! characters says so most simply.

use rxla_base::{Diagnostic, Span};

/// What reading gives. Diagnostics are large and rare, hence the box.
pub(super) type Result<T> = std::result::Result<T, Box<Diagnostic>>;

#[derive(Clone)]
pub(super) struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

/// A number as written; its value depends on the type it turns out to have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Number<'a> {
    pub negative: bool,
    /// Digits without the sign.
    pub digits: &'a str,
    pub kind: NumberKind,
    pub span: Span,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NumberKind {
    Decimal,
    Hexadecimal,
    Float,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str) -> Cursor<'a> {
        Cursor { text, at: 0 }
    }

    pub(super) fn text(&self) -> &'a str {
        self.text
    }

    /// The byte offset; call [`Cursor::skip_space`] first to stand on something.
    pub(super) fn offset(&self) -> usize {
        self.at
    }

    pub(super) fn move_to(&mut self, offset: usize) {
        self.at = offset;
    }

    fn byte(&self, ahead: usize) -> Option<u8> {
        self.text.as_bytes().get(self.at + ahead).copied()
    }

    /// Passes white space and `//` comments.
    pub(super) fn skip_space(&mut self) {
        while let Some(byte) = self.byte(0) {
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' | 0x0b | 0x0c => self.at += 1,
                b'/' if self.byte(1) == Some(b'/') => {
                    let rest = &self.text.as_bytes()[self.at..];
                    let length = rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len());
                    self.at += length;
                }
                _ => return,
            }
        }
    }

    /// The next byte that is not space.
    pub(super) fn peek(&mut self) -> Option<u8> {
        self.skip_space();
        self.byte(0)
    }

    /// The byte right here, be it space.
    pub(super) fn peek_here(&self) -> Option<u8> {
        self.byte(0)
    }

    pub(super) fn at_end(&mut self) -> bool {
        self.peek().is_none()
    }

    /// Whether `punctuation` stands next.
    pub(super) fn sees(&mut self, punctuation: &str) -> bool {
        self.skip_space();
        self.text.as_bytes()[self.at..].starts_with(punctuation.as_bytes())
    }

    /// Passes `punctuation` if it stands next.
    pub(super) fn eat(&mut self, punctuation: &str) -> bool {
        let seen = self.sees(punctuation);
        if seen {
            self.at += punctuation.len();
        }
        seen
    }

    pub(super) fn expect(&mut self, punctuation: &str) -> Result<()> {
        if self.eat(punctuation) {
            return Ok(());
        }
        Err(self.unexpected(&format!("`{punctuation}`")))
    }

    /// The word that stands next, without passing it: letters, digits, `_`, `$` and `.`, not
    /// starting with a digit. Empty if there is none.
    pub(super) fn peek_word(&mut self) -> &'a str {
        self.skip_space();
        match self.byte(0) {
            Some(byte) if byte.is_ascii_alphabetic() || byte == b'_' => {}
            _ => return "",
        }
        self.run(is_word_byte)
    }

    /// The word that stands next, if there is one.
    pub(super) fn word(&mut self) -> Option<&'a str> {
        let word = self.peek_word();
        self.at += word.len();
        (!word.is_empty()).then_some(word)
    }

    pub(super) fn expect_word(&mut self, what: &str) -> Result<&'a str> {
        match self.word() {
            Some(word) => Ok(word),
            None => Err(self.unexpected(what)),
        }
    }

    /// Passes `word` if just that stands next.
    pub(super) fn eat_word(&mut self, word: &str) -> bool {
        let seen = self.peek_word() == word;
        if seen {
            self.at += word.len();
        }
        seen
    }

    pub(super) fn expect_keyword(&mut self, word: &str) -> Result<()> {
        if self.eat_word(word) {
            return Ok(());
        }
        Err(self.unexpected(&format!("`{word}`")))
    }

    /// What may follow `%`, `^`, `#` or `!`: digits, or a word that may also hold `-`.
    pub(super) fn suffix_word(&mut self) -> &'a str {
        let word = self.run(|byte| is_word_byte(byte) || byte == b'-');
        self.at += word.len();
        word
    }

    /// Decimal digits right here, without passing space; empty if there are none.
    pub(super) fn digits(&mut self) -> &'a str {
        let digits = self.run(|byte| byte.is_ascii_digit());
        self.at += digits.len();
        digits
    }

    fn run(&self, belongs: impl Fn(u8) -> bool) -> &'a str {
        let rest = &self.text[self.at..];
        let length = rest.bytes().position(|byte| !belongs(byte)).unwrap_or(rest.len());
        &rest[..length]
    }

    /// Whether a number stands next, with or without a minus sign.
    pub(super) fn sees_number(&mut self) -> bool {
        match self.peek() {
            Some(b'-') => self.byte(1).is_some_and(|byte| byte.is_ascii_digit()),
            Some(byte) => byte.is_ascii_digit(),
            None => false,
        }
    }

    /// A decimal or hexadecimal integer or a float (which has a point).
    pub(super) fn number(&mut self) -> Result<Number<'a>> {
        if !self.sees_number() {
            return Err(self.unexpected("a number"));
        }
        let start = self.at;
        let negative = self.byte(0) == Some(b'-');
        self.at += usize::from(negative);
        let first = self.at;
        let hexadecimal = self.byte(0) == Some(b'0')
            && self.byte(1) == Some(b'x')
            && self.byte(2).is_some_and(|byte| byte.is_ascii_hexdigit());
        let mut kind = NumberKind::Decimal;
        if hexadecimal {
            kind = NumberKind::Hexadecimal;
            self.at += 2;
            self.at += self.run(|byte| byte.is_ascii_hexdigit()).len();
        } else {
            self.digits();
            if self.byte(0) == Some(b'.') {
                kind = NumberKind::Float;
                self.at += 1;
                self.digits();
                self.exponent();
            }
        }
        let digits = &self.text[first..self.at];
        Ok(Number { negative, digits, kind, span: Span::new(start, self.at) })
    }

    fn exponent(&mut self) {
        if !matches!(self.byte(0), Some(b'e' | b'E')) {
            return;
        }
        let sign = usize::from(matches!(self.byte(1), Some(b'+' | b'-')));
        if self.byte(1 + sign).is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1 + sign;
            self.digits();
        }
    }

    /// An integer that fits `i64`.
    pub(super) fn integer(&mut self) -> Result<i64> {
        let number = self.number()?;
        let value = match number.kind {
            NumberKind::Float => None,
            NumberKind::Decimal | NumberKind::Hexadecimal => number.to_i128(),
        };
        match value.and_then(|value| i64::try_from(value).ok()) {
            Some(value) => Ok(value),
            None => Err(self.error(number.span, "expected an integer of at most 64 bits")),
        }
    }

    /// A string in quotes, its escapes resolved.
    pub(super) fn string(&mut self) -> Result<Vec<u8>> {
        if self.peek() != Some(b'"') {
            return Err(self.unexpected("a string in quotes"));
        }
        let start = self.at;
        self.at += 1;
        let mut bytes = Vec::new();
        loop {
            let plain = self.run(|byte| !matches!(byte, b'"' | b'\\' | b'\n'));
            bytes.extend_from_slice(plain.as_bytes());
            self.at += plain.len();
            match self.byte(0) {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(bytes);
                }
                Some(b'\\') => {
                    bytes.push(self.escape()?);
                }
                _ => {
                    return Err(self.error(
                        Span::new(start, start + 1),
                        "this string is not closed on its line",
                    ));
                }
            }
        }
    }

    /// `\n`, `\t`, `\\`, `\"` or two hexadecimal digits.
    fn escape(&mut self) -> Result<u8> {
        let simple = match self.byte(1) {
            Some(b'n') => Some(b'\n'),
            Some(b't') => Some(b'\t'),
            Some(byte @ (b'\\' | b'"')) => Some(byte),
            _ => None,
        };
        if let Some(byte) = simple {
            self.at += 2;
            return Ok(byte);
        }
        let digit = |ahead| self.byte(ahead).and_then(|byte| char::from(byte).to_digit(16));
        let (Some(high), Some(low)) = (digit(1), digit(2)) else {
            let span = Span::new(self.at, self.at + 1);
            return Err(Box::new(
                Diagnostic::error("unknown escape in a string")
                    .at(span)
                    .hint("escapes are `\\n`, `\\t`, `\\\\`, `\\\"` and two hexadecimal digits"),
            ));
        };
        self.at += 3;
        Ok((high * 16 + low) as u8)
    }

    /// From `start` to here.
    pub(super) fn span_from(&self, start: usize) -> Span {
        Span::new(start, self.at)
    }

    pub(super) fn error(&self, span: Span, message: impl Into<String>) -> Box<Diagnostic> {
        Box::new(Diagnostic::error(message).at(span))
    }

    /// Says that `wanted` does not stand here, and what does.
    pub(super) fn unexpected(&mut self, wanted: &str) -> Box<Diagnostic> {
        self.skip_space();
        let (found, length) = self.describe();
        let span = Span::new(self.at, self.at + length);
        self.error(span, format!("expected {wanted}, found {found}"))
    }

    fn describe(&mut self) -> (String, usize) {
        let word = self.peek_word();
        if !word.is_empty() {
            return (format!("`{}`", shorten(word)), word.len());
        }
        match self.text[self.at..].chars().next() {
            None => ("the end of the text".to_owned(), 0),
            Some(sigil @ ('%' | '^' | '@' | '#' | '!')) => {
                let mut ahead = self.clone();
                ahead.at += 1;
                let name = ahead.suffix_word();
                (format!("`{sigil}{}`", shorten(name)), 1 + name.len())
            }
            Some(first) if first.is_ascii_digit() => {
                let digits = self.run(|byte| byte.is_ascii_digit());
                (format!("`{}`", shorten(digits)), digits.len())
            }
            Some('"') => ("a string".to_owned(), 1),
            Some(first) => (format!("`{first}`"), first.len_utf8()),
        }
    }
}

impl Number<'_> {
    /// The value of an integer, if it fits.
    pub(super) fn to_i128(self) -> Option<i128> {
        let magnitude = match self.kind {
            NumberKind::Decimal => self.digits.parse::<u64>().ok()?,
            NumberKind::Hexadecimal => u64::from_str_radix(&self.digits[2..], 16).ok()?,
            NumberKind::Float => return None,
        };
        let magnitude = i128::from(magnitude);
        Some(if self.negative { -magnitude } else { magnitude })
    }

    /// The value of a decimal number as a double.
    pub(super) fn to_f64(self) -> Option<f64> {
        let magnitude: f64 = self.digits.parse().ok()?;
        Some(if self.negative { -magnitude } else { magnitude })
    }
}

fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'.')
}

fn shorten(word: &str) -> String {
    const LIMIT: usize = 60;
    match word.char_indices().nth(LIMIT) {
        Some((end, _)) => format!("{}…", &word[..end]),
        None => word.to_owned(),
    }
}
