//! Reduction of large arguments modulo pi / 2, after Payne and Hanek.
//!
//! A number is `m 2^e` with an integer m. Of the product with 2 / pi only what is below 4 matters,
//! so the digits of 2 / pi above that are left out: a window of them times m, in integers that
//! wrap, gives the quarter turn in its two highest bits and the fraction below.

use super::coefficients::{DOUBLE_HALF_PI, TWO_OVER_PI};
use super::lanes::{Bits, BitsExt, Float};
use super::precision::{Double, Precision, Single};

const LOW_WORD: i64 = 0xffff_ffff;

/// The integer m, and where in `TWO_OVER_PI` the window starts: at the digit worth two.
fn mantissa_and_start<F: Float>(magnitude: F) -> (F::Bits, F::Bits) {
    let mantissa = F::Precision::MANTISSA;
    let bits = magnitude.bits();
    let hidden = magnitude.integer(1 << mantissa);
    let m = (bits & magnitude.integer((1 << mantissa) - 1)) | hidden;
    // A digit of index i is worth 2^(63 - i), the first word being zero; times 2^e it is to be 2.
    let bias = F::Precision::BIAS + i64::from(mantissa) - 62;
    (m, bits.right(mantissa) - magnitude.integer(bias))
}

/// The bits that start at `shift`, below 64, in two words.
fn window<B: Bits>(high: B, low: B, shift: B) -> B {
    let rest = high.constant(64) - shift;
    high.shl(shift) | low.lshr(rest)
}

/// A product of 24 bits with 96 fits three multiplications.
pub(super) fn single<F: Float<Precision = Single>>(magnitude: F) -> (F, F::Bits) {
    let wide = magnitude.widen();
    let (m, start) = mantissa_and_start(magnitude);
    let (m, start) = (F::widen_bits(m), F::widen_bits(start));
    // Exponents reach 104, so the window starts in the first three words.
    let word = start.right(6);
    let [high, middle, low] = [0, 1, 2].map(|next| {
        let pick = |at: usize| start.constant(TWO_OVER_PI[at + next] as i64);
        let later = Bits::select(word.equals(start.constant(1)), pick(1), pick(2));
        Bits::select(word.equals(start.constant(0)), pick(0), later)
    });
    let shift = start & start.constant(63);
    let high = window(high, middle, shift);
    let low = window(middle, low, shift).right(32);
    let word_mask = start.constant(LOW_WORD);
    let product = (m * high.right(32)).left(32) + m * (high & word_mask) + (m * low).right(32);
    let quarter = (product + start.constant(1 << 61)).right(62);
    let turn = <F::Wide as Float>::from_integer(product.left(2));
    let r = turn * wide.constant(std::f64::consts::FRAC_PI_2 * 2f64.powi(-64));
    (F::narrow(r), F::narrow_bits(quarter))
}

/// Words of the product of 53 bits with 192, the highest 128 bits of which are kept; the fraction
/// may begin with 62 zeros and still be good to the last bit.
pub(super) fn double<F: Float<Precision = Double>>(magnitude: F) -> (F, F::Bits) {
    let (m, start) = mantissa_and_start(magnitude);
    let words = words_from(start.right(6));
    let shift = start & start.constant(63);
    let windows = [0, 1, 2].map(|at| window(words[at], words[at + 1], shift));
    let word_mask = start.constant(LOW_WORD);
    let [high, low] = product(m, windows, word_mask);
    let quarter = (high + start.constant(1 << 61)).right(62);
    // The fraction, which is negative if its highest bit is set, in units of 2^-64 of a quarter.
    let signed = high.left(2) | low.right(62);
    let below = low.left(2);
    let upper = F::from_integer(signed.right_signed(32)) * magnitude.constant(32f64.exp2());
    let lower = F::from_integer(signed & word_mask);
    let sum = upper + lower;
    let lost = lower - (sum - upper);
    let below = F::from_integer(below.right(11)) * magnitude.constant((-53f64).exp2());
    let rest = lost + below;
    let turn = sum + rest;
    let rest = rest - (turn - sum);
    // Times pi / 2 in two parts.
    let scale = (-64f64).exp2();
    let [factor, factor_rest, _] = DOUBLE_HALF_PI.map(|part| magnitude.constant(part * scale));
    let r = turn * factor;
    let error = turn.fma(factor, -r);
    (r + (error + turn.fma(factor_rest, rest * factor)), quarter)
}

/// Four words of `TWO_OVER_PI` from the one that `index` says, below 17: bit by bit of the index,
/// words are moved by powers of two.
fn words_from<B: Bits>(index: B) -> [B; 4] {
    let mut words: Vec<B> = TWO_OVER_PI.iter().map(|&word| index.constant(word as i64)).collect();
    for bit in (0..5).rev() {
        let step = 1 << bit;
        let one = index.constant(step);
        let moved = (index & one).equals(one);
        // What is still needed: four words, and as many as the lower bits can move.
        let count = 4 + (step as usize - 1);
        let at = |at: usize| words.get(at).copied().unwrap_or(index.constant(0));
        words = (0..count.min(words.len()))
            .map(|i| Bits::select(moved, at(i + step as usize), at(i)))
            .collect();
    }
    [words[0], words[1], words[2], words[3]]
}

/// The highest 128 of the lowest 192 bits of `m * windows`.
fn product<B: Bits>(m: B, windows: [B; 3], word_mask: B) -> [B; 2] {
    let [m_high, m_low] = [m.right(32), m & word_mask];
    // From the lowest half word up.
    let halves = [2, 1, 0].map(|at: usize| [windows[at] & word_mask, windows[at].right(32)]);
    let halves = halves.as_flattened();
    let mut columns = [word_mask.constant(0); 6];
    for (at, &half) in halves.iter().enumerate() {
        let mut add = |column: usize, value: B| {
            if column < 6 {
                columns[column] = columns[column] + value;
            }
        };
        let low = m_low * half;
        let high = m_high * half;
        add(at, low & word_mask);
        add(at + 1, low.right(32) + (high & word_mask));
        add(at + 2, high.right(32));
    }
    for at in 1..6 {
        columns[at] = columns[at] + columns[at - 1].right(32);
    }
    let word = |high: usize| columns[high].left(32) | (columns[high - 1] & word_mask);
    [word(5), word(3)]
}
