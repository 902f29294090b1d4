//! The section `{-# … #-}` at the end of a text: bytes that `dense_resource` refers to.

use rxla_base::Span;

use super::cursor::Result;
use super::dense::hexadecimal;
use super::parser::Parser;
use crate::mlir::{ByteString, Resource, ResourceValue};

impl Parser<'_> {
    /// `{-# dialect_resources: { builtin: { key: "0x…" } }, external_resources: {…} #-}`.
    pub(super) fn resources(&mut self) -> Result<()> {
        self.expect("{-#")?;
        self.sections("#-}", |parser, section| {
            let external = match section.as_str() {
                Some("dialect_resources") => false,
                Some("external_resources") => true,
                _ => {
                    return Err(parser
                        .unexpected("`dialect_resources` or `external_resources` before this"));
                }
            };
            parser.expect("{")?;
            parser.sections("}", |parser, dialect| {
                parser.expect("{")?;
                parser.sections("}", |parser, key| {
                    let value = parser.resource_value()?;
                    let dialect = if external { ByteString::default() } else { dialect.clone() };
                    parser.module.resources.push(Resource { dialect, external, key, value });
                    Ok(())
                })
            })
        })
    }

    /// `name: …, name: …` until `close`.
    fn sections(
        &mut self,
        close: &str,
        mut section: impl FnMut(&mut Self, ByteString) -> Result<()>,
    ) -> Result<()> {
        self.list_until(close, |parser| {
            let name: ByteString = if parser.sees("\"") {
                parser.string()?.into()
            } else {
                parser.expect_word("a name")?.into()
            };
            parser.expect(":")?;
            section(parser, name)
        })?;
        Ok(())
    }

    /// `true`, or a string; one in hexadecimal is a blob, with its alignment first.
    fn resource_value(&mut self) -> Result<ResourceValue> {
        if !self.sees("\"") {
            return Ok(ResourceValue::Bool(self.boolean()?));
        }
        let start = self.offset();
        let text = self.string()?;
        let span: Span = self.span_from(start);
        let Some(digits) = text.strip_prefix(b"0x") else {
            return Ok(ResourceValue::String(text.into()));
        };
        let bytes = hexadecimal(digits);
        let parts = bytes.as_deref().and_then(|bytes| bytes.split_first_chunk::<4>());
        let Some((alignment, bytes)) = parts else {
            return Err(self.error(
                span,
                "a blob is written as `0x` with four bytes of alignment and its own bytes",
            ));
        };
        let alignment = u32::from_le_bytes(*alignment).into();
        Ok(ResourceValue::Blob { alignment, bytes: bytes.into() })
    }
}
