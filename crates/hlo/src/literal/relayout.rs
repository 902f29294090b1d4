//! Bytes in the order and form that a layout says ⇄ literals, which are dense and row-major.
//!
//! Orders of dimensions, tiles and packing (`E(n)`) are handled; other attributes of a layout do
//! not change where bytes are, and those that would (splits of sparse dimensions, a physical shape)
//! are errors.

use rxla_base::{Error, Result};
use smallvec::SmallVec;

use super::pack::{canonicalize, pack, packed_bits, packed_byte_size, unpack};
use super::strided::gather;
use super::{ArrayLiteral, Bytes};
use crate::{ArrayShape, DimLevelKind, ElementType, Layout, Tile};

#[cfg(test)]
mod tests;

type Sizes = SmallVec<[usize; 6]>;

impl ArrayLiteral {
    /// The bytes of this literal as a buffer with `layout` holds them.
    pub fn to_layout(&self, layout: &Layout) -> Result<Bytes> {
        let order = Order::new(self.shape(), layout)?;
        let ordered = if order.is_row_major() {
            self.shared_bytes()
        } else {
            let mut ordered = Bytes::zeroed(order.byte_size()?)?;
            order.write(self.bytes(), ordered.make_mut())?;
            ordered
        };
        if packs(self.element_type(), layout)? {
            pack(self.element_type(), ordered.as_slice())
        } else {
            Ok(ordered)
        }
    }

    /// A literal from the bytes of a buffer that has the layout of `shape`, row-major if it names
    /// none. Bits that elements cannot have are cleared.
    pub fn from_layout(shape: &ArrayShape, bytes: &[u8]) -> Result<ArrayLiteral> {
        let row_major = Layout::row_major(shape.rank());
        let layout = shape.layout.as_deref().unwrap_or(&row_major);
        let order = Order::new(shape, layout)?;
        let element_type = shape.element_type;
        let size = layout_byte_size(shape, layout)?;
        if size != bytes.len() {
            return Err(Error::invalid_argument(format!(
                "{} bytes given for `{shape}`, which takes {size} in its layout",
                bytes.len(),
            )));
        }
        let unpacked;
        let bytes = if packs(element_type, layout)? {
            unpacked = unpack(element_type, bytes, order.physical_elements()?)?;
            unpacked.as_slice()
        } else {
            bytes
        };
        let mut literal = ArrayLiteral::zeros(shape)?;
        order.read(bytes, literal.bytes_mut())?;
        canonicalize(element_type, literal.bytes_mut());
        Ok(literal)
    }

    /// A literal from memory where neighbours along dimension d are `byte_strides[d]` bytes apart
    /// and the first element is at `start`.
    pub fn from_strides(
        shape: &ArrayShape,
        bytes: &[u8],
        start: usize,
        byte_strides: &[isize],
    ) -> Result<ArrayLiteral> {
        if byte_strides.len() != shape.rank() {
            return Err(Error::invalid_argument(format!(
                "{} strides given for the {} dimensions of `{shape}`",
                byte_strides.len(),
                shape.rank()
            )));
        }
        let mut literal = ArrayLiteral::zeros(shape)?;
        let width = shape.element_type.byte_width();
        gather(width, &sizes(shape)?, bytes, start, byte_strides, literal.bytes_mut())?;
        canonicalize(shape.element_type, literal.bytes_mut());
        Ok(literal)
    }
}

/// Bytes that a buffer of `shape` takes in `layout`: padding of tiles counts, packing too.
pub fn layout_byte_size(shape: &ArrayShape, layout: &Layout) -> Result<usize> {
    let elements = Order::new(shape, layout)?.physical_elements()?;
    let size = if packs(shape.element_type, layout)? {
        packed_byte_size(shape.element_type, elements)
    } else {
        elements.checked_mul(shape.element_type.byte_width())
    };
    size.ok_or_else(|| too_large(shape))
}

fn too_large(shape: &ArrayShape) -> Error {
    Error::resource_exhausted(format!("`{shape}` has no size that memory could hold"))
}

fn packs(element_type: ElementType, layout: &Layout) -> Result<bool> {
    let bits = layout.element_size_in_bits;
    if bits == 0 || bits == 8 * element_type.byte_width() as i64 {
        Ok(false)
    } else if packed_bits(element_type).is_some_and(|packed| packed as i64 == bits) {
        Ok(true)
    } else {
        Err(Error::unimplemented(format!("elements of type `{element_type}` in {bits} bits")))
    }
}

