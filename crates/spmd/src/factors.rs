//! What of an op may be divided: each dimension of operands and results belongs to a factor, and a
//! factor is cut in all of them at once.

use rxla_hlo::Dims;
use rxla_hlo::op::BinaryKind;

use crate::tiles::Tiles;

/// How the dimensions of an op's operands and results go together.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    pub(crate) factors: Vec<Factor>,
    pub(crate) operands: Vec<Value>,
    pub(crate) results: Vec<Value>,
    /// Devices that exchange what they have, and so must have the same part of it.
    pub(crate) exchanging: Vec<Vec<usize>>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Factor {
    /// Each device computes its own part of the result.
    Kept,
    /// Only operands have it: the devices' results have to be combined.
    Combined(BinaryKind),
    /// As `Kept`, where a dimension is made of several factors and this is the outermost one, of
    /// that size.
    Outer(i64),
}

/// Sizes of an operand or result, and its dimensions' factors.
#[derive(Clone, Debug)]
pub(crate) struct Value {
    pub(crate) dims: Dims,
    pub(crate) factors: Vec<Option<usize>>,
}

impl Value {
    fn new(dims: &[i64]) -> Value {
        Value { dims: dims.into(), factors: vec![None; dims.len()] }
    }
}

/// How a factor is cut.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Axis {
    pub(crate) count: i64,
    /// By partition: which piece it has.
    pub(crate) places: Vec<i64>,
}

impl Axis {
    /// Groups of devices, numbered from 0, as if they were the pieces of one more dimension.
    pub(crate) fn of_groups(groups: &[i64]) -> Axis {
        let count = groups.iter().max().map_or(1, |&last| last + 1);
        Axis { count, places: groups.to_vec() }
    }

    /// Whether each of our pieces lies in the same device's piece of `other`.
    pub(crate) fn refines(&self, other: &Axis) -> bool {
        let ratio = self.count / other.count.max(1);
        self.count % other.count.max(1) == 0
            && ratio > 0
            && self.places.iter().zip(&other.places).all(|(&ours, &theirs)| ours / ratio == theirs)
    }
}

/// The axis of each factor; `None` for those that stay whole.
pub(crate) type Choice = Vec<Option<Axis>>;

impl Rule {
    /// A rule for values of these sizes that divides nothing yet.
    pub(crate) fn new(operands: &[&[i64]], results: &[&[i64]]) -> Rule {
        Rule {
            factors: Vec::new(),
            operands: operands.iter().map(|dims| Value::new(dims)).collect(),
            results: results.iter().map(|dims| Value::new(dims)).collect(),
            exchanging: Vec::new(),
        }
    }

    /// A new factor, which these dimensions (value, dimension) belong to.
    pub(crate) fn join(
        &mut self,
        factor: Factor,
        operands: impl IntoIterator<Item = (usize, usize)>,
        results: impl IntoIterator<Item = (usize, usize)>,
    ) {
        let number = self.factors.len();
        self.factors.push(factor);
        for (operand, dimension) in operands {
            self.operands[operand].factors[dimension] = Some(number);
        }
        for (result, dimension) in results {
            self.results[result].factors[dimension] = Some(number);
        }
    }

    /// Which factors to cut, given how results shall lie and operands do lie, where devices of one of
    /// `groups` work together. What comes first goes first; factors whose devices' results have to be
    /// combined come last.
    pub(crate) fn choose(
        &self,
        results: &[Option<Tiles>],
        operands: &[Option<Tiles>],
        groups: &[i64],
    ) -> Choice {
        let mut chosen: Choice = vec![None; self.factors.len()];
        let mut grid = Grid::new(groups);
        let values = || {
            let results = self.results.iter().zip(results);
            results.chain(self.operands.iter().zip(operands))
        };
        for combined in [false, true] {
            for (value, tiles) in values() {
                let Some(tiles) = tiles else { continue };
                for (dimension, factor) in value.factors.iter().enumerate() {
                    let Some(factor) = *factor else { continue };
                    let is_combined = matches!(self.factors[factor], Factor::Combined(_));
                    if is_combined != combined
                        || chosen[factor].is_some()
                        || tiles.counts[dimension] == 1
                    {
                        continue;
                    }
                    let axis = tiles.axis(dimension);
                    if self.is_cut_evenly(factor, axis.count)
                        && self.combines_alike(factor, &chosen)
                        && self.may_exchange(&axis)
                        && grid.take(&axis)
                    {
                        chosen[factor] = Some(axis);
                    }
                }
            }
        }
        chosen
    }

