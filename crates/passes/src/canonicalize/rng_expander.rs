//! `rng-expander`, XLA's RngExpander: numbers of a distribution are made of random bits. The device's
//! state says which, and moves on by as many blocks as are drawn, so that no two draws share bits.
//! Which numbers `rng` gives is left open by its definition; those from here are others than the
//! interpreter's.

use rxla_base::Result;
use rxla_hlo::op::{
    ComparisonDirection, Concatenate, Convert, RandomAlgorithm, RandomDistribution,
    RngBitGenerator, RngGetAndUpdateState, Select,
};
use rxla_hlo::{
    ArrayLiteral, ArrayShape, BinaryKind, Dims, ElementType, InstructionId, Literal, Module, Op,
    Shape, UnaryKind,
};

use crate::effects::unfused_computations;
use crate::pass::{Context, Pass};
use crate::view;

use BinaryKind::{Add, Multiply, Remainder, Subtract};

pub struct RngExpander;

/// Philox's key. Draws differ by their counter.
const KEY: u64 = 0x9E37_79B9_7F4A_7C15;

impl Pass for RngExpander {
    fn name(&self) -> &'static str {
        "rng-expander"
    }

    fn class(&self) -> &'static str {
        "RngExpander"
    }

    /// By hand, since the driver of rules keeps what has an effect, as `rng` has.
    fn run(&self, module: &mut Module, cx: &Context) -> Result<u64> {
        let mut made = 0;
        for computation in unfused_computations(module) {
            for site in module[computation].instructions().to_vec() {
                let Some(draw) = Draw::of(module, site) else { continue };
                if !cx.spend() {
                    return Ok(made);
                }
                made += 1;
                let metadata = module[site].metadata().cloned();
                let fresh = module.instruction_capacity();
                let result = draw.expand(module);
                if let Some(metadata) = metadata {
                    for index in fresh..module.instruction_capacity() {
                        let id = InstructionId::from_index(index);
                        module[id].info_mut().metadata = metadata.clone();
                    }
                }
                module.replace_all_uses(site, result);
                module.remove_instruction(site);
            }
        }
        Ok(made)
    }
}

/// An `rng` that can be expanded.
struct Draw {
    site: InstructionId,
    distribution: RandomDistribution,
    element_type: ElementType,
    dims: Dims,
    /// The type that is computed in.
    wide: ElementType,
}

impl Draw {
    fn of(m: &Module, site: InstructionId) -> Option<Draw> {
        let Op::Rng(op) = &m[site].op else { return None };
        let shape = view::static_array(m, site)?;
        let (element_type, dims) = (shape.element_type, shape.dims.clone());
        let wide = if element_type.is_float() {
            if element_type == ElementType::F64 { ElementType::F64 } else { ElementType::F32 }
        } else if element_type.bit_width() == 64 {
            ElementType::U64
        } else {
            ElementType::U32
        };
        let possible = match op.distribution {
            RandomDistribution::Uniform => !element_type.is_complex(),
            RandomDistribution::Normal => element_type.is_float(),
        };
        let scalars = m[site].operands().len() >= 2
            && m[site].operands()[..2].iter().all(|&operand| view::is_single(m, operand));
        let distribution = op.distribution;
        let draw = Draw { site, distribution, element_type, dims, wide };
        (possible && scalars && shape.element_count()? > 0).then_some(draw)
    }