fn sizes(shape: &ArrayShape) -> Result<Sizes> {
    shape.dims.iter().map(|&dim| usize::try_from(dim).map_err(|_| too_large(shape))).collect()
}

/// Where the elements of a row-major array go.
struct Order<'a> {
    shape: &'a ArrayShape,
    width: usize,
    /// Logical sizes.
    sizes: Sizes,
    /// Dimension numbers from the slowest to the fastest.
    major_to_minor: Sizes,
    tiles: &'a [Tile],
}

impl<'a> Order<'a> {
    fn new(shape: &'a ArrayShape, layout: &'a Layout) -> Result<Order<'a>> {
        let sizes = sizes(shape)?;
        let rank = sizes.len();
        let mut major_to_minor = Sizes::new();
        for &dimension in layout.minor_to_major.iter().rev() {
            match usize::try_from(dimension) {
                Ok(dimension) if dimension < rank && !major_to_minor.contains(&dimension) => {
                    major_to_minor.push(dimension);
                }
                _ => break,
            }
        }
        if major_to_minor.len() != rank || layout.minor_to_major.len() != rank {
            return Err(Error::invalid_argument(format!(
                "the layout order {:?} is not a permutation of the {rank} dimensions of `{shape}`",
                layout.minor_to_major.as_slice()
            )));
        }
        if layout.dim_level_types.iter().any(|level| level.kind != DimLevelKind::Dense)
            || layout.physical_shape.is_some()
        {
            return Err(Error::unimplemented(format!("sparse layout of `{shape}`")));
        }
        let width = shape.element_type.byte_width();
        Ok(Order { shape, width, sizes, major_to_minor, tiles: &layout.tiles })
    }

    fn is_row_major(&self) -> bool {
        self.tiles.is_empty() && self.major_to_minor.iter().copied().eq(0..self.sizes.len())
    }

    /// Sizes in physical order, before tiling.
    fn physical_sizes(&self) -> Sizes {
        self.major_to_minor.iter().map(|&dimension| self.sizes[dimension]).collect()
    }

    fn physical_elements(&self) -> Result<usize> {
        let mut sizes = self.physical_sizes();
        for tile in self.tiles {
            sizes = tiled_sizes(&sizes, tile)?;
        }
        sizes
            .iter()
            .try_fold(1usize, |count, &size| count.checked_mul(size))
            .ok_or_else(|| too_large(self.shape))
    }

    fn byte_size(&self) -> Result<usize> {
        let size = self.physical_elements()?.checked_mul(self.width);
        size.ok_or_else(|| too_large(self.shape))
    }

    /// Byte strides of the row-major array.
    fn logical_strides(&self) -> SmallVec<[isize; 6]> {
        strides(&self.sizes, self.width)
    }

    fn write(&self, logical: &[u8], physical: &mut [u8]) -> Result<()> {
        if !self.tiles.is_empty() {
            return self.for_each_tiled(|logical_at, physical_at| {
                physical[physical_at..physical_at + self.width]
                    .copy_from_slice(&logical[logical_at..logical_at + self.width]);
            });
        }
        let logical_strides = self.logical_strides();
        let strides: SmallVec<[isize; 6]> =
            self.major_to_minor.iter().map(|&dimension| logical_strides[dimension]).collect();
        gather(self.width, &self.physical_sizes(), logical, 0, &strides, physical)
    }

    fn read(&self, physical: &[u8], logical: &mut [u8]) -> Result<()> {
        if !self.tiles.is_empty() {
            return self.for_each_tiled(|logical_at, physical_at| {
                logical[logical_at..logical_at + self.width]
                    .copy_from_slice(&physical[physical_at..physical_at + self.width]);
            });
        }
        let physical_strides = strides(&self.physical_sizes(), self.width);
        let mut strides: SmallVec<[isize; 6]> = SmallVec::from_elem(0, self.sizes.len());
        for (place, &dimension) in self.major_to_minor.iter().enumerate() {
            strides[dimension] = physical_strides[place];
        }
        gather(self.width, &self.sizes, physical, 0, &strides, logical)
    }

    /// Calls `body` with the byte offsets of every element in the row-major and the tiled array.
    fn for_each_tiled(&self, mut body: impl FnMut(usize, usize)) -> Result<()> {
        let logical_strides = self.logical_strides();
        let physical = self.physical_sizes();
        if physical.contains(&0) {
            return Ok(());
        }
        let mut index = Sizes::from_elem(0, physical.len());
        loop {
            let logical_at: isize = (self.major_to_minor.iter().zip(&index))
                .map(|(&dimension, &i)| logical_strides[dimension] * i as isize)
                .sum();
            body(logical_at as usize, self.tiled_offset(&physical, &index)? * self.width);
            let Some(moving) = (0..index.len()).rev().find(|&d| index[d] + 1 < physical[d]) else {
                return Ok(());
            };
            index[moving] += 1;
            index[moving + 1..].fill(0);
        }
    }

    fn tiled_offset(&self, sizes: &Sizes, index: &Sizes) -> Result<usize> {
        let (mut sizes, mut index) = (sizes.clone(), index.clone());
        for tile in self.tiles {
            let combined = combined(&sizes, tile)?;
            let (outer, inner) = split_index(&combined, &sizes, &index);
            sizes = tiled_sizes(&sizes, tile)?;
            index = outer.into_iter().chain(inner).collect();
        }
        Ok(index.iter().zip(&sizes).fold(0, |offset, (&i, &size)| offset * size + i))
    }
}

