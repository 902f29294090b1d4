//! Types, shapes and layouts between PJRT's structs and ours.

use rxla::hlo::{ArrayShape, ElementType, Layout, Shape};
use rxla::{Error, Result, strided};

use crate::abi;
use crate::ffi;

/// PJRT's numbers for our types, which differ from XLA's.
const TYPES: &[(ffi::PJRT_Buffer_Type, ElementType)] = &[
    (ffi::PJRT_Buffer_Type_PRED, ElementType::Pred),
    (ffi::PJRT_Buffer_Type_S1, ElementType::S1),
    (ffi::PJRT_Buffer_Type_S2, ElementType::S2),
    (ffi::PJRT_Buffer_Type_S4, ElementType::S4),
    (ffi::PJRT_Buffer_Type_S8, ElementType::S8),
    (ffi::PJRT_Buffer_Type_S16, ElementType::S16),
    (ffi::PJRT_Buffer_Type_S32, ElementType::S32),
    (ffi::PJRT_Buffer_Type_S64, ElementType::S64),
    (ffi::PJRT_Buffer_Type_U1, ElementType::U1),
    (ffi::PJRT_Buffer_Type_U2, ElementType::U2),
    (ffi::PJRT_Buffer_Type_U4, ElementType::U4),
    (ffi::PJRT_Buffer_Type_U8, ElementType::U8),
    (ffi::PJRT_Buffer_Type_U16, ElementType::U16),
    (ffi::PJRT_Buffer_Type_U32, ElementType::U32),
    (ffi::PJRT_Buffer_Type_U64, ElementType::U64),
    (ffi::PJRT_Buffer_Type_F16, ElementType::F16),
    (ffi::PJRT_Buffer_Type_BF16, ElementType::Bf16),
    (ffi::PJRT_Buffer_Type_F32, ElementType::F32),
    (ffi::PJRT_Buffer_Type_F64, ElementType::F64),
    (ffi::PJRT_Buffer_Type_F8E5M2, ElementType::F8e5m2),
    (ffi::PJRT_Buffer_Type_F8E4M3, ElementType::F8e4m3),
    (ffi::PJRT_Buffer_Type_F8E4M3FN, ElementType::F8e4m3fn),
    (ffi::PJRT_Buffer_Type_F8E4M3B11FNUZ, ElementType::F8e4m3b11fnuz),
    (ffi::PJRT_Buffer_Type_F8E3M4, ElementType::F8e3m4),
    (ffi::PJRT_Buffer_Type_F8E5M2FNUZ, ElementType::F8e5m2fnuz),
    (ffi::PJRT_Buffer_Type_F8E4M3FNUZ, ElementType::F8e4m3fnuz),
    (ffi::PJRT_Buffer_Type_F8E8M0FNU, ElementType::F8e8m0fnu),
    (ffi::PJRT_Buffer_Type_F4E2M1FN, ElementType::F4e2m1fn),
    (ffi::PJRT_Buffer_Type_C64, ElementType::C64),
    (ffi::PJRT_Buffer_Type_C128, ElementType::C128),
];

/// PJRT's number of a leaf's type; `INVALID` for the few types that PJRT 0.112 has no number for.
pub(crate) fn type_number(shape: &Shape) -> ffi::PJRT_Buffer_Type {
    match shape {
        Shape::Token => ffi::PJRT_Buffer_Type_TOKEN,
        Shape::Array(array) => array_type_number(array.element_type),
        Shape::Tuple(_) | Shape::Opaque | Shape::Buffer(_) => ffi::PJRT_Buffer_Type_INVALID,
    }
}

pub(crate) fn array_type_number(element_type: ElementType) -> ffi::PJRT_Buffer_Type {
    TYPES
        .iter()
        .find(|(_, ours)| *ours == element_type)
        .map_or(ffi::PJRT_Buffer_Type_INVALID, |(number, _)| *number)
}

/// A shape from PJRT's parts, without layout.
///
/// # Safety
/// `dims` points to `rank` numbers.
pub(crate) unsafe fn read_shape(
    number: ffi::PJRT_Buffer_Type,
    dims: *const i64,
    rank: usize,
) -> Result<Shape> {
    if rank > MOST_DIMENSIONS {
        return Err(Error::invalid_argument(format!("a shape claims to have {rank} dimensions")));
    }
    // SAFETY: the caller's promise.
    let dims = unsafe { abi::slice(dims, rank, "dims") }?;
    if number == ffi::PJRT_Buffer_Type_TOKEN {
        return Ok(Shape::Token);
    }
    let element_type =
        TYPES.iter().find(|(theirs, _)| *theirs == number).map(|(_, ours)| *ours).ok_or_else(
            || Error::invalid_argument(format!("there is no `PJRT_Buffer_Type` {number}")),
        )?;
    if let Some(negative) = dims.iter().find(|&&dim| dim < 0) {
        return Err(Error::invalid_argument(format!("a dimension has the size {negative}")));
    }
    Ok(Shape::array(element_type, dims.iter().copied()))
}

