//! Computations in computations: calls, maps, comparators, branches and loops.

use rxla_hlo::op::{Call, Compare, ComparisonDirection, Conditional, Map, While};
use rxla_hlo::{ArrayShape, ComputationId, ElementType, InstructionId, Op, Shape};

use super::{Generator, Scope};

/// How deep computations nest.
const MAX_DEPTH: u32 = 2;

impl Generator {
    /// A computation from `parameters` to `result`; of any result if none is given.
    fn function(&mut self, parameters: &[Shape], result: Option<&Shape>) -> Option<ComputationId> {
        let computation = self.module.add_computation("body");
        let mut scope = Scope { computation, values: Vec::new() };
        for parameter in parameters {
            self.parameter_of(&mut scope, parameter.clone());
        }
        self.depth += 1;
        let count = self.random.between(0, 6) as usize;
        self.grow(&mut scope, count);
        self.depth -= 1;
        let root = match result {
            Some(shape) => self.of_any_shape(&mut scope, shape),
            None => self.any(&scope),
        };
        let Some(root) = root else {
            self.module.remove_computation(computation);
            return None;
        };
        self.module.set_root(root);
        Some(computation)
    }

    fn some_values(&mut self, scope: &Scope) -> Option<(Vec<InstructionId>, Vec<Shape>)> {
        let values: Vec<InstructionId> =
            (0..self.random.between(1, 4)).map(|_| self.any(scope)).collect::<Option<_>>()?;
        let shapes = values.iter().map(|&value| self.module[value].shape.clone()).collect();
        Some((values, shapes))
    }

    pub(super) fn call(&mut self, scope: &mut Scope) -> Option<InstructionId> {
        if self.depth >= MAX_DEPTH {
            return None;
        }
        let (arguments, shapes) = self.some_values(scope)?;
        let to_apply = self.function(&shapes, None)?;
        self.add(scope, Call { to_apply, is_composite: false }, &arguments)
    }

    pub(super) fn conditional(&mut self, scope: &mut Scope) -> Option<InstructionId> {
        if self.depth >= MAX_DEPTH {
            return None;
        }
        let by_index = self.random.once_in(2);
        let selector = if by_index { ElementType::S32 } else { ElementType::Pred };
        let selector = self.of_shape(scope, &ArrayShape::scalar(selector))?;
        let result = self.any(scope)?;
        let result = self.module[result].shape.clone();
        let count = if by_index { self.random.between(1, 4) } else { 2 };
        let mut operands = vec![selector];
        let mut branch_computations = Vec::new();
        for _ in 0..count {
            let argument = self.any(scope)?;
            let shape = self.module[argument].shape.clone();
            operands.push(argument);
            branch_computations.push(self.function(&[shape], Some(&result))?);
        }
        self.add(scope, Conditional { branch_computations }, &operands)
    }

    /// A loop that counts to a few and changes its other values as it goes.
    pub(super) fn loop_(&mut self, scope: &mut Scope) -> Option<InstructionId> {
        if self.depth >= MAX_DEPTH {
            return None;
        }
        let counter = ElementType::S32;
        let (values, shapes) = self.some_values(scope)?;
        let start = self.random.between(-1, 2) as f64;
        let start = self.module.add_scalar(scope.computation, counter, start);
        let mut carried = vec![start];
        carried.extend(values);
        let mut state = vec![Shape::scalar(counter)];
        state.extend(shapes);
        let state = Shape::tuple(state);
        let init = self.add(scope, Op::tuple(), &carried)?;
        let condition = self.module.add_computation("condition");
        let number = {
            let state = self.module.add_parameter(condition, "state", state.clone());
            let number = self.module.add_get_tuple_element(condition, state, 0).ok()?;
            let limit = self.random.between(-1, 4) as f64;
            let limit = self.module.add_scalar(condition, counter, limit);
            let less = Compare { direction: ComparisonDirection::Lt, comparison_type: None };
            self.module.add(condition, less, &[number, limit]).ok()?
        };
        self.module.set_root(number);
        let body = self.loop_body(&state)?;
        self.add(scope, While { condition, body }, &[init])
    }

    fn loop_body(&mut self, state: &Shape) -> Option<ComputationId> {
        let body = self.module.add_computation("loop");
        let parameter = self.module.add_parameter(body, "state", state.clone());
        let elements = state.as_tuple()?;
        let carried: Vec<InstructionId> = (0..elements.len() as i64)
            .map(|index| self.module.add_get_tuple_element(body, parameter, index).ok())
            .collect::<Option<_>>()?;
        let mut scope = Scope { computation: body, values: carried.clone() };
        self.depth += 1;
        let count = self.random.between(0, 6) as usize;
        self.grow(&mut scope, count);
        self.depth -= 1;
        let one = self.module.add_scalar(body, ElementType::S32, 1.0);
        let next = self.add(&scope, Op::binary(rxla_hlo::BinaryKind::Add), &[carried[0], one])?;
        let mut results = vec![next];
        for (index, shape) in elements.iter().enumerate().skip(1) {
            // Some values stay as they are, some go from place to place.
            let kept = self.random.once_in(3);
            let value =
                if kept { Some(carried[index]) } else { self.of_any_shape(&mut scope, shape) };
            results.push(value?);
        }
        let root = self.module.add_tuple(body, &results).ok()?;
        self.module.set_root(root);
        Some(body)
    }

    pub(super) fn map(&mut self, scope: &mut Scope) -> Option<InstructionId> {
        let x = self.any_array(scope)?;
        let shape = self.shape_of(x);
        let y = self.of_shape(scope, &shape)?;
        let computation = self.module.add_computation("mapped");
        let scalar = Shape::scalar(shape.element_type);
        let a = self.module.add_parameter(computation, "a", scalar.clone());
        let b = self.module.add_parameter(computation, "b", scalar);
        let kinds = rxla_hlo::BinaryKind::ALL;
        let made = (0..8).find_map(|_| {
            let kind = self.random.pick(kinds);
            self.module.add_binary(computation, kind, a, b).ok()
        });
        let Some(root) = made else {
            self.module.remove_computation(computation);
            return None;
        };
        self.module.set_root(root);
        let dimensions = (0..shape.rank() as i64).collect();
        self.add(scope, Map { dimensions, to_apply: computation }, &[x, y])
    }

    /// Compares the first of the sorted values, either way.
    pub(super) fn comparator(&mut self, operands: &[InstructionId]) -> Option<ComputationId> {
        let computation = self.module.add_computation("comparator");
        let mut first = Vec::new();
        for (number, &operand) in operands.iter().enumerate() {
            let scalar = Shape::scalar(self.shape_of(operand).element_type);
            for side in ["lhs", "rhs"] {
                let name = format!("{side}{number}");
                first.push(self.module.add_parameter(computation, &name, scalar.clone()));
            }
        }
        let direction = self.random.pick(&[ComparisonDirection::Lt, ComparisonDirection::Gt]);
        // Floats are ordered totally, or NaNs would make any order right.
        let float = self.shape_of(operands[0]).element_type.is_float();
        let comparison_type = float.then_some(rxla_hlo::op::ComparisonType::TotalOrder);
        let root = self
            .module
            .add(computation, Compare { direction, comparison_type }, &first[..2])
            .ok()?;
        self.module.set_root(root);
        Some(computation)
    }
}
