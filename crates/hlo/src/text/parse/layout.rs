//! Layouts: `{1,0:T(8,128)(2,1)L(8)E(4)S(1)SC(0:4,8)P(f32[2])M(16)}`.

use super::{Parse, Parser};
use crate::text::lexer::TokenKind;
use crate::{DimLevel, DimLevelKind, Dims, ElementType, Layout, SplitConfig, Tile};

impl Parser<'_> {
    pub(in crate::text) fn layout(&mut self) -> Parse<Layout> {
        self.expect(TokenKind::LeftBrace)?;
        let mut order = Dims::new();
        if self.at(TokenKind::Integer) {
            loop {
                order.push(self.integer()?);
                if !self.eat(TokenKind::Comma) {
                    break;
                }
            }
        }
        let mut layout = Layout::new(order);
        if self.eat(TokenKind::Colon) {
            while !self.at(TokenKind::RightBrace) {
                self.layout_attribute(&mut layout)?;
            }
        }
        self.expect(TokenKind::RightBrace)?;
        Ok(layout)
    }

    fn layout_attribute(&mut self, layout: &mut Layout) -> Parse<()> {
        if self.eat(TokenKind::Octothorp) {
            layout.index_type = Some(self.unsigned_type()?);
            return Ok(());
        }
        if self.eat(TokenKind::Asterisk) {
            layout.pointer_type = Some(self.unsigned_type()?);
            return Ok(());
        }
        let span = self.token.span();
        match self.word("an attribute of the layout or `}`")? {
            "D" => self.parenthesised(|parser| {
                layout.dim_level_types.push(parser.dim_level()?);
                Ok(())
            })?,
            "T" => loop {
                let mut tile = Tile { dimensions: Default::default() };
                self.parenthesised(|parser| {
                    let combine = parser.eat(TokenKind::Asterisk);
                    let size = if combine { Tile::COMBINE } else { parser.integer()? };
                    tile.dimensions.push(size);
                    Ok(())
                })?;
                layout.tiles.push(tile);
                if !self.at(TokenKind::LeftParen) {
                    break;
                }
            },
            "L" => layout.tail_padding_alignment_in_elements = self.parenthesised_integer()?,
            "E" => layout.element_size_in_bits = self.parenthesised_integer()?,
            "S" => layout.memory_space = self.parenthesised_integer()?,
            "M" => layout.dynamic_shape_metadata_prefix_bytes = self.parenthesised_integer()?,
            "SC" => loop {
                self.expect(TokenKind::LeftParen)?;
                let dimension = self.integer()?;
                let mut split = SplitConfig { dimension, split_indices: Vec::new() };
                self.list(TokenKind::Colon, TokenKind::RightParen, |parser| {
                    split.split_indices.push(parser.integer()?);
                    Ok(())
                })?;
                layout.split_configs.push(split);
                if !self.at(TokenKind::LeftParen) {
                    break;
                }
            },
            "P" => {
                self.expect(TokenKind::LeftParen)?;
                layout.physical_shape = Some(Box::new(self.shape()?));
                self.expect(TokenKind::RightParen)?;
            }
            other => {
                let known = ["D", "T", "L", "E", "S", "SC", "P", "M"];
                return Err(self.unknown_word("attribute of a layout", other, span, known));
            }
        }
        Ok(())
    }

    fn dim_level(&mut self) -> Parse<DimLevel> {
        let span = self.token.span();
        let kind = match self.word("`D`, `C`, `S` or `H`")? {
            "D" => DimLevelKind::Dense,
            "C" => DimLevelKind::Compressed,
            "S" => DimLevelKind::Singleton,
            "H" => DimLevelKind::LooseCompressed,
            other => {
                return Err(self.unknown_word("kind of dimension", other, span, []));
            }
        };
        let not_unique = self.eat(TokenKind::Plus);
        let not_ordered = self.eat(TokenKind::Tilde);
        Ok(DimLevel { kind, not_unique, not_ordered })
    }

    fn parenthesised(&mut self, item: impl FnMut(&mut Self) -> Parse<()>) -> Parse<()> {
        self.list(TokenKind::LeftParen, TokenKind::RightParen, item)
    }

    fn parenthesised_integer(&mut self) -> Parse<i64> {
        self.expect(TokenKind::LeftParen)?;
        let value = self.integer()?;
        self.expect(TokenKind::RightParen)?;
        Ok(value)
    }

    fn unsigned_type(&mut self) -> Parse<ElementType> {
        self.expect(TokenKind::LeftParen)?;
        let span = self.token.span();
        let word = self.word("an unsigned integer type")?;
        match ElementType::from_name(word) {
            Some(element_type) if element_type.is_unsigned() => {
                self.expect(TokenKind::RightParen)?;
                Ok(element_type)
            }
            _ => Err(self.error(span, format!("`{word}` is no unsigned integer type"))),
        }
    }
}
