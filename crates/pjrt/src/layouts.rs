//! The layouts extension: dimension orders as text like `{1,0}`.

use std::fmt::Write;

use rxla::Result;
use rxla::hlo::Shape;

use crate::abi::{self, entry};
use crate::buffer::BUFFERS;
use crate::client::CLIENTS;
use crate::description::TOPOLOGIES;
use crate::executable::EXECUTABLES;
use crate::ffi;
use crate::handle::Table;
use crate::raw::Raw;
use crate::shape;

/// What a `PJRT_Layouts_MemoryLayout*` points to.
pub(crate) struct LayoutObject {
    text: String,
}

static LAYOUTS: Table<ffi::PJRT_Layouts_MemoryLayout, LayoutObject> =
    Table::new("PJRT_Layouts_MemoryLayout");

impl LayoutObject {
    fn of(shape: &Shape) -> LayoutObject {
        let order = shape.as_array().map(shape::minor_to_major).unwrap_or_default();
        let mut text = String::from("{");
        for (index, dimension) in order.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            // Writing to a string does not fail.
            let _ = write!(text, "{comma}{dimension}");
        }
        text.push('}');
        LayoutObject { text }
    }

    /// Makes a handle that its executable destroys.
    pub(crate) fn give(shape: &Shape) -> Raw<ffi::PJRT_Layouts_MemoryLayout> {
        Raw(LAYOUTS.insert(LayoutObject::of(shape)))
    }

    pub(crate) fn destroy(layout: Raw<ffi::PJRT_Layouts_MemoryLayout>) {
        // Already gone if a caller destroyed what was not its own.
        let _ = LAYOUTS.destroy(layout.0);
    }
}

/// # Safety
/// `dims` points to `rank` numbers.
unsafe fn default_layout(
    number: ffi::PJRT_Buffer_Type,
    dims: *const i64,
    rank: usize,
) -> Result<*mut ffi::PJRT_Layouts_MemoryLayout> {
    // SAFETY: the caller's promise.
    let shape = unsafe { shape::read_shape(number, dims, rank) }?;
    Ok(LAYOUTS.insert(LayoutObject::of(&shape)))
}

entry! {
    fn PJRT_Layouts_MemoryLayout_Destroy(args: PJRT_Layouts_MemoryLayout_Destroy_Args) {
        LAYOUTS.destroy(args.layout)
    }

    fn PJRT_Layouts_MemoryLayout_Serialize(args: PJRT_Layouts_MemoryLayout_Serialize_Args) {
        let bytes = LAYOUTS.get(args.layout)?.text.clone().into_bytes();
        (args.serialized_bytes, args.serialized_bytes_size, args.serialized_layout) =
            abi::out_bytes(bytes);
        args.serialized_layout_deleter =
            Some(abi::free_bytes::<ffi::PJRT_Layouts_SerializedLayout>);
        Ok(())
    }

    fn PJRT_Layouts_PJRT_Client_GetDefaultLayout(
        args: PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args
    ) {
        CLIENTS.get(args.client)?;
        // SAFETY: the caller passes a list of that size.
        args.layout = unsafe { default_layout(args.type_, args.dims, args.num_dims) }?;
        Ok(())
    }

    fn PJRT_Layouts_PJRT_Buffer_MemoryLayout(args: PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args) {
        let object = BUFFERS.get(args.buffer)?;
        args.layout = LAYOUTS.insert(LayoutObject::of(object.buffer.shape()));
        Ok(())
    }

    fn PJRT_Layouts_PJRT_Topology_GetDefaultLayout(
        args: PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args
    ) {
        TOPOLOGIES.get(args.topology_description)?;
        // SAFETY: the caller passes a list of that size.
        args.layout = unsafe { default_layout(args.type_, args.dims, args.num_dims) }?;
        Ok(())
    }

    fn PJRT_Layouts_PJRT_Executable_GetOutputLayouts(
        args: PJRT_Layouts_PJRT_Executable_GetOutputLayouts_Args
    ) {
        let object = EXECUTABLES.get(args.executable)?;
        args.num_outputs = object.output_layouts.len();
        args.layouts = Raw::array(&object.output_layouts).cast_mut();
        Ok(())
    }

    fn PJRT_Layouts_PJRT_Executable_GetParameterLayouts(
        args: PJRT_Layouts_PJRT_Executable_GetParameterLayouts_Args
    ) {
        let object = EXECUTABLES.get(args.executable)?;
        args.num_parameters = object.parameter_layouts.len();
        args.layouts = Raw::array(&object.parameter_layouts).cast_mut();
        Ok(())
    }
}

/// The extension, to be chained to `next`.
pub(crate) fn extension(next: *mut ffi::PJRT_Extension_Base) -> ffi::PJRT_Layouts_Extension {
    ffi::PJRT_Layouts_Extension {
        base: ffi::PJRT_Extension_Base {
            struct_size: size_of::<ffi::PJRT_Layouts_Extension>(),
            type_: ffi::PJRT_Extension_Type_Layouts,
            next,
        },
        PJRT_Layouts_MemoryLayout_Destroy: Some(PJRT_Layouts_MemoryLayout_Destroy),
        PJRT_Layouts_MemoryLayout_Serialize: Some(PJRT_Layouts_MemoryLayout_Serialize),
        PJRT_Layouts_PJRT_Client_GetDefaultLayout: Some(PJRT_Layouts_PJRT_Client_GetDefaultLayout),
        PJRT_Layouts_PJRT_Buffer_MemoryLayout: Some(PJRT_Layouts_PJRT_Buffer_MemoryLayout),
        PJRT_Layouts_PJRT_Topology_GetDefaultLayout: Some(
            PJRT_Layouts_PJRT_Topology_GetDefaultLayout,
        ),
        PJRT_Layouts_PJRT_Executable_GetOutputLayouts: Some(
            PJRT_Layouts_PJRT_Executable_GetOutputLayouts,
        ),
        PJRT_Layouts_PJRT_Executable_GetParameterLayouts: Some(
            PJRT_Layouts_PJRT_Executable_GetParameterLayouts,
        ),
    }
}
