//! `rng-bit-generator`: the Philox and Threefry generators, block by block, in lanes.
//!
//! Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011, spread over an array as XLA
//! does it. A unit of work is a block of Philox, an element of 64-bit Threefry, a row of pairs of
//! 32-bit Threefry.

use rxla_base::{Error, Result};
use rxla_hlo::op::{RandomAlgorithm, RngBitGenerator};
use rxla_hlo::{ArrayShape, ElementType, InstructionId, Module, Shape};
use rxla_kernel::{
    BinaryOp, Builder, ComparePredicate, Convert, LoopKind, Scalar, Statement, Value,
};

use crate::scalar::scalar_of;
use crate::shapes::array;
use crate::{Destination, Part, Source};

/// How the numbers are made.
enum Generator {
    Philox {
        per_block: i64,
    },
    Threefry64,
    /// Pairs along a dimension: elements before, in, and after it.
    Threefry32 {
        outer: i64,
        size: i64,
        inner: i64,
    },
}

struct Plan {
    generator: Generator,
    count: i64,
    values: ElementType,
    state: ArrayShape,
    /// Leaves of the state and of the values.
    leaves: (Option<usize>, usize),
}

fn plan(module: &Module, id: InstructionId, op: &RngBitGenerator) -> Result<Plan> {
    let state = array(module.operand_shape(id, 0))?.clone();
    let (values, leaves) = match &module[id].shape {
        Shape::Tuple(parts) if parts.len() == 2 => (array(&parts[1])?, (Some(0), 1)),
        single => (array(single)?, (None, 0)),
    };
    let words = state.element_count().unwrap_or(0);
    let enough = match state.element_type {
        ElementType::U64 => words >= 2,
        ElementType::U32 => words >= 4 && words % 2 == 0,
        other => {
            return Err(Error::unimplemented(format!("`rng-bit-generator` with `{other}` state")));
        }
    };
    if !enough {
        return Err(Error::unimplemented(format!("`rng-bit-generator` with a state of `{state}`")));
    }
    let width = values.element_type.bit_width();
    if values.element_type.is_complex() {
        let ty = values.element_type;
        return Err(Error::unimplemented(format!("`rng-bit-generator` of `{ty}`")));
    }
    let count = values.element_count().unwrap_or(0) as i64;
    let generator = match (op.algorithm, width) {
        (RandomAlgorithm::ThreeFry, ..=32) => {
            let dims = &values.dims;
            let largest = dims.iter().max().copied().unwrap_or(0);
            let split = dims.iter().position(|size| size % 2 == 0);
            let split = split.or_else(|| dims.iter().position(|&size| size == largest));
            let Some(split) = split else {
                let generator = Generator::Threefry32 { outer: 1, size: 1, inner: 1 };
                let values = values.element_type;
                return Ok(Plan { generator, count, values, state, leaves });
            };
            Generator::Threefry32 {
                outer: dims[..split].iter().product(),
                size: dims[split],
                inner: dims[split + 1..].iter().product(),
            }
        }
        (RandomAlgorithm::ThreeFry, _) => Generator::Threefry64,
        (RandomAlgorithm::Philox | RandomAlgorithm::Default, ..=32) => {
            Generator::Philox { per_block: 4 }
        }
        (RandomAlgorithm::Philox | RandomAlgorithm::Default, _) => {
            Generator::Philox { per_block: 2 }
        }
    };
    Ok(Plan { generator, count, values: values.element_type, state, leaves })
}

impl Plan {
    /// Units of work, and by how much the counter moves.
    fn units(&self) -> (i64, i64) {
        match self.generator {
            Generator::Philox { per_block } => {
                let blocks = (self.count + per_block - 1) / per_block;
                (blocks, blocks)
            }
            Generator::Threefry64 => (self.count, self.count),
            Generator::Threefry32 { outer, size, inner } => {
                let rows = outer * ((size + 1) / 2);
                (rows, rows * inner)
            }
        }
    }
}