fn strides(sizes: &[usize], width: usize) -> SmallVec<[isize; 6]> {
    let mut stride = width as isize;
    let mut strides: SmallVec<[isize; 6]> = SmallVec::new();
    for &size in sizes.iter().rev() {
        strides.push(stride);
        stride = stride.saturating_mul(size as isize);
    }
    strides.reverse();
    strides
}

/// One dimension of an array after `*` in a tile has merged some, with the tile's size for it.
struct Combined {
    /// The dimensions merged, from the slowest.
    dimensions: std::ops::Range<usize>,
    size: usize,
    /// `None` for dimensions that the tile does not reach.
    tile: Option<usize>,
}

/// The dimensions that `tile` sees: it is aligned to the fastest ones, and `*` merges a dimension
/// with the next faster one.
fn combined(sizes: &[usize], tile: &Tile) -> Result<SmallVec<[Combined; 6]>> {
    let skipped = sizes.len().checked_sub(tile.dimensions.len()).ok_or_else(|| {
        Error::invalid_argument(format!(
            "a tile of {} dimensions on an array of {}",
            tile.dimensions.len(),
            sizes.len()
        ))
    })?;
    let mut result: SmallVec<[Combined; 6]> = (0..skipped)
        .map(|d| Combined { dimensions: d..d + 1, size: sizes[d], tile: None })
        .collect();
    let mut first = skipped;
    for (place, &dimension) in tile.dimensions.iter().enumerate() {
        let d = skipped + place;
        if dimension == Tile::COMBINE {
            continue;
        }
        let tile = usize::try_from(dimension)
            .ok()
            .filter(|&tile| tile > 0)
            .ok_or_else(|| Error::invalid_argument(format!("a tile dimension of {dimension}")))?;
        let size = sizes[first..=d]
            .iter()
            .try_fold(1usize, |product, &size| product.checked_mul(size))
            .ok_or_else(|| Error::invalid_argument("sizes overflow"))?;
        result.push(Combined { dimensions: first..d + 1, size, tile: Some(tile) });
        first = d + 1;
    }
    if first != sizes.len() {
        return Err(Error::invalid_argument("the last dimension of a tile is `*`"));
    }
    Ok(result)
}

/// Sizes after a tile: how many tiles along each dimension, then the tile itself.
fn tiled_sizes(sizes: &[usize], tile: &Tile) -> Result<Sizes> {
    let combined = combined(sizes, tile)?;
    let outer = combined.iter().map(|c| c.tile.map_or(c.size, |tile| c.size.div_ceil(tile)));
    Ok(outer.chain(combined.iter().filter_map(|c| c.tile)).collect())
}

fn split_index(combined: &[Combined], sizes: &[usize], index: &[usize]) -> (Sizes, Sizes) {
    let (mut outer, mut inner) = (Sizes::new(), Sizes::new());
    for c in combined {
        let i = c.dimensions.clone().fold(0, |i, d| i * sizes[d] + index[d]);
        match c.tile {
            Some(tile) => {
                outer.push(i / tile);
                inner.push(i % tile);
            }
            None => outer.push(i),
        }
    }
    (outer, inner)
}
