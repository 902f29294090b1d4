//! The tables between header and computations that stack frame ids point into: FileNames,
//! FunctionNames, FileLocations, StackFrames.

use super::{Parse, Parser};
use crate::text::lexer::TokenKind;
use crate::{FileLocation, StackFrame, StackFrameIndex};

impl Parser<'_> {
    pub(super) fn stack_frame_tables(&mut self) -> Parse<StackFrameIndex> {
        let mut tables = StackFrameIndex::default();
        if !self.eat_word("FileNames") {
            return Ok(tables);
        }
        while self.eat(TokenKind::Integer) {
            tables.file_names.push(self.string()?);
        }
        self.table("FunctionNames")?;
        while self.eat(TokenKind::Integer) {
            tables.function_names.push(self.string()?);
        }
        self.table("FileLocations")?;
        while self.eat(TokenKind::Integer) {
            tables.file_locations.push(self.file_location()?);
        }
        self.table("StackFrames")?;
        while self.eat(TokenKind::Integer) {
            tables.stack_frames.push(self.stack_frame()?);
        }
        Ok(tables)
    }

    fn table(&mut self, name: &str) -> Parse<()> {
        if self.eat_word(name) { Ok(()) } else { Err(self.unexpected(&format!("`{name}`"))) }
    }

    fn file_location(&mut self) -> Parse<FileLocation> {
        let mut location = FileLocation::default();
        self.fields(|parser, name, span| {
            let field = match name {
                "file_name_id" => &mut location.file_name_id,
                "function_name_id" => &mut location.function_name_id,
                "line" => &mut location.line,
                "end_line" => &mut location.end_line,
                "column" => &mut location.column,
                "end_column" => &mut location.end_column,
                _ => {
                    let known = [
                        "file_name_id",
                        "function_name_id",
                        "line",
                        "end_line",
                        "column",
                        "end_column",
                    ];
                    return Err(parser.unknown_word("field of a location", name, span, known));
                }
            };
            *field = parser.small_integer()?;
            Ok(())
        })?;
        Ok(location)
    }

    fn stack_frame(&mut self) -> Parse<StackFrame> {
        let mut frame = StackFrame::default();
        self.fields(|parser, name, span| {
            match name {
                "file_location_id" => frame.file_location_id = parser.small_integer()?,
                // Text counts parents from 1 with 1 for none; everything else has 0 for none.
                "parent_frame_id" => {
                    frame.parent_frame_id = parser.small_integer()?.saturating_sub(1);
                }
                _ => {
                    let known = ["file_location_id", "parent_frame_id"];
                    return Err(parser.unknown_word("field of a frame", name, span, known));
                }
            }
            Ok(())
        })?;
        Ok(frame)
    }
}
