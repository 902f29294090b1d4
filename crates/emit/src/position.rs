//! Index expressions as values: ranges, division, clamping, and the code that computes them.

use rxla_kernel::{BinaryOp, Convert, Scalar, Value};

use crate::affine::{Affine, Symbol};
use crate::emitter::{Definition, Emitter};
use crate::plan::{Access, NestId, Origin};

impl Emitter<'_> {
    /// The least and the greatest value that an expression can have.
    pub(crate) fn range(&self, expression: &Affine) -> (i64, i64) {
        let (mut low, mut high) = (expression.constant, expression.constant);
        for &(symbol, factor) in &expression.terms {
            let info = &self.symbols[symbol.0 as usize];
            let (a, b) = (info.low.saturating_mul(factor), info.high.saturating_mul(factor));
            low = low.saturating_add(a.min(b));
            high = high.saturating_add(a.max(b));
        }
        (low, high)
    }

    /// The block in which an expression can first be computed.
    pub(crate) fn depth_of(&self, expression: &Affine) -> usize {
        let depths = expression.terms.iter().map(|term| self.symbols[term.0.0 as usize].depth);
        depths.max().unwrap_or(self.base)
    }

    /// The value of an expression, computed as far out as its symbols allow.
    pub(crate) fn position(&mut self, expression: &Affine) -> Value {
        self.record(expression);
        let terms = self.value_terms(expression);
        self.sum(&terms, expression.constant)
    }

    /// The terms as values with their depths, groups of loops as one where that is possible.
    pub(crate) fn value_terms(&mut self, expression: &Affine) -> Vec<(Value, i64, usize)> {
        let mut terms: Vec<(Value, i64, usize)> = Vec::new();
        let mut groups: Vec<usize> = Vec::new();
        for &(symbol, factor) in &expression.terms {
            let info = self.symbols[symbol.0 as usize].clone();
            match info.definition {
                Definition::Value(value) => terms.push((value, factor, info.depth)),
                Definition::Member(group) if !groups.contains(&group) => groups.push(group),
                Definition::Member(_) => {}
            }
        }
        for number in groups {
            let group = self.groups[number].clone();
            let unit = group.members.last().map_or(0, |&(symbol, _)| expression.factor(symbol));
            let mut stride = unit;
            let one = group.members.iter().rev().all(|&(symbol, size)| {
                let fits = expression.factor(symbol) == stride;
                stride = stride.saturating_mul(size);
                fits
            });
            if one {
                terms.push((group.value, unit, group.depth));
                continue;
            }
            for &(symbol, _) in &group.members {
                let factor = expression.factor(symbol);
                if factor != 0 {
                    let value = self.member(symbol, number);
                    terms.push((value, factor, group.depth));
                }
            }
        }
        terms.retain(|term| term.1 != 0);
        // Outer values first, so that what is common in a loop is computed before it.
        terms.sort_by_key(|term| (term.2, term.0));
        terms
    }

    /// The value of one of the loops that run as one.
    fn member(&mut self, symbol: Symbol, group: usize) -> Value {
        let key = Affine::symbol(symbol);
        if let Some(value) = self.known_position(&key) {
            return value;
        }
        let group = self.groups[group].clone();
        let at = group.members.iter().position(|member| member.0 == symbol).expect("a member");
        let inner: i64 = group.members[at + 1..].iter().map(|member| member.1).product();
        let size = group.members[at].1;
        let whole: i64 = group.members.iter().map(|member| member.1).product();
        let value = self.at(group.depth, |builder| {
            let mut value = group.value;
            if inner > 1 {
                value = divide(builder, BinaryOp::UDiv, value, inner, whole);
            }
            if at > 0 {
                value = divide(builder, BinaryOp::URem, value, size, whole);
            }
            value
        });
        self.cache(group.depth).positions.insert(key, value);
        value
    }

    pub(crate) fn known_position(&self, key: &Affine) -> Option<Value> {
        self.caches.iter().rev().find_map(|cache| cache.positions.get(key)).copied()
    }

    pub(crate) fn sum(&mut self, terms: &[(Value, i64, usize)], constant: i64) -> Value {
        let Some(&(_, _, depth)) = terms.last() else {
            let base = self.base;
            return self.at(base, |builder| builder.index(constant));
        };
        // Values are no symbols, but as keys they serve: their numbers are marked by the top bit.
        let mut key = Affine::constant(constant);
        for &(value, factor, _) in terms {
            let term = Affine::symbol(Symbol(value.0 | 1 << 31)).times(factor);
            key = key.plus(&term);
        }
        if let Some(value) = self.known_position(&key) {
            return value;
        }
        let outer: Vec<_> = terms.iter().copied().filter(|term| term.2 < depth).collect();
        let before = (!outer.is_empty() || constant != 0).then(|| self.sum(&outer, constant));
        let inner: Vec<_> = terms.iter().copied().filter(|term| term.2 == depth).collect();
        let value = self.at(depth, |builder| {
            let mut sum = before;
            for (value, factor, _) in inner {
                let term = if factor == 1 {
                    value
                } else {
                    let factor = builder.index(factor);
                    builder.mul(value, factor)
                };
                sum = Some(match sum {
                    Some(sum) => builder.add(sum, term),
                    None => term,
                });
            }
            sum.expect("there is a term")
        });
        self.cache(depth).positions.insert(key, value);
        value
    }

    /// Quotient and remainder of an expression that is not negative.
    pub(crate) fn divided(&mut self, expression: &Affine, divisor: i64) -> (Affine, Affine) {
        if divisor == 1 {
            return (expression.clone(), Affine::default());
        }
        let mut quotient = Affine::constant(expression.constant.div_euclid(divisor));
        let mut rest = Affine::constant(expression.constant.rem_euclid(divisor));
        for &(symbol, factor) in &expression.terms {
            let term = Affine::symbol(symbol);
            if factor % divisor == 0 {
                quotient = quotient.plus(&term.times(factor / divisor));
            } else {
                rest = rest.plus(&term.times(factor));
            }
        }
        let (low, high) = self.range(&rest);
        if low >= 0 && high < divisor {
            return (quotient, rest);
        }
        if low < 0 {
            // What was taken out may be what keeps it from being negative.
            (quotient, rest) = (Affine::default(), expression.clone());
        }
        self.want_split(&rest, divisor);
        let key = (rest.clone(), divisor);
        let known = self.caches.iter().rev().find_map(|cache| cache.divisions.get(&key)).cloned();
        let (more, rest) = match known {
            Some(known) => known,
            None => self.divide_values(&rest, divisor),
        };
        (quotient.plus(&more), rest)
    }

    fn divide_values(&mut self, rest: &Affine, divisor: i64) -> (Affine, Affine) {
        let (_, high) = self.range(rest);
        let value = self.position(rest);
        let depth = self.placed_at(self.depth_of(rest));
        let (quotient, remainder) = self.at(depth, |builder| {
            let most = high.saturating_add(1);
            let quotient = divide(builder, BinaryOp::UDiv, value, divisor, most);
            (quotient, divide(builder, BinaryOp::URem, value, divisor, most))
        });
        let quotient = self.value_symbol(quotient, 0, high.max(0) / divisor, depth);
        let remainder = self.value_symbol(remainder, 0, divisor - 1, depth);
        let both = (Affine::symbol(quotient), Affine::symbol(remainder));
        self.cache(depth).divisions.insert((rest.clone(), divisor), both.clone());
        both
    }

    /// The index of a flat position in an array.
    pub(crate) fn delinearized(&mut self, flat: &Affine, dims: &[i64]) -> crate::affine::Index {
        let mut index: crate::affine::Index = dims.iter().map(|_| Affine::default()).collect();
        let mut rest = flat.clone();
        let first = dims.iter().position(|&size| size != 1).unwrap_or(0);
        for dimension in (first..dims.len()).rev() {
            if dims[dimension] == 1 {
                continue;
            }
            if dimension == first {
                index[dimension] = rest;
                break;
            }
            let (quotient, remainder) = self.divided(&rest, dims[dimension]);
            index[dimension] = remainder;
            rest = quotient;
        }
        index
    }

    /// The expression held between 0 and `limit`.
    pub(crate) fn clamped(&mut self, expression: &Affine, limit: i64) -> Affine {
        let (low, high) = self.range(expression);
        if low >= 0 && high <= limit {
            return expression.clone();
        }
        let key = (expression.clone(), limit);
        if let Some(known) = self.caches.iter().rev().find_map(|cache| cache.clamps.get(&key)) {
            return known.clone();
        }
        let value = self.position(expression);
        let depth = self.placed_at(self.depth_of(expression));
        let value = self.at(depth, |builder| {
            let (zero, limit) = (builder.index(0), builder.index(limit));
            let value = builder.binary(BinaryOp::SMax, value, zero);
            builder.binary(BinaryOp::SMin, value, limit)
        });
        let result = Affine::symbol(self.value_symbol(value, 0, limit, depth));
        self.cache(depth).clamps.insert(key, result.clone());
        result
    }

    /// What is known of an access to an element of a leaf.
    pub(crate) fn access(&self, leaf: usize, position: &Affine, width: usize) -> Access {
        let nest = self.nest_number;
        let own = NestId::Results(nest);
        let of_nest = |origin: Option<Origin>| origin.filter(|origin| origin.nest == own);
        let stride = |&(symbol, factor): &(Symbol, i64)| {
            let info = &self.symbols[symbol.0 as usize];
            of_nest(info.origin).map(|origin| (origin.position, factor, info.high))
        };
        let strides = position.terms.iter().filter_map(stride).collect();
        let others = position.terms.iter().filter(|term| stride(term).is_none()).copied();
        let rest = Affine { terms: others.collect(), constant: position.constant };
        let rest = self.range(&rest);
        let open = self.caches.iter().filter(|block| of_nest(block.origin).is_some()).count();
        Access { leaf, position: position.clone(), nest, strides, rest, open, width }
    }

    /// Notes that a loop would be better cut where the expression reaches `border`.
    pub(crate) fn want_cut(&mut self, expression: &Affine, border: i64) {
        let Some(learned) = &mut self.learned else { return };
        let &[(symbol, factor)] = &expression.terms[..] else { return };
        let Some(origin) = self.symbols[symbol.0 as usize].origin else { return };
        // The first value at which the comparison with the border turns.
        let at = if factor > 0 {
            (border - expression.constant + factor - 1).div_euclid(factor)
        } else {
            (expression.constant - border).div_euclid(-factor) + 1
        };
        learned.cuts.push((origin, at));
    }

    fn want_split(&mut self, rest: &Affine, divisor: i64) {
        let Some(learned) = &mut self.learned else { return };
        for &(symbol, factor) in &rest.terms {
            let info = &self.symbols[symbol.0 as usize];
            let Some(origin) = info.origin else { continue };
            let size = info.high + 1;
            if factor > 0 && divisor % factor == 0 {
                let inner = divisor / factor;
                if inner > 1 && inner < size && size % inner == 0 {
                    learned.splits.push((origin, inner));
                    return;
                }
            }
        }
    }

    /// Notes which loops an expression keeps apart: two can be one if the outer one's factor is the
    /// inner one's times its size.
    fn record(&mut self, expression: &Affine) {
        if self.learned.is_none() {
            return;
        }
        let mut apart: Vec<Origin> = Vec::new();
        let of = |symbol: Symbol| self.symbols[symbol.0 as usize].origin;
        for &(symbol, factor) in &expression.terms {
            let Some(origin) = of(symbol) else { continue };
            let size = self.symbols[symbol.0 as usize].high + 1;
            let neighbour = |position: usize| {
                let wanted = Origin { nest: origin.nest, position };
                expression.terms.iter().find(|term| of(term.0) == Some(wanted)).map(|term| term.1)
            };
            if origin.position > 0
                && neighbour(origin.position - 1) != Some(factor.saturating_mul(size))
            {
                apart.push(Origin { position: origin.position - 1, ..origin });
            }
            if neighbour(origin.position + 1).is_none() {
                apart.push(origin);
            }
        }
        let learned = self.learned.as_mut().expect("checked above");
        for origin in apart {
            if !learned.apart.contains(&origin) {
                learned.apart.push(origin);
            }
        }
    }
}

/// Division by a constant of a value below `limit`, in 32 bits where they suffice: vectors divide
/// those faster.
fn divide(
    builder: &mut rxla_kernel::Builder,
    op: BinaryOp,
    value: Value,
    divisor: i64,
    limit: i64,
) -> Value {
    if limit > i64::from(u32::MAX) {
        let divisor = builder.index(divisor);
        return builder.binary(op, value, divisor);
    }
    let divisor = builder.constant(Scalar::I32, divisor as u64);
    let narrow = builder.convert(Convert::Truncate, value, Scalar::I32);
    let result = builder.binary(op, narrow, divisor);
    builder.convert(Convert::ZeroExtend, result, Scalar::I64)
}
