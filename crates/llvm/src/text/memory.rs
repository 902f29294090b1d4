//! Loads and stores.
//!
//! All are of alignment 1: the kernel IR promises no more, LLVM infers what the parameters'
//! alignment gives, and the CPUs at hand do not mind.

use std::fmt::Write;

use rxla_base::Result;
use rxla_kernel::{BinaryOp, Op, Scalar, Type, Value};

use super::operand::{Abi, Ll, Operand, Suffix};
use super::{Emitter, Extremes, abi, emit, emit_void};

impl Emitter<'_, '_> {
    pub(super) fn load(
        &mut self,
        ty: Type,
        base: Value,
        index: Value,
        mask: Option<Value>,
    ) -> Result<Operand> {
        let address = self.address(ty, base, index)?;
        let memory = Abi(ty);
        let Some(mask) = mask else {
            let loaded = if address.gathered {
                let all = Operand::Constant(ty.with_scalar(Scalar::I1), 1);
                self.gather(ty, address.operand, all)
            } else {
                emit!(self, "load {memory}, ptr {}, align 1", address.operand)
            };
            return Ok(self.from_abi(ty, loaded));
        };
        let mask = self.get(mask)?;
        let loaded = if !ty.is_vector() {
            self.load_if(ty, address.operand, mask)
        } else if address.gathered {
            self.gather(ty, address.operand, mask)
        } else {
            let (suffix, truth) = (Suffix(abi(ty)), Ll(ty.with_scalar(Scalar::I1)));
            emit!(
                self,
                "call {memory} @llvm.masked.load.{suffix}.p0(ptr {}, i32 1, {truth} {mask}, {memory} zeroinitializer)",
                address.operand
            )
        };
        Ok(self.from_abi(ty, loaded))
    }

    pub(super) fn store(
        &mut self,
        base: Value,
        index: Value,
        stored: Value,
        mask: Option<Value>,
    ) -> Result<()> {
        let ty = self.function.ty(stored);
        let address = self.address(ty, base, index)?;
        let value = self.get(stored)?;
        let value = self.to_abi(ty, value);
        let memory = Abi(ty);
        let truth_type = ty.with_scalar(Scalar::I1);
        let mask = mask.map(|mask| self.get(mask)).transpose()?;
        match mask {
            None if !address.gathered => {
                let value = match self.is_choice_in_place(ty, (base, index), stored) {
                    true => emit!(self, "freeze {memory} {value}"),
                    false => value,
                };
                emit_void!(self, "store {memory} {value}, ptr {}, align 1", address.operand);
            }
            Some(mask) if !ty.is_vector() => self.store_if(ty, address.operand, value, mask),
            Some(mask) if !address.gathered => {
                let (suffix, truth) = (Suffix(abi(ty)), Ll(truth_type));
                emit_void!(
                    self,
                    "call void @llvm.masked.store.{suffix}.p0({memory} {value}, ptr {}, i32 1, {truth} {mask})",
                    address.operand
                );
            }
            // LLVM orders overlapping lanes as we do: the last one wins.
            mask => {
                let mask = mask.unwrap_or(Operand::Constant(truth_type, 1));
                let (suffix, truth) = (Suffix(abi(ty)), Ll(truth_type));
                let (pointers, lanes) = (Ll(ty.with_scalar(Scalar::Ptr)), ty.lanes);
                emit_void!(
                    self,
                    "call void @llvm.masked.scatter.{suffix}.v{lanes}p0({memory} {value}, {pointers} {}, i32 1, {truth} {mask})",
                    address.operand
                );
            }
        }
        Ok(())
    }

    /// Whether vectors of such values are chosen between what is at an address already and something else. LLVM makes a
    /// masked store of it, which takes processors of AMD without AVX-512 more than ten cycles; what is frozen it leaves alone.
    fn is_choice_in_place(&self, ty: Type, place: (Value, Value), stored: Value) -> bool {
        let Some(&Op::Select(_, a, b)) = self.ops[stored.0 as usize] else { return false };
        let is_there = |value: Value| match self.ops[value.0 as usize] {
            Some(&Op::Load { base, index, mask: None }) => (base, index) == place,
            _ => false,
        };
        ty.is_vector()
            && self.unit.extremes == Extremes::Comparisons
            && [a, b].into_iter().any(is_there)
    }

