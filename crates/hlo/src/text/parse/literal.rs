//! Literals: nested braces of elements, tuples in parentheses, and `...` where a dump left the
//! values out.

use rxla_base::Diagnostic;

use super::{Failed, MissingLayouts, Parse, Parser};
use crate::literal::{Element, ElementText};
use crate::text::lexer::TokenKind;
use crate::{ArrayLiteral, ArrayShape, Literal, Shape, with_native};

impl Parser<'_> {
    /// A literal of a known shape: what stands in `constant(…)`.
    pub(in crate::text) fn literal(&mut self, shape: &Shape) -> Parse<Literal> {
        self.nested(|parser| match shape {
            Shape::Array(array) => parser.array_literal(array).map(Literal::Array),
            Shape::Tuple(elements) => parser.tuple_literal(elements),
            Shape::Token => {
                // XLA prints the word, if it prints such a literal at all.
                parser.eat_word("token");
                Ok(Literal::Token)
            }
            Shape::Opaque | Shape::Buffer(_) => {
                let message = format!("a constant cannot have the shape `{shape}`");
                Err(parser.error(parser.token.span(), message))
            }
        })
    }

    /// A literal that says its shapes itself: the attribute `literal=s32[2] {1, 2}`.
    pub(in crate::text) fn shaped_literal(&mut self) -> Parse<Literal> {
        if !self.at(TokenKind::LeftParen) {
            let shape = self.shape_with(MissingLayouts::Keep)?;
            return self.literal(&shape);
        }
        self.nested(|parser| {
            let mut elements = Vec::new();
            parser.list(TokenKind::LeftParen, TokenKind::RightParen, |parser| {
                elements.push(parser.shaped_literal()?);
                Ok(())
            })?;
            Ok(Literal::Tuple(elements))
        })
    }

    fn tuple_literal(&mut self, shapes: &[Shape]) -> Parse<Literal> {
        // `({...})` is printed for a tuple as a whole.
        if self.at(TokenKind::LeftBrace) && self.peek().kind == TokenKind::Dots {
            let span = self.token.span();
            self.advance();
            self.advance();
            self.expect(TokenKind::RightBrace)?;
            let shape = Shape::tuple(shapes.iter().cloned());
            self.elided.get_or_insert(span);
            return self.made_up(&shape);
        }
        let span = self.token.span();
        let mut elements = Vec::with_capacity(shapes.len());
        self.list(TokenKind::LeftParen, TokenKind::RightParen, |parser| {
            let Some(shape) = shapes.get(elements.len()) else {
                let message = format!("the tuple has {} elements, more are given", shapes.len());
                return Err(parser.error(parser.token.span(), message));
            };
            elements.push(parser.literal(shape)?);
            Ok(())
        })?;
        if elements.len() < shapes.len() {
            let message =
                format!("the tuple has {} elements, {} are given", shapes.len(), elements.len());
            return Err(self.error(span, message));
        }
        Ok(Literal::Tuple(elements))
    }

    fn made_up(&mut self, shape: &Shape) -> Parse<Literal> {
        Ok(match shape {
            Shape::Array(array) => {
                let mut literal = self.zeros(array)?;
                fill(&mut literal);
                Literal::Array(literal)
            }
            Shape::Tuple(elements) => Literal::Tuple(
                elements.iter().map(|e| self.made_up(e)).collect::<Parse<Vec<Literal>>>()?,
            ),
            Shape::Token => Literal::Token,
            Shape::Opaque | Shape::Buffer(_) => {
                let message = format!("a constant cannot have the shape `{shape}`");
                return Err(self.error(self.token.span(), message));
            }
        })
    }

    /// A literal of zeros within what the options and the text allow.
    fn zeros(&mut self, shape: &ArrayShape) -> Parse<ArrayLiteral> {
        let span = self.token.span();
        let limit = self.options.max_literal_bytes;
        let total = shape.byte_size().and_then(|size| self.literal_bytes.checked_add(size));
        match total {
            Some(total) if total <= limit => self.literal_bytes = total,
            _ => {
                let message = format!("the constants of the module take more than {limit} bytes");
                let note = format!("this one has the shape `{shape}`");
                return Err(self.report(Diagnostic::error(message).at(span).note(note)));
            }
        }
        match ArrayLiteral::zeros(shape) {
            Ok(literal) => Ok(literal),
            Err(error) => Err(self.error(span, error.message)),
        }
    }

    fn array_literal(&mut self, shape: &ArrayShape) -> Parse<ArrayLiteral> {
        let start = self.token;
        // Elements that are written take two bytes of text each, so a literal that is longer than
        // the text must be cut short and need not be allocated to find that out.
        let is_elided = start.kind == TokenKind::LeftBrace && self.peek().kind == TokenKind::Dots;
        let written = shape.element_count().is_some_and(|count| count <= self.source.len());
        if start.kind == TokenKind::LeftBrace && !is_elided && !written {
            let message = format!("the text is too short for a literal of the shape `{shape}`");
            return Err(self.error(start.span(), message));
        }
        let mut literal = self.zeros(shape)?;
        if is_elided {
            self.advance();
            self.advance();
            self.expect(TokenKind::RightBrace)?;
            if !literal.is_empty() {
                self.elided.get_or_insert(start.span());
            }
            fill(&mut literal);
            return Ok(literal);
        }
        with_native!(shape.element_type, T => self.dense::<T>(&mut literal)?);
        Ok(literal)
    }

    /// Nested braces. `counts[d]` is how many entries the open brace of dimension `d` has so far.
    fn dense<T: ElementText>(&mut self, literal: &mut ArrayLiteral) -> Parse<()> {
        let dims = literal.dims().clone();
        let rank = dims.len();
        let mut counts = vec![0i64; rank];
        let mut level = 0;
        let mut written = 0;
        let values = literal.values_mut::<T>();
        loop {
            let span = self.token.span();
            match self.token.kind {
                TokenKind::LeftBrace => {
                    if level == rank {
                        let message = format!("the literal nests deeper than its rank, {rank}");
                        return Err(self.error(span, message));
                    }
                    if level > 0 {
                        counts[level - 1] += 1;
                        if counts[level - 1] > dims[level - 1] {
                            return Err(self.wrong_count(level - 1, dims[level - 1], None));
                        }
                    }
                    level += 1;
                    self.advance();
                }
                TokenKind::RightBrace if level > 0 => {
                    level -= 1;
                    if counts[level] != dims[level] {
                        return Err(self.wrong_count(level, dims[level], Some(counts[level])));
                    }
                    counts[level] = 0;
                    self.advance();
                }
                TokenKind::Comma if level > 0 => self.advance(),
                TokenKind::Word
                | TokenKind::Integer
                | TokenKind::Decimal
                | TokenKind::LeftParen => {
                    if level == 0 && rank > 0 && !values.is_empty() {
                        // XLA reads this as the first element of zeros, and files have it.
                        values[0] = self.element()?;
                        let warning = "one value is given for an array; the others are zero";
                        self.warn(Diagnostic::warning(warning).at(span));
                        return Ok(());
                    }
                    if level != rank {
                        let message =
                            format!("expected braces {rank} deep, found an element at {level}");
                        return Err(self.error(span, message));
                    }
                    if rank > 0 {
                        counts[rank - 1] += 1;
                        if counts[rank - 1] > dims[rank - 1] {
                            return Err(self.wrong_count(rank - 1, dims[rank - 1], None));
                        }
                    }
                    let Some(value) = values.get_mut(written) else {
                        return Err(self.error(span, "more elements than the shape has"));
                    };
                    *value = self.element()?;
                    written += 1;
                }
                _ => return Err(self.unexpected("an element of a literal")),
            }
            if level == 0 {
                return Ok(());
            }
        }
    }

    fn wrong_count(&mut self, dimension: usize, size: i64, found: Option<i64>) -> Failed {
        let found = found.map_or("more".to_owned(), |count| count.to_string());
        let message = format!("dimension {dimension} has {size} entries, {found} are given");
        self.error(self.token.span(), message)
    }

    /// One scalar. NaN payloads and complex numbers are several tokens.
    fn element<T: ElementText>(&mut self) -> Parse<T> {
        let start = self.token;
        let mut end = start.end;
        let bytes = self.source.as_bytes();
        let open = match start.kind {
            TokenKind::LeftParen => Some(start.start),
            TokenKind::Word if bytes.get(end) == Some(&b'(') => Some(end),
            _ => None,
        };
        if let Some(open) = open {
            let Some(close) = matching_paren(bytes, open) else {
                return Err(self.error(start.span(), "the parenthesis does not close"));
            };
            end = close;
        }
        match T::parse(&self.source[start.start..end]) {
            Ok(value) => {
                self.move_to(end);
                Ok(value)
            }
            Err(error) => {
                let span = rxla_base::Span::new(start.start, end);
                Err(self.error(span, error.message))
            }
        }
    }
}

/// The end of the parenthesis that opens at `at`. Elements hold few characters, so the search is
/// short; it ends at once on what no element contains.
fn matching_paren(source: &[u8], at: usize) -> Option<usize> {
    let mut depth = 0usize;
    for (offset, &byte) in source[at..].iter().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' => {
                depth -= 1;
                if depth == 0 {
                    return Some(at + offset + 1);
                }
            }
            b'{' | b'}' | b'"' | b'=' => return None,
            _ => {}
        }
    }
    None
}

/// Values for a constant that was cut from the text: small, finite, the same on every run.
fn fill(literal: &mut ArrayLiteral) {
    let integral = !literal.element_type().is_float() && !literal.element_type().is_complex();
    with_native!(literal.element_type(), T => {
        for (index, value) in literal.values_mut::<T>().iter_mut().enumerate() {
            *value = if integral {
                T::from_i64((index % 2) as i64)
            } else {
                // Sixteenths below one in a period that no dimension is likely to share.
                T::from_f64(((index % 31) as f64 - 15.0) / 16.0)
            };
        }
    });
}
