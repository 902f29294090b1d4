//! Operations and constants.

use super::{Parser, Result, Token, TokenKind, error};
use crate::evaluate::float::{from_f64, to_f64};
use crate::ir::{BinaryOp, ComparePredicate, Convert, Op, UnaryOp, Value};
use crate::types::{Scalar, Type};

impl Parser<'_> {
    pub(super) fn op(&mut self, ty: Type) -> Result<Op> {
        let token = self.expect(TokenKind::Word)?;
        Ok(match self.slice(token) {
            "constant" => Op::Constant { bits: self.constant(ty.scalar)? },
            "fma" => {
                let [a, b, c] = self.exactly()?;
                Op::Fma(a, b, c)
            }
            "compare" => {
                let predicate = self.named("a comparison", ComparePredicate::from_name)?;
                let [a, b] = self.exactly()?;
                Op::Compare(predicate, a, b)
            }
            "select" => {
                let [condition, a, b] = self.exactly()?;
                Op::Select(condition, a, b)
            }
            "convert" => {
                let convert = self.named("a conversion", Convert::from_name)?;
                Op::Convert(convert, self.operand()?)
            }
            "splat" => Op::Splat(self.operand()?),
            "lane_index" => Op::LaneIndex,
            "extract" => {
                let a = self.operand()?;
                self.expect(TokenKind::LeftSquare)?;
                let lane = self.integer()?;
                self.expect(TokenKind::RightSquare)?;
                Op::Extract(a, lane)
            }
            "reduce" => {
                let binary = self.named("an operation on two operands", BinaryOp::from_name)?;
                Op::Reduce(binary, self.operand()?)
            }
            "shuffle" => {
                let [a, b] = self.exactly()?;
                Op::Shuffle(a, b, self.lanes()?)
            }
            "load" => {
                let (base, index) = self.element()?;
                Op::Load { base, index, mask: self.mask()? }
            }
            "offset" => {
                let [base, bytes] = self.exactly()?;
                Op::Offset { base, bytes }
            }
            "alloca" => {
                let bytes = self.integer()?;
                self.expect_word("align")?;
                Op::Alloca { bytes, align: self.parenthesised()? }
            }
            name => {
                if let Some(unary) = UnaryOp::from_name(name) {
                    Op::Unary(unary, self.operand()?)
                } else if let Some(binary) = BinaryOp::from_name(name) {
                    let [a, b] = self.exactly()?;
                    Op::Binary(binary, a, b)
                } else {
                    return Err(error(format!("`{name}` is no operation"), token.span()));
                }
            }
        })
    }

    fn exactly<const N: usize>(&mut self) -> Result<[Value; N]> {
        let first = self.token;
        let operands = self.operands()?;
        let count = operands.len();
        operands
            .try_into()
            .map_err(|_| error(format!("{count} operands where {N} belong"), first.span()))
    }

    fn named<T>(&mut self, what: &str, find: impl Fn(&str) -> Option<T>) -> Result<T> {
        let token = self.expect(TokenKind::Word)?;
        let name = self.slice(token);
        find(name).ok_or_else(|| error(format!("`{name}` is not {what}"), token.span()))
    }

    /// `[0, 1, …]`.
    fn lanes(&mut self) -> Result<Vec<u16>> {
        self.expect(TokenKind::LeftSquare)?;
        let mut lanes = Vec::new();
        while self.token.kind != TokenKind::RightSquare {
            lanes.push(self.integer()?);
            if !self.take(TokenKind::Comma) {
                break;
            }
        }
        self.expect(TokenKind::RightSquare)?;
        Ok(lanes)
    }

    fn constant(&mut self, scalar: Scalar) -> Result<u64> {
        if scalar == Scalar::I1 {
            for (word, bits) in [("false", 0), ("true", 1)] {
                if self.take_word(word) {
                    return Ok(bits);
                }
            }
        }
        let token = self.expect(TokenKind::Number)?;
        let bits = constant_bits(scalar, self.slice(token));
        bits.ok_or_else(|| self.no_constant(scalar, token))
    }

    fn no_constant(&self, scalar: Scalar, token: Token) -> rxla_base::Diagnostic {
        let message = format!(
            "`{}` is no constant of type {scalar}",
            self.slice(token),
            scalar = scalar.name()
        );
        error(message, token.span())
    }
}

fn constant_bits(scalar: Scalar, text: &str) -> Option<u64> {
    let width = scalar.bits();
    let fits = |bits: u64| width == 64 || bits >> width == 0;
    if let Some(digits) = text.strip_prefix("0x") {
        return u64::from_str_radix(digits, 16).ok().filter(|&bits| fits(bits));
    }
    // Words such as `inf` are no number tokens; what is not finite here is out of range.
    match scalar {
        Scalar::I1 | Scalar::I8 | Scalar::I16 | Scalar::I32 | Scalar::I64 => {
            let value: i128 = text.parse().ok()?;
            let range = -(1i128 << (width - 1))..(1i128 << width);
            range.contains(&value).then_some((value as u64) & (u64::MAX >> (64 - width)))
        }
        Scalar::F16 | Scalar::BF16 => {
            let bits = from_f64(scalar, text.parse().ok()?);
            to_f64(scalar, bits).is_finite().then_some(bits)
        }
        Scalar::F32 => {
            let value: f32 = text.parse().ok()?;
            value.is_finite().then_some(u64::from(value.to_bits()))
        }
        Scalar::F64 => {
            let value: f64 = text.parse().ok()?;
            value.is_finite().then_some(value.to_bits())
        }
        Scalar::Ptr => None,
    }
}