    fn is_cut_evenly(&self, factor: usize, count: i64) -> bool {
        let outer = match self.factors[factor] {
            Factor::Outer(size) => size % count == 0,
            Factor::Kept | Factor::Combined(_) => true,
        };
        outer
            && self.operands.iter().chain(&self.results).all(|value| {
                value
                    .dims
                    .iter()
                    .zip(&value.factors)
                    .all(|(&dim, &of)| of != Some(factor) || dim % count == 0)
            })
    }

    fn may_exchange(&self, axis: &Axis) -> bool {
        let is_alike = |devices: &[usize]| {
            devices.iter().all(|&device| axis.places[device] == axis.places[devices[0]])
        };
        self.exchanging.iter().all(|devices| is_alike(devices))
    }

    /// Results are combined by one function only.
    fn combines_alike(&self, factor: usize, chosen: &Choice) -> bool {
        let Factor::Combined(kind) = &self.factors[factor] else { return true };
        self.factors.iter().zip(chosen).all(|(other, axis)| match (other, axis) {
            (Factor::Combined(other), Some(_)) => other == kind,
            (_, _) => true,
        })
    }

    /// How the axes combine, and over which of them, where devices' results have to be.
    pub(crate) fn combined<'c>(&self, choice: &'c Choice) -> Option<(BinaryKind, Vec<&'c Axis>)> {
        let mut kind = None;
        let mut axes = Vec::new();
        for (factor, axis) in self.factors.iter().zip(choice) {
            if let (Factor::Combined(by), Some(axis)) = (factor, axis) {
                kind = Some(*by);
                axes.push(axis);
            }
        }
        Some((kind?, axes))
    }
}

impl Value {
    /// The value's tiles when factors are cut like that by devices of these groups.
    pub(crate) fn tiles(&self, choice: &Choice, groups: &[i64]) -> Tiles {
        let mut tiles = Tiles::whole_in(self.dims.len(), groups);
        for (dimension, factor) in self.factors.iter().enumerate() {
            let axis = factor.and_then(|factor| choice[factor].as_ref());
            if let Some(axis) = axis {
                tiles.set_axis(dimension, axis);
            }
        }
        tiles
    }
}

/// The grid that groups and axes span: each cell has equally many devices.
pub(crate) struct Grid {
    /// By partition, its cell.
    cells: Vec<i64>,
    count: i64,
}

impl Grid {
    pub(crate) fn new(groups: &[i64]) -> Grid {
        let Axis { count, places: cells } = Axis::of_groups(groups);
        Grid { cells, count }
    }

    /// Adds an axis if that leaves the cells equal.
    pub(crate) fn take(&mut self, axis: &Axis) -> bool {
        let Some(count) = self.count.checked_mul(axis.count) else { return false };
        let partitions = self.cells.len();
        if count <= 0 || count as u64 > partitions as u64 {
            return false;
        }
        let cells: Vec<i64> = self
            .cells
            .iter()
            .zip(&axis.places)
            .map(|(&at, &place)| at * axis.count + place)
            .collect();
        let mut sizes = vec![0; count as usize];
        for &cell in &cells {
            sizes[cell as usize] += 1;
        }
        if sizes.iter().any(|&size| size != partitions / count as usize) {
            return false;
        }
        (self.cells, self.count) = (cells, count);
        true
    }
}

