//! Arrays of floats that are bytes brought back: `scale * (stored - zero point)`, as
//! `uniform_quantization_expander` writes it, or anybody else. Scales and zero points are constants, one
//! for all elements or one for each place along a dimension.

use rxla_hlo::op::{BitcastConvert, Convert};
use rxla_hlo::{
    ArrayLiteral, BinaryKind, Dims, ElementType, InstructionId, Literal, Module, Op, Shape,
};

use crate::view;

/// An array that was dequantised, and then perhaps turned round.
pub(super) struct Dequantized {
    /// What is stored, and its type, [`ElementType::S8`] or [`ElementType::U8`].
    stored: InstructionId,
    element_type: ElementType,
    /// By the dimensions of what is stored.
    zero: Numbers,
    /// Transposes, reshapes and the like after it, the last first.
    steps: Vec<InstructionId>,
    /// By the dimensions of the array as it is used.
    pub(super) scale: Numbers,
}

/// A number for all elements, or one for each place along a dimension.
pub(super) struct Numbers {
    pub(super) values: Vec<f64>,
    pub(super) dimension: Option<usize>,
}

/// Steps between a dequantisation and who uses it; more than are ever met.
const STEPS: usize = 8;

impl Numbers {
    pub(super) fn one(value: f64) -> Numbers {
        Numbers { values: vec![value], dimension: None }
    }

    /// The numbers of a constant of equal elements, or of one that is broadcast.
    fn of(m: &Module, i: InstructionId) -> Option<Numbers> {
        if let Some(value) = view::splat(m, i) {
            return Some(Numbers::one(value.float(0)?));
        }
        let Op::Broadcast(op) = &m[i].op else { return None };
        let &[dimension] = op.dimensions.as_slice() else { return None };
        let literal = view::constant(m, view::operand(m, i, 0))?;
        let values = (0..literal.len()).map(|index| literal.float(index));
        Some(Numbers {
            values: values.collect::<Option<_>>()?,
            dimension: Some(dimension as usize),
        })
    }

    /// The same numbers after a step, if they still belong to one dimension.
    fn after(self, m: &Module, step: InstructionId) -> Option<Numbers> {
        let Some(old) = self.dimension else { return Some(self) };
        let (from, to) = (view::dims(m, view::operand(m, step, 0))?, view::dims(m, step)?);
        let new = match &m[step].op {
            Op::Transpose(op) => op.dimensions.iter().position(|&d| d as usize == old)?,
            Op::Broadcast(op) => op.dimensions[old] as usize,
            Op::Reshape(_) => {
                let before = |dims: &Dims, d: usize| dims[..d].iter().product::<i64>();
                let same = |&d: &usize| to[d] == from[old] && before(to, d) == before(from, old);
                (0..to.len()).find(same)?
            }
            _ => old,
        };
        Some(Numbers { dimension: Some(new), ..self })
    }

    /// The numbers at all places of an array of such dimensions, beside `i`.
    pub(super) fn spread(
        &self,
        m: &mut Module,
        i: InstructionId,
        element_type: ElementType,
        dims: &Dims,
    ) -> InstructionId {
        let own = self.dimension.map(|_| self.values.len() as i64);
        let literal = ArrayLiteral::from_values(own, &self.values);
        let literal = literal.convert(element_type).expect("numbers are converted");
        let parent = m[i].parent();
        let constant = m.add_constant(parent, Literal::Array(literal));
        if dims.is_empty() {
            return constant;
        }
        let op = Op::broadcast(self.dimension.map(|d| d as i64));
        let shape = Shape::array(element_type, dims.iter().copied());
        view::add_with_shape(m, i, op, shape, &[constant])
    }
}

impl Dequantized {
    /// What a value is as bytes, if it is.
    pub(super) fn of(m: &Module, value: InstructionId) -> Option<Dequantized> {
        let (mut at, mut steps) = (value, Vec::new());
        while let Op::Transpose(_) | Op::Reshape(_) | Op::Broadcast(_) | Op::Copy(_) = &m[at].op {
            if steps.len() == STEPS {
                return None;
            }
            view::static_array(m, at)?;
            steps.push(at);
            at = view::operand(m, at, 0);
        }
        let mut scale = Numbers::one(1.0);
        if let Some([x, y]) = view::binary(m, at, BinaryKind::Multiply) {
            (at, scale) = match Numbers::of(m, y) {
                Some(numbers) => (x, numbers),
                None => (y, Numbers::of(m, x)?),
            };
        }
        let mut zero = Numbers::one(0.0);
        if let Some([x, y]) = view::binary(m, at, BinaryKind::Subtract) {
            (at, zero) = (x, Numbers::of(m, y)?);
        }
        let Op::Convert(_) = &m[at].op else { return None };
        if view::static_array(m, at)?.element_type != ElementType::F32 {
            return None;
        }
        let stored = view::operand(m, at, 0);
        let element_type = view::static_array(m, stored)?.element_type;
        let (least, most) = bounds(element_type)?;
        let fits = |&zero: &f64| zero.fract() == 0.0 && (least..=most).contains(&zero);
        if !zero.values.iter().all(fits) {
            return None;
        }
        for &step in steps.iter().rev() {
            scale = scale.after(m, step)?;
        }
        Some(Dequantized { stored, element_type, zero, steps, scale })
    }

