//! Tokens of kernel text. A token is a place in the source; whoever expects it reads its value.

use rxla_base::Span;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TokenKind {
    End,
    /// Letters, digits, `_` and `.`, starting with a letter or `_`.
    Word,
    /// A name after `%`; the span includes the sign.
    Value,
    /// A name after `@`; the span includes the sign.
    Function,
    /// Digits with an optional sign, a point, an exponent; or hexadecimal after `0x`.
    Number,
    LeftParen,
    RightParen,
    LeftBrace,
    RightBrace,
    LeftSquare,
    RightSquare,
    Comma,
    Colon,
    Equal,
    /// `->`
    Arrow,
    /// `..`
    Dots,
    Unknown,
}

impl TokenKind {
    /// How messages name it.
    pub(super) fn describe(self) -> &'static str {
        match self {
            TokenKind::End => "the end of the text",
            TokenKind::Word => "a word",
            TokenKind::Value => "a value such as `%0`",
            TokenKind::Function => "a function such as `@name`",
            TokenKind::Number => "a number",
            TokenKind::LeftParen => "`(`",
            TokenKind::RightParen => "`)`",
            TokenKind::LeftBrace => "`{`",
            TokenKind::RightBrace => "`}`",
            TokenKind::LeftSquare => "`[`",
            TokenKind::RightSquare => "`]`",
            TokenKind::Comma => "`,`",
            TokenKind::Colon => "`:`",
            TokenKind::Equal => "`=`",
            TokenKind::Arrow => "`->`",
            TokenKind::Dots => "`..`",
            TokenKind::Unknown => "a character that means nothing here",
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    pub(super) kind: TokenKind,
    pub(super) start: usize,
    pub(super) end: usize,
}

impl Token {
    pub(super) fn span(self) -> Span {
        Span::new(self.start, self.end)
    }
}

fn in_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'.'
}

/// The first token at or after byte `at`, past white space and `//` comments.
pub(super) fn lex(text: &str, at: usize) -> Token {
    let source = text.as_bytes();
    let mut start = at;
    loop {
        match source.get(start) {
            Some(byte) if byte.is_ascii_whitespace() => start += 1,
            Some(b'/') if source.get(start + 1) == Some(&b'/') => {
                start = source[start..]
                    .iter()
                    .position(|&byte| byte == b'\n')
                    .map_or(source.len(), |line_end| start + line_end);
            }
            Some(_) | None => break,
        }
    }
    let token = |kind, length| Token { kind, start, end: start + length };
    let Some(&first) = source.get(start) else { return token(TokenKind::End, 0) };
    let run =
        |from: usize| source[start + from..].iter().take_while(|&&byte| in_word(byte)).count();
    let second = source.get(start + 1).copied().unwrap_or(0);
    match first {
        b'(' => token(TokenKind::LeftParen, 1),
        b')' => token(TokenKind::RightParen, 1),
        b'{' => token(TokenKind::LeftBrace, 1),
        b'}' => token(TokenKind::RightBrace, 1),
        b'[' => token(TokenKind::LeftSquare, 1),
        b']' => token(TokenKind::RightSquare, 1),
        b',' => token(TokenKind::Comma, 1),
        b':' => token(TokenKind::Colon, 1),
        b'=' => token(TokenKind::Equal, 1),
        b'-' if second == b'>' => token(TokenKind::Arrow, 2),
        b'.' if second == b'.' => token(TokenKind::Dots, 2),
        b'%' => token(TokenKind::Value, 1 + name_length(&source[start + 1..])),
        b'@' => token(TokenKind::Function, 1 + run(1)),
        b'-' | b'0'..=b'9' => token(TokenKind::Number, number_length(&source[start..])),
        byte if byte.is_ascii_alphabetic() || byte == b'_' => token(TokenKind::Word, run(0)),
        _ => {
            let length = text[start..].chars().next().map_or(1, char::len_utf8);
            token(TokenKind::Unknown, length)
        }
    }
}

/// Names of values have no points, for ranges are written `%a..%b`.
fn name_length(source: &[u8]) -> usize {
    source.iter().take_while(|&&byte| byte.is_ascii_alphanumeric() || byte == b'_').count()
}

/// A number takes the sign of an exponent in, and no two points in a row.
fn number_length(source: &[u8]) -> usize {
    let hexadecimal = source.starts_with(b"0x");
    let mut length = 1;
    while let Some(&byte) = source.get(length) {
        let exponent_sign = matches!(byte, b'+' | b'-')
            && matches!(source[length - 1], b'e' | b'E')
            && !hexadecimal;
        let point = byte == b'.' && source.get(length + 1) != Some(&b'.');
        if !(byte.is_ascii_alphanumeric() || exponent_sign || point) {
            break;
        }
        length += 1;
    }
    length
}
