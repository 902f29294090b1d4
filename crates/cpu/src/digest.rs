//! What an instruction computes, as a number: instructions with the same digest have the same
//! kernels, whatever they and their operands are called. The layers of a deep model are so known to
//! be equal before anything is emitted.

use std::fmt::{self, Write};

use rustc_hash::FxHashMap;
use rxla_hlo::{ComputationId, InstructionId, Module, Op};

/// Equal for instructions that compute the same. Not a hash of 64 bits: two instructions that share
/// one by chance would share a kernel.
pub(crate) type Digest = [u8; 32];

pub(crate) fn digest(module: &Module, id: InstructionId) -> Digest {
    let mut text = Text(blake3::Hasher::new());
    let instruction = &module[id];
    // Operands that are one value are one to the emitter, and it looks at numbers among them.
    for &operand in instruction.operands() {
        let first = instruction.operands().iter().position(|&other| other == operand);
        text.say(format_args!("{first:?} {:?} ", module[operand].shape));
        if let (Op::Constant(_), true) = (&module[operand].op, is_number(module, operand)) {
            text.op(module, &module[operand].op);
        }
    }
    text.say(format_args!("{:?} ", instruction.shape));
    text.op(module, &instruction.op);
    *text.0.finalize().as_bytes()
}

fn is_number(module: &Module, id: InstructionId) -> bool {
    module[id].shape.as_array().is_some_and(|array| array.element_count() == Some(1))
}

struct Text(blake3::Hasher);

impl Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.update(text.as_bytes());
        Ok(())
    }
}

impl Text {
    fn say(&mut self, words: fmt::Arguments<'_>) {
        // Hashing does not fail.
        let _ = self.write_fmt(words);
    }

    /// An op with the computations that it calls.
    fn op(&mut self, module: &Module, op: &Op) {
        if let Op::Constant(constant) = op
            && let Some(array) = constant.literal.as_array()
        {
            // Words do not tell one NaN from another.
            self.say(format_args!("constant {:?} {} ", array.shape(), array.bytes().len()));
            self.0.update(array.bytes());
            return;
        }
        let called = op.called_computations();
        if called.is_empty() {
            self.say(format_args!("{op:?} "));
            return;
        }
        let mut renamed = op.clone();
        // By position instead of by name.
        let mut next = 0;
        renamed.map_computations(&mut |_| {
            next += 1;
            ComputationId::from_index(next - 1)
        });
        self.say(format_args!("{renamed:?} "));
        for computation in called {
            self.computation(module, computation);
        }
    }

    fn computation(&mut self, module: &Module, computation: ComputationId) {
        let order = module.post_order(computation);
        let positions: FxHashMap<InstructionId, usize> =
            order.iter().enumerate().map(|(position, &id)| (id, position)).collect();
        self.say(format_args!("{{{} ", order.len()));
        for id in &order {
            let instruction = &module[*id];
            for operand in instruction.operands() {
                self.say(format_args!("{} ", positions[operand]));
            }
            self.say(format_args!("{:?} ", instruction.shape));
            self.op(module, &instruction.op);
        }
        self.say(format_args!("{}}} ", positions[&module[computation].root()]));
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