/// Whether the axes of tiles form a grid with equally many devices of each group in each tile.
pub(crate) fn is_grid(tiles: &Tiles) -> bool {
    let mut grid = Grid::new(&tiles.groups);
    (0..tiles.counts.len())
        .filter(|&dimension| tiles.counts[dimension] > 1)
        .all(|dimension| grid.take(&tiles.axis(dimension)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(places: &[i64]) -> Axis {
        Axis { count: places.iter().max().map_or(1, |last| last + 1), places: places.to_vec() }
    }

    fn tiles(axes: &[&[i64]]) -> Tiles {
        let mut tiles = Tiles::whole(axes.len(), 4);
        for (dimension, places) in axes.iter().enumerate() {
            tiles.set_axis(dimension, &axis(places));
        }
        tiles
    }

    const WHOLE: &[i64] = &[0; 4];
    const ONE_GROUP: &[i64] = &[0; 4];
    const X: &[i64] = &[0, 0, 1, 1];
    const Y: &[i64] = &[0, 1, 0, 1];

    /// `ij, jk -> ik`.
    fn product() -> Rule {
        let mut rule = Rule::new(&[&[8, 8], &[8, 6]], &[&[8, 6]]);
        rule.join(Factor::Kept, [(0, 0)], [(0, 0)]);
        rule.join(Factor::Kept, [(1, 1)], [(0, 1)]);
        rule.join(Factor::Combined(BinaryKind::Add), [(0, 1), (1, 0)], []);
        rule
    }

    #[test]
    fn factors_share_no_devices() {
        let rule = product();
        // The right operand cuts its columns as the left one does its rows: rows come first.
        let operands = [Some(tiles(&[X, Y])), Some(tiles(&[WHOLE, X]))];
        let choice = rule.choose(&[None], &operands, ONE_GROUP);
        assert_eq!(choice, [Some(axis(X)), None, Some(axis(Y))]);
        let (kind, along) = rule.combined(&choice).unwrap();
        assert_eq!((kind, along), (BinaryKind::Add, vec![&axis(Y)]));
        assert_eq!(rule.results[0].tiles(&choice, ONE_GROUP), tiles(&[X, WHOLE]));
        // What the result wants goes first, so nothing is left to sum.
        let choice = rule.choose(&[Some(tiles(&[X, Y]))], &operands, ONE_GROUP);
        assert_eq!(choice, [Some(axis(X)), Some(axis(Y)), None]);
        assert!(rule.combined(&choice).is_none());
    }

    #[test]
    fn factors_are_cut_evenly() {
        let by_four: &[i64] = &[0, 1, 2, 3];
        let choice = product().choose(&[Some(tiles(&[WHOLE, by_four]))], &[None, None], ONE_GROUP);
        assert_eq!(choice, [None, None, None]);
        let mut rule = Rule::new(&[&[8]], &[&[8]]);
        rule.join(Factor::Outer(2), [(0, 0)], [(0, 0)]);
        assert_eq!(rule.choose(&[None], &[Some(tiles(&[by_four]))], ONE_GROUP), [None]);
        assert_eq!(rule.choose(&[None], &[Some(tiles(&[X]))], ONE_GROUP), [Some(axis(X))]);
    }

    #[test]
    fn groups_and_exchanges_keep_axes_out() {
        let rule = product();
        let operands = [Some(tiles(&[X, Y])), None];
        // Devices along `X` have different arrays.
        assert_eq!(rule.choose(&[None], &operands, X), [None, None, Some(axis(Y))]);
        let exchanging = vec![vec![0, 1], vec![2, 3]];
        let rule = Rule { exchanging, ..product() };
        assert_eq!(rule.choose(&[None], &operands, ONE_GROUP), [Some(axis(X)), None, None]);
    }

    #[test]
    fn a_grid_gives_every_cell_to_equally_many() {
        assert!(is_grid(&tiles(&[X, Y])));
        assert!(!is_grid(&tiles(&[X, X])));
        assert!(!is_grid(&tiles(&[&[0, 0, 0, 1]])));
        assert!(axis(&[0, 1, 2, 3]).refines(&axis(X)));
        assert!(!axis(&[0, 1, 2, 3]).refines(&axis(Y)));
    }
}
