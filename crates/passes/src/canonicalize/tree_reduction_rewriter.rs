//! `tree-reduction-rewriter`, XLA's TreeReductionRewriter: a long reduction to few elements becomes
//! two, of which the first has many results that threads share and that fill vectors. How it is cut
//! depends on sizes alone, so that results do not depend on the machine.

use rxla_base::Result;
use rxla_hlo::op::{Reduce, Reshape};
use rxla_hlo::{ArrayShape, BinaryKind, Dims, InstructionId, Module, Op, Shape};

use crate::algebraic::reductions::reducer;
use crate::pass::{Context, Pass};
use crate::rewrite::{self, NamedRule};
use crate::{rules, view};

pub struct TreeReductionRewriter;

const RULES: &[NamedRule] = rules! {
    Reduce => [fill_vectors, share_rows],
};

/// Elements from which on threads share a reduction.
const LONG: i64 = 1 << 18;
/// Results that threads can share: enough for many threads, fewer where each is a long row.
const SHARES: i64 = 64;
const SHARES_OF_LONG_ROWS: i64 = 16;
const LONG_ROW: i64 = 512;
/// Columns that fill the vectors of any machine several times.
const FULL: i64 = 64;
/// Columns of which a row is so long that memory is read ahead along it.
const WIDE: i64 = 512;
/// Columns that are shared among threads without more ado, as tiles.
const TILE: i64 = 2048;
/// Rows that are reduced at once at least.
const FEW_ROWS: i64 = 32;

impl Pass for TreeReductionRewriter {
    fn name(&self) -> &'static str {
        "tree-reduction-rewriter"
    }

    fn class(&self) -> &'static str {
        "TreeReductionRewriter"
    }

    fn run(&self, module: &mut Module, cx: &Context) -> Result<u64> {
        Ok(rewrite::apply(module, cx, &[RULES]))
    }
}

/// `reduce(x[n, c]) => reduce(reduce(x[n / p, p, c]))`, where the `p * c` columns fill vectors
fn fill_vectors(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let found = Reduction::of(m, i)?;
    let last = found.last();
    if !(2..FULL).contains(&found.columns) || found.rows / FULL < FEW_ROWS {
        return None;
    }
    let mut together = 2;
    while together * found.columns < FULL {
        together *= 2;
    }
    let size = found.dims[last];
    if size < 2 * together {
        return None;
    }
    // Rows are long only where enough of them are left for threads to share.
    while together * found.columns < WIDE && size / (2 * together) >= SHARES * FEW_ROWS {
        together *= 2;
    }
    let cut = Cut { dimension: last, parts: [size / together, together], later: Later::Inner };
    Some(found.split(m, i, cut))
}

/// `reduce(x[n]) => reduce(reduce(x[k, n / k]))`, where threads share the `k` rows
fn share_rows(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let found = Reduction::of(m, i)?;
    let wanted = if found.columns >= LONG_ROW { SHARES_OF_LONG_ROWS } else { SHARES };
    let there = found.outer * (found.columns / TILE).max(1);
    if 2 * there >= wanted {
        return None;
    }
    let mut wanted = wanted / there;
    if found.rows / wanted < FEW_ROWS {
        return None;
    }
    // Whole dimensions first, so that few are cut.
    for &dimension in &found.reduced {
        let size = found.dims[dimension];
        if wanted < size {
            let parts = (wanted..2 * wanted).find(|parts| size % parts == 0).unwrap_or(wanted);
            let cut = Cut { dimension, parts: [parts, size / parts], later: Later::Outer };
            return Some(found.split(m, i, cut));
        }
        wanted = (wanted + size - 1) / size.max(1);
    }
    None
}

/// A reduction of one long array by an associative function.
struct Reduction {
    kind: BinaryKind,
    dims: Dims,
    /// Which dimensions, in order.
    reduced: Vec<usize>,
    /// How many elements become one, how many results lie side by side after what is reduced, and
    /// how many of these groups there are.
    rows: i64,
    columns: i64,
    outer: i64,
}

