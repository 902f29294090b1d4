//! Locations as HLO metadata: the name JAX gives an operation, its source line, and the table of
//! stack frames behind it.

use rustc_hash::FxHashMap;
use rxla_hlo::{FileLocation, Metadata, StackFrame, StackFrameIndex};

use crate::mlir::{Location, LocationKind};

/// How many parts of one location are looked at. Locations share their parts, so a small one may
/// unfold to any number.
const MAX_STEPS: usize = 2048;

/// The stack frame table under construction; equal entries are stored once.
#[derive(Default)]
pub(super) struct FrameTable {
    pub(super) index: StackFrameIndex,
    files: FxHashMap<String, i32>,
    functions: FxHashMap<String, i32>,
    locations: FxHashMap<FileLocation, i32>,
    frames: FxHashMap<StackFrame, i32>,
    /// Frames of call sites seen before, by address and parent: operations share them.
    chains: FxHashMap<(usize, i32), i32>,
}

/// The metadata of an operation at this location.
pub(super) fn metadata(frames: &mut FrameTable, location: &Location) -> Metadata {
    let mut metadata = Metadata::default();
    if location.is_unknown() {
        return metadata;
    }
    names(location, &mut metadata, &mut MAX_STEPS.clone());
    let place = below_names(location);
    metadata.stack_frame_id = frames.chain(place, 0, &mut MAX_STEPS.clone());
    if let Some((file, line, end_line, column, end_column)) =
        innermost(place, &mut MAX_STEPS.clone())
    {
        metadata.source_file = file;
        metadata.source_line = line;
        metadata.source_end_line = end_line;
        metadata.source_column = column;
        metadata.source_end_column = end_column;
    }
    metadata
}

/// `op_name` is the outermost name; a name that ends with a colon is the `op_type`, as XLA reads
/// TensorFlow's locations. Of fused locations all names count.
fn names(location: &Location, metadata: &mut Metadata, budget: &mut usize) {
    let Some(left) = budget.checked_sub(1) else { return };
    *budget = left;
    match location.kind() {
        Some(LocationKind::Name { name, child }) => {
            let text = name.to_string_lossy();
            let text = text.split('@').next().unwrap_or("");
            match text.strip_suffix(':') {
                Some(op_type) => {
                    join(&mut metadata.op_type, op_type);
                    names(child, metadata, budget);
                }
                None => join(&mut metadata.op_name, text),
            }
        }
        Some(LocationKind::CallSite { callee, .. }) => names(callee, metadata, budget),
        Some(LocationKind::Fused { locations, .. }) => {
            for location in locations {
                names(location, metadata, budget);
            }
        }
        Some(
            LocationKind::FileLineCol { .. }
            | LocationKind::FileRange { .. }
            | LocationKind::Opaque { .. },
        )
        | None => {}
    }
}

fn join(list: &mut String, name: &str) {
    if !list.is_empty() {
        list.push(';');
    }
    list.push_str(name);
}

/// The location without the names of operations round it; a name right round a file is the name
/// of the function there and stays.
fn below_names(mut location: &Location) -> &Location {
    while let Some(LocationKind::Name { child, .. }) = location.kind() {
        if is_file(child) {
            break;
        }
        location = child;
    }
    location
}

fn is_file(location: &Location) -> bool {
    matches!(
        location.kind(),
        Some(LocationKind::FileLineCol { .. } | LocationKind::FileRange { .. })
    )
}

type Range = (String, i32, i32, i32, i32);

fn clip(number: u32) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

fn file_range(location: &Location) -> Option<Range> {
    match location.kind()? {
        LocationKind::FileLineCol { file, line, column } => {
            let (line, column) = (clip(*line), clip(*column));
            Some((file.to_string(), line, line, column, column))
        }
        LocationKind::FileRange { file, line, column, end_line, end_column } => {
            Some((file.to_string(), clip(*line), clip(*end_line), clip(*column), clip(*end_column)))
        }
        _ => None,
    }
}

fn innermost(location: &Location, budget: &mut usize) -> Option<Range> {
    *budget = budget.checked_sub(1)?;
    match location.kind()? {
        LocationKind::Name { child, .. } => innermost(child, budget),
        LocationKind::CallSite { callee, caller } => {
            innermost(callee, budget).or_else(|| innermost(caller, budget))
        }
        LocationKind::Fused { locations, .. } => {
            locations.iter().find_map(|location| innermost(location, budget))
        }
        LocationKind::FileLineCol { .. }
        | LocationKind::FileRange { .. }
        | LocationKind::Opaque { .. } => file_range(location),
    }
}

impl FrameTable {
    /// The id of the innermost frame of a location whose outer frames end with `parent`; 0 if the
    /// location names no file.
    fn chain(&mut self, location: &Location, parent: i32, budget: &mut usize) -> i32 {
        let Some(left) = budget.checked_sub(1) else { return 0 };
        *budget = left;
        match location.kind() {
            Some(LocationKind::CallSite { callee, caller }) => {
                let key = (location.address(), parent);
                if let Some(&frame) = self.chains.get(&key) {
                    return frame;
                }
                let parent = self.chain(caller, parent, budget);
                let frame = match self.chain(callee, parent, budget) {
                    0 => parent,
                    frame => frame,
                };
                self.chains.insert(key, frame);
                frame
            }
            Some(LocationKind::Name { name, child }) => match file_range(child) {
                Some(range) => self.frame(&name.to_string_lossy(), range, parent),
                None => self.chain(child, parent, budget),
            },
            Some(LocationKind::Fused { locations, .. }) => locations
                .iter()
                .map(|location| self.chain(location, parent, budget))
                .find(|&frame| frame != 0)
                .unwrap_or(0),
            Some(
                LocationKind::FileLineCol { .. }
                | LocationKind::FileRange { .. }
                | LocationKind::Opaque { .. },
            ) => match file_range(location) {
                Some(range) => self.frame("", range, parent),
                None => 0,
            },
            None => 0,
        }
    }

    fn frame(&mut self, function: &str, range: Range, parent: i32) -> i32 {
        let (file, line, end_line, column, end_column) = range;
        let file_name_id = intern(&mut self.files, &mut self.index.file_names, file);
        let function_name_id =
            intern(&mut self.functions, &mut self.index.function_names, function.to_owned());
        let location =
            FileLocation { file_name_id, function_name_id, line, end_line, column, end_column };
        let file_location_id =
            intern(&mut self.locations, &mut self.index.file_locations, location);
        let frame = StackFrame { file_location_id, parent_frame_id: parent };
        intern(&mut self.frames, &mut self.index.stack_frames, frame)
    }
}

/// The number of an entry, from 1, added if it is new.
fn intern<T: Clone + Eq + std::hash::Hash>(
    ids: &mut FxHashMap<T, i32>,
    table: &mut Vec<T>,
    entry: T,
) -> i32 {
    *ids.entry(entry).or_insert_with_key(|entry| {
        table.push(entry.clone());
        clip(table.len() as u32)
    })
}
