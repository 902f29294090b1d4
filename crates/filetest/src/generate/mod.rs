//! Random modules that are valid: what passes and backends are tested on beside what people wrote.
//!
//! A module grows instruction by instruction. A step picks an op and operands among the values made
//! so far, later ones more often, and lets the builder judge: what it refuses is dropped. Constants
//! that equations are about (0, 1, -0) and ops that undo each other come up on purpose. Loops count
//! to a few, shapes stay small, so that a module runs in a moment. [`Size::LARGE`] has arrays of many vectors.

mod control;
mod indexed;
mod random;
mod steps;

pub use random::Random;

use rxla_hlo::{
    ArrayShape, ComputationId, Dims, ElementType, InstructionId, Literal, Module, Op, Shape,
};

/// How large modules become.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// Instructions of the entry computation, about.
    pub instructions: usize,
    /// Elements of an array at most.
    pub elements: usize,
}

impl Size {
    /// Dimensions long enough for vectors, what remains of them, blocks, and threads to share.
    pub const LARGE: Size = Size { instructions: 12, elements: 20_000 };
}

impl Default for Size {
    fn default() -> Self {
        Size { instructions: 24, elements: 200 }
    }
}

/// A valid module. The same seed and size give the same one.
pub fn module(seed: u64, size: Size) -> Module {
    let mut module = Module::new(format!("random_{seed}"));
    let entry = module.add_computation("entry");
    module.set_entry(entry);
    let mut generator = Generator { module, random: Random::new(seed), size, depth: 0 };
    let mut scope = Scope { computation: entry, values: Vec::new() };
    for _ in 0..generator.random.between(1, 5) {
        generator.parameter(&mut scope);
    }
    let target = size.instructions;
    generator.grow(&mut scope, target);
    generator.finish(&scope);
    generator.module
}

/// Arguments for a module, the same for the same seed.
pub fn arguments(module: &Module, seed: u64) -> rxla_base::Result<Vec<Literal>> {
    let mut random = Random::new(seed ^ 0x5EED);
    let parameters = module[module.entry()].parameters();
    parameters.iter().map(|&parameter| random.value(&module[parameter].shape)).collect()
}

struct Generator {
    module: Module,
    random: Random,
    size: Size,
    /// Of computations in computations.
    depth: u32,
}

/// The computation that grows and the values that may be used in it.
struct Scope {
    computation: ComputationId,
    values: Vec<InstructionId>,
}

/// The types of values. Those that most programs use come up most.
const TYPES: &[ElementType] = &[
    ElementType::F32,
    ElementType::F32,
    ElementType::F32,
    ElementType::S32,
    ElementType::S32,
    ElementType::Pred,
    ElementType::U32,
    ElementType::S8,
    ElementType::U8,
    ElementType::S64,
    ElementType::F64,
    ElementType::Bf16,
    ElementType::F16,
    ElementType::C64,
];

/// Lengths of dimensions, usually and where there is room.
const SHORT: &[i64] = &[1, 1, 2, 2, 3, 4, 5];
const LONG: &[i64] = &[1, 2, 3, 4, 7, 8, 16, 17, 33, 64, 100, 130, 256, 300, 1000];

impl Generator {
    fn element_type(&mut self) -> ElementType {
        self.random.pick(TYPES)
    }

    fn dims(&mut self) -> Dims {
        let rank = self.random.pick(&[0, 1, 1, 2, 2, 2, 3, 3, 4]);
        let mut dims = Dims::new();
        let mut count = 1;
        for _ in 0..rank {
            let lengths = if self.size.elements > 1000 { LONG } else { SHORT };
            let size = if self.random.once_in(60) { 0 } else { self.random.pick(lengths) };
            let size = if count * size > self.size.elements as i64 { 1 } else { size };
            count *= size.max(1);
            dims.push(size);
        }
        dims
    }

    fn parameter(&mut self, scope: &mut Scope) -> InstructionId {
        let shape = Shape::array(self.element_type(), self.dims());
        self.parameter_of(scope, shape)
    }

    fn parameter_of(&mut self, scope: &mut Scope, shape: Shape) -> InstructionId {
        let number = self.module[scope.computation].parameters().len();
        let id = self.module.add_parameter(scope.computation, &format!("p{number}"), shape);
        scope.values.push(id);
        id
    }

    /// Adds about `count` instructions.
    fn grow(&mut self, scope: &mut Scope, count: usize) {
        let until = self.module[scope.computation].instructions().len() + count;
        // What is refused costs an attempt.
        for _ in 0..count * 8 {
            if self.module[scope.computation].instructions().len() >= until {
                break;
            }
            let made = self.step(scope);
            scope.values.extend(made);
        }
    }

    /// An instruction, if the builder takes it and it is not too large.
    fn add(
        &mut self,
        scope: &Scope,
        op: impl Into<Op>,
        operands: &[InstructionId],
    ) -> Option<InstructionId> {
        let made = self.module.add(scope.computation, op, operands).ok()?;
        self.keep(made)
    }

    fn add_shaped(
        &mut self,
        scope: &Scope,
        op: impl Into<Op>,
        shape: Shape,
        operands: &[InstructionId],
    ) -> Option<InstructionId> {
        let made = self.module.add_with_shape(scope.computation, op, shape, operands).ok()?;
        self.keep(made)
    }

