#!/usr/bin/env python3
"""Fits the polynomials of crates/kernel/src/maths and writes coefficients.rs there.

  tools/maths/fit.py [NAME …] | rustfmt --edition 2024 > crates/kernel/src/maths/coefficients.rs

Needs mpmath (gmpy2 makes it quick). With names, only those are fitted and printed.

A fit is minimax: the weighted error equioscillates, found by Remez exchange on a dense Chebyshev grid. Coefficients are
rounded to the format one after the other from the lowest power, which weighs most; after each rounding the rest is
fitted again, so that they make up for what rounding took. The error written beside each table is that of the rounded
polynomial, exactly evaluated, in the weight that the table states: log2 of the largest relative error of the function.
"""

import sys

from mpmath import mp, mpf

mp.dps = 50


def round_to(x, bits):
    """The nearest number with so many significant bits."""
    if x == 0:
        return mpf(0)
    with mp.workprec(bits):
        return +x


def grid(lo, hi, count):
    return [(lo + hi) / 2 + (hi - lo) / 2 * mp.cos(mp.pi * (2 * i + 1) / (2 * count)) for i in range(count - 1, -1, -1)]


def errors_of(rows, values, weights, solution):
    return [weight * (value - mp.fdot(row, solution)) for row, value, weight in zip(rows, values, weights)]


def least_squares(rows, values, weights):
    """Coefficients c that minimise the sum of squares of weights * (values - rows c)."""
    n = len(rows[0])
    scaled = [[weight * entry for entry in row] for row, weight in zip(rows, weights)]
    columns = list(zip(*scaled))
    target = [weight * value for weight, value in zip(weights, values)]
    matrix = mp.matrix(n, n)
    right = mp.matrix(n, 1)
    for i in range(n):
        for j in range(i, n):
            matrix[i, j] = matrix[j, i] = mp.fdot(columns[i], columns[j])
        right[i] = mp.fdot(columns[i], target)
    return list(mp.lu_solve(matrix, right))