    fn gather(&mut self, ty: Type, pointers: Operand, mask: Operand) -> Operand {
        let (memory, suffix, lanes) = (Abi(ty), Suffix(abi(ty)), ty.lanes);
        let truth = Ll(ty.with_scalar(Scalar::I1));
        let pointer_type = Ll(ty.with_scalar(Scalar::Ptr));
        emit!(
            self,
            "call {memory} @llvm.masked.gather.{suffix}.v{lanes}p0({pointer_type} {pointers}, i32 1, {truth} {mask}, {memory} zeroinitializer)"
        )
    }

    fn load_if(&mut self, ty: Type, address: Operand, mask: Operand) -> Operand {
        let (load, after) = (self.label(), self.label());
        let from = self.block;
        emit_void!(self, "br i1 {mask}, label %b{load}, label %b{after}");
        self.start(load);
        let loaded = emit!(self, "load {}, ptr {address}, align 1", Abi(ty));
        emit_void!(self, "br label %b{after}");
        self.start(after);
        let zero = Operand::Constant(abi(ty), 0);
        emit!(self, "phi {} [ {zero}, %b{from} ], [ {loaded}, %b{load} ]", Abi(ty))
    }

    fn store_if(&mut self, ty: Type, address: Operand, value: Operand, mask: Operand) {
        let (store, after) = (self.label(), self.label());
        emit_void!(self, "br i1 {mask}, label %b{store}, label %b{after}");
        self.start(store);
        emit_void!(self, "store {} {value}, ptr {address}, align 1", Abi(ty));
        emit_void!(self, "br label %b{after}");
        self.start(after);
    }

    /// The address, or the addresses, of elements of `ty`'s scalar. What an index adds up is added
    /// to the base one by one, outer loops' parts first, so that these can leave the inner loops, and a
    /// distance last, which instructions hold.
    fn address(&mut self, ty: Type, base: Value, index: Value) -> Result<Address> {
        let index_type = self.function.ty(index);
        let base = self.get(base)?;
        let element = Abi(ty.scalar.into());
        if index_type.is_vector() {
            let index = self.get(index)?;
            let indices = Ll(index_type);
            let operand = emit!(self, "getelementptr {element}, ptr {base}, {indices} {index}");
            return Ok(Address { operand, gathered: true });
        }
        let mut terms = Vec::new();
        self.terms(index, &mut terms);
        terms.sort_by_key(|&term| self.depths[term.0 as usize]);
        let mut operand = base;
        let mut distance = 0u64;
        for term in terms {
            match self.get(term)? {
                Operand::Constant(_, bits) => distance = distance.wrapping_add(bits),
                term => {
                    operand = emit!(self, "getelementptr {element}, ptr {operand}, i64 {term}");
                }
            }
        }
        if distance != 0 {
            let distance = distance as i64;
            operand = emit!(self, "getelementptr {element}, ptr {operand}, i64 {distance}");
        }
        Ok(Address { operand, gathered: false })
    }

    /// The values that `index` is the sum of, as far as they come from different loops.
    fn terms(&self, index: Value, terms: &mut Vec<Value>) {
        let depth = |value: Value| self.depths[value.0 as usize];
        match self.ops[index.0 as usize] {
            Some(&Op::Binary(BinaryOp::Add, a, b)) if depth(a) != depth(b) => {
                self.terms(a, terms);
                self.terms(b, terms);
            }
            Some(_) | None => terms.push(index),
        }
    }
}

struct Address {
    operand: Operand,
    /// Whether there is one for each lane.
    gathered: bool,
}

#[cfg(test)]
mod tests {
    use rxla_kernel::FunctionId;

    use super::super::{Turns, UnitText, target_for_tests};
    use super::*;

    fn text(extremes: Extremes, place: &str) -> String {
        let text = format!(
            "kernel @f(%0: ptr noalias, %1: i64, %2: i64) {{
               %before: f32x8 = load %0[%1]
               %new: f32x8 = mul %before, %before
               %is_less: i1x8 = compare flt %new, %before
               %chosen: f32x8 = select %is_less, %new, %before
               store %0[{place}], %chosen
             }}"
        );
        let module = rxla_kernel::text::parse(&text).unwrap();
        rxla_kernel::verify(&module).unwrap();
        let target = target_for_tests(extremes, Turns::Free);
        UnitText::new(&module, FunctionId(0), &target, &|_| String::new()).unwrap().alone(&target)
    }

    #[test]
    fn choices_in_place_are_no_masked_stores_without_avx_512() {
        assert!(text(Extremes::Comparisons, "%1").contains("freeze <8 x float>"));
        assert!(!text(Extremes::Comparisons, "%2").contains("freeze"));
        assert!(!text(Extremes::Range, "%1").contains("freeze"));
    }
}
