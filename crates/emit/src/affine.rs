//! Index expressions: sums of loop variables and other index values with constant factors.

use smallvec::SmallVec;

/// An index value whose range is known; see [`crate::space::Space`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) struct Symbol(pub(crate) u32);

/// `constant + Σ factor · symbol`. Symbols are sorted and no factor is zero, so that equal
/// expressions are equal values.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Affine {
    pub(crate) terms: SmallVec<[(Symbol, i64); 3]>,
    pub(crate) constant: i64,
}

/// One expression per dimension.
pub(crate) type Index = SmallVec<[Affine; 3]>;

impl Affine {
    pub(crate) fn constant(constant: i64) -> Affine {
        Affine { terms: SmallVec::new(), constant }
    }

    pub(crate) fn symbol(symbol: Symbol) -> Affine {
        Affine { terms: SmallVec::from_slice(&[(symbol, 1)]), constant: 0 }
    }

    pub(crate) fn as_constant(&self) -> Option<i64> {
        self.terms.is_empty().then_some(self.constant)
    }

    pub(crate) fn plus_constant(&self, constant: i64) -> Affine {
        Affine { terms: self.terms.clone(), constant: self.constant + constant }
    }

    pub(crate) fn times(&self, factor: i64) -> Affine {
        if factor == 0 {
            return Affine::default();
        }
        let terms = self.terms.iter().map(|&(symbol, own)| (symbol, own * factor)).collect();
        Affine { terms, constant: self.constant * factor }
    }

    pub(crate) fn plus(&self, other: &Affine) -> Affine {
        let mut terms = self.terms.clone();
        for &(symbol, factor) in &other.terms {
            match terms.binary_search_by_key(&symbol, |term| term.0) {
                Ok(at) if terms[at].1 + factor == 0 => {
                    terms.remove(at);
                }
                Ok(at) => terms[at].1 += factor,
                Err(at) => terms.insert(at, (symbol, factor)),
            }
        }
        Affine { terms, constant: self.constant + other.constant }
    }

    pub(crate) fn factor(&self, symbol: Symbol) -> i64 {
        match self.terms.binary_search_by_key(&symbol, |term| term.0) {
            Ok(at) => self.terms[at].1,
            Err(_) => 0,
        }
    }
}

/// The row-major position of an index in an array.
pub(crate) fn linear(index: &[Affine], dims: &[i64]) -> Affine {
    let mut stride = 1;
    let mut sum = Affine::default();
    for (index, &size) in index.iter().zip(dims).rev() {
        sum = sum.plus(&index.times(stride));
        stride *= size;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_canonical() {
        let (a, b) = (Affine::symbol(Symbol(0)), Affine::symbol(Symbol(1)));
        assert_eq!(b.plus(&a), a.plus(&b));
        assert_eq!(a.plus(&b).plus(&a.times(-1)), b);
        assert_eq!(linear(&[a.clone(), b.clone()], &[3, 5]), a.times(5).plus(&b));
        assert_eq!(linear(&[], &[]), Affine::constant(0));
    }
}