pub(crate) fn extent(module: &Module, id: InstructionId, op: &RngBitGenerator) -> Result<i64> {
    Ok(plan(module, id, op)?.units().0.max(1))
}

pub(crate) fn emit(
    b: &mut Builder,
    module: &Module,
    id: InstructionId,
    op: &RngBitGenerator,
    operands: &[Source],
    destinations: &[Destination],
    part: Part,
) -> Result<()> {
    let plan = plan(module, id, op)?;
    let (Some(Source::Memory(from)), Destination::Memory(to)) =
        (operands.first(), destinations[plan.leaves.1])
    else {
        return Err(Error::internal("an `rng-bit-generator` in registers"));
    };
    let count = plan.state.element_count().unwrap_or(0);
    let words = match plan.state.element_type {
        ElementType::U64 => count,
        _ => count / 2,
    };
    // Little-endian pairs of 32 bits are 64 bits. All is read before anything is written.
    let state: Vec<Value> = (0..words)
        .map(|word| {
            let at = b.index(word as i64);
            b.load(Scalar::I64, *from, at)
        })
        .collect();
    let (units, advance) = plan.units();
    let (begin, end) = match part {
        Part::All | Part::Tile => (b.index(0), b.index(units)),
        Part::Range(begin, end) => (begin, end),
    };
    if plan.count > 0 {
        values(b, &plan, &state, to, (begin, end));
    }
    if let Some(leaf) = plan.leaves.0 {
        let Destination::Memory(to) = destinations[leaf] else {
            return Err(Error::internal("an `rng-bit-generator` in registers"));
        };
        let next = next_state(b, &plan, &state, advance);
        // One piece writes the state, which is read by all: never in place in several.
        let zero = b.index(0);
        let first = b.compare(ComparePredicate::Eq, begin, zero);
        b.if_else(
            first,
            |b| {
                for (word, value) in next.into_iter().enumerate() {
                    let at = b.index(word as i64);
                    b.store(to, at, value);
                }
                Vec::new()
            },
            |_| Vec::new(),
        );
    }
    Ok(())
}

/// The lower and the upper half of a counter of 128 bits, and which words of the state hold them.
fn counter(plan: &Plan, state: &[Value]) -> (Value, Value) {
    match plan.generator {
        Generator::Philox { .. } if state.len() >= 3 => (state[1], state[2]),
        Generator::Philox { .. } | Generator::Threefry64 | Generator::Threefry32 { .. } => {
            (state[1], state[0])
        }
    }
}

fn next_state(b: &mut Builder, plan: &Plan, state: &[Value], advance: i64) -> Vec<Value> {
    let mut next = state.to_vec();
    let by = b.index(advance);
    let (low, high) = add_wide(b, counter(plan, state), by);
    next[1] = low;
    if matches!(plan.generator, Generator::Philox { .. }) && state.len() >= 3 {
        next[2] = high;
    }
    next
}

fn add_wide(b: &mut Builder, (low, high): (Value, Value), by: Value) -> (Value, Value) {
    let sum = b.add(low, by);
    let carries = b.compare(ComparePredicate::Ult, sum, low);
    let carry = b.convert(Convert::ZeroExtend, carries, Scalar::I64);
    (sum, b.add(high, carry))
}

fn halves(b: &mut Builder, word: Value) -> [Value; 2] {
    let amount = b.index(32);
    let high = b.binary(BinaryOp::LShr, word, amount);
    [word, high].map(|half| b.convert(Convert::Truncate, half, Scalar::I32))
}

fn joined(b: &mut Builder, low: Value, high: Value) -> Value {
    let [low, high] = [low, high].map(|half| b.convert(Convert::ZeroExtend, half, Scalar::I64));
    let amount = b.index(32);
    let high = b.binary(BinaryOp::Shl, high, amount);
    b.binary(BinaryOp::Or, low, high)
}

