//! What each value of a loop is across the lanes: the same in all, a constant step from lane to
//! lane, or different. Finds out as well whether the loop can be run in lanes at all.

use crate::ir::{BinaryOp, Block, Carried, Convert, Function, Op, Statement, UnaryOp, Value};
use crate::types::{Scalar, Type};

/// A value across the lanes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Class {
    Uniform,
    /// An integer or address that grows by a constant from lane to lane, wrapping.
    Affine(i64),
    Varying,
}

impl Class {
    fn join(self, other: Class) -> Class {
        if self == other { self } else { Class::Varying }
    }
}

/// Why a loop cannot be run in lanes.
#[derive(Debug)]
pub(super) struct Unsuitable;

type Result<T> = std::result::Result<T, Unsuitable>;

pub(super) struct Classes<'a> {
    function: &'a Function,
    /// The bits of scalar constants of the function.
    constants: &'a [Option<u64>],
    /// By value. What is defined outside the loop is uniform.
    of: Vec<Class>,
    /// The innermost conditional block that some lanes run and others do not.
    divergent: Divergence,
}

#[derive(Clone, Copy, PartialEq)]
enum Divergence {
    None,
    Lanes,
}

impl<'a> Classes<'a> {
    /// The classes in the body of a loop whose variable grows by `step` from lane to lane.
    /// `varying` are the carried params that become vectors; others are uniform.
    pub(super) fn of_loop(
        function: &'a Function,
        constants: &'a [Option<u64>],
        (variable, step): (Value, i64),
        varying: &[Value],
        body: &Block,
    ) -> Result<Classes<'a>> {
        let of = vec![Class::Uniform; function.types.len()];
        let mut classes = Classes { function, constants, of, divergent: Divergence::None };
        classes.set(variable, Class::Affine(step));
        varying.iter().for_each(|&param| classes.set(param, Class::Varying));
        classes.block(body)?;
        Ok(classes)
    }

    pub(super) fn get(&self, value: Value) -> Class {
        self.of.get(value.0 as usize).copied().unwrap_or(Class::Uniform)
    }

    /// The bits of a scalar constant.
    pub(super) fn constant(&self, value: Value) -> Option<u64> {
        self.constants.get(value.0 as usize).copied().flatten()
    }

    /// The classes alone, when the function is to change.
    pub(super) fn into_table(self) -> Vec<Class> {
        self.of
    }

    fn set(&mut self, value: Value, class: Class) {
        self.of[value.0 as usize] = class;
    }

    fn block(&mut self, block: &Block) -> Result<()> {
        block.statements.iter().try_for_each(|statement| self.statement(statement))
    }

    fn statement(&mut self, statement: &Statement) -> Result<()> {
        match statement {
            Statement::Let { result, op } => {
                let class = self.op(*result, op)?;
                self.set(*result, class);
                Ok(())
            }
            Statement::Store { base, index, value, mask } => {
                let ty = self.function.ty(*value);
                if ty.is_vector() || ty.scalar == Scalar::Ptr && self.get(*value) != Class::Uniform
                {
                    return Err(Unsuitable);
                }
                let address = self.address(*base, *index, ty)?;
                let mask = mask.map_or(Class::Uniform, |mask| self.get(mask));
                let uniform = address == Class::Uniform || address == Class::Affine(0);
                let same = self.get(*value) == Class::Uniform
                    && mask == Class::Uniform
                    && address == Class::Uniform
                    && self.divergent == Divergence::None;
                // Lanes that write to one place leave what the last one wrote; only when all write
                // the same is that plain.
                if uniform && !same { Err(Unsuitable) } else { Ok(()) }
            }
            Statement::For { kind: _, variable, low, high, step: _, carried, body } => {
                if self.divergent == Divergence::Lanes {
                    return Err(Unsuitable);
                }
                for bound in [low, high] {
                    if self.get(*bound) != Class::Uniform {
                        return Err(Unsuitable);
                    }
                }
                self.set(*variable, Class::Uniform);
                self.fixpoint(carried, body, |classes| classes.block(body))
            }
            Statement::While { carried, before, body } => {
                if self.divergent == Divergence::Lanes {
                    return Err(Unsuitable);
                }
                self.fixpoint(carried, body, |classes| {
                    classes.block(before)?;
                    classes.block(body)
                })?;
                match before.yields.first().map(|&condition| self.get(condition)) {
                    Some(Class::Uniform) => Ok(()),
                    _ => Err(Unsuitable),
                }
            }
            Statement::If { condition, results, then, otherwise } => {
                let varying = self.get(*condition) != Class::Uniform;
                let outside = self.divergent;
                if varying {
                    self.divergent = Divergence::Lanes;
                }
                self.block(then)?;
                self.block(otherwise)?;
                self.divergent = outside;
                for (position, &result) in results.iter().enumerate() {
                    let then = self.get(then.yields[position]);
                    let otherwise = self.get(otherwise.yields[position]);
                    let class = if varying { Class::Varying } else { then.join(otherwise) };
                    self.set(result, class);
                    self.check_varying(result)?;
                }
                Ok(())
            }
            Statement::Call { .. }
            | Statement::ParallelCall { .. }
            | Statement::CallRuntime { .. }
            | Statement::ReturnIfNonzero { .. } => Err(Unsuitable),
        }
    }

    /// Classes of carried values that the body keeps.
    fn fixpoint(
        &mut self,
        carried: &[Carried],
        body: &Block,
        mut run: impl FnMut(&mut Self) -> Result<()>,
    ) -> Result<()> {
        for carried in carried {
            self.set(carried.param, self.get(carried.init));
        }
        loop {
            run(self)?;
            let mut stable = true;
            for (carried, &next) in carried.iter().zip(&body.yields) {
                let class = self.get(carried.param).join(self.get(next));
                stable &= class == self.get(carried.param);
                self.set(carried.param, class);
            }
            if stable {
                break;
            }
        }
        for carried in carried {
            self.set(carried.result, self.get(carried.param));
            self.check_varying(carried.result)?;
        }
        Ok(())
    }

    /// There are no vectors of addresses, nor vectors of vectors.
    fn check_varying(&self, value: Value) -> Result<()> {
        let ty = self.function.ty(value);
        let vector_of_it = self.get(value) == Class::Varying;
        if vector_of_it && (ty.is_vector() || ty.scalar == Scalar::Ptr) {
            return Err(Unsuitable);
        }
        Ok(())
    }

    fn op(&self, result: Value, op: &Op) -> Result<Class> {
        let ty = self.function.ty(result);
        let mut uniform = true;
        let mut vectors = ty.is_vector();
        op.for_each_operand(|operand| {
            uniform &= self.get(operand) == Class::Uniform;
            vectors |= self.function.ty(operand).is_vector();
        });
        let class = match op {
            // Lanes that do not run this must not read.
            Op::Load { base, index, mask } => {
                if ty.scalar == Scalar::Ptr && !uniform {
                    return Err(Unsuitable);
                }
                let address = self.address(*base, *index, ty)?;
                let masked = mask.is_some_and(|mask| self.get(mask) != Class::Uniform);
                let diverges = self.divergent == Divergence::Lanes;
                if address == Class::Uniform && !masked && !diverges {
                    Class::Uniform
                } else {
                    Class::Varying
                }
            }
            _ if uniform => Class::Uniform,
            Op::Binary(op, a, b) => self.binary(*op, ty, *a, *b),
            Op::Unary(UnaryOp::Neg, a) if ty.scalar.is_integer() => match self.get(*a) {
                Class::Affine(step) => Class::Affine(step.wrapping_neg()),
                Class::Uniform | Class::Varying => Class::Varying,
            },
            Op::Convert(Convert::Truncate, a) => match self.get(*a) {
                Class::Affine(step) => Class::Affine(step),
                Class::Uniform | Class::Varying => Class::Varying,
            },
            Op::Offset { base, bytes } => match (self.get(*base), self.get(*bytes)) {
                (Class::Varying, _) | (_, Class::Varying) => return Err(Unsuitable),
                (base, bytes) => Class::Affine(step(base).wrapping_add(step(bytes))),
            },
            Op::Constant { .. }
            | Op::Unary(..)
            | Op::Fma(..)
            | Op::Compare(..)
            | Op::Select(..)
            | Op::Convert(..)
            | Op::Splat(_)
            | Op::LaneIndex
            | Op::Extract(..)
            | Op::Reduce(..)
            | Op::Shuffle(..)
            | Op::Alloca { .. } => Class::Varying,
        };
        let mut addresses = class == Class::Varying && ty.scalar == Scalar::Ptr;
        if class == Class::Varying && !matches!(op, Op::Load { .. }) {
            op.for_each_operand(|operand| {
                addresses |= self.function.ty(operand).scalar == Scalar::Ptr;
            });
        }
        if addresses || (vectors && class != Class::Uniform) { Err(Unsuitable) } else { Ok(class) }
    }

    fn binary(&self, op: BinaryOp, ty: Type, a: Value, b: Value) -> Class {
        if !ty.scalar.is_integer() {
            return Class::Varying;
        }
        let (class_a, class_b) = (self.get(a), self.get(b));
        if class_a == Class::Varying || class_b == Class::Varying {
            return Class::Varying;
        }
        let (step_a, step_b) = (step(class_a), step(class_b));
        match op {
            BinaryOp::Add => Class::Affine(step_a.wrapping_add(step_b)),
            BinaryOp::Sub => Class::Affine(step_a.wrapping_sub(step_b)),
            BinaryOp::Mul => match (self.constant(a), self.constant(b)) {
                (_, Some(factor)) => Class::Affine(step_a.wrapping_mul(factor as i64)),
                (Some(factor), None) => Class::Affine(step_b.wrapping_mul(factor as i64)),
                (None, None) => Class::Varying,
            },
            BinaryOp::Shl => match self.constant(b) {
                Some(amount) if amount < u64::from(ty.scalar.bits()) => {
                    Class::Affine(step_a.wrapping_shl(amount as u32))
                }
                Some(_) | None => Class::Varying,
            },
            BinaryOp::FDiv
            | BinaryOp::FRem
            | BinaryOp::FMin
            | BinaryOp::FMax
            | BinaryOp::SDiv
            | BinaryOp::UDiv
            | BinaryOp::SRem
            | BinaryOp::URem
            | BinaryOp::SMin
            | BinaryOp::SMax
            | BinaryOp::UMin
            | BinaryOp::UMax
            | BinaryOp::And
            | BinaryOp::Or
            | BinaryOp::Xor
            | BinaryOp::LShr
            | BinaryOp::AShr
            | BinaryOp::CopySign
            | BinaryOp::Atan2
            | BinaryOp::Pow => Class::Varying,
        }
    }

    /// The class of an element's address, steps counted in elements.
    pub(super) fn address(&self, base: Value, index: Value, ty: Type) -> Result<Class> {
        address(self.get(base), self.get(index), ty).ok_or(Unsuitable)
    }
}

/// The class of an element's address, steps counted in elements; `None` if the base's does not
/// count whole elements.
pub(super) fn address(base: Class, index: Class, ty: Type) -> Option<Class> {
    let base = match base {
        Class::Uniform => 0,
        Class::Affine(bytes) => {
            let width = ty.scalar.byte_width() as i64;
            if bytes % width != 0 {
                return None;
            }
            bytes / width
        }
        Class::Varying => return None,
    };
    Some(match index {
        Class::Uniform if base == 0 => Class::Uniform,
        Class::Uniform => Class::Affine(base),
        Class::Affine(step) => Class::Affine(step.wrapping_add(base)),
        Class::Varying => Class::Varying,
    })
}

fn step(class: Class) -> i64 {
    match class {
        Class::Uniform | Class::Varying => 0,
        Class::Affine(step) => step,
    }
}