/// A dimension cut in two, outer part first, of which one is reduced later. What is left over of the
/// dimension is reduced apart.
struct Cut {
    dimension: usize,
    parts: [i64; 2],
    later: Later,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Later {
    /// With all dimensions before it that are reduced.
    Outer,
    Inner,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Kept,
    First,
    Second,
}

impl Reduction {
    fn of(m: &Module, i: InstructionId) -> Option<Reduction> {
        use BinaryKind::*;
        let Op::Reduce(op) = &m[i].op else { return None };
        let &[x, _] = m[i].operands() else { return None };
        let shape = view::static_array(m, x)?;
        let results = view::static_array(m, i)?.element_count()? as i64;
        let elements = shape.element_count()? as i64;
        if elements < LONG || results == 0 {
            return None;
        }
        let ty = shape.element_type;
        let kind = reducer(m, op.to_apply)?;
        let suits = match kind {
            // Sums that are carried in a wider type are not to be rounded in between.
            Add | Multiply => !(ty.is_complex() || ty.is_float() && ty.bit_width() < 32),
            Maximum | Minimum => !ty.is_complex(),
            And | Or | Xor => !ty.is_complex() && !ty.is_float(),
            _ => false,
        };
        if !suits {
            return None;
        }
        let dims = shape.dims.clone();
        let mut reduced: Vec<usize> = op.dimensions.iter().map(|&d| d as usize).collect();
        reduced.sort_unstable();
        let last = *reduced.iter().rev().find(|&&dimension| dims[dimension] > 1)?;
        let columns: i64 = dims[last + 1..].iter().product();
        let outer = results / columns;
        Some(Reduction { kind, dims, reduced, rows: elements / results, columns, outer })
    }

    /// The last dimension that is reduced.
    fn last(&self) -> usize {
        let long = |dimension: &&usize| self.dims[**dimension] > 1;
        self.reduced.iter().rev().find(long).copied().unwrap_or_default()
    }

    /// The reduction as two.
    fn split(&self, m: &mut Module, i: InstructionId, cut: Cut) -> InstructionId {
        let Op::Reduce(op) = m[i].op.clone() else { return i };
        let (x, init) = (view::operand(m, i, 0), view::operand(m, i, 1));
        let neutral = self.neutral(m, i, init);
        let size = self.dims[cut.dimension];
        let whole = cut.parts[0] * cut.parts[1];
        let main = if whole == size { x } else { self.slice(m, i, x, cut.dimension, 0, whole) };

        let mut dims = Dims::new();
        let mut roles = Vec::new();
        for (dimension, &size) in self.dims.iter().enumerate() {
            let reduced = self.reduced.contains(&dimension);
            if dimension == cut.dimension {
                dims.extend(cut.parts);
                roles.extend(match cut.later {
                    Later::Outer => [Role::Second, Role::First],
                    Later::Inner => [Role::First, Role::Second],
                });
                continue;
            }
            dims.push(size);
            roles.push(match (reduced, cut.later) {
                (false, _) => Role::Kept,
                (true, Later::Outer) if dimension < cut.dimension => Role::Second,
                (true, _) => Role::First,
            });
        }
        let places = |roles: &mut dyn Iterator<Item = Role>, wanted: Role| -> Dims {
            let places = roles.enumerate().filter(|(_, role)| *role == wanted);
            places.map(|(place, _)| place as i64).collect()
        };
        let first = places(&mut roles.iter().copied(), Role::First);
        let mut left = roles.iter().copied().filter(|role| *role != Role::First);
        let second = places(&mut left, Role::Second);

        let element_type = view::element_type(m, x).expect("an array");
        let shape = Shape::Array(ArrayShape::new(element_type, dims));
        let main = view::add_with_shape(m, i, Reshape::default(), shape, &[main]);
        let to_apply = op.to_apply;
        let reduce = |dimensions: Dims| Reduce { dimensions, to_apply };
        let partial = view::add(m, i, reduce(first), &[main, neutral]);
        let result = view::add_same(m, i, reduce(second), &[partial, init]);
        if whole == size {
            return result;
        }
        let rest = self.slice(m, i, x, cut.dimension, whole, size);
        let rest = view::add_same(m, i, op, &[rest, neutral]);
        view::add_same(m, i, Op::binary(self.kind), &[result, rest])
    }

    fn slice(
        &self,
        m: &mut Module,
        i: InstructionId,
        x: InstructionId,
        dimension: usize,
        start: i64,
        limit: i64,
    ) -> InstructionId {
        let (mut starts, mut limits) = (vec![0; self.dims.len()], self.dims.to_vec());
        (starts[dimension], limits[dimension]) = (start, limit);
        let parent = m[i].parent();
        m.add_slice(parent, x, &starts, &limits).expect("a part of the operand")
    }

    /// What may be combined with any number of parts: what changes nothing, or where twice is as good
    /// as once, the initial value.
    fn neutral(&self, m: &mut Module, i: InstructionId, init: InstructionId) -> InstructionId {
        let number = match self.kind {
            BinaryKind::Add | BinaryKind::Xor => -0.0,
            BinaryKind::Multiply => 1.0,
            _ => return init,
        };
        let element_type = view::element_type(m, init).expect("an array");
        let parent = m[i].parent();
        m.add_scalar(parent, element_type, number)
    }
}