    fn keep(&mut self, made: InstructionId) -> Option<InstructionId> {
        // Emptiness spreads: a little of it is enough.
        let empty =
            self.module[made].shape.leaves().iter().any(|(_, leaf)| {
                leaf.as_array().is_some_and(|array| array.element_count() == Some(0))
            });
        let small = self.module[made].shape.leaves().iter().all(|(_, leaf)| {
            leaf.as_array().is_none_or(|array| {
                array.rank() <= 6
                    && array.element_count().is_some_and(|count| count <= self.size.elements)
            })
        });
        if small && (!empty || self.random.once_in(12)) {
            return Some(made);
        }
        self.module.remove_instruction(made);
        None
    }

    /// A value, later ones more often.
    fn any(&mut self, scope: &Scope) -> Option<InstructionId> {
        if scope.values.is_empty() {
            return None;
        }
        let len = scope.values.len();
        let index = self.random.below(len).max(self.random.below(len));
        Some(scope.values[index])
    }

    /// An array of which a property holds, if a few tries find one.
    fn any_where(
        &mut self,
        scope: &Scope,
        holds: impl Fn(&ArrayShape) -> bool,
    ) -> Option<InstructionId> {
        (0..8).find_map(|_| {
            let found = self.any(scope)?;
            self.module[found].shape.as_array().is_some_and(&holds).then_some(found)
        })
    }

    fn any_array(&mut self, scope: &Scope) -> Option<InstructionId> {
        self.any_where(scope, |_| true)
    }

    fn shape_of(&self, i: InstructionId) -> ArrayShape {
        self.module[i].shape.as_array().expect("asked for an array").clone()
    }

    /// A value of this shape: one that is there, or one made of a constant.
    fn of_shape(&mut self, scope: &mut Scope, shape: &ArrayShape) -> Option<InstructionId> {
        if !self.random.once_in(4) {
            let found = self.any_where(scope, |found| found.compatible(shape));
            if found.is_some() {
                return found;
            }
        }
        let scalar = if self.random.once_in(2) {
            let number = self.random.pick(&[0.0, 0.0, 1.0, 1.0, -0.0, -1.0, 2.0]);
            self.module.add_scalar(scope.computation, shape.element_type, number)
        } else {
            let value = self.random.value(&Shape::scalar(shape.element_type)).ok()?;
            self.module.add_constant(scope.computation, value)
        };
        self.module.add_splat(scope.computation, scalar, shape).ok()
    }

    /// A value of any shape, tuples included.
    fn of_any_shape(&mut self, scope: &mut Scope, shape: &Shape) -> Option<InstructionId> {
        match shape {
            Shape::Array(array) => self.of_shape(scope, array),
            Shape::Tuple(elements) => {
                let elements = elements
                    .iter()
                    .map(|element| self.of_any_shape(scope, element))
                    .collect::<Option<Vec<_>>>()?;
                self.add(scope, Op::tuple(), &elements)
            }
            Shape::Token | Shape::Opaque | Shape::Buffer(_) => None,
        }
    }

    /// Makes the last values the result, so that little of the module is dead.
    fn finish(&mut self, scope: &Scope) {
        let unused: Vec<InstructionId> = scope
            .values
            .iter()
            .rev()
            .copied()
            .filter(|&value| self.module[value].users().is_empty())
            .take(6)
            .collect();
        let root = if let [only] = unused[..] {
            only
        } else {
            let elements = if unused.is_empty() { scope.values.clone() } else { unused };
            self.module.add_tuple(scope.computation, &elements).expect("a tuple of anything")
        };
        self.module.set_root(root);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_valid_and_the_same_for_the_same_seed() {
        use rxla_hlo::text::{PrintOptions, print};
        for seed in 0..200 {
            let made = module(seed, Size::default());
            let findings = rxla_hlo::verify(&made);
            let text = print(&made, &PrintOptions::complete());
            assert!(
                findings.is_empty(),
                "seed {seed}: {}\n{text}",
                rxla_base::render_all(&findings, None)
            );
            let again = print(&module(seed, Size::default()), &PrintOptions::complete());
            assert_eq!(text, again);
        }
    }

    #[test]
    fn most_ops_of_programs_come_up() {
        let mut seen = std::collections::BTreeSet::new();
        for seed in 0..600 {
            let made = module(seed, Size::default());
            seen.extend(made.instruction_ids().map(|i| made[i].op.name()));
        }
        for name in [
            "add",
            "bitcast-convert",
            "broadcast",
            "call",
            "clamp",
            "compare",
            "concatenate",
            "conditional",
            "convert",
            "convolution",
            "dot",
            "dynamic-slice",
            "dynamic-update-slice",
            "gather",
            "get-tuple-element",
            "iota",
            "map",
            "opt-barrier",
            "pad",
            "reduce",
            "reduce-window",
            "reshape",
            "reverse",
            "scatter",
            "select",
            "slice",
            "sort",
            "transpose",
            "tuple",
            "while",
        ] {
            assert!(seen.contains(name), "no `{name}` in 600 modules");
        }
    }
}
