//! Locations from text.

use super::cursor::Result;
use super::parser::Parser;
use crate::mlir::{Attribute, ByteString, Location, LocationKind, MAX_DEPTH};

impl Parser<'_> {
    /// `loc(…)` if it stands next.
    pub(super) fn optional_location(&mut self) -> Result<Option<Location>> {
        if self.peek_word() == "loc" { self.location().map(Some) } else { Ok(None) }
    }

    /// `loc(…)`.
    pub(super) fn location(&mut self) -> Result<Location> {
        self.expect_keyword("loc")?;
        self.expect("(")?;
        let location = self.location_body()?;
        self.expect(")")?;
        Ok(location)
    }

    /// What stands inside of `loc(…)`.
    fn location_body(&mut self) -> Result<Location> {
        self.nested(|parser| match parser.peek() {
            Some(b'#') => {
                let start = parser.offset();
                match parser.attribute()? {
                    Attribute::Location(location) => Ok(location),
                    _ => {
                        let span = parser.span_from(start);
                        Err(parser.error(span, "this attribute is not a location"))
                    }
                }
            }
            Some(b'"') => parser.string_location(),
            _ => match parser.peek_word() {
                "unknown" => {
                    parser.word();
                    Ok(Location::UNKNOWN)
                }
                "callsite" => {
                    parser.word();
                    parser.expect("(")?;
                    let callee = parser.location_body()?;
                    parser.expect_keyword("at")?;
                    let caller = parser.location_body()?;
                    parser.expect(")")?;
                    // Outer frames beyond the limit are left out rather than refused.
                    match caller.depth() as usize + 1 < MAX_DEPTH {
                        true => Ok(Location::call_site(callee, caller)),
                        false => Ok(callee),
                    }
                }
                "fused" => {
                    parser.word();
                    let mut metadata = None;
                    if parser.eat("<") {
                        metadata = Some(parser.attribute()?);
                        parser.expect(">")?;
                    }
                    let mut locations = parser.list("[", "]", |parser| parser.location_body())?;
                    locations.retain(|location| (location.depth() as usize) < MAX_DEPTH);
                    Ok(Location::new(LocationKind::Fused { locations, metadata }))
                }
                "loc" => parser.location(),
                _ => Err(parser.unexpected("a location")),
            },
        })
    }

    /// `"file":1:2`, `"file":1:2 to 3:4`, `"name"` or `"name"(child)`.
    fn string_location(&mut self) -> Result<Location> {
        let text = ByteString::from(self.string()?);
        if self.eat("(") {
            let child = self.location_body()?;
            self.expect(")")?;
            return match (child.depth() as usize) < MAX_DEPTH {
                true => Ok(Location::name(text, child)),
                false => Ok(child),
            };
        }
        if !self.eat(":") {
            return Ok(Location::name(text, Location::UNKNOWN));
        }
        let line = self.place()?;
        let mut column = 0;
        let mut has_column = false;
        if self.eat(":") {
            column = self.place()?;
            has_column = true;
        }
        if !has_column || !self.eat_word("to") {
            return Ok(Location::file_line_col(text, line, column));
        }
        // The end's line is left out where it is the same.
        let mut end_line = line;
        if !self.sees(":") {
            end_line = self.place()?;
        }
        self.expect(":")?;
        let end_column = self.place()?;
        Ok(Location::new(LocationKind::FileRange {
            file: text,
            line,
            column,
            end_line,
            end_column,
        }))
    }

    /// A line or column.
    fn place(&mut self) -> Result<u32> {
        self.skip_space();
        let start = self.offset();
        let number = self.integer()?;
        let span = self.span_from(start);
        u32::try_from(number).map_err(|_| self.error(span, "lines and columns fit 32 bits"))
    }
}
