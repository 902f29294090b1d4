//! The driver of rewrite rules: applies a table of rules to every instruction until none applies.
//!
//! A rule looks at an instruction and returns what stands for it, or `None`. It is a named function
//! with its equation in a comment:
//!
//! ```ignore
//! /// `negate(negate(x)) => x`
//! fn double_negate(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
//!     view::unary(m, view::unary(m, i, Negate)?, Negate)
//! }
//! ```
//!
//! What a rule must keep to: it makes nothing before it is sure; the replacement has the shape of
//! what it replaces; it looks at a bounded neighbourhood; its equation goes one way, towards less
//! work or the canonical form, so that no two rules undo each other. A rule that changes the
//! instruction in place returns its own id. Metadata, sharding and control edges are the driver's
//! business.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;
use rxla_hlo::{InstructionId, Metadata, Module, Op};
use smallvec::SmallVec;

use crate::effects::{Effects, unfused_computations};
use crate::pass::Context;
use crate::view;

/// What stands for the instruction, if the rule applies.
pub type Rule = fn(&mut Module, InstructionId) -> Option<InstructionId>;

/// A rule with the name by which traces and tests know it.
#[derive(Clone, Copy, Debug)]
pub struct NamedRule {
    pub name: &'static str,
    /// Whether the rule is about instructions of this opcode; attributes are not looked at.
    pub is_about: fn(&Op) -> bool,
    pub apply: Rule,
}

/// Lists rules under the names of their functions, by the opcodes that they are about: a variant of
/// `Op`, `Unary` and `Binary` with the kinds, or `_`.
///
/// ```ignore
/// rules! {
///     Binary(Add | Subtract) => [factor_out],
///     Reshape => [reshape_to_same, reshape_twice],
/// }
/// ```
#[macro_export]
macro_rules! rules {
    (@about _) => { |_| true };
    (@about $op:ident) => { |op| matches!(op, rxla_hlo::Op::$op(_)) };
    (@about $op:ident($kind:pat)) => {
        |op| matches!(op, rxla_hlo::Op::$op(found) if matches!(found.kind, $kind))
    };
    ($($op:tt $(($kind:pat))? => [$($rule:ident),* $(,)?]),* $(,)?) => {
        $crate::rules!(@list $([$op $(($kind))?] [$($rule)*])*)
    };
    (@list $($about:tt [$($rule:ident)*])*) => {
        &[$($($crate::rules!(@rule $about $rule),)*)*]
    };
    (@rule [$($about:tt)*] $rule:ident) => {
        $crate::rewrite::NamedRule {
            name: stringify!($rule),
            is_about: $crate::rules!(@about $($about)*),
            apply: $rule,
        }
    };
}

/// Applies `tables` to all instructions, and again to what a rewrite may have made fit, until no
/// rule applies. Earlier rules win. Returns the number of rewrites. What a rewrite leaves unused is
/// removed at once, so that rules for single uses see the truth.
pub fn apply(module: &mut Module, cx: &Context, tables: &[&[NamedRule]]) -> u64 {
    let mut rules = RulesByOp { tables, found: FxHashMap::default() };
    let mut list = Worklist::default();
    for computation in unfused_computations(module) {
        let about = |i: InstructionId| !rules.about(&module[i].op).is_empty();
        if module[computation].instructions().iter().copied().any(about) {
            module.post_order(computation).into_iter().for_each(|i| list.push(i));
        }
    }
    if list.queue.is_empty() {
        return 0;
    }
    let effects = Effects::of(module);
    // Rules that undo each other would never end. No honest module needs so many.
    let most = 64 * list.queue.len() as u64 + 1000;
    let (mut made, mut last) = (0, "");
    while let Some(instruction) = list.pop() {
        if module.is_removed(instruction) || is_dead(module, &effects, instruction) {
            continue;
        }
        if cx.exhausted() {
            break;
        }
        if made == most {
            cx.note_endless(last);
            break;
        }
        let fresh = module.instruction_capacity();
        if cfg!(debug_assertions) {
            rules.check_others(module, instruction);
        }
        let found = rules.about(&module[instruction].op).iter().find_map(|&rule| {
            let replacement = (rule.apply)(module, instruction)?;
            let may = may_replace(module, rule, instruction, replacement, fresh);
            may.then_some((rule, replacement))
        });
        let Some((rule, replacement)) = found else { continue };
        assert!(cx.spend(), "the limit was looked at");
        made += 1;
        last = rule.name;
        hand_over(module, instruction, replacement, fresh);
        // Users see another operand, and operands may have lost a user.
        for &user in module[instruction].users() {
            list.push(user);
        }
        if replacement == instruction {
            list.push(instruction);
        } else {
            let operands: SmallVec<[InstructionId; 4]> = module[instruction].operands().into();
            module.replace_all_uses(instruction, replacement);
            remove_dead(module, &effects, instruction);
            for operand in operands {
                if module.is_removed(operand) {
                    continue;
                }
                list.push(operand);
                // Whoever is the only user left may now do what others were in the way of.
                if let [only] = module[operand].users() {
                    list.push(*only);
                }
            }
        }
        // What the rule made, in the order in which it made it.
        for index in fresh..module.instruction_capacity() {
            list.push(InstructionId::from_index(index));
        }
        list.push(replacement);
    }
    made
}

/// Rules by the opcode of what they are asked about. Most are about one, so that looking at each would
/// take longer than what they do.
struct RulesByOp<'a> {
    tables: &'a [&'a [NamedRule]],
    /// By the opcode's name.
    found: FxHashMap<&'static str, Vec<&'a NamedRule>>,
}

