//! What a program costs, estimated from its HLO: the numbers frameworks show as cost analysis.

use rxla_hlo::Module;
use rxla_hlo::cost::Costs;

/// Names and values as XLA calls them: `flops`, `transcendentals`, `bytes accessed`.
pub fn costs(module: &Module) -> Vec<(String, f64)> {
    let costs = Costs::of(module);
    let total = module.try_entry().map(|entry| costs.computation(entry)).unwrap_or_default();
    vec![
        ("flops".to_owned(), total.flops),
        ("transcendentals".to_owned(), total.transcendentals),
        ("bytes accessed".to_owned(), total.bytes),
    ]
}
