//! Reads the text that [`super::print`] writes.

use super::{Number, Scalar, Value};

/// How deep dictionaries may nest.
const MAX_DEPTH: usize = 64;

/// The attributes in a configuration's text; the error says where it goes wrong.
pub fn attributes(text: &str) -> Result<Vec<(String, Value)>, String> {
    let mut reader = Reader { text, at: 0, depth: 0 };
    let entries = reader.dictionary()?;
    reader.blanks();
    match reader.rest().is_empty() {
        true => Ok(entries),
        false => Err(reader.wrong("the end")),
    }
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
}

impl<'t> Reader<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn wrong(&self, expected: &str) -> String {
        let shown: String = self.rest().chars().take(20).collect();
        format!("expected {expected} at byte {}, found `{shown}`", self.at)
    }

    fn blanks(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    fn eat(&mut self, token: &str) -> bool {
        self.blanks();
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    fn expect(&mut self, token: &str) -> Result<(), String> {
        match self.eat(token) {
            true => Ok(()),
            false => Err(self.wrong(&format!("`{token}`"))),
        }
    }

    fn word(&mut self) -> &'t str {
        self.blanks();
        let rest = self.rest();
        let end = rest
            .find(|c: char| {
                !(c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '.' | '-' | '+'))
            })
            .unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    fn dictionary(&mut self) -> Result<Vec<(String, Value)>, String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(format!("dictionaries nest deeper than {MAX_DEPTH}"));
        }
        self.expect("{")?;
        let mut entries = Vec::new();
        if !self.eat("}") {
            loop {
                let name = match self.rest().trim_start().starts_with('"') {
                    true => String::from_utf8_lossy(&self.string()?).into_owned(),
                    false => self.word().to_owned(),
                };
                if name.is_empty() {
                    return Err(self.wrong("a name"));
                }
                self.expect("=")?;
                entries.push((name, self.value()?));
                if !self.eat(",") {
                    self.expect("}")?;
                    break;
                }
            }
        }
        self.depth -= 1;
        Ok(entries)
    }

    fn string(&mut self) -> Result<Vec<u8>, String> {
        self.expect("\"")?;
        let mut out = Vec::new();
        let bytes = self.text.as_bytes();
        loop {
            match bytes.get(self.at) {
                None => return Err("a string does not end".to_owned()),
                Some(b'"') => {
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => {
                    let (byte, length) = escaped(&bytes[self.at + 1..])
                        .ok_or_else(|| format!("bad escape at byte {}", self.at))?;
                    out.push(byte);
                    self.at += 1 + length;
                }
                Some(&byte) => {
                    out.push(byte);
                    self.at += 1;
                }
            }
        }
    }

    fn scalar(&mut self) -> Result<Scalar, String> {
        let name = self.word();
        Scalar::from_name(name).ok_or_else(|| format!("`{name}` is no type of an FFI attribute"))
    }

    fn value(&mut self) -> Result<Value, String> {
        self.blanks();
        let rest = self.rest();
        if rest.starts_with('{') {
            return self.dictionary().map(Value::Dictionary);
        }
        if rest.starts_with('"') {
            return self.string().map(Value::String);
        }
        if self.eat("array<") {
            return self.array();
        }
        if self.eat("dense<") {
            return self.dense();
        }
        let word = self.word();
        match word {
            "true" => return Ok(Value::Bool(true)),
            "false" => return Ok(Value::Bool(false)),
            "" => return Err(self.wrong("a value")),
            _ => {}
        }
        let scalar = match self.eat(":") {
            true => self.scalar()?,
            false if word.contains(['.', 'e']) => Scalar::F64,
            false => Scalar::I64,
        };
        Ok(match number(word, scalar)? {
            Number::Integer(value) => match scalar {
                Scalar::Bool => Value::Bool(value != 0),
                scalar => Value::Integer { scalar, value },
            },
            Number::Float(value) => Value::Float { scalar, value },
        })
    }

    fn array(&mut self) -> Result<Value, String> {
        let scalar = self.scalar()?;
        let mut values = Vec::new();
        if self.eat(":") {
            loop {
                let word = self.word();
                values.push(number(word, scalar)?);
                if !self.eat(",") {
                    break;
                }
            }
        }
        self.expect(">")?;
        Ok(Value::Array { scalar, values })
    }

    /// `dense<[…]> : tensor<3xi64>`, whose elements are taken in order, or a splat.
    fn dense(&mut self) -> Result<Value, String> {
        let mut words = Vec::new();
        loop {
            self.blanks();
            if self.eat(">") {
                break;
            }
            if self.eat("[") || self.eat("]") || self.eat(",") {
                continue;
            }
            match self.word() {
                "" => return Err(self.wrong("a number")),
                word => words.push(word),
            }
        }
        self.expect(":")?;
        if !(self.eat("tensor<") || self.eat("vector<")) {
            return Err(self.wrong("`tensor<`"));
        }
        let ty = self.word();
        self.expect(">")?;
        let mut count = 1usize;
        let mut parts = ty.split('x').peekable();
        let mut element = "";
        while let Some(part) = parts.next() {
            match parts.peek() {
                Some(_) => {
                    let size: usize = part.parse().map_err(|_| format!("bad size `{part}`"))?;
                    count = count.checked_mul(size).ok_or("a constant is too large")?;
                }
                None => element = part,
            }
        }
        let scalar = Scalar::from_name(element)
            .ok_or_else(|| format!("`{element}` is no type of an FFI attribute"))?;
        let mut values =
            words.into_iter().map(|word| number(word, scalar)).collect::<Result<Vec<_>, _>>()?;
        if let (&[value], true) = (&values[..], count <= 1 << 20) {
            values = vec![value; count];
        }
        match values.len() == count {
            true => Ok(Value::Array { scalar, values }),
            false => Err(format!("{} numbers for a constant of {count}", values.len())),
        }
    }
}

/// The byte behind a backslash, and how many characters say it.
fn escaped(after: &[u8]) -> Option<(u8, usize)> {
    let hex = |byte: &u8| char::from(*byte).to_digit(16);
    match after {
        [first, second, ..] if hex(first).is_some() && hex(second).is_some() => {
            Some(((hex(first)? * 16 + hex(second)?) as u8, 2))
        }
        [b'n', ..] => Some((b'\n', 1)),
        [b't', ..] => Some((b'\t', 1)),
        [b'"', ..] => Some((b'"', 1)),
        [b'\\', ..] => Some((b'\\', 1)),
        _ => None,
    }
}

fn number(word: &str, scalar: Scalar) -> Result<Number, String> {
    let bad = || format!("`{word}` is no number of type `{}`", scalar.name());
    if scalar.is_float() {
        if let Some(bits) = word.strip_prefix("0x") {
            let bits = u64::from_str_radix(bits, 16).map_err(|_| bad())?;
            return Ok(Number::Float(match scalar {
                Scalar::F32 => f32::from_bits(bits as u32).into(),
                _ => f64::from_bits(bits),
            }));
        }
        // A 32-bit number is rounded once, from its text.
        return Ok(Number::Float(match scalar {
            Scalar::F32 => word.parse::<f32>().map_err(|_| bad())?.into(),
            _ => word.parse::<f64>().map_err(|_| bad())?,
        }));
    }
    match word {
        "true" => return Ok(Number::Integer(1)),
        "false" => return Ok(Number::Integer(0)),
        _ => {}
    }
    let value = word.parse::<i64>().or_else(|_| word.parse::<u64>().map(|value| value as i64));
    value.map(Number::Integer).map_err(|_| bad())
}
