//! Metadata, origins, statistics and frontend attributes of instructions.

use rxla_base::{Diagnostic, Span};

use super::{Parse, Parser};
use crate::text::lexer::TokenKind;
use crate::{
    Dims, FrontendAttributes, Metadata, MetadataPayload, OriginalArray, OriginalElement,
    OriginalValue, Statistics,
};

/// The names that `metadata={…}` may hold.
const FIELDS: &[&str] = &[
    "op_type",
    "op_name",
    "source_file",
    "source_line",
    "source_end_line",
    "source_column",
    "source_end_column",
    "profile_type",
    "deduplicated_name",
    "scheduling_name",
    "stack_frame_id",
    "metadata_payload",
    "size_of_generated_code_in_bytes",
    "size_of_memory_working_set_in_bytes",
];

impl<'a> Parser<'a> {
    /// `{name=value name=value}`; commas between are allowed. `field` parses the value of a name
    /// or says that it knows no such name.
    pub(in crate::text) fn fields(
        &mut self,
        mut field: impl FnMut(&mut Self, &'a str, Span) -> Parse<()>,
    ) -> Parse<()> {
        self.expect(TokenKind::LeftBrace)?;
        let mut seen: Vec<&str> = Vec::new();
        while !self.eat(TokenKind::RightBrace) {
            self.eat(TokenKind::Comma);
            let (name, span) = self.attribute_name()?;
            if seen.contains(&name) {
                return Err(self.error(span, format!("`{name}` is given twice")));
            }
            seen.push(name);
            field(self, name, span)?;
        }
        Ok(())
    }

    pub(in crate::text) fn metadata(&mut self) -> Parse<Metadata> {
        let mut metadata = Metadata::default();
        self.fields(|parser, name, span| {
            match name {
                "op_type" => metadata.op_type = parser.string()?,
                "op_name" => metadata.op_name = parser.string()?,
                "source_file" => metadata.source_file = parser.string()?,
                "source_line" => metadata.source_line = parser.small_integer()?,
                "source_end_line" => metadata.source_end_line = parser.small_integer()?,
                "source_column" => metadata.source_column = parser.small_integer()?,
                "source_end_column" => metadata.source_end_column = parser.small_integer()?,
                "profile_type" => metadata.profile_type = parser.integers()?,
                "deduplicated_name" => metadata.deduplicated_name = parser.string()?,
                "scheduling_name" => metadata.scheduling_name = parser.string()?,
                "stack_frame_id" => metadata.stack_frame_id = parser.small_integer()?,
                "metadata_payload" => {
                    metadata.payload = Some(MetadataPayload::Value(parser.bytes()?));
                }
                "size_of_generated_code_in_bytes" => {
                    metadata.size_of_generated_code_in_bytes = parser.integer()?;
                }
                "size_of_memory_working_set_in_bytes" => {
                    metadata.size_of_memory_working_set_in_bytes = parser.integer()?;
                }
                _ => {
                    return Err(parser.unknown_word(
                        "field of metadata",
                        name,
                        span,
                        FIELDS.iter().copied(),
                    ));
                }
            }
            Ok(())
        })?;
        Ok(metadata)
    }

    /// One metadata, or a list of them in braces, as shardings have it.
    pub(super) fn metadata_list(&mut self) -> Parse<Vec<Metadata>> {
        if self.peek().kind != TokenKind::LeftBrace {
            return Ok(vec![self.metadata()?]);
        }
        let mut list = Vec::new();
        self.braced(|parser| {
            list.push(parser.metadata()?);
            Ok(())
        })?;
        Ok(list)
    }

    pub(in crate::text) fn frontend_attributes(&mut self) -> Parse<FrontendAttributes> {
        let mut attributes = FrontendAttributes::new();
        self.braced(|parser| {
            let (name, span) = parser.attribute_name()?;
            let value = parser.string_or_dictionary()?;
            if attributes.insert(name.to_owned(), value).is_some() {
                let warning =
                    format!("frontend attribute `{name}` is given twice; the last counts");
                parser.warn(Diagnostic::warning(warning).at(span));
            }
            Ok(())
        })?;
        Ok(attributes)
    }

    pub(in crate::text) fn statistics(&mut self) -> Parse<Statistics> {
        let mut statistics = Statistics::default();
        let mut is_first = true;
        self.braced(|parser| {
            let (name, span) = parser.attribute_name()?;
            if std::mem::take(&mut is_first) {
                if name != "visualizing_index" {
                    return Err(parser.unknown_word(
                        "first entry",
                        name,
                        span,
                        ["visualizing_index"],
                    ));
                }
                statistics.visualizing_index = parser.integer()?;
            } else {
                statistics.values.push((name.to_owned(), parser.number()?.to_bits()));
            }
            Ok(())
        })?;
        Ok(statistics)
    }

    /// `{1,0}` as the path to a part of a tuple.
    pub(in crate::text) fn index_path(&mut self) -> Parse<Dims> {
        self.integers()
    }

    /// `{"name" {index}}`, or `{}` where nothing is known.
    pub(super) fn original_array(&mut self) -> Parse<Option<OriginalArray>> {
        self.expect(TokenKind::LeftBrace)?;
        let mut array = OriginalArray::default();
        if self.at(TokenKind::String) {
            array.instruction_name = self.string()?;
            if self.at(TokenKind::LeftBrace) {
                array.index = self.index_path()?;
            }
        }
        self.expect(TokenKind::RightBrace)?;
        Ok((!array.instruction_name.is_empty()).then_some(array))
    }

    pub(in crate::text) fn original_value(&mut self) -> Parse<OriginalValue> {
        self.expect(TokenKind::LeftBrace)?;
        if self.eat(TokenKind::LeftSquare) {
            if !self.eat_word("synthetic_call") {
                return Err(self.unexpected("`synthetic_call`"));
            }
            self.expect(TokenKind::RightSquare)?;
            self.expect(TokenKind::RightBrace)?;
            return Ok(OriginalValue::SyntheticCall);
        }
        let mut leaves = Vec::new();
        if !self.at(TokenKind::RightBrace) {
            self.original_tree(&mut Dims::new(), &mut leaves)?;
        }
        self.expect(TokenKind::RightBrace)?;
        Ok(OriginalValue::Leaves(leaves))
    }

    fn original_tree(&mut self, path: &mut Dims, leaves: &mut Vec<OriginalElement>) -> Parse<()> {
        if self.at(TokenKind::LeftBrace) {
            let array = self.original_array()?;
            leaves.push(OriginalElement { index: path.clone(), array });
            return Ok(());
        }
        self.nested(|parser| {
            let mut next = 0;
            parser.list(TokenKind::LeftParen, TokenKind::RightParen, |parser| {
                path.push(next);
                next += 1;
                let result = parser.original_tree(path, leaves);
                path.pop();
                result
            })
        })
    }
}
