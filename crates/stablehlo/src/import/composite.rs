//! Composites: those that stand for an HLO op become it, any other is a call of its decomposition
//! with its name and attributes kept.

use rxla_hlo::op::Call;

use super::attributes::View;
use super::calls::add_call;
use super::importer::{Importer, Lower, Result};
use super::table;
use crate::ffi;
use crate::mlir::Attribute;

/// The operations that XLA's clients wrap in composites of version 1 to keep them whole.
const KNOWN: [&str; 12] = [
    "chlo.acos",
    "chlo.acosh",
    "chlo.asin",
    "chlo.asinh",
    "chlo.atanh",
    "chlo.cosh",
    "chlo.erf",
    "chlo.mulhi",
    "chlo.ragged_dot",
    "chlo.scan",
    "chlo.sinh",
    "chlo.top_k",
];

/// Older spellings of some of them as custom calls, with their attributes in `mhlo.attributes`.
const KNOWN_CALLS: [(&str, &str); 16] = [
    ("chlo.acosh", "chlo.acosh"),
    ("chlo.erf", "chlo.erf"),
    ("chlo.ragged_dot", "chlo.ragged_dot"),
    ("chlo.top_k", "chlo.top_k"),
    ("mhlo.acos", "chlo.acos"),
    ("mhlo.acosh", "chlo.acosh"),
    ("mhlo.asin", "chlo.asin"),
    ("mhlo.asinh", "chlo.asinh"),
    ("mhlo.atanh", "chlo.atanh"),
    ("mhlo.cosh", "chlo.cosh"),
    ("mhlo.erf", "chlo.erf"),
    ("mhlo.mulhi", "chlo.mulhi"),
    ("mhlo.sinh", "chlo.sinh"),
    ("mhlo.tan", "chlo.tan"),
    ("mhlo.top_k", "chlo.top_k"),
    ("mhlo.topk", "chlo.top_k"),
];

/// What a composite without attributes has.
static NONE: Attribute = Attribute::Unit;

/// The operation that a composite stands for, with its attributes.
fn known<'a>(view: View<'a>) -> Option<(View<'a>, Lower)> {
    if view.name != "stablehlo.composite" || view.get("version")?.as_integer() != Some(1) {
        return None;
    }
    let name = view.get("name")?.as_str()?;
    let at = KNOWN.binary_search(&name).ok()?;
    // VHLO leaves out what is empty.
    let attributes = match view.get("composite_attributes") {
        Some(attributes) => attributes.as_dictionary().map(|_| attributes)?,
        None => &NONE,
    };
    Some((view.disguised_as(KNOWN[at], attributes), table::lookup(KNOWN[at])?))
}

/// Whether [`composite`] makes an HLO op of this operation.
pub(super) fn is_known(view: View<'_>) -> bool {
    known(view).is_some()
}

/// `stablehlo.composite`.
pub(super) fn composite<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    if let Some((view, lower)) = known(view) {
        return lower(cx, view);
    }
    let name = view.str("name")?;
    let symbol = view.symbol("decomposition")?;
    if !view.op.regions.is_empty() {
        return Err(view.unimplemented(format_args!(
            "the composite `{name}`, which has regions and is no operation we know"
        )));
    }
    let attributes = match view.get("composite_attributes") {
        None => Some("{}".to_owned()),
        Some(dictionary) => ffi::print(dictionary).ok(),
    };
    // A call without these is still right: they only let a compiler recognise it.
    let is_composite = attributes.is_some();
    if let Some(attributes) = attributes {
        let version = view.integer_or("version", 0)?.to_string();
        let list = &mut cx.info.frontend_attributes;
        list.insert("composite.name".to_owned(), name.to_owned());
        list.insert("composite.attributes".to_owned(), attributes);
        list.insert("composite.version".to_owned(), version);
    }
    let call = add_call(cx, view, symbol, |to_apply| Call { to_apply, is_composite })?;
    cx.finish_tuple(view, call)
}

/// The operation that a custom call of this target stands for.
pub(super) fn known_call<'a>(view: View<'a>, target: &str) -> Option<(View<'a>, Lower)> {
    let at = KNOWN_CALLS.binary_search_by(|(spelling, _)| (*spelling).cmp(target)).ok()?;
    let attributes = view.get("mhlo.attributes")?;
    let largest = attributes.entry("largest").and_then(Attribute::as_bool);
    if attributes.as_dictionary().is_none() || largest == Some(false) {
        return None;
    }
    let name = KNOWN_CALLS[at].1;
    Some((view.disguised_as(name, attributes), table::lookup(name)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_and_lowered() {
        assert!(KNOWN.is_sorted());
        assert!(KNOWN_CALLS.is_sorted_by(|a, b| a.0 < b.0));
        let names = KNOWN.iter().copied().chain(KNOWN_CALLS.iter().map(|(_, name)| *name));
        for name in names {
            assert!(table::lookup(name).is_some(), "{name}");
        }
    }
}
