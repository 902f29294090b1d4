//! The two sections of resources.

use super::emitter::{Emitter, Tables};
use crate::mlir::{Resource, ResourceValue};

/// Contents of both sections and the alignment that the data needs.
pub(super) struct Sections {
    pub(super) data: Vec<u8>,
    pub(super) offsets: Vec<u8>,
    pub(super) alignment: u64,
}

/// `None` if there are no resources.
pub(super) fn write(resources: &[Resource], tables: &mut Tables) -> Option<Sections> {
    if resources.is_empty() {
        return None;
    }
    let (mut data, mut offsets) = (Emitter::default(), Emitter::default());
    let mut alignment = 1;
    let groups = |external| {
        let of_kind = resources.iter().filter(move |resource| resource.external == external);
        of_kind.collect::<Vec<_>>()
    };
    let external = groups(true);
    let external = || external.chunk_by(|a, b| a.dialect == b.dialect);
    offsets.length(external().count());
    for group in external() {
        let owner = tables.string(&group[0].dialect);
        offsets.length(owner);
        write_group(group, tables, &mut data, &mut offsets, &mut alignment);
    }
    for group in groups(false).chunk_by(|a, b| a.dialect == b.dialect) {
        let dialect = tables.dialect(&group[0].dialect);
        offsets.length(dialect);
        write_group(group, tables, &mut data, &mut offsets, &mut alignment);
    }
    Some(Sections { data: data.finish(), offsets: offsets.finish(), alignment })
}

fn write_group(
    group: &[&Resource],
    tables: &mut Tables,
    data: &mut Emitter,
    offsets: &mut Emitter,
    largest: &mut u64,
) {
    offsets.length(group.len());
    for resource in group {
        let start = data.len();
        let kind = match &resource.value {
            ResourceValue::Blob { alignment, bytes } => {
                // Readers take only powers of two.
                let alignment = alignment.checked_next_power_of_two().unwrap_or(1).clamp(1, 4096);
                *largest = alignment.max(*largest);
                data.varint(alignment);
                data.length(bytes.len());
                data.align(alignment);
                data.bytes(bytes);
                0
            }
            ResourceValue::Bool(value) => {
                data.byte(u8::from(*value));
                1
            }
            ResourceValue::String(text) => {
                let text = tables.string(text);
                data.length(text);
                2
            }
        };
        let key = tables.string(&resource.key);
        offsets.length(key);
        offsets.length(data.len() - start);
        offsets.byte(kind);
    }
}

/// The place of a resource among those that attributes can refer to.
pub(super) fn handle(resources: &[Resource], key: &crate::mlir::ByteString) -> Option<usize> {
    let mut dialects = resources.iter().filter(|resource| !resource.external);
    dialects.position(|resource| resource.key == *key)
}