impl<'a> RulesByOp<'a> {
    /// The rules for instructions with this op, in their order.
    fn about(&mut self, op: &Op) -> &[&'a NamedRule] {
        let all = self.tables.iter().copied().flatten();
        self.found
            .entry(op.name())
            .or_insert_with(|| all.filter(|rule| (rule.is_about)(op)).collect())
    }

    /// A rule that would apply to an op that it is not listed under is a mistake in its table.
    fn check_others(&self, module: &mut Module, instruction: InstructionId) {
        for rule in self.tables.iter().copied().flatten() {
            let op = &module[instruction].op;
            if !(rule.is_about)(op) {
                let name = op.name();
                let applies = (rule.apply)(module, instruction).is_some();
                assert!(!applies, "rule `{}` is not listed under `{name}`", rule.name);
            }
        }
    }
}

/// Whether the replacement may take over what hangs on the instruction. One that existed before
/// has a sharding and a place in the order of control edges already, and keeps them.
fn may_replace(
    module: &Module,
    rule: &NamedRule,
    old: InstructionId,
    new: InstructionId,
    fresh: usize,
) -> bool {
    if old == new {
        return true;
    }
    assert!(
        module[old].shape.compatible(&module[new].shape),
        "rule `{}` replaces {} `{}` by {} `{}`",
        rule.name,
        module[old].shape,
        module[old].name(),
        module[new].shape,
        module[new].name(),
    );
    if new.index() >= fresh {
        return true;
    }
    let sharding = |i: InstructionId| module[i].info().and_then(|info| info.sharding.as_ref());
    (sharding(old).is_none() || sharding(old) == sharding(new))
        && !view::has_control_edges(module, old)
}

/// Removes an instruction that nothing uses, and whatever only it used.
fn remove_dead(module: &mut Module, effects: &Effects, start: InstructionId) {
    let mut stack = vec![start];
    while let Some(instruction) = stack.pop() {
        if module.is_removed(instruction) {
            continue;
        }
        if is_dead(module, effects, instruction) {
            stack.extend_from_slice(module[instruction].operands());
            module.remove_instruction(instruction);
        }
    }
}

fn is_dead(module: &Module, effects: &Effects, instruction: InstructionId) -> bool {
    let found = &module[instruction];
    found.users().is_empty()
        && !matches!(found.op, Op::Parameter(_))
        && module[found.parent()].try_root() != Some(instruction)
        && !effects.has(module, instruction)
}

/// Gives what a rule made the metadata of what it was made for, and the replacement the rest:
/// sharding, frontend attributes, and what is written for one kind of op if it is of that kind.
fn hand_over(module: &mut Module, old: InstructionId, new: InstructionId, fresh: usize) {
    let same_op = module[old].op.name() == module[new].op.name();
    if same_op && new != old && new.index() >= fresh {
        let name = module[old].name().to_owned();
        module.rename_instruction(new, &name);
    }
    let Some(info) = module[old].info().cloned() else { return };
    for index in fresh..module.instruction_capacity() {
        let made = InstructionId::from_index(index);
        if module.is_removed(made) || module[made].parent() != module[old].parent() {
            continue;
        }
        let target = module[made].info_mut();
        if target.metadata == Metadata::default() {
            target.metadata = info.metadata.clone();
        }
        if made == new {
            target.sharding = info.sharding.clone();
            target.frontend_attributes = info.frontend_attributes.clone();
            target.original_value = info.original_value.clone();
            if same_op {
                target.backend_config = info.backend_config.clone();
                target.unknown_attributes = info.unknown_attributes.clone();
            }
        }
    }
}

/// First in, first out, each at most once.
#[derive(Default)]
struct Worklist {
    queue: VecDeque<InstructionId>,
    waiting: Vec<bool>,
}

impl Worklist {
    fn push(&mut self, instruction: InstructionId) {
        let index = instruction.index();
        if self.waiting.len() <= index {
            self.waiting.resize(index + 1, false);
        }
        if !std::mem::replace(&mut self.waiting[index], true) {
            self.queue.push_back(instruction);
        }
    }

    fn pop(&mut self) -> Option<InstructionId> {
        let instruction = self.queue.pop_front()?;
        self.waiting[instruction.index()] = false;
        Some(instruction)
    }
}

#[cfg(test)]
mod tests {
    use rxla_hlo::text::{ParseOptions, parse};
    use rxla_hlo::{BinaryKind, Op};

    use super::*;

    /// `x + y => y + x`, for ever
    fn back_and_forth(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
        let [x, y] = view::binary(m, i, BinaryKind::Add)?;
        Some(view::add_same(m, i, Op::binary(BinaryKind::Add), &[y, x]))
    }

    #[test]
    fn rules_that_undo_each_other_end() {
        let text = "HloModule m\nENTRY e {\n  x = s32[] parameter(0)\n  y = s32[] parameter(1)\n  \
                    ROOT r = s32[] add(x, y)\n}\n";
        let mut module = parse(text, &ParseOptions::default()).expect("valid").module;
        let cx = Context::new();
        let made =
            apply(&mut module, &cx, &[rules! { Binary(BinaryKind::Add) => [back_and_forth] }]);
        assert_eq!(made, 64 * 3 + 1000);
        assert_eq!(cx.take_endless(), ["back_and_forth"]);
        assert!(rxla_hlo::verify(&module).is_empty());
        assert_eq!(module[module.entry()].instructions().len(), 3);
    }
}