    fn expand(&self, m: &mut Module) -> InstructionId {
        let [a, b] = [0, 1].map(|number| self.operand(m, number));
        let result = match self.distribution {
            RandomDistribution::Uniform if self.element_type == ElementType::Pred => {
                let half = self.number(m, f64::from(1u32 << 31));
                let bits = self.bits(m);
                let direction = ComparisonDirection::Ge;
                return view::add(m, self.site, Op::compare(direction), &[bits, half]);
            }
            RandomDistribution::Uniform if self.element_type.is_float() => {
                // a + u * (b - a)
                let unit = self.unit(m);
                let range = self.binary(m, Subtract, b, a);
                let scaled = self.binary(m, Multiply, unit, range);
                self.binary(m, Add, a, scaled)
            }
            RandomDistribution::Uniform => {
                // a + bits % (b - a), where a remainder by 0 would be anything.
                let range = self.binary(m, Subtract, b, a);
                let zero = self.number(m, 0.0);
                let bits = self.bits(m);
                let rest = self.binary(m, Remainder, bits, range);
                let direction = ComparisonDirection::Eq;
                let empty = view::add(m, self.site, Op::compare(direction), &[range, zero]);
                let rest = view::add(m, self.site, Select {}, &[empty, zero, rest]);
                self.binary(m, Add, a, rest)
            }
            RandomDistribution::Normal => {
                let normal = self.normal(m);
                let scaled = self.binary(m, Multiply, normal, b);
                self.binary(m, Add, a, scaled)
            }
        };
        if self.wide == self.element_type {
            return result;
        }
        view::add_with_shape(m, self.site, Convert {}, self.shape(self.element_type), &[result])
    }

    fn shape(&self, element_type: ElementType) -> Shape {
        Shape::array(element_type, self.dims.iter().copied())
    }

    fn binary(
        &self,
        m: &mut Module,
        kind: BinaryKind,
        x: InstructionId,
        y: InstructionId,
    ) -> InstructionId {
        view::add(m, self.site, Op::binary(kind), &[x, y])
    }

    /// A scalar at all places.
    fn spread(&self, m: &mut Module, scalar: InstructionId) -> InstructionId {
        let element_type = view::element_type(m, scalar).unwrap_or(self.wide);
        let shape = ArrayShape::new(element_type, self.dims.iter().copied());
        let parent = m[self.site].parent();
        m.add_splat(parent, scalar, &shape).expect("a scalar fits everywhere")
    }

    fn number(&self, m: &mut Module, number: f64) -> InstructionId {
        let parent = m[self.site].parent();
        let scalar = m.add_scalar(parent, self.wide, number);
        self.spread(m, scalar)
    }

    /// A parameter of the distribution, at all places.
    fn operand(&self, m: &mut Module, number: usize) -> InstructionId {
        let operand = view::operand(m, self.site, number);
        let found = view::element_type(m, operand);
        let scalar = if found == Some(self.wide) {
            operand
        } else {
            view::add_with_shape(m, self.site, Convert {}, Shape::scalar(self.wide), &[operand])
        };
        self.spread(m, scalar)
    }

    /// Random bits at all places, 64 at each or 32.
    fn bits(&self, m: &mut Module) -> InstructionId {
        let wide = self.wide.bit_width() == 64;
        let (element_type, per_block) =
            if wide { (ElementType::U64, 2) } else { (ElementType::U32, 4) };
        let count = self.dims.iter().map(|&size| size as u64).product::<u64>();
        let delta = count.div_ceil(per_block) as i64;
        let counter = view::add(m, self.site, RngGetAndUpdateState { delta }, &[]);
        let parent = m[self.site].parent();
        let key = m.add_constant(parent, Literal::from_values([1], &[KEY]));
        let dimensions = [0].into_iter().collect();
        let state = view::add(m, self.site, Concatenate { dimensions }, &[key, counter]);
        let shape = Shape::tuple([m[state].shape.clone(), self.shape(element_type)]);
        let op = RngBitGenerator { algorithm: RandomAlgorithm::Philox };
        let both = view::add_with_shape(m, self.site, op, shape, &[state]);
        view::add(m, self.site, Op::get_tuple_element(1), &[both])
    }

    /// Numbers in [0, 1): the upper bits, as many as the type holds, as a fraction.
    fn unit(&self, m: &mut Module) -> InstructionId {
        let (kept, width) = if self.wide == ElementType::F64 { (53, 64) } else { (24, 32) };
        let bits = self.bits(m);
        let parent = m[self.site].parent();
        let drop = ArrayLiteral::scalar(f64::from(width - kept));
        let unsigned = view::element_type(m, bits).unwrap_or(ElementType::U32);
        let drop = drop.convert(unsigned).expect("a small number");
        let drop = m.add_constant(parent, drop);
        let drop = self.spread(m, drop);
        let upper = self.binary(m, BinaryKind::ShiftRightLogical, bits, drop);
        let float = view::add_with_shape(m, self.site, Convert {}, self.shape(self.wide), &[upper]);
        let step = self.number(m, 0.5f64.powi(kept));
        self.binary(m, Multiply, float, step)
    }