def remez(rows, values, weights):
    """Coefficients c that minimise max |weights * (values - rows c)| over the grid. Where the exchange does not
    converge (once the constant is fixed, the powers left are no Haar system around zero), the best that was seen,
    among it the least squares."""
    n = len(rows[0])
    size = len(rows)
    best = least_squares(rows, values, weights)
    least = max(map(abs, errors_of(rows, values, weights, best)))
    reference = [i * (size - 1) // n for i in range(n + 1)]
    for _ in range(30):
        matrix = mp.matrix(n + 1, n + 1)
        right = mp.matrix(n + 1, 1)
        for row, at in enumerate(reference):
            for column in range(n):
                matrix[row, column] = rows[at][column]
            matrix[row, n] = (-1) ** row / weights[at]
            right[row] = values[at]
        solution = list(mp.lu_solve(matrix, right))
        level = abs(solution.pop())
        errors = errors_of(rows, values, weights, solution)
        worst = max(map(abs, errors))
        if worst < least:
            best, least = solution, worst
        # The extremes of each stretch of one sign.
        extremes = []
        for i, error in enumerate(errors):
            if extremes and (errors[extremes[-1]] > 0) == (error > 0):
                if abs(error) > abs(errors[extremes[-1]]):
                    extremes[-1] = i
            else:
                extremes.append(i)
        while len(extremes) > n + 1:
            extremes.pop(0 if abs(errors[extremes[0]]) < abs(errors[extremes[-1]]) else -1)
        if len(extremes) < n + 1 or worst <= level * mpf("1.001"):
            break
        reference = extremes
    return best


def fit(f, weight, powers, interval, bits):
    """Rounded coefficients of sum c[i] x**powers[i], near f, and log2 of the largest weighted error.
    `bits` is one number for all coefficients, or a list."""
    lo, hi = map(mpf, interval)
    points = grid(lo, hi, 40 * len(powers) + 100)
    values = [f(x) for x in points]
    weights = [weight(x) for x in points]
    left = list(powers)
    done = []
    bits = list(bits) if isinstance(bits, list) else [bits] * len(powers)
    while left:
        rows = [[x**power for power in left] for x in points]
        solution = remez(rows, values, weights)
        first = round_to(solution[0], bits[len(done)])
        done.append(first)
        power = left.pop(0)
        values = [value - first * x**power for value, x in zip(values, points)]
    worst = max(abs(value * weight) for value, weight in zip(values, weights))
    return done, float(mp.log(worst, 2))


LN2 = mp.ln2
SINGLE, DOUBLE = 24, 53
FITS = {}


def table(name, doc, bits, f, weight, powers, interval):
    FITS[name] = (doc, bits, f, weight, powers, interval)


def even(f):
    """f of a square, given as a function of the square's root."""
    return lambda z: f(mp.sqrt(z))


def erfcx(x):
    """exp(x^2) erfc(x)."""
    return mp.exp(x * x) * mp.erfc(x) if x < 40 else mp.hyperu(0.5, 0.5, x * x) / mp.sqrt(mp.pi)


def tail(k):
    """(1 + 2x) exp(x^2) erfc(x) as a function of t = (x - k) / (x + k)."""

    def f(t):
        x = k * (1 + t) / (1 - t)
        return (1 + 2 * x) * erfcx(x)

    return f


def both(name, doc, f, weight, single, double, interval):
    if single:
        table("SINGLE_" + name, doc, SINGLE, f, weight, list(range(single)), interval)
    if double:
        table("DOUBLE_" + name, doc, DOUBLE, f, weight, list(range(double)), interval)


both(
    "EXP", "`exp(r) = 1 + r + r^2 p(r)` for |r| <= ln 2",
    lambda r: (mp.expm1(r) - r) / r**2, lambda r: r**2 / mp.exp(r), 6, 12, ("-0.6935", "0.6935"),
)
both(
    "EXPM1", "`expm1(r) = r + r^2 p(r)` for |r| <= ln(2) / 2",
    lambda r: (mp.expm1(r) - r) / r**2, lambda r: r**2 / mp.expm1(r) if r > 0 else -(r**2) / mp.expm1(r), 5, 10, ("-0.3468", "0.3468"),
)
both(
    "EXP2", "`exp2(r) = 1 + r p(r)` for |r| <= 1",
    lambda r: mp.expm1(r * LN2) / r, lambda r: abs(r) / mp.exp(r * LN2), 7, 13, ("-1.0005", "1.0005"),
)
table(
    "SINGLE_EXP2_HALF", "`exp2(r) = 1 + r p(r)` for |r| <= 1/2, for what is small beside one",
    SINGLE, lambda r: mp.expm1(r * LN2) / r, lambda r: abs(r) / mp.exp(r * LN2), list(range(5)), ("-0.5005", "0.5005"),
)
table(
    "SINGLE_EXP2_OF_FRACTION", "`exp2(r) = 1 + r p(r)` for |r| <= 1/2",
    SINGLE, lambda r: mp.expm1(r * LN2) / r, lambda r: abs(r) / mp.exp(r * LN2), list(range(6)), ("-0.5005", "0.5005"),
)
both(
    "LOG", "`log(1 + f) = f - f^2 / 2 + f^3 p(f)` for 1 + f from sqrt(1/2) to sqrt(2)",
    lambda f: (mp.log1p(f) - f + f * f / 2) / f**3, lambda f: abs(f**3 / mp.log1p(f)), 9, 0, ("-0.2929", "0.41425"),
)
both(
    "LOG", "`log((1 + s) / (1 - s)) = 2 s + s^3 p(s^2)` for |s| <= (sqrt(2) - 1) / (sqrt(2) + 1)",
    even(lambda s: (2 * mp.atanh(s) - 2 * s) / s**3), even(lambda s: s**3 / (2 * mp.atanh(s))), 0, 7, (0, "0.02945"),
)
both(
    "SIN", "`sin(r) = r + r^3 p(r^2)` for |r| <= pi / 4",
    even(lambda r: (mp.sin(r) - r) / r**3), even(lambda r: r**3 / mp.sin(r)), 3, 6, (0, "0.6170"),
)
both(
    "COS", "`cos(r) = 1 - r^2 / 2 + r^4 p(r^2)` for |r| <= pi / 4",
    even(lambda r: (mp.cos(r) - 1 + r * r / 2) / r**4), even(lambda r: r**4 / mp.cos(r)), 3, 6, (0, "0.6170"),
)
both(
    "ASIN", "`asin(x) = x + x^3 p(x^2)` for |x| <= cos(1)",
    even(lambda x: (mp.asin(x) - x) / x**3), even(lambda x: x**3 / mp.asin(x)), 6, 13, (0, "0.2920"),
)
both(
    "ATAN", "`atan(x) = x + x^3 p(x^2)` for |x| <= 1",
    even(lambda x: (mp.atan(x) - x) / x**3), even(lambda x: x**3 / mp.atan(x)), 8, 20, (0, 1),
)
both(
    "TAN", "`tan(r) = r + r^3 p(r^2)` for |r| <= pi / 4",
    even(lambda r: (mp.tan(r) - r) / r**3), even(lambda r: r**3 / mp.tan(r)), 6, 14, (0, "0.6170"),
)
both(
    "TANH", "`tanh(x) = x + x^3 p(x^2)` for |x| <= 0.625",
    even(lambda x: (mp.tanh(x) - x) / x**3), even(lambda x: x**3 / mp.tanh(x)), 5, 0, (0, "0.390625"),
)
both(
    "TANH", "`tanh(x) = x + x^3 p(x^2)` for |x| <= 0.55",
    even(lambda x: (mp.tanh(x) - x) / x**3), even(lambda x: x**3 / mp.tanh(x)), 0, 11, (0, "0.3025"),
)
both(
    "SINH", "`sinh(x) = x + x^3 p(x^2)` for |x| <= 1",
    even(lambda x: (mp.sinh(x) - x) / x**3), even(lambda x: x**3 / mp.sinh(x)), 4, 8, (0, 1),
)
both(
    "ERF", "`erf(x) = x + x p(x^2)` for |x| <= 1",
    even(lambda x: mp.erf(x) / x - 1), even(lambda x: x / mp.erf(x)), 7, 14, (0, 1),
)
table(
    "SINGLE_ERFC_LOG2", "`log2(erfc(x)) = p(x)` for x from 1 to 4; the error is that of `erf`",
    SINGLE, lambda x: mp.log(mp.erfc(x), 2), lambda x: mp.erfc(x) * LN2 / mp.erf(x), list(range(6)), (1, "3.94"),
)
table(
    "SINGLE_ERFC", "`(1 + 2 x) exp(x^2) erfc(x) = p((x - 4) / (x + 4))` for x from 0 to 10.1",
    SINGLE, tail(4), lambda t: 1 / tail(4)(t), list(range(10)), (-1, "0.4327"),
)
table(
    "DOUBLE_ERFC", "`(1 + 2 x) exp(x^2) erfc(x) = p((x - 4) / (x + 4))` for x from 0 to 27.3",
    DOUBLE, tail(4), lambda t: 1 / tail(4)(t), list(range(23)), (-1, "0.7445"),
)
both(
    "INVERSE_CBRT", "`1 / cbrt(m) = p(m)` for m from 1 to 8, to start from",
    lambda m: 1 / mp.cbrt(m), mp.cbrt, 6, 6, (1, 8),
)
table(
    "POWF_LOG2", "`log2((1 + s) / (1 - s)) = s p(s^2)` for |s| as for `DOUBLE_LOG`; for results in single precision",
    DOUBLE, even(lambda s: 2 * mp.atanh(s) / LN2 / s), even(lambda s: s * LN2 / (2 * mp.atanh(s))), list(range(5)), (0, "0.02945"),
)
table(
    "POWF_EXP2", "`exp2(r) = 1 + r p(r)` for |r| <= 1/2; for results in single precision",
    DOUBLE, lambda r: mp.expm1(r * LN2) / r, lambda r: abs(r) / mp.exp(r * LN2), list(range(7)), ("-0.5001", "0.5001"),
)
table(
    "POW_LOG", "`log((1 + s) / (1 - s)) = 2 s + 2/3 s^3 + s^5 p(s^2)` for |s| as for `DOUBLE_LOG`",
    DOUBLE, even(lambda s: (2 * mp.atanh(s) - 2 * s - 2 * s**3 / 3) / s**5), even(lambda s: s**5 / (2 * mp.atanh(s))),
    list(range(8)), (0, "0.02945"),
)


def parts(x, bits):
    """x as a sum of numbers with so many significant bits each."""
    result = []
    for count in bits:
        result.append(round_to(x, count))
        x -= result[-1]
    return result


# Constants in parts. The first part of ln 2 leaves room for the bits of an exponent.
CONSTANTS = {
    "SINGLE_LN2": parts(mp.ln2, [SINGLE - 9, SINGLE]),
    "DOUBLE_LN2": parts(mp.ln2, [DOUBLE - 12, DOUBLE]),
    "SINGLE_LOG2_E": parts(1 / mp.ln2, [SINGLE] * 2),
    "DOUBLE_LOG2_E": parts(1 / mp.ln2, [DOUBLE] * 2),
    "SINGLE_HALF_PI": parts(mp.pi / 2, [SINGLE] * 3),
    "DOUBLE_HALF_PI": parts(mp.pi / 2, [DOUBLE] * 3),
    "TWO_THIRDS": parts(mpf(2) / 3, [DOUBLE] * 2),
}


def main():
    names = sys.argv[1:] or list(FITS)
    print("//! Coefficients of the polynomials, the lowest power first, and constants in parts.")
    print("//! Written by `tools/maths/fit.py`.\n")
    print("// That some round to what has a name says nothing about what they are.")
    print("#![allow(clippy::approx_constant)]")
    for name, values in CONSTANTS.items():
        print(f"\npub(super) const {name}: [f64; {len(values)}] = [{', '.join(repr(float(v)) for v in values)}];")
    with mp.workdps(450):
        digits = int(mp.floor(2 / mp.pi * mpf(2) ** (64 * 19)))
    words = [0] + [digits >> (64 * (18 - i)) & (2**64 - 1) for i in range(19)]
    print("\n/// The binary digits of 2 / pi: a word of zeros before the point, then those after it.")
    print("pub(super) const TWO_OVER_PI: [u64; 20] = [")
    for word in words:
        print(f"    {word:#018x},")
    print("];")
    for name in names:
        doc, bits, f, weight, powers, interval = FITS[name]
        coefficients, error = fit(f, weight, powers, interval, bits)
        print(f"\n/// {doc}; relative error 2^{error:.1f}.")
        print(f"pub(super) const {name}: &[f64] = &[")
        for coefficient in coefficients:
            print(f"    {float(coefficient)!r},")
        print("];", flush=True)


main()
