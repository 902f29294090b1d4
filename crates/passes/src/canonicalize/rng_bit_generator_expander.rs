//! `rng-bit-generator-expander`, XLA's RngBitGeneratorExpander: random bits as arithmetic on integers,
//! Philox 4x32 with 10 rounds and Threefry 2x32 with 20 (Salmon et al., "Parallel random numbers: as
//! easy as 1, 2, 3", SC 2011). The bits and the state after them are those of the op.

use rxla_base::Result;
use rxla_hlo::op::{
    BitcastConvert, Compare, ComparisonDirection, Concatenate, Convert, Iota, RandomAlgorithm,
    Reshape, Slice, SliceDimension,
};
use rxla_hlo::{ArrayShape, BinaryKind, Dims, ElementType, InstructionId, Literal, Module, Op};

use crate::pass::{Context, Pass};
use crate::rewrite::{self, NamedRule};
use crate::{rules, view};

use BinaryKind::{Add, Multiply, Or, ShiftLeft, ShiftRightLogical, Xor};
use ElementType::{U8, U16, U32, U64};

pub struct RngBitGeneratorExpander;

const RULES: &[NamedRule] = rules! {
    RngBitGenerator => [bits],
};

impl Pass for RngBitGeneratorExpander {
    fn name(&self) -> &'static str {
        "rng-bit-generator-expander"
    }

    fn class(&self) -> &'static str {
        "RngBitGeneratorExpander"
    }

    fn run(&self, module: &mut Module, cx: &Context) -> Result<u64> {
        Ok(rewrite::apply(module, cx, &[RULES]))
    }
}

/// `rng-bit-generator(state) => (state', bits)`, both computed from `state`
fn bits(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let Op::RngBitGenerator(op) = &m[i].op else { return None };
    let algorithm = op.algorithm;
    let state = view::operand(m, i, 0);
    let state_shape = view::static_array(m, state)?.clone();
    let paired = m[i].shape.as_tuple().is_some();
    let values = match m[i].shape.as_tuple() {
        Some([_, values]) => values.as_array()?.clone(),
        Some(_) => return None,
        None => m[i].shape.as_array()?.clone(),
    };
    let width = values.element_type.bit_width();
    let whole = values.is_static() && matches!(width, 8 | 16 | 32 | 64);
    let count = values.element_count()? as i64;
    let words = match state_shape.element_type {
        U64 => state_shape.element_count()? as i64,
        U32 if state_shape.element_count()? % 2 == 0 => state_shape.element_count()? as i64 / 2,
        _other => return None,
    };
    if !whole || values.element_type.is_complex() || state_shape.rank() != 1 || words < 2 {
        return None;
    }
    let mut a = Arithmetic { m, i };
    let mut state: Vec<InstructionId> = (0..words).map(|at| a.word(state, at)).collect();
    let flat = match (algorithm, width) {
        (RandomAlgorithm::ThreeFry, 64) => a.threefry64(&mut state, count),
        (RandomAlgorithm::ThreeFry, _) => a.threefry32(&mut state, &values.dims),
        (RandomAlgorithm::Philox | RandomAlgorithm::Default, _) => {
            a.philox(&mut state, count, if width == 64 { U64 } else { U32 })
        }
    };
    let unsigned = match width {
        8 => U8,
        16 => U16,
        32 => U32,
        _ => U64,
    };
    let narrow = a.convert(flat, unsigned);
    let shaped = a.reshape(narrow, &values.dims);
    let result = if values.element_type == unsigned {
        shaped
    } else {
        view::add_with_shape(a.m, i, BitcastConvert {}, values.without_layout(), &[shaped])
    };
    if !paired {
        return Some(result);
    }
    let after = a.joined(&state, state_shape.element_type);
    Some(view::add(m, i, Op::tuple(), &[after, result]))
}

/// Where the arithmetic stands.
struct Arithmetic<'a> {
    m: &'a mut Module,
    i: InstructionId,
}

