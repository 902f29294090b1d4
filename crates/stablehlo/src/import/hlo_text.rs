//! Pieces of HLO text inside string attributes: layouts and shardings.

use rxla_base::Error;
use rxla_hlo::{Layout, Sharding, ShardingKind};

/// `{1,0}`.
pub(super) fn parse_layout(text: &str) -> Result<Layout, Error> {
    let wrong = || Error::unimplemented(format_args!("the layout `{text}`"));
    let inner =
        text.trim().strip_prefix('{').and_then(|t| t.strip_suffix('}')).ok_or_else(wrong)?;
    if inner.trim().is_empty() {
        return Ok(Layout::new([]));
    }
    let order: Result<Vec<i64>, _> = inner.split(',').map(|part| part.trim().parse()).collect();
    Ok(Layout::new(order.map_err(|_| wrong())?))
}

/// `{replicated}` and other shardings without devices.
pub(super) fn parse_sharding(text: &str) -> Result<Sharding, Error> {
    let kind = match text.trim() {
        "{replicated}" => ShardingKind::Replicated,
        "{manual}" => ShardingKind::Manual,
        "{unknown}" => ShardingKind::Unknown,
        "{unreduced}" => ShardingKind::Unreduced,
        _ => return Err(Error::unimplemented(format_args!("the sharding `{text}`"))),
    };
    Ok(Sharding::single(kind))
}
