//! Orders, tiles and packing, there and back.

use super::*;
use crate::native::{S4, U2};

fn with_layout(shape: &ArrayShape, layout: &Layout) -> ArrayShape {
    let mut shape = shape.clone();
    shape.layout = Some(Box::new(layout.clone()));
    shape
}

fn check(literal: &ArrayLiteral, layout: &Layout, expected: &[u8]) {
    let bytes = literal.to_layout(layout).unwrap();
    assert_eq!(bytes.as_slice(), expected);
    assert_eq!(layout_byte_size(literal.shape(), layout).unwrap(), expected.len());
    let back = ArrayLiteral::from_layout(&with_layout(literal.shape(), layout), expected);
    assert_eq!(back.unwrap(), *literal);
}

fn counted(dims: &[i64]) -> ArrayLiteral {
    let count: i64 = dims.iter().product();
    ArrayLiteral::from_values(dims.iter().copied(), &(0..count as u8).collect::<Vec<_>>())
}

#[test]
fn orders_dimensions() {
    check(&counted(&[2, 3]), &Layout::new([1, 0]), &[0, 1, 2, 3, 4, 5]);
    check(&counted(&[2, 3]), &Layout::new([0, 1]), &[0, 3, 1, 4, 2, 5]);
    check(&counted(&[2, 2, 3]), &Layout::new([1, 2, 0]), &[0, 3, 1, 4, 2, 5, 6, 9, 7, 10, 8, 11]);
    check(&counted(&[]), &Layout::new([]), &[0]);
    check(&counted(&[2, 0]), &Layout::new([0, 1]), &[]);
}

#[test]
fn large_transposes_come_back() {
    let values: Vec<u16> = (0..70 * 5 * 33).collect();
    let literal = ArrayLiteral::from_values([70, 5, 33], &values);
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let layout = Layout::new(order);
        let bytes = literal.to_layout(&layout).unwrap();
        let sizes: Vec<i64> = order.iter().rev().map(|&d| literal.dims()[d as usize]).collect();
        let at = |index: [usize; 3]| {
            let place = order
                .iter()
                .rev()
                .zip(&sizes)
                .fold(0, |place, (&d, &size)| place * size as usize + index[d as usize]);
            u16::from_le_bytes([bytes.as_slice()[2 * place], bytes.as_slice()[2 * place + 1]])
        };
        for (value, index) in [(0, [0, 0, 0]), (33, [0, 1, 0]), (165 + 2, [1, 0, 2])] {
            assert_eq!(at(index), value, "{order:?}");
        }
        let shape = with_layout(literal.shape(), &layout);
        assert_eq!(ArrayLiteral::from_layout(&shape, bytes.as_slice()).unwrap(), literal);
    }
}

#[test]
fn packs_and_unpacks() {
    let literal = ArrayLiteral::from_values([3], &[S4(1), S4(-1), S4(-8)]);
    let mut layout = Layout::new([0]);
    layout.element_size_in_bits = 4;
    check(&literal, &layout, &[0xf1, 0x08]);
    let literal = ArrayLiteral::from_values([2, 2], &[U2(0), U2(1), U2(2), U2(3)]);
    let mut layout = Layout::new([0, 1]);
    layout.element_size_in_bits = 2;
    check(&literal, &layout, &[0b11_01_10_00]);
    layout.element_size_in_bits = 3;
    assert!(literal.to_layout(&layout).is_err());
}

fn tile(dimensions: &[i64]) -> Tile {
    Tile { dimensions: dimensions.iter().copied().collect() }
}

#[test]
fn tiles_pad() {
    let mut layout = Layout::new([1, 0]);
    layout.tiles = vec![tile(&[2, 2])];
    check(&counted(&[3, 3]), &layout, &[0, 1, 3, 4, 2, 0, 5, 0, 6, 7, 0, 0, 8, 0, 0, 0]);
    // A second tiling of the first one's tiles.
    layout.tiles = vec![tile(&[2, 4]), tile(&[2, 1])];
    check(&counted(&[2, 4]), &layout, &[0, 4, 1, 5, 2, 6, 3, 7]);
    // `*` joins the two dimensions before they are cut.
    layout.tiles = vec![tile(&[Tile::COMBINE, 4])];
    check(&counted(&[2, 3]), &layout, &[0, 1, 2, 3, 4, 5, 0, 0]);
}

#[test]
fn wrong_layouts_are_errors() {
    let literal = counted(&[2, 3]);
    for order in [vec![0], vec![0, 0], vec![0, 2], vec![-1, 0], vec![0, 1, 2]] {
        assert!(literal.to_layout(&Layout::new(order.clone())).is_err(), "{order:?}");
    }
    let shape = with_layout(literal.shape(), &Layout::new([0, 1]));
    let error = ArrayLiteral::from_layout(&shape, &[0; 5]).unwrap_err();
    assert_eq!(error.message, "5 bytes given for `u8[2,3]`, which takes 6 in its layout");
    let mut layout = Layout::new([1, 0]);
    for tiles in [vec![tile(&[0])], vec![tile(&[1, 1, 1])], vec![tile(&[4, Tile::COMBINE])]] {
        layout.tiles = tiles;
        assert!(literal.to_layout(&layout).is_err());
    }
    let huge = ArrayShape::new(ElementType::U8, [1 << 40, 1 << 40]);
    assert!(layout_byte_size(&huge, &Layout::row_major(2)).is_err());
}

#[test]
fn reads_strides() {
    let shape = ArrayShape::new(ElementType::U8, [2, 2]);
    let bytes = [0, 1, 2, 3, 4, 5, 6, 7];
    let literal = ArrayLiteral::from_strides(&shape, &bytes, 7, &[-4, -2]).unwrap();
    assert_eq!(literal.bytes(), [7, 5, 3, 1]);
    assert!(ArrayLiteral::from_strides(&shape, &bytes, 7, &[4, 2]).is_err());
    assert!(ArrayLiteral::from_strides(&shape, &bytes, 0, &[4]).is_err());
}