/// [`read_shape`] where only an array will do, with the layout given beside it.
///
/// # Safety
/// As for [`read_shape`] and [`read_layout`].
pub(crate) unsafe fn read_array(
    number: ffi::PJRT_Buffer_Type,
    dims: *const i64,
    rank: usize,
    layout: *const ffi::PJRT_Buffer_MemoryLayout,
) -> Result<ArrayShape> {
    // SAFETY: the caller's promise.
    let shape = unsafe { read_shape(number, dims, rank) }?;
    let Shape::Array(mut array) = shape else {
        return Err(Error::invalid_argument("a token has no data"));
    };
    // SAFETY: the caller's promise.
    if let Some(minor_to_major) = unsafe { read_layout(layout, &array) }? {
        array.layout = Some(Box::new(Layout::new(minor_to_major)));
    }
    Ok(array)
}

/// No framework makes arrays of more.
pub(crate) const MOST_DIMENSIONS: usize = 1024;

/// The dimension order that a memory layout says, `None` for a null pointer. Tiles are refused.
///
/// # Safety
/// `layout` is null or points to a layout whose lists are as long as it says.
pub(crate) unsafe fn read_layout(
    layout: *const ffi::PJRT_Buffer_MemoryLayout,
    shape: &ArrayShape,
) -> Result<Option<Vec<i64>>> {
    if layout.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller's promise. Clients leave the sizes inside of layouts unset, and the struct
    // has been the same in all versions.
    let layout = unsafe { abi::reference(layout, "layout") }?;
    match layout.type_ {
        ffi::PJRT_Buffer_MemoryLayout_Type_Tiled => {
            // SAFETY: the type says which member of the union is set.
            let tiled = unsafe { layout.__bindgen_anon_1.tiled };
            if tiled.num_tiles > 0 {
                return Err(Error::unimplemented("tiled layouts of device buffers"));
            }
            // SAFETY: the caller's promise.
            let order = unsafe {
                abi::slice(tiled.minor_to_major, tiled.minor_to_major_size, "minor_to_major")
            }?;
            strided::dense_strides(&shape.dims, order, 1).ok_or_else(|| {
                Error::invalid_argument(format!("{order:?} is no dimension order of `{shape}`"))
            })?;
            Ok(Some(order.to_vec()))
        }
        ffi::PJRT_Buffer_MemoryLayout_Type_Strides => {
            // SAFETY: as above.
            let strides = unsafe { layout.__bindgen_anon_1.strides };
            // SAFETY: the caller's promise.
            let strides = unsafe {
                abi::slice(strides.byte_strides, strides.num_byte_strides, "byte_strides")
            }?;
            order_of_strides(shape, strides).map(Some)
        }
        other => Err(Error::invalid_argument(format!("there is no layout type {other}"))),
    }
}

/// The dimension order of dense strides.
fn order_of_strides(shape: &ArrayShape, strides: &[i64]) -> Result<Vec<i64>> {
    let mut order: Vec<i64> = (0..shape.rank() as i64).rev().collect();
    if strides.len() == shape.rank() {
        order.sort_by_key(|&dimension| strides[dimension as usize]);
        let dense = strided::dense_strides(&shape.dims, &order, shape.element_type.byte_width());
        let same = dense.is_some_and(|dense| {
            (0..shape.rank()).all(|d| shape.dims[d] <= 1 || dense[d] == strides[d])
        });
        if same {
            return Ok(order);
        }
    }
    Err(Error::unimplemented(format!("a device buffer `{shape}` with byte strides {strides:?}")))
}

/// The dimension order of an array, row-major if its shape names none.
pub(crate) fn minor_to_major(array: &ArrayShape) -> &[i64] {
    static FALLING: [i64; MOST_DIMENSIONS] = {
        let mut falling = [0; MOST_DIMENSIONS];
        let mut place = 0;
        while place < MOST_DIMENSIONS {
            falling[place] = (MOST_DIMENSIONS - 1 - place) as i64;
            place += 1;
        }
        falling
    };
    match &array.layout {
        Some(layout) => &layout.minor_to_major,
        None => &FALLING[MOST_DIMENSIONS - array.rank()..],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_of_ours_has_at_most_one_number() {
        for (index, (number, element_type)) in TYPES.iter().enumerate() {
            assert!(TYPES[..index].iter().all(|(n, t)| n != number && t != element_type));
        }
        // PJRT 0.112 has no six-bit floats.
        assert_eq!(TYPES.len() + 2, ElementType::ALL.len());
    }

    #[test]
    fn strides_tell_the_order() {
        let shape = ArrayShape::new(ElementType::F32, [2, 3]);
        assert_eq!(order_of_strides(&shape, &[12, 4]).unwrap(), [1, 0]);
        assert_eq!(order_of_strides(&shape, &[4, 8]).unwrap(), [0, 1]);
        assert!(order_of_strides(&shape, &[16, 4]).is_err());
    }
}
