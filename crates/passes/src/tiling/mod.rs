//! `dot-chain-tiling`: large arrays that lie between products are computed tile by tile, in loops, so that
//! they are never there as a whole. XLA has no pass of this kind.
//!
//! What attention computes is a product, some work on each row of it, and another product: the scores are
//! as large as the square of a sequence, what goes in and comes out is not. A tile is some rows of one
//! batch, whole rows, so that each of its numbers comes about as without tiles. The gradients go back over
//! several such arrays; they are computed once more from what they came from, and sums over rows are taken
//! block by block in the order of the blocks, by sizes alone.
//!
//! A tile may be computed in place of an array if all that the array goes into is computed from tiles too
//! (`region.rs`); an array that somebody else needs stays as it was, and so does what leads to it. What
//! part of an array belongs to a tile is told by its axes (`axes.rs`). The loop's body is the HLO of a
//! tile (`slabs.rs`, `tile.rs`, `body.rs`): each iteration writes parts of the results that are its own, which an
//! attribute of the loop says.

mod axes;
mod body;
mod ending;
mod loop_rows;
mod region;
mod slabs;
mod tile;
pub mod while_loop_row_tiling;

use rxla_base::Result;
use rxla_hlo::Module;

use crate::effects::unfused_computations;
use crate::pass::{Context, Pass};

pub use body::is_independent;

pub struct DotChainTiling;

impl Pass for DotChainTiling {
    fn name(&self) -> &'static str {
        "dot-chain-tiling"
    }

    fn class(&self) -> &'static str {
        "DotChainTiling"
    }

    fn run(&self, module: &mut Module, cx: &Context) -> Result<u64> {
        let mut made = 0;
        for computation in unfused_computations(module) {
            let regions = region::find(module, computation);
            // Those that come first give the others what these read; so it is all of them or none.
            if regions.is_empty() || !cx.spend() {
                continue;
            }
            for region in &regions {
                slabs::build(module, region, &regions);
            }
            made += 1;
        }
        Ok(made)
    }
}
