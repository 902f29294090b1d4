//! `ragged-all-to-all`: rows of different number for each receiver.

use rxla_base::{Error, Result};
use rxla_hlo::Literal;

use super::exchange::Met;
use crate::movement::to_i64s;

/// Operands are input, output, input offsets, send sizes, output offsets and receive sizes. The
/// offsets and sizes of a sender have, for each member of the group, as many entries as updates
/// are sent to it; offsets into the output are the sender's to say.
pub(super) fn ragged_all_to_all(met: &Met) -> Result<Literal> {
    let inputs = met.operand(0)?;
    let mut output = met.operand(1)?.swap_remove(met.own);
    let [input_offsets, send_sizes, output_offsets] =
        [met.operand(2)?, met.operand(3)?, met.operand(4)?];
    let rows = output.dims().first().copied().unwrap_or(0);
    let row_size = if rows == 0 { 0 } else { output.bytes().len() / rows as usize };
    for (sender, input) in inputs.iter().enumerate() {
        let from = to_i64s(&input_offsets[sender])?;
        let sizes = to_i64s(&send_sizes[sender])?;
        let to = to_i64s(&output_offsets[sender])?;
        let updates = sizes.len() / met.len();
        let input_rows = input.dims().first().copied().unwrap_or(0);
        for update in met.own * updates..(met.own + 1) * updates {
            let (from, to, size) = (from[update], to[update], sizes[update]);
            let fits = |start: i64, rows: i64| {
                start >= 0 && start.checked_add(size).is_some_and(|end| end <= rows)
            };
            if size < 0 || !fits(from, input_rows) || !fits(to, rows) {
                return Err(Error::invalid_argument(format!(
                    "`ragged-all-to-all` moves {size} rows from {from} of {input_rows} to {to} of {rows}"
                )));
            }
            let bytes = size as usize * row_size;
            let source = &input.bytes()[from as usize * row_size..][..bytes];
            output.bytes_mut()[to as usize * row_size..][..bytes].copy_from_slice(source);
        }
    }
    Ok(output.into())
}
