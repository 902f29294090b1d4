//! Operations that take turns: the same one of several iterations that lie side by side.

use std::fmt::Write;
use std::mem::discriminant;

use rxla_base::Result;
use rxla_kernel::{Op, Scalar, Statement, Value};

use super::operand::Ll;
use super::{Emitter, Signature, Turns, emit_void};

/// So many operations alike are turns.
const LEAST: usize = 4;

impl Emitter<'_, '_> {
    /// Where turns end that are to be kept.
    pub(super) fn ends_of_turns(&self, statements: &[Statement]) -> Vec<usize> {
        let mut ends = Vec::new();
        let mut first = 0;
        while self.unit.turns == Turns::Kept && first < statements.len() {
            let alike = self.alike(&statements[first..]).max(1);
            first += alike;
            if alike >= LEAST {
                ends.push(first - 1);
            }
        }
        ends
    }

    /// How many statements from the first on are the same arithmetic of vectors, none of which
    /// waits for another.
    fn alike(&self, statements: &[Statement]) -> usize {
        let Some((first, op)) = statements.first().and_then(arithmetic) else { return 0 };
        let ty = self.function.ty(first);
        if !ty.is_vector() || ty.scalar.byte_width() < 4 || ty.scalar == Scalar::Ptr {
            return 0;
        }
        let mut results = Vec::new();
        for (result, other) in statements.iter().map_while(arithmetic) {
            let mut waits = false;
            other.for_each_operand(|operand| waits |= results.contains(&operand));
            if waits || self.function.ty(result) != ty || !same(op, other) {
                break;
            }
            results.push(result);
        }
        results.len()
    }

    /// No instruction, but LLVM moves none from one side of it to the other.
    pub(super) fn end_turn(&mut self, statement: &Statement) -> Result<()> {
        let Some((result, _)) = arithmetic(statement) else { return Ok(()) };
        const NAME: &str = "llvm.fake.use";
        let signature = Signature { result: "void".to_owned(), parameters: "...".to_owned() };
        self.unit.declare(NAME, signature)?;
        let (ll, operand) = (Ll(self.function.ty(result)), self.get(result)?);
        emit_void!(self, "call void (...) @{NAME}({ll} {operand})");
        Ok(())
    }
}

fn arithmetic(statement: &Statement) -> Option<(Value, &Op)> {
    match statement {
        Statement::Let { result, op: op @ (Op::Unary(..) | Op::Binary(..) | Op::Fma(..)) } => {
            Some((*result, op))
        }
        _ => None,
    }
}

fn same(a: &Op, b: &Op) -> bool {
    match (a, b) {
        (Op::Unary(a, _), Op::Unary(b, _)) => a == b,
        (Op::Binary(a, ..), Op::Binary(b, ..)) => a == b,
        _ => discriminant(a) == discriminant(b),
    }
}

#[cfg(test)]
mod tests {
    use rxla_kernel::FunctionId;

    use crate::text::{Extremes, Turns, UnitText, target_for_tests};

    fn ends(turns: Turns, body: &str) -> usize {
        let text = format!(
            "kernel @f(%0: ptr noalias, %1: i64) {{
               %a: f32x8 = load %0[%1]
               {body}
               store %0[%1], %a
             }}"
        );
        let module = rxla_kernel::text::parse(&text).unwrap();
        rxla_kernel::verify(&module).unwrap();
        let target = target_for_tests(Extremes::Comparisons, turns);
        let unit = UnitText::new(&module, FunctionId(0), &target, &|_| String::new());
        let text = unit.unwrap().alone(&target);
        text.matches("call void (...) @llvm.fake.use(").count()
    }

    #[test]
    fn turns_end_where_what_comes_next_is_another_operation_or_waits() {
        let twice = "%b0: f32x8 = mul %a, %a
                     %b1: f32x8 = mul %a, %a
                     %b2: f32x8 = mul %a, %a
                     %b3: f32x8 = mul %a, %a
                     %c0: f32x8 = mul %b0, %a
                     %c1: f32x8 = mul %b1, %a
                     %c2: f32x8 = mul %b2, %a
                     %c3: f32x8 = mul %b3, %a
                     %d0: f32x8 = add %c0, %a
                     %d1: f32x8 = add %c1, %a";
        assert_eq!(ends(Turns::Kept, twice), 2);
        assert_eq!(ends(Turns::Free, twice), 0);
        let chain = "%b0: f32x8 = mul %a, %a
                     %b1: f32x8 = mul %b0, %a
                     %b2: f32x8 = mul %b1, %a
                     %b3: f32x8 = mul %b2, %a";
        assert_eq!(ends(Turns::Kept, chain), 0);
    }
}
