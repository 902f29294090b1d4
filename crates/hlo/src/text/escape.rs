//! Strings in quotes: the escapes of C, as absl writes and reads them.

use rxla_base::Span;

use super::lexer::{TokenKind, json_end, lex};

/// Appends `text` with quotes and everything unprintable escaped (octal beyond ASCII).
pub(super) fn escape(text: &[u8], out: &mut String) {
    for &byte in text {
        match byte {
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            b'"' => out.push_str("\\\""),
            b'\'' => out.push_str("\\'"),
            b'\\' => out.push_str("\\\\"),
            0x20..=0x7e => out.push(byte as char),
            _ => {
                out.push('\\');
                for shift in [6, 3, 0] {
                    out.push((b'0' + ((byte >> shift) & 7)) as char);
                }
            }
        }
    }
}

/// The bytes that a quoted string stands for, or the place and reason of a bad escape.
/// `start` is where the string's first character stands in the source.
pub(super) fn unescape(text: &[u8], start: usize) -> Result<Vec<u8>, (Span, String)> {
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        if text[at] != b'\\' {
            out.push(text[at]);
            at += 1;
            continue;
        }
        let escape_start = at;
        let fail = |end: usize, why: &str| {
            (Span::new(start + escape_start, start + end), format!("bad escape: {why}"))
        };
        let Some(&kind) = text.get(at + 1) else {
            return Err(fail(at + 1, "the string ends after `\\`"));
        };
        at += 2;
        let digits = |from: usize, radix: u32, most: usize| {
            text[from..]
                .iter()
                .take(most)
                .take_while(|byte| (**byte as char).is_digit(radix))
                .count()
        };
        let number = |from: usize, count: usize, radix: u32| {
            text[from..from + count].iter().fold(0u32, |value, &byte| {
                // Eight hexadecimal digits fit; `\x` with more keeps the low ones.
                value.wrapping_mul(radix).wrapping_add((byte as char).to_digit(radix).unwrap_or(0))
            })
        };
        match kind {
            b'a' => out.push(7),
            b'b' => out.push(8),
            b'f' => out.push(12),
            b'n' => out.push(b'\n'),
            b'r' => out.push(b'\r'),
            b't' => out.push(b'\t'),
            b'v' => out.push(11),
            b'\\' | b'?' | b'\'' | b'"' => out.push(kind),
            b'0'..=b'7' => {
                let count = digits(at - 1, 8, 3);
                let value = number(at - 1, count, 8);
                at += count - 1;
                match u8::try_from(value) {
                    Ok(byte) => out.push(byte),
                    Err(_) => return Err(fail(at, "an octal value beyond `\\377`")),
                }
            }
            b'x' | b'X' => {
                let count = digits(at, 16, usize::MAX);
                if count == 0 {
                    return Err(fail(at, "`\\x` without digits"));
                }
                let value = number(at, count, 16);
                at += count;
                match u8::try_from(value) {
                    Ok(byte) => out.push(byte),
                    Err(_) => return Err(fail(at, "a hexadecimal value beyond `\\xff`")),
                }
            }
            b'u' | b'U' => {
                let wanted = if kind == b'u' { 4 } else { 8 };
                if digits(at, 16, wanted) < wanted {
                    return Err(fail(at, "too few digits of a code point"));
                }
                let value = number(at, wanted, 16);
                at += wanted;
                let Some(character) = char::from_u32(value) else {
                    return Err(fail(at, "no such code point"));
                };
                out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            }
            _ => return Err(fail(at, "an unknown letter after `\\`")),
        }
    }
    Ok(out)
}

/// Whether `text` may stand without quotes where a string or a JSON dictionary is expected.
pub(super) fn is_json_dictionary(text: &str) -> bool {
    let bytes = text.as_bytes();
    let first = lex(bytes, 0);
    first.kind == TokenKind::LeftBrace
        && json_end(bytes, first.start).is_some_and(|end| lex(bytes, end).kind == TokenKind::End)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trip() {
        let all: Vec<u8> = (0..=255).collect();
        let mut text = String::new();
        escape(&all, &mut text);
        assert_eq!(unescape(text.as_bytes(), 0).unwrap(), all);
        assert_eq!(unescape(b"\\x41\\101\\u00e9\\?", 0).unwrap(), "AAé?".as_bytes());
    }

    #[test]
    fn bad_escapes() {
        for text in ["\\", "\\q", "\\x", "\\xfff", "\\777", "\\u12", "\\Uffffffff", "\\ud800"] {
            assert!(unescape(text.as_bytes(), 0).is_err(), "{text}");
        }
    }

    #[test]
    fn dictionaries() {
        assert!(is_json_dictionary(r#" {"a":{"}":1}} "#));
        for text in ["", "a", "{", "{}{}", "{}}", "{\"}", "\"{}\""] {
            assert!(!is_json_dictionary(text), "{text}");
        }
    }
}