impl Arithmetic<'_> {
    fn dims(&self, x: InstructionId) -> Dims {
        view::dims(self.m, x).cloned().unwrap_or_default()
    }

    fn binary(&mut self, kind: BinaryKind, x: InstructionId, y: InstructionId) -> InstructionId {
        view::add(self.m, self.i, Op::binary(kind), &[x, y])
    }

    /// With a number of the type of `x`.
    fn with(&mut self, kind: BinaryKind, x: InstructionId, number: u64) -> InstructionId {
        let literal = match view::element_type(self.m, x) {
            Some(U32) => Literal::scalar(number as u32),
            _u64 => Literal::scalar(number),
        };
        let parent = self.m[self.i].parent();
        let scalar = self.m.add_constant(parent, literal);
        let number = self.spread(scalar, x);
        self.binary(kind, x, number)
    }

    /// A scalar at every place of `like`.
    fn spread(&mut self, scalar: InstructionId, like: InstructionId) -> InstructionId {
        let dims = self.dims(like);
        if dims.is_empty() {
            return scalar;
        }
        let element_type = view::element_type(self.m, scalar).unwrap_or(U64);
        let shape = ArrayShape::new(element_type, dims);
        view::add_with_shape(self.m, self.i, Op::broadcast([]), shape, &[scalar])
    }

    fn convert(&mut self, x: InstructionId, to: ElementType) -> InstructionId {
        if view::element_type(self.m, x) == Some(to) {
            return x;
        }
        let shape = ArrayShape::new(to, self.dims(x));
        view::add_with_shape(self.m, self.i, Convert {}, shape, &[x])
    }

    fn reshape(&mut self, x: InstructionId, dims: &[i64]) -> InstructionId {
        if self.dims(x)[..] == *dims {
            return x;
        }
        let element_type = view::element_type(self.m, x).unwrap_or(U64);
        let shape = ArrayShape::new(element_type, dims.iter().copied());
        view::add_with_shape(self.m, self.i, Reshape::default(), shape, &[x])
    }

    fn concatenate(&mut self, parts: &[InstructionId], dimension: i64) -> InstructionId {
        let dimensions = [dimension].into_iter().collect();
        view::add(self.m, self.i, Concatenate { dimensions }, parts)
    }

    /// The first `limit` along a dimension.
    fn first(&mut self, x: InstructionId, dimension: usize, limit: i64) -> InstructionId {
        self.part(x, dimension, 0, limit)
    }

    fn part(&mut self, x: InstructionId, along: usize, start: i64, limit: i64) -> InstructionId {
        let dims = self.dims(x);
        if start == 0 && dims[along] == limit {
            return x;
        }
        let slice = dims.iter().enumerate().map(|(dimension, &size)| {
            let whole = SliceDimension { start: 0, limit: size, stride: 1 };
            if dimension == along { SliceDimension { start, limit, stride: 1 } } else { whole }
        });
        let slice = slice.collect();
        view::add(self.m, self.i, Slice { slice }, &[x])
    }

    /// `0, 1, …` as `u64`.
    fn numbers(&mut self, count: i64) -> InstructionId {
        let shape = ArrayShape::new(U64, [count]);
        view::add_with_shape(self.m, self.i, Iota { iota_dimension: 0 }, shape, &[])
    }

    /// 64 bits of the state, as a scalar; of a state of 32 bits a word, the lower word comes first.
    fn word(&mut self, state: InstructionId, at: i64) -> InstructionId {
        if view::element_type(self.m, state) == Some(U64) {
            let part = self.part(state, 0, at, at + 1);
            return self.reshape(part, &[]);
        }
        let [low, high] = [2 * at, 2 * at + 1].map(|at| {
            let part = self.part(state, 0, at, at + 1);
            self.reshape(part, &[])
        });
        self.pair(low, high)
    }

    fn joined(&mut self, words: &[InstructionId], element_type: ElementType) -> InstructionId {
        let mut parts = Vec::new();
        for &word in words {
            let halves = self.halves(word);
            let found = if element_type == U64 { vec![word] } else { halves.to_vec() };
            parts.extend(found.into_iter().map(|part| self.reshape(part, &[1])));
        }
        self.concatenate(&parts, 0)
    }

    /// Lower and upper 32 bits.
    fn halves(&mut self, x: InstructionId) -> [InstructionId; 2] {
        let upper = self.with(ShiftRightLogical, x, 32);
        [self.convert(x, U32), self.convert(upper, U32)]
    }

    /// 64 bits of two times 32.
    fn pair(&mut self, low: InstructionId, high: InstructionId) -> InstructionId {
        let [low, high] = [low, high].map(|half| self.convert(half, U64));
        let high = self.with(ShiftLeft, high, 32);
        self.binary(Or, low, high)
    }

    /// Arrays of the same dimensions, their elements taken by turns, flat.
    fn by_turns(&mut self, arrays: &[InstructionId]) -> InstructionId {
        let count = self.dims(arrays[0])[0];
        let columns: Vec<_> =
            arrays.iter().map(|&array| self.reshape(array, &[count, 1])).collect();
        let rows = self.concatenate(&columns, 1);
        self.reshape(rows, &[count * arrays.len() as i64])
    }

    /// `count` numbers of 32 or 64 bits, flat.
    fn philox(
        &mut self,
        state: &mut [InstructionId],
        count: i64,
        element_type: ElementType,
    ) -> InstructionId {
        let per_block = if element_type == U64 { 2 } else { 4 };
        let blocks = (count as u64).div_ceil(per_block) as i64;
        let (low, high) = (state[1], if state.len() >= 3 { state[2] } else { state[0] });
        let numbers = self.numbers(blocks);
        let counters = self.advanced(low, high, numbers);
        let [a, b, c, d] = self.philox_block(state[0], counters);
        let parent = self.m[self.i].parent();
        let blocks = self.m.add_constant(parent, Literal::scalar(blocks as u64));
        let [low, high] = self.advanced(low, high, blocks);
        state[1] = low;
        if let Some(word) = state.get_mut(2) {
            *word = high;
        }
        let flat = if element_type == U64 {
            let pairs = [self.pair(a, b), self.pair(c, d)];
            self.by_turns(&pairs)
        } else {
            self.by_turns(&[a, b, c, d])
        };
        self.first(flat, 0, count)
    }

    /// The sum of 128 bits and 64.
    fn advanced(
        &mut self,
        low: InstructionId,
        high: InstructionId,
        by: InstructionId,
    ) -> [InstructionId; 2] {
        let [low, high] = [low, high].map(|half| self.spread(half, by));
        let sum = self.binary(Add, low, by);
        let less = Compare { direction: ComparisonDirection::Lt, comparison_type: None };
        let carry = view::add(self.m, self.i, less, &[sum, low]);
        let carry = self.convert(carry, U64);
        [sum, self.binary(Add, high, carry)]
    }

    /// Four words for each counter of 128 bits under a key of 64.
    fn philox_block(
        &mut self,
        key: InstructionId,
        [low, high]: [InstructionId; 2],
    ) -> [InstructionId; 4] {
        const WEYL: [u64; 2] = [0x9E37_79B9, 0xBB67_AE85];
        const FACTORS: [u64; 2] = [0xD251_1F53, 0xCD9E_8D57];
        let [a, b] = self.halves(low);
        let [c, d] = self.halves(high);
        let mut x = [a, b, c, d];
        let mut key = self.halves(key);
        for _ in 0..10 {
            let first = self.product(x[0], FACTORS[0]);
            let second = self.product(x[2], FACTORS[1]);
            let mixed = [(second[1], x[1], key[0]), (first[1], x[3], key[1])];
            let [p, q] = mixed.map(|(upper, word, key)| {
                let word = self.binary(Xor, upper, word);
                let key = self.spread(key, word);
                self.binary(Xor, word, key)
            });
            x = [p, second[0], q, first[0]];
            key = [self.with(Add, key[0], WEYL[0]), self.with(Add, key[1], WEYL[1])];
        }
        x
    }

    /// Lower and upper half of a product of 64 bits.
    fn product(&mut self, x: InstructionId, factor: u64) -> [InstructionId; 2] {
        let wide = self.convert(x, U64);
        let product = self.with(Multiply, wide, factor);
        self.halves(product)
    }

    /// One number of 64 bits per counter, flat.
    fn threefry64(&mut self, state: &mut [InstructionId], count: i64) -> InstructionId {
        let numbers = self.numbers(count);
        let counters = self.spread(state[1], numbers);
        let counters = self.binary(Add, counters, numbers);
        let [low, high] = self.threefry_block(state[0], counters);
        state[1] = self.with(Add, state[1], count as u64);
        self.pair(low, high)
    }

    /// One number of 32 bits per element, flat. A counter gives two neighbours along the split
    /// dimension: the first of even size, else the largest.
    fn threefry32(&mut self, state: &mut [InstructionId], dims: &[i64]) -> InstructionId {
        let largest = dims.iter().copied().max().unwrap_or(1);
        let even = dims.iter().position(|size| size % 2 == 0);
        let split = even.or_else(|| dims.iter().position(|&size| size == largest)).unwrap_or(0);
        let size = dims.get(split).copied().unwrap_or(1);
        let outer: i64 = dims.iter().take(split).product();
        let inner: i64 = dims.iter().skip(split + 1).product();
        let half = size - size / 2;
        let count = outer * half * inner;
        let numbers = self.numbers(count);
        let counters = self.spread(state[1], numbers);
        let counters = self.binary(Add, counters, numbers);
        let pairs = self.threefry_block(state[0], counters);
        state[1] = self.with(Add, state[1], count as u64);
        let pairs = pairs.map(|words| self.reshape(words, &[outer, half, 1, inner]));
        let all = self.concatenate(&pairs, 2);
        let all = self.reshape(all, &[outer, 2 * half, inner]);
        let all = self.first(all, 1, size);
        self.reshape(all, &[outer * size * inner])
    }

    /// Two words for each counter of 64 bits under a key of 64.
    fn threefry_block(
        &mut self,
        key: InstructionId,
        counters: InstructionId,
    ) -> [InstructionId; 2] {
        const ROTATIONS: [[u64; 4]; 2] = [[13, 15, 26, 6], [17, 29, 16, 24]];
        const PARITY: u64 = 0x1BD1_1BDA;
        let [first, second] = self.halves(key);
        let both = self.binary(Xor, first, second);
        let schedule = [first, second, self.with(Xor, both, PARITY)];
        let [x, y] = self.halves(counters);
        let [mut x, mut y] = [self.keyed(x, schedule[0]), self.keyed(y, schedule[1])];
        for group in 0..5 {
            for rotation in ROTATIONS[group % 2] {
                x = self.binary(Add, x, y);
                let left = self.with(ShiftLeft, y, rotation);
                let right = self.with(ShiftRightLogical, y, 32 - rotation);
                let rotated = self.binary(Or, left, right);
                y = self.binary(Xor, rotated, x);
            }
            x = self.keyed(x, schedule[(group + 1) % 3]);
            y = self.keyed(y, schedule[(group + 2) % 3]);
            y = self.with(Add, y, group as u64 + 1);
        }
        [x, y]
    }

    fn keyed(&mut self, x: InstructionId, key: InstructionId) -> InstructionId {
        let key = self.spread(key, x);
        self.binary(Add, x, key)
    }
}

