//! The borders of manual regions: the parts of an array outside that the array inside is one of.

use rxla_base::Result;
use rxla_hlo::{InstructionId, Module};

use crate::calls::target;
use crate::move_parts::Cutting;
use crate::tiles::Tiles;

/// A way into or out of a manual region.
pub(crate) struct Border {
    pub(crate) outer: InstructionId,
    pub(crate) inner: InstructionId,
    pub(crate) leads_in: bool,
}

impl Border {
    pub(crate) fn of(module: &Module, call: InstructionId) -> Option<Border> {
        let operand = *module[call].operands().first()?;
        let leads_in = match target(module, call)? {
            "SPMDFullToShardShape" => true,
            "SPMDShardToFullShape" => false,
            _ => return None,
        };
        let (outer, inner) = if leads_in { (operand, call) } else { (call, operand) };
        Some(Border { outer, inner, leads_in })
    }

    /// The cut of the array outside, which belongs to these groups, if all parts are of one size. What of
    /// the sharding the sizes do not speak of stays whole: those axes are not the region's.
    pub(crate) fn cut(&self, module: &Module, groups: &[i64]) -> Result<Option<Tiles>> {
        let sharding = module[self.outer].info().and_then(|info| info.sharding.as_ref());
        let arrays = [self.outer, self.inner].map(|id| module[id].shape.as_array());
        let (Some(sharding), [Some(outer), Some(inner)]) = (sharding, arrays) else {
            return Ok(None);
        };
        if outer.rank() != inner.rank() {
            return Ok(None);
        }
        let mut tiles = Tiles::of(sharding, outer.rank(), groups.len())?.in_groups(groups);
        for dimension in 0..outer.rank() {
            let (whole, part) = (outer.dims[dimension], inner.dims[dimension]);
            let mut axis = tiles.axis(dimension);
            let (pieces, per_piece) = Cutting::BySize.pieces(whole, part, axis.count);
            if pieces * part != whole || pieces * per_piece != axis.count {
                return Ok(None);
            }
            axis.count = pieces;
            axis.places.iter_mut().for_each(|place| *place /= per_piece.max(1));
            tiles.set_axis(dimension, &axis);
        }
        Ok(Some(tiles).filter(|tiles| tiles.fits(&outer.dims)))
    }
}
