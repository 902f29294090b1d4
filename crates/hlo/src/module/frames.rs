//! Stack frames: the calls that led to an instruction, as the frontend saw them.

use crate::StackFrameIndex;

/// A line of source, and the function that it is in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SourceFrame<'m> {
    pub file: &'m str,
    pub line: i32,
    pub column: i32,
    pub function: &'m str,
}

impl StackFrameIndex {
    /// A frame and those that called it, innermost first. Ends where ids name nothing, and has no
    /// more frames than there are.
    pub fn frames(&self, id: i32) -> impl Iterator<Item = SourceFrame<'_>> {
        let mut next = id;
        let frames = std::iter::from_fn(move || {
            let frame = entry(&self.stack_frames, next)?;
            next = frame.parent_frame_id;
            let location = entry(&self.file_locations, frame.file_location_id)?;
            let file = entry(&self.file_names, location.file_name_id)?;
            let function = entry(&self.function_names, location.function_name_id);
            Some(SourceFrame {
                file,
                line: location.line,
                column: location.column,
                function: function.map_or("", String::as_str),
            })
        });
        frames.take(self.stack_frames.len())
    }

    /// Who called, where the innermost frame is in an installed library: the next one that is not.
    pub fn caller_of_library(&self, id: i32) -> Option<SourceFrame<'_>> {
        let mut frames = self.frames(id).peekable();
        frames.peek().filter(|frame| is_installed(frame.file))?;
        frames.find(|frame| !is_installed(frame.file))
    }
}

fn is_installed(file: &str) -> bool {
    file.split(['/', '\\']).any(|part| part == "site-packages" || part == "dist-packages")
}

fn entry<T>(table: &[T], id: i32) -> Option<&T> {
    // Ids count from 1.
    table.get(usize::try_from(id).ok()?.checked_sub(1)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FileLocation, StackFrame};

    fn index(files: &[&str]) -> StackFrameIndex {
        let ids = || 1..=files.len() as i32;
        StackFrameIndex {
            file_names: files.iter().map(|&file| file.to_owned()).collect(),
            function_names: vec!["f".to_owned()],
            file_locations: ids()
                .map(|id| FileLocation {
                    file_name_id: id,
                    function_name_id: 1,
                    line: 10 * id,
                    ..FileLocation::default()
                })
                .collect(),
            stack_frames: ids()
                .map(|id| StackFrame { file_location_id: id, parent_frame_id: id - 1 })
                .collect(),
        }
    }

    #[test]
    fn the_user_is_who_called_the_library() {
        let index = index(&["main.py", "model.py", "v/site-packages/a.py", "v/site-packages/b.py"]);
        let lines: Vec<i32> = index.frames(4).map(|frame| frame.line).collect();
        assert_eq!(lines, [40, 30, 20, 10]);
        let caller = SourceFrame { file: "model.py", line: 20, column: 0, function: "f" };
        assert_eq!(index.caller_of_library(4), Some(caller));
        assert_eq!(index.caller_of_library(2), None);
        assert_eq!(index.caller_of_library(0), None);
    }

    #[test]
    fn what_names_nothing_or_goes_round_ends() {
        let mut index = index(&["site-packages/a.py", "site-packages/b.py"]);
        index.stack_frames[0].parent_frame_id = 2;
        assert_eq!(index.caller_of_library(2), None);
        assert_eq!(index.frames(7).count(), 0);
        assert_eq!(index.frames(-1).count(), 0);
    }
}