#[cfg(test)]
mod tests {
    use rxla_hlo::literal::{Tolerance, compare};
    use rxla_hlo::text::{ParseOptions, parse};
    use rxla_interpreter::{Options, evaluate};

    use super::*;

    fn check(algorithm: &str, state: (&str, &str), result: &str) {
        let (ty, value) = state;
        let text = format!(
            "HloModule m\nENTRY e {{\n  s = {ty} constant({value})\n  \
             ROOT r = ({ty}, {result}) rng-bit-generator(s), algorithm={algorithm}\n}}\n"
        );
        let mut module = parse(&text, &ParseOptions::default()).expect("valid").module;
        let expected = evaluate(&module, vec![], &Options::default()).expect("runs");
        assert_eq!(RngBitGeneratorExpander.run(&mut module, &Context::new()).expect("fits"), 1);
        assert!(rxla_hlo::verify(&module).is_empty(), "{:?}", rxla_hlo::verify(&module));
        let found = evaluate(&module, vec![], &Options::default()).expect("runs");
        let agreed = compare(&expected, &found, Tolerance::EXACT);
        assert!(agreed.is_ok(), "{text}: {}", agreed.err().expect("wrong"));
    }

    #[test]
    fn bits_and_states_are_those_of_the_op() {
        // The counters overflow their lower half on the way.
        let states = [
            ("u64[2]", "{81985529216486895, 18446744073709551612}"),
            ("u64[3]", "{12, 18446744073709551613, 5}"),
            ("u32[4]", "{1, 2, 4294967295, 4294967295}"),
        ];
        let results = ["u32[]", "u64[]", "u32[5]", "u32[3,4,5]", "u64[3,3]", "s16[7]", "u8[2,9]"];
        for algorithm in ["rng_philox", "rng_three_fry", "rng_default"] {
            for state in states {
                results.iter().for_each(|result| check(algorithm, state, result));
            }
            for result in ["f32[2,2]", "s64[5]", "u32[3,0]", "u32[1,1,3]", "u32[5,7]", "s8[3]"] {
                check(algorithm, states[0], result);
            }
        }
    }
}
