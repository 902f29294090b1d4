//! [`Location`]: where in the user's program something comes from.

use std::sync::Arc;

use super::{Attribute, ByteString};

/// How many parts are looked at in search of something. Parts are shared, so that a small location
/// may unfold to any number of them.
const MAX_STEPS: usize = 4096;

/// A source location; `None` inside is the unknown one. One pointer, since every operation and
/// block argument has one.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Location(Option<Arc<Node>>);

#[derive(PartialEq, Eq, Debug)]
struct Node {
    kind: LocationKind,
    depth: u32,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LocationKind {
    /// `"file":line:column`.
    FileLineCol { file: ByteString, line: u32, column: u32 },
    /// `"file":line:column to end_line:end_column`.
    FileRange { file: ByteString, line: u32, column: u32, end_line: u32, end_column: u32 },
    /// `"name"(child)`, such as the path of JAX's name scopes.
    Name { name: ByteString, child: Location },
    /// `callsite(callee at caller)`.
    CallSite { callee: Location, caller: Location },
    /// `fused<metadata>[…]`.
    Fused { locations: Vec<Location>, metadata: Option<Attribute> },
    /// A location of another dialect, as text.
    Opaque { text: ByteString },
}

impl Location {
    pub const UNKNOWN: Location = Location(None);

    pub fn new(kind: LocationKind) -> Location {
        let depth = match &kind {
            LocationKind::FileLineCol { .. }
            | LocationKind::FileRange { .. }
            | LocationKind::Opaque { .. } => 0,
            LocationKind::Name { child, .. } => child.depth(),
            LocationKind::CallSite { callee, caller } => callee.depth().max(caller.depth()),
            LocationKind::Fused { locations, .. } => {
                locations.iter().map(Location::depth).max().unwrap_or(0)
            }
        };
        Location(Some(Arc::new(Node { kind, depth: depth.saturating_add(1) })))
    }

    pub fn file_line_col(file: impl Into<ByteString>, line: u32, column: u32) -> Location {
        Location::new(LocationKind::FileLineCol { file: file.into(), line, column })
    }

    pub fn name(name: impl Into<ByteString>, child: Location) -> Location {
        Location::new(LocationKind::Name { name: name.into(), child })
    }

    pub fn call_site(callee: Location, caller: Location) -> Location {
        Location::new(LocationKind::CallSite { callee, caller })
    }

    /// What the location says; `None` if it is unknown.
    pub fn kind(&self) -> Option<&LocationKind> {
        self.0.as_deref().map(|node| &node.kind)
    }

    /// How deep it nests; 0 if it is unknown.
    pub fn depth(&self) -> u32 {
        self.0.as_deref().map_or(0, |node| node.depth)
    }

    /// A number that differs from that of every other location alive, unless they share their parts.
    pub fn address(&self) -> usize {
        self.0.as_ref().map_or(0, |node| Arc::as_ptr(node) as usize)
    }

    pub fn is_unknown(&self) -> bool {
        self.0.is_none()
    }

    /// File, line and column of the innermost frame: what a user wants to see first.
    pub fn source(&self) -> Option<(&ByteString, u32, u32)> {
        self.source_within(&mut MAX_STEPS.clone())
    }

    fn source_within(&self, budget: &mut usize) -> Option<(&ByteString, u32, u32)> {
        *budget = budget.checked_sub(1)?;
        match self.kind()? {
            LocationKind::FileLineCol { file, line, column }
            | LocationKind::FileRange { file, line, column, .. } => Some((file, *line, *column)),
            LocationKind::Name { child, .. } => child.source_within(budget),
            LocationKind::CallSite { callee, caller } => {
                callee.source_within(budget).or_else(|| caller.source_within(budget))
            }
            LocationKind::Fused { locations, .. } => {
                locations.iter().find_map(|location| location.source_within(budget))
            }
            LocationKind::Opaque { .. } => None,
        }
    }

    /// The user's source line as `file:line:column`, for messages.
    pub fn source_line(&self) -> Option<String> {
        let (file, line, column) = self.source()?;
        Some(format!("{file}:{line}:{column}"))
    }

    /// The outermost name, such as `jit(f)/jit(main)/add`, for HLO's `op_name`.
    pub fn op_name(&self) -> Option<&ByteString> {
        self.op_name_within(&mut MAX_STEPS.clone())
    }

    fn op_name_within(&self, budget: &mut usize) -> Option<&ByteString> {
        *budget = budget.checked_sub(1)?;
        match self.kind()? {
            LocationKind::Name { name, .. } => Some(name),
            LocationKind::CallSite { callee, .. } => callee.op_name_within(budget),
            LocationKind::Fused { locations, .. } => {
                locations.iter().find_map(|location| location.op_name_within(budget))
            }
            LocationKind::FileLineCol { .. }
            | LocationKind::FileRange { .. }
            | LocationKind::Opaque { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn innermost_frame_is_shown() {
        let inner = Location::name("g", Location::file_line_col("a.py", 3, 5));
        let outer = Location::file_line_col("b.py", 9, 1);
        let location = Location::name("jit(f)/add", Location::call_site(inner, outer));
        assert_eq!(location.source_line().unwrap(), "a.py:3:5");
        assert_eq!(*location.op_name().unwrap(), "jit(f)/add");
        assert_eq!(Location::UNKNOWN.source_line(), None);
    }
}