fn values(b: &mut Builder, plan: &Plan, state: &[Value], to: Value, (begin, end): (Value, Value)) {
    let key = halves(b, state[0]);
    let start = counter(plan, state);
    match plan.generator {
        Generator::Philox { per_block } => {
            let whole = b.index(plan.count / per_block);
            let high = b.binary(BinaryOp::SMin, end, whole);
            b.for_loop(LoopKind::Vector, (begin, high, 1), &[], |b, unit, _| {
                philox_block(b, plan, (key, start), (unit, per_block), to, per_block);
                Vec::new()
            });
            if plan.count % per_block != 0 {
                let low = b.binary(BinaryOp::SMax, begin, whole);
                b.for_loop(LoopKind::Sequential, (low, end, 1), &[], |b, unit, _| {
                    let rest = plan.count % per_block;
                    philox_block(b, plan, (key, start), (unit, per_block), to, rest);
                    Vec::new()
                });
            }
        }
        Generator::Threefry64 => {
            b.for_loop(LoopKind::Vector, (begin, end, 1), &[], |b, unit, _| {
                let [low, high] = threefry_at(b, key, start.0, unit);
                let word = joined(b, low, high);
                store_bits(b, plan.values, to, unit, word);
                Vec::new()
            });
        }
        Generator::Threefry32 { outer, size, inner } => {
            let half = (size + 1) / 2;
            let row_kind = if inner == 1 { LoopKind::Vector } else { LoopKind::Sequential };
            b.for_loop(row_kind, (begin, end, 1), &[], |b, row, _| {
                let half_value = b.index(half);
                let (block, pair) = if outer == 1 {
                    (b.index(0), row)
                } else {
                    let block = b.binary(BinaryOp::UDiv, row, half_value);
                    (block, b.binary(BinaryOp::URem, row, half_value))
                };
                let bounds = (b.index(0), b.index(inner), 1);
                let inner_value = b.index(inner);
                let first = b.mul(row, inner_value);
                // Where the pair begins: (block · size + 2 · pair) · inner.
                let block_start = b.index(size);
                let block_start = b.mul(block, block_start);
                let two = b.index(2);
                let pair_start = b.mul(pair, two);
                let at = b.add(block_start, pair_start);
                let at = b.mul(at, inner_value);
                let mask = (size % 2 == 1).then(|| {
                    let last = b.index(half - 1);
                    b.compare(ComparePredicate::Ne, pair, last)
                });
                let one = |b: &mut Builder, k: Value| {
                    let position = b.add(first, k);
                    let [low, high] = threefry_at(b, key, start.0, position);
                    let at = b.add(at, k);
                    store_bits(b, plan.values, to, at, low);
                    let next = b.add(at, inner_value);
                    let value = as_stored(b, plan.values, high);
                    b.push(Statement::Store { base: to, index: next, value, mask });
                };
                if inner == 1 {
                    let zero = b.index(0);
                    one(b, zero);
                } else {
                    b.for_loop(LoopKind::Vector, bounds, &[], |b, k, _| {
                        one(b, k);
                        Vec::new()
                    });
                }
                Vec::new()
            });
        }
    }
}

/// Stores the first `stored` numbers of a block.
fn philox_block(
    b: &mut Builder,
    plan: &Plan,
    (key, start): ([Value; 2], (Value, Value)),
    (unit, per_block): (Value, i64),
    to: Value,
    stored: i64,
) {
    let (low, high) = add_wide(b, start, unit);
    let ([a, c], [d, e]) = (halves(b, low), halves(b, high));
    let words = philox(b, key, [a, c, d, e]);
    let words = if per_block == 4 {
        words.to_vec()
    } else {
        vec![joined(b, words[0], words[1]), joined(b, words[2], words[3])]
    };
    let per_block = b.index(per_block);
    let first = b.mul(unit, per_block);
    for (k, word) in words.into_iter().take(stored as usize).enumerate() {
        let k = b.index(k as i64);
        let at = b.add(first, k);
        store_bits(b, plan.values, to, at, word);
    }
}