    /// Standard normal numbers, by Box and Muller.
    fn normal(&self, m: &mut Module) -> InstructionId {
        let [first, second] = [self.unit(m), self.unit(m)];
        // In (0, 1], where the logarithm is finite.
        let one = self.number(m, 1.0);
        let first = self.binary(m, Subtract, one, first);
        let logarithm = view::add(m, self.site, Op::unary(UnaryKind::Log), &[first]);
        let factor = self.number(m, -2.0);
        let square = self.binary(m, Multiply, factor, logarithm);
        let radius = view::add(m, self.site, Op::unary(UnaryKind::Sqrt), &[square]);
        let turn = self.number(m, std::f64::consts::TAU);
        let angle = self.binary(m, Multiply, turn, second);
        let cosine = view::add(m, self.site, Op::unary(UnaryKind::Cos), &[angle]);
        self.binary(m, Multiply, radius, cosine)
    }
}

#[cfg(test)]
mod tests {
    use rxla_hlo::text::{ParseOptions, parse};
    use rxla_interpreter::{Options, evaluate};

    use super::*;

    /// 4000 numbers, as doubles.
    fn drawn(element_type: &str, a: &str, b: &str, distribution: &str) -> Vec<f64> {
        let text = format!(
            "HloModule m\nENTRY e {{\n  a = {element_type}[] constant({a})\n  \
             b = {element_type}[] constant({b})\n  \
             r = {element_type}[40,100] rng(a, b), distribution=rng_{distribution}\n  \
             ROOT c = f64[40,100] convert(r)\n}}\n"
        );
        let mut module = parse(&text, &ParseOptions::default()).expect("valid").module;
        assert_eq!(RngExpander.run(&mut module, &Context::new()).expect("fits"), 1);
        assert!(rxla_hlo::verify(&module).is_empty(), "{:?}", rxla_hlo::verify(&module));
        let found = evaluate(&module, vec![], &Options::default()).expect("runs");
        found.as_array().expect("an array").values::<f64>().to_vec()
    }

    fn mean_and_deviation(values: &[f64]) -> (f64, f64) {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let square = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / values.len() as f64;
        (mean, square.sqrt())
    }

    #[test]
    fn numbers_have_their_distribution() {
        for element_type in ["f16", "bf16", "f32", "f64"] {
            let values = drawn(element_type, "-1", "3", "uniform");
            assert!(values.iter().all(|x| (-1.0..=3.0).contains(x)));
            let (mean, deviation) = mean_and_deviation(&values);
            assert!((mean - 1.0).abs() < 0.08, "{element_type}: {mean}");
            assert!((deviation - 4.0 / 12f64.sqrt()).abs() < 0.05, "{element_type}: {deviation}");
            let values = drawn(element_type, "5", "2", "normal");
            let (mean, deviation) = mean_and_deviation(&values);
            assert!((mean - 5.0).abs() < 0.15, "{element_type}: {mean}");
            assert!((deviation - 2.0).abs() < 0.1, "{element_type}: {deviation}");
            let far = values.iter().filter(|x| (*x - 5.0).abs() > 4.0).count();
            assert!((100..280).contains(&far), "{element_type}: {far} beyond two deviations");
        }
    }

    #[test]
    fn integers_lie_in_their_range() {
        for (element_type, a, b) in [("s8", -3, 4), ("u16", 2, 9), ("s32", -7, 0), ("s64", -1, 6)] {
            let values = drawn(element_type, &a.to_string(), &b.to_string(), "uniform");
            for number in a..b {
                let count = values.iter().filter(|&&x| x == f64::from(number)).count();
                assert!((450..700).contains(&count), "{element_type}: {count} times {number}");
            }
            assert!(values.iter().all(|x| (f64::from(a)..f64::from(b)).contains(x)));
        }
        let heads = drawn("pred", "false", "true", "uniform").iter().sum::<f64>();
        assert!((1850.0..2150.0).contains(&heads), "{heads}");
    }
}
