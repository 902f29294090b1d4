//! MHLO, the dialect that StableHLO grew out of. Text in it is still about, as examples of clients and
//! as dumps: its operations are read as those of StableHLO or CHLO that they are the same as.

use super::formats::{self, Spelling};

/// Operations that CHLO has and StableHLO has not.
const IN_CHLO: &[&str] = &[
    "acos", "acosh", "asin", "asinh", "atanh", "cosh", "erf", "erf_inv", "lgamma", "mulhi", "sinh",
    "square",
];

/// Operations that are the same under another name.
const RENAMED: &[(&str, &str)] =
    &[("cross-replica-sum", "stablehlo.cross-replica-sum"), ("topk", "chlo.top_k")];

/// The name of the operation that an operation of MHLO is the same as; `None` for all other names.
pub(super) fn same_as(name: &str) -> Option<String> {
    let member = name.strip_prefix("mhlo.")?;
    if let Some((_, renamed)) = RENAMED.iter().find(|(old, _)| *old == member) {
        return Some((*renamed).to_owned());
    }
    let dialect = if IN_CHLO.contains(&member) { "chlo" } else { "stablehlo" };
    let canonical = format!("{dialect}.{member}");
    formats::spelling(&canonical).map(|_| canonical)
}

/// How MHLO spells an operation of StableHLO or CHLO: as StableHLO would.
pub(super) fn spelling(name: &str) -> Option<&'static Spelling> {
    let spelling = formats::spelling(name)?;
    let elementwise = name.strip_prefix("chlo.").is_some_and(|member| IN_CHLO.contains(&member));
    if elementwise { formats::spelling("stablehlo.add") } else { Some(spelling) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_leads_to_an_operation() {
        for name in IN_CHLO {
            assert_eq!(same_as(&format!("mhlo.{name}")), Some(format!("chlo.{name}")));
        }
        for (old, _) in RENAMED {
            let name = same_as(&format!("mhlo.{old}")).unwrap();
            assert!(formats::spelling(&name).is_some(), "{name}");
        }
        assert_eq!(same_as("mhlo.dot_general").as_deref(), Some("stablehlo.dot_general"));
        assert_eq!(same_as("mhlo.fusion"), None);
        assert_eq!(same_as("stablehlo.add"), None);
    }
}
