//! What an instruction computes, as a number: instructions with the same digest have the same
//! kernels, whatever they and their operands are called. The layers of a deep model are so known to
//! be equal before anything is emitted.

use std::hash::{Hash, Hasher};
use std::io::Write;

use rustc_hash::FxHashMap;
use rxla_hlo::op::{Attribute, AttributeVisitor, Presence};
use rxla_hlo::{ComputationId, InstructionId, Module, Op};

/// Equal for instructions that compute the same. Not a hash of 64 bits: two instructions that share
/// one by chance would share a kernel.
pub(crate) type Digest = [u8; 32];

pub(crate) fn digest(module: &Module, id: InstructionId) -> Digest {
    let mut words = Words::default();
    let instruction = &module[id];
    instruction.operands().len().hash(&mut words);
    // Operands that are one value are one to the emitter, and it looks at numbers among them.
    for &operand in instruction.operands() {
        let first = instruction.operands().iter().position(|&other| other == operand);
        first.hash(&mut words);
        module[operand].shape.hash(&mut words);
        if let (Op::Constant(_), true) = (&module[operand].op, is_number(module, operand)) {
            words.op(module, &module[operand].op);
        }
    }
    instruction.shape.hash(&mut words);
    words.op(module, &instruction.op);
    *blake3::hash(&words.0).as_bytes()
}

fn is_number(module: &Module, id: InstructionId) -> bool {
    module[id].shape.as_array().is_some_and(|array| array.element_count() == Some(1))
}

/// All that is hashed, one word after another.
#[derive(Default)]
struct Words(Vec<u8>);

impl Hasher for Words {
    fn write(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// Who hashes into it takes the words themselves.
    fn finish(&self) -> u64 {
        0
    }
}

/// Computations are not called by name: what they compute follows, in order.
impl AttributeVisitor for Words {
    fn attribute<T: Attribute>(&mut self, name: &'static str, _: Presence, value: &T) {
        let mut called = 0;
        value.each_computation(&mut |_| called += 1);
        if called > 0 {
            (name, called).hash(self);
        } else if !value.is_default() {
            name.hash(self);
            // Writing to memory does not fail.
            let _ = write!(self.0, "{value:?} ");
        }
    }
}

impl Words {
    /// An op with the computations that it calls.
    fn op(&mut self, module: &Module, op: &Op) {
        op.name().hash(self);
        if let Op::Constant(constant) = op
            && let Some(array) = constant.literal.as_array()
        {
            // Words do not tell one NaN from another.
            array.shape().hash(self);
            array.bytes().hash(self);
            return;
        }
        op.visit(self);
        for computation in op.called_computations() {
            self.computation(module, computation);
        }
    }

    fn computation(&mut self, module: &Module, computation: ComputationId) {
        let order = module.post_order(computation);
        let positions: FxHashMap<InstructionId, usize> =
            order.iter().enumerate().map(|(position, &id)| (id, position)).collect();
        order.len().hash(self);
        for id in &order {
            let instruction = &module[*id];
            instruction.operands().len().hash(self);
            for operand in instruction.operands() {
                positions[operand].hash(self);
            }
            instruction.shape.hash(self);
            self.op(module, &instruction.op);
        }
        positions[&module[computation].root()].hash(self);
    }
}

#[cfg(test)]
mod tests {
    use rxla_hlo::text::{ParseOptions, parse};

    use super::*;

    fn of(body: &str) -> Digest {
        let text = format!(
            "HloModule m\nsum {{\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  \
             ROOT r = f32[] add(a, b)\n}}\nmost {{\n  a = f32[] parameter(0)\n  b = f32[] \
             parameter(1)\n  ROOT r = f32[] maximum(a, b)\n}}\nENTRY e {{\n  x = f32[8,4] \
             parameter(0)\n  y = f32[8,4] parameter(1)\n  z = f32[] constant(0)\n  \
             n = f32[] constant(-0)\n  {body}\n}}\n"
        );
        let module = parse(&text, &ParseOptions::default()).expect("valid").module;
        digest(&module, module[module.entry()].root())
    }

    #[test]
    fn names_do_not_matter() {
        assert_eq!(of("ROOT r = f32[8,4] add(x, y)"), of("ROOT other = f32[8,4] add(y, x)"));
    }

    #[test]
    fn what_is_computed_matters() {
        let different = [
            "ROOT r = f32[8,4] add(x, y)",
            "ROOT r = f32[8,4] add(x, x)",
            "ROOT r = f32[8,4] subtract(x, y)",
            "ROOT r = f32[8] reduce(x, z), dimensions={1}, to_apply=sum",
            "ROOT r = f32[8] reduce(x, n), dimensions={1}, to_apply=sum",
            "ROOT r = f32[8] reduce(x, z), dimensions={1}, to_apply=most",
            "ROOT r = f32[4] reduce(x, z), dimensions={0}, to_apply=sum",
            "ROOT r = f32[4,8] transpose(x), dimensions={1,0}",
            "ROOT r = f32[4,8] reshape(x)",
        ]
        .map(of);
        for (index, one) in different.iter().enumerate() {
            assert!(different[..index].iter().all(|other| other != one), "number {index}");
        }
    }
}
