//! Tokens of HLO text. A token is a place in the source; its value is read by whoever expects it,
//! so lexing allocates nothing and looking ahead is lexing twice.

use rxla_base::Span;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TokenKind {
    End,
    /// A name: keyword, opcode, element type, attribute name or instruction name without `%`.
    Word,
    /// A name after `%`; the span includes the sign.
    Name,
    /// Digits with an optional sign.
    Integer,
    /// A number with a point or an exponent.
    Decimal,
    /// Quoted by `"` or `'`; the span includes the quotes.
    String,
    Equal,
    Comma,
    Colon,
    Asterisk,
    QuestionMark,
    Octothorp,
    Plus,
    Tilde,
    LeftSquare,
    RightSquare,
    LeftBrace,
    RightBrace,
    LeftParen,
    RightParen,
    /// `->`
    Arrow,
    /// `<=`
    LessEqual,
    /// `...`
    Dots,
    /// A string or comment that does not end.
    Unterminated,
    /// Anything else.
    Unknown,
}

impl TokenKind {
    /// How messages name it.
    pub(super) fn describe(self) -> &'static str {
        match self {
            TokenKind::End => "the end of the text",
            TokenKind::Word => "a word",
            TokenKind::Name => "a name",
            TokenKind::Integer => "an integer",
            TokenKind::Decimal => "a number",
            TokenKind::String => "a string",
            TokenKind::Equal => "`=`",
            TokenKind::Comma => "`,`",
            TokenKind::Colon => "`:`",
            TokenKind::Asterisk => "`*`",
            TokenKind::QuestionMark => "`?`",
            TokenKind::Octothorp => "`#`",
            TokenKind::Plus => "`+`",
            TokenKind::Tilde => "`~`",
            TokenKind::LeftSquare => "`[`",
            TokenKind::RightSquare => "`]`",
            TokenKind::LeftBrace => "`{`",
            TokenKind::RightBrace => "`}`",
            TokenKind::LeftParen => "`(`",
            TokenKind::RightParen => "`)`",
            TokenKind::Arrow => "`->`",
            TokenKind::LessEqual => "`<=`",
            TokenKind::Dots => "`...`",
            TokenKind::Unterminated => "something that does not end",
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

fn starts_word(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_'
}

pub(super) fn continues_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-')
}

/// The end of the run of bytes from `at` that `accept` takes.
fn run(source: &[u8], at: usize, accept: impl Fn(u8) -> bool) -> usize {
    at + source[at..].iter().position(|&byte| !accept(byte)).unwrap_or(source.len() - at)
}

/// The end of a quoted string that starts at `at`, or `None` if it has none.
pub(super) fn string_end(source: &[u8], at: usize) -> Option<usize> {
    let quote = source[at];
    let mut next = at + 1;
    loop {
        match *source.get(next)? {
            b'\\' => next += 2,
            byte if byte == quote => return Some(next + 1),
            _ => next += 1,
        }
    }
}

/// The first token at or after byte `at`, past white space and comments.
pub(super) fn lex(source: &[u8], at: usize) -> Token {
    let mut start = at;
    loop {
        start = run(source, start, |byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'));
        let token = |kind, end| Token { kind, start, end };
        let Some(&first) = source.get(start) else { return token(TokenKind::End, start) };
        let second = source.get(start + 1).copied().unwrap_or(0);
        let one = |kind| token(kind, start + 1);
        return match first {
            b'/' if second == b'/' => {
                start = run(source, start, |byte| byte != b'\n' && byte != b'\r');
                continue;
            }
            b'/' if second == b'*' => {
                let rest = &source[start + 2..];
                let Some(length) = rest.windows(2).position(|pair| pair == b"*/") else {
                    return token(TokenKind::Unterminated, source.len());
                };
                start += 2 + length + 2;
                continue;
            }
            b'%' if starts_word(second) => {
                token(TokenKind::Name, run(source, start + 2, continues_word))
            }
            b'"' | b'\'' => match string_end(source, start) {
                Some(end) => token(TokenKind::String, end),
                None => token(TokenKind::Unterminated, source.len()),
            },
            b'-' if second == b'>' => token(TokenKind::Arrow, start + 2),
            b'-' if starts_word(second) => {
                // `-inf`, `-nan`
                token(TokenKind::Word, run(source, start + 1, |b| b.is_ascii_alphanumeric()))
            }
            b'0'..=b'9' | b'-' => lex_number(source, start),
            b'<' if second == b'=' => token(TokenKind::LessEqual, start + 2),
            b'.' if source[start..].starts_with(b"...") => token(TokenKind::Dots, start + 3),
            b'.' if second.is_ascii_digit() => lex_number(source, start),
            b'=' => one(TokenKind::Equal),
            b',' => one(TokenKind::Comma),
            b':' => one(TokenKind::Colon),
            b'*' => one(TokenKind::Asterisk),
            b'?' => one(TokenKind::QuestionMark),
            b'#' => one(TokenKind::Octothorp),
            b'+' => one(TokenKind::Plus),
            b'~' => one(TokenKind::Tilde),
            b'[' => one(TokenKind::LeftSquare),
            b']' => one(TokenKind::RightSquare),
            b'{' => one(TokenKind::LeftBrace),
            b'}' => one(TokenKind::RightBrace),
            b'(' => one(TokenKind::LeftParen),
            b')' => one(TokenKind::RightParen),
            byte if starts_word(byte) => {
                token(TokenKind::Word, run(source, start + 1, continues_word))
            }
            _ => {
                // A whole character, so that slices of the source stay text.
                let end = run(source, start + 1, |byte| byte & 0xc0 == 0x80);
                token(TokenKind::Unknown, end)
            }
        };
    }
}

/// An integer, or a number with point or exponent.
fn lex_number(source: &[u8], start: usize) -> Token {
    let digits = |at| run(source, at, |byte| byte.is_ascii_digit());
    let whole_start = start + usize::from(source[start] == b'-');
    let mut end = digits(whole_start);
    let mut digit_count = end - whole_start;
    let mut kind = TokenKind::Integer;
    if source.get(end) == Some(&b'.') && !source[end..].starts_with(b"...") {
        kind = TokenKind::Decimal;
        let fraction_end = digits(end + 1);
        digit_count += fraction_end - end - 1;
        end = fraction_end;
    }
    if matches!(source.get(end), Some(b'e' | b'E')) {
        let signed = matches!(source.get(end + 1), Some(b'+' | b'-'));
        let exponent_start = end + 1 + usize::from(signed);
        if exponent_start <= source.len() {
            let exponent_end = digits(exponent_start);
            if exponent_end > exponent_start {
                kind = TokenKind::Decimal;
                end = exponent_end;
            }
        }
    }
    if digit_count == 0 {
        return Token { kind: TokenKind::Unknown, start, end: start + 1 };
    }
    Token { kind, start, end }
}

/// The end of the JSON dictionary whose `{` stands at `at`: the matching `}`, strings aside.
pub(super) fn json_end(source: &[u8], at: usize) -> Option<usize> {
    let mut depth = 0usize;
    let mut next = at;
    loop {
        match *source.get(next)? {
            b'"' => {
                next = string_end(source, next)?;
                continue;
            }
            b'{' => depth += 1,
            b'}' => depth -= 1,
            _ => {}
        }
        next += 1;
        if depth == 0 {
            return Some(next);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<(TokenKind, &str)> {
        let mut out = Vec::new();
        let mut at = 0;
        loop {
            let token = lex(text.as_bytes(), at);
            if token.kind == TokenKind::End {
                return out;
            }
            out.push((token.kind, &text[token.start..token.end]));
            at = token.end;
        }
    }

    #[test]
    fn tokens() {
        use TokenKind::*;
        assert_eq!(
            kinds("%a.1-b = f32[<=2]{0} -1.5e-3 -> 12 {...} // x\n /* y */ 'a\\'b' -inf"),
            [
                (Name, "%a.1-b"),
                (Equal, "="),
                (Word, "f32"),
                (LeftSquare, "["),
                (LessEqual, "<="),
                (Integer, "2"),
                (RightSquare, "]"),
                (LeftBrace, "{"),
                (Integer, "0"),
                (RightBrace, "}"),
                (Decimal, "-1.5e-3"),
                (Arrow, "->"),
                (Integer, "12"),
                (LeftBrace, "{"),
                (Dots, "..."),
                (RightBrace, "}"),
                (String, "'a\\'b'"),
                (Word, "-inf"),
            ]
        );
    }

    #[test]
    fn broken_tokens_end() {
        use TokenKind::*;
        assert_eq!(kinds("\"abc"), [(Unterminated, "\"abc")]);
        assert_eq!(kinds("\"abc\\"), [(Unterminated, "\"abc\\")]);
        assert_eq!(kinds("/* abc"), [(Unterminated, "/* abc")]);
        assert_eq!(kinds("é-1e"), [(Unknown, "é"), (Integer, "-1"), (Word, "e")]);
        assert_eq!(kinds("- % <"), [(Unknown, "-"), (Unknown, "%"), (Unknown, "<")]);
    }
}