/// Philox 4x32, 10 rounds.
fn philox(b: &mut Builder, mut key: [Value; 2], mut x: [Value; 4]) -> [Value; 4] {
    const WEYL: [u64; 2] = [0x9E37_79B9, 0xBB67_AE85];
    const MULTIPLIERS: [u64; 2] = [0xD251_1F53, 0xCD9E_8D57];
    for _ in 0..10 {
        let mut product = |x: Value, multiplier: u64| {
            let wide = b.convert(Convert::ZeroExtend, x, Scalar::I64);
            let multiplier = b.constant(Scalar::I64, multiplier);
            let product = b.mul(wide, multiplier);
            halves(b, product)
        };
        let (first, second) = (product(x[0], MULTIPLIERS[0]), product(x[2], MULTIPLIERS[1]));
        let mut mix = |high: Value, x: Value, key: Value| {
            let mixed = b.binary(BinaryOp::Xor, high, x);
            b.binary(BinaryOp::Xor, mixed, key)
        };
        x = [mix(second[1], x[1], key[0]), second[0], mix(first[1], x[3], key[1]), first[0]];
        for (key, weyl) in key.iter_mut().zip(WEYL) {
            let weyl = b.constant(Scalar::I32, weyl);
            *key = b.add(*key, weyl);
        }
    }
    x
}

/// The block of Threefry at a distance from the counter's start.
fn threefry_at(b: &mut Builder, key: [Value; 2], start: Value, position: Value) -> [Value; 2] {
    let counter = b.add(start, position);
    let counter = halves(b, counter);
    threefry(b, key, counter)
}

/// Threefry 2x32, 20 rounds.
fn threefry(b: &mut Builder, key: [Value; 2], counter: [Value; 2]) -> [Value; 2] {
    const ROTATIONS: [[u64; 4]; 2] = [[13, 15, 26, 6], [17, 29, 16, 24]];
    let parity = b.constant(Scalar::I32, 0x1BD1_1BDA);
    let third = b.binary(BinaryOp::Xor, key[0], key[1]);
    let third = b.binary(BinaryOp::Xor, third, parity);
    let schedule = [key[0], key[1], third];
    let mut x = b.add(counter[0], schedule[0]);
    let mut y = b.add(counter[1], schedule[1]);
    for group in 0..5usize {
        for rotation in ROTATIONS[group % 2] {
            x = b.add(x, y);
            let left = b.constant(Scalar::I32, rotation);
            let right = b.constant(Scalar::I32, 32 - rotation);
            let (up, down) = (b.binary(BinaryOp::Shl, y, left), b.binary(BinaryOp::LShr, y, right));
            let rotated = b.binary(BinaryOp::Or, up, down);
            y = b.binary(BinaryOp::Xor, rotated, x);
        }
        x = b.add(x, schedule[(group + 1) % 3]);
        let number = b.constant(Scalar::I32, group as u64 + 1);
        let step = b.add(schedule[(group + 2) % 3], number);
        y = b.add(y, step);
    }
    [x, y]
}

/// The low bits of a word as an element is stored.
fn as_stored(b: &mut Builder, ty: ElementType, word: Value) -> Value {
    let scalar = match scalar_of(ty).byte_width() {
        1 => Scalar::I8,
        2 => Scalar::I16,
        4 => Scalar::I32,
        _ => Scalar::I64,
    };
    let value = b.convert(Convert::Truncate, word, scalar);
    let width = ty.bit_width();
    if width >= 8 {
        return value;
    }
    let unused = b.constant(scalar, 8 - width as u64);
    let up = b.binary(BinaryOp::Shl, value, unused);
    let op = if ty.is_signed() { BinaryOp::AShr } else { BinaryOp::LShr };
    b.binary(op, up, unused)
}

fn store_bits(b: &mut Builder, ty: ElementType, base: Value, at: Value, word: Value) {
    let value = as_stored(b, ty, word);
    b.store(base, at, value);
}
