//! Shapes: `f32[2,<=3,?]{1,0}`, tuples, tokens, buffers.

use std::sync::Arc;

use rxla_base::Span;

use super::{MissingLayouts, Parse, Parser};
use crate::text::lexer::TokenKind;
use crate::{ArrayShape, ElementType, Layout, Shape};

impl Parser<'_> {
    /// Whether a shape can start here. Element types are reserved words where one can.
    pub(super) fn at_shape(&self) -> bool {
        match self.token.kind {
            TokenKind::LeftParen => true,
            TokenKind::Word => {
                let word = self.text(self.token);
                let next = self.source.as_bytes().get(self.token.end).copied();
                match word {
                    "b" => self.peek().kind == TokenKind::LeftParen,
                    "token" | "opaque" => self.peek().kind == TokenKind::LeftSquare,
                    _ if next == Some(b'[') => true,
                    _ => {
                        ElementType::from_name(word).is_some()
                            && self.peek().kind == TokenKind::LeftSquare
                    }
                }
            }
            _ => false,
        }
    }

    pub(in crate::text) fn shape(&mut self) -> Parse<Shape> {
        self.shape_with(self.options.missing_layouts)
    }

    pub(super) fn shape_with(&mut self, missing: MissingLayouts) -> Parse<Shape> {
        self.nested(|parser| match parser.token.kind {
            TokenKind::LeftParen => {
                let mut elements = Vec::new();
                parser.list(TokenKind::LeftParen, TokenKind::RightParen, |parser| {
                    elements.push(parser.shape_with(missing)?);
                    Ok(())
                })?;
                Ok(Shape::tuple(elements))
            }
            TokenKind::Word => parser.named_shape(missing),
            _ => Err(parser.unexpected("a shape")),
        })
    }

    fn named_shape(&mut self, missing: MissingLayouts) -> Parse<Shape> {
        let span = self.token.span();
        let word = self.take();
        match word {
            "b" if self.at(TokenKind::LeftParen) => {
                self.advance();
                let inner_span = self.token.span();
                let Shape::Array(inner) = self.shape_with(missing)? else {
                    return Err(self.error(inner_span, "a buffer holds an array"));
                };
                self.expect(TokenKind::RightParen)?;
                Ok(Shape::Buffer(Arc::new(inner)))
            }
            "token" | "opaque" => {
                self.expect(TokenKind::LeftSquare)?;
                self.expect(TokenKind::RightSquare)?;
                // An empty layout is written by some tools.
                self.layout_if_any(0)?;
                Ok(if word == "token" { Shape::Token } else { Shape::Opaque })
            }
            _ => {
                let Some(element_type) = ElementType::from_name(word) else {
                    let known = ElementType::ALL.iter().map(|element_type| element_type.name());
                    let known = known.chain(["token", "opaque"]);
                    return Err(self.unknown_word("element type", word, span, known));
                };
                self.array_shape(element_type, missing).map(Shape::Array)
            }
        }
    }

    fn array_shape(
        &mut self,
        element_type: ElementType,
        missing: MissingLayouts,
    ) -> Parse<ArrayShape> {
        let mut shape = ArrayShape::scalar(element_type);
        let mut dynamic = Vec::new();
        self.list(TokenKind::LeftSquare, TokenKind::RightSquare, |parser| {
            if parser.eat(TokenKind::QuestionMark) {
                shape.dims.push(ArrayShape::UNBOUNDED);
                dynamic.push(true);
                return Ok(());
            }
            dynamic.push(parser.eat(TokenKind::LessEqual));
            let span = parser.token.span();
            let size = parser.integer()?;
            if size < 0 {
                return Err(parser.error(span, format!("the size `{size}` is negative")));
            }
            shape.dims.push(size);
            Ok(())
        })?;
        for (dimension, dynamic) in dynamic.into_iter().enumerate() {
            shape.set_dynamic(dimension, dynamic);
        }
        shape.layout = self.layout_if_any(shape.rank())?.map(Box::new);
        if missing == MissingLayouts::RowMajor && shape.layout.is_none() {
            shape.layout = Some(Box::new(Layout::row_major(shape.rank())));
        }
        Ok(shape)
    }

    /// A layout, if one follows: a brace before anything but a number or `:` starts something else.
    fn layout_if_any(&mut self, rank: usize) -> Parse<Option<Layout>> {
        if !self.at(TokenKind::LeftBrace)
            || !matches!(self.peek().kind, TokenKind::Integer | TokenKind::Colon)
        {
            return Ok(None);
        }
        let start = self.token.start;
        let layout = self.layout()?;
        let span = self.span_from(start);
        self.check_layout(&layout, rank, span)?;
        Ok(Some(layout))
    }

    fn check_layout(&mut self, layout: &Layout, rank: usize, span: Span) -> Parse<()> {
        let order = &layout.minor_to_major;
        if order.len() != rank {
            let message =
                format!("the layout orders {} dimensions, the shape has {rank}", order.len());
            return Err(self.error(span, message));
        }
        let mut seen = vec![false; rank];
        for &dimension in order {
            let place = usize::try_from(dimension).ok().and_then(|d| seen.get_mut(d));
            match place {
                Some(seen) if !*seen => *seen = true,
                _ => {
                    let message = format!(
                        "the layout must name each dimension from 0 to {} once; `{dimension}` \
                         is repeated or not among them",
                        rank.saturating_sub(1)
                    );
                    return Err(self.error(span, message));
                }
            }
        }
        Ok(())
    }
}