    /// The largest magnitude of `stored - zero`.
    pub(super) fn most(&self) -> f64 {
        let (least, most) = bounds(self.element_type).expect("bytes");
        let far = |&zero: &f64| (most - zero).max(zero - least);
        self.zero.values.iter().map(far).fold(0.0, f64::max)
    }

    /// The type of bytes that need no zero point: as they are, or with the upper bit turned, which
    /// moves them by 128.
    pub(super) fn plain(&self) -> Option<ElementType> {
        let types = [ElementType::S8, ElementType::U8];
        types.into_iter().find(|&to| {
            self.zero.values.iter().all(|&zero| zero + moved_by(self.element_type, to) == 0.0)
        })
    }

    /// The one zero point if the bytes have a sign.
    pub(super) fn signed_zero(&self) -> Option<f64> {
        let &[zero] = &self.zero.values[..] else { return None };
        Some(zero + moved_by(self.element_type, ElementType::S8))
    }

    /// What is stored, as bytes of such a type, turned round as the array is, beside `i`.
    pub(super) fn bytes(&self, m: &mut Module, i: InstructionId, to: ElementType) -> InstructionId {
        let bytes = self.stored_as(m, i, to);
        self.turned(m, i, bytes)
    }

    /// The same with 32 bits, turned round last, so that sums of it need not be.
    pub(super) fn wide(
        &self,
        m: &mut Module,
        i: InstructionId,
        from: ElementType,
    ) -> InstructionId {
        let bytes = self.stored_as(m, i, from);
        let dims = view::dims(m, bytes).expect("looked at").clone();
        let shape = Shape::array(ElementType::S32, dims);
        let wide = view::add_with_shape(m, i, Convert {}, shape, &[bytes]);
        self.turned(m, i, wide)
    }

    /// `stored - zero` in 16 bits, turned round as the array is, beside `i`.
    pub(super) fn words(&self, m: &mut Module, i: InstructionId) -> InstructionId {
        let dims = view::dims(m, self.stored).expect("looked at").clone();
        let shape = Shape::array(ElementType::S16, dims.iter().copied());
        let wide = view::add_with_shape(m, i, Convert {}, shape, &[self.stored]);
        let zero = self.zero.spread(m, i, ElementType::S16, &dims);
        let words = view::add(m, i, Op::binary(BinaryKind::Subtract), &[wide, zero]);
        self.turned(m, i, words)
    }

    fn stored_as(&self, m: &mut Module, i: InstructionId, to: ElementType) -> InstructionId {
        if to == self.element_type {
            return self.stored;
        }
        let dims = view::dims(m, self.stored).expect("looked at").clone();
        let shape = Shape::array(to, dims.iter().copied());
        let bytes = view::add_with_shape(m, i, BitcastConvert {}, shape, &[self.stored]);
        let bit = if to == ElementType::S8 { -128.0 } else { 128.0 };
        let bit = Numbers::one(bit).spread(m, i, to, &dims);
        view::add(m, i, Op::binary(BinaryKind::Xor), &[bytes, bit])
    }

    fn turned(&self, m: &mut Module, i: InstructionId, array: InstructionId) -> InstructionId {
        let element_type = view::element_type(m, array).expect("an array");
        self.steps.iter().rev().fold(array, |array, &step| {
            let dims = view::dims(m, step).expect("looked at").clone();
            let shape = Shape::array(element_type, dims);
            let op = m[step].op.clone();
            view::add_with_shape(m, i, op, shape, &[array])
        })
    }
}

/// The least and the largest byte of a type.
fn bounds(element_type: ElementType) -> Option<(f64, f64)> {
    match element_type {
        ElementType::S8 => Some((-128.0, 127.0)),
        ElementType::U8 => Some((0.0, 255.0)),
        _ => None,
    }
}

/// What turning the upper bit adds to bytes.
fn moved_by(from: ElementType, to: ElementType) -> f64 {
    match (from, to) {
        (ElementType::S8, ElementType::U8) => 128.0,
        (ElementType::U8, ElementType::S8) => -128.0,
        _ => 0.0,
    }
}
