#!/usr/bin/env python3
"""Writes tables of functions in double precision, to measure approximations by.

  tools/maths/reference.py COUNT [SEED] > TABLE

A line is a name and then numbers as their bits: arguments, the result rounded, and what rounding lost. COUNT inputs a
function: some from the range where it is hardest, some from all exponents, and those where a code changes its way.
Needs mpmath.
"""

import math
import random
import struct
import sys

from mpmath import mp, mpf

mp.dps = 60


def bits(x):
    return format(struct.unpack("<Q", struct.pack("<d", x))[0], "016x")


def to_float(x):
    """The nearest double, subnormals too, and what is missing."""
    x = mpf(x)
    if x == 0:
        return 0.0, 0.0
    exponent = max(int(mp.floor(mp.log(abs(x), 2))), -1022)
    unit = mpf(2) ** (exponent - 52)
    rounded = mp.nint(x / unit) * unit
    if abs(rounded) >= mpf(2) ** 1024:
        return math.copysign(math.inf, x), 0.0
    return float(rounded), float(x - rounded) if exponent > -900 else float(0)


def erfc(x):
    with mp.workdps(60 if x < 0 else 60 + int(x * x / 2)):
        return mp.erfc(x)


FUNCTIONS = {
    "exp": (mp.exp, -745, 709.7), "exp2": (lambda x: mpf(2) ** x, -1074, 1023.9), "expm1": (mp.expm1, -40, 709.7),
    "log": (mp.log, 0, 4), "log2": (lambda x: mp.log(x, 2), 0, 4), "log1p": (mp.log1p, -1, 4),
    "sin": (mp.sin, -20, 20), "cos": (mp.cos, -20, 20), "tan": (mp.tan, -20, 20),
    "asin": (mp.asin, -1, 1), "acos": (mp.acos, -1, 1), "atan": (mp.atan, -4, 4),
    "sinh": (mp.sinh, -5, 5), "cosh": (mp.cosh, -5, 5), "tanh": (mp.tanh, -5, 5),
    "asinh": (mp.asinh, -4, 4), "acosh": (mp.acosh, 1, 4), "atanh": (mp.atanh, -1, 1),
    "erf": (mp.erf, -6, 6), "erfc": (erfc, -6, 27), "cbrt": (lambda x: mp.sign(x) * mp.cbrt(abs(x)), -8, 8),
    "rsqrt": (lambda x: 1 / mp.sqrt(x), 0, 8), "logistic": (lambda x: 1 / (1 + mp.exp(-x)), -30, 30),
}
# Beyond their range functions are not defined, or have results that no double holds.
WIDE = {"log", "log2", "sin", "cos", "tan", "atan", "asinh", "cbrt", "rsqrt", "acosh", "log1p"}
POSITIVE = {"log", "log2", "rsqrt", "acosh", "log1p"}


def any_exponent(rng, low, high):
    return math.ldexp(rng.uniform(1, 2), rng.randint(low, high)) * rng.choice([1, -1])


def inputs(name, low, high, count, rng):
    for i in range(count):
        if i % 2 == 0:
            x = rng.uniform(low, high)
        elif i % 4 == 1:
            x = any_exponent(rng, -40, 3)
        else:
            x = any_exponent(rng, -1070, 1022) if name in WIDE else any_exponent(rng, -1070, -1)
        if name in POSITIVE:
            x = abs(x)
        if name in ("sin", "cos", "tan") and i % 8 == 3:
            # Near multiples of pi / 2.
            x = float(mpf(rng.randint(1, 2 ** rng.randint(1, 80))) * mp.pi / 2)
        if name in ("log", "log2", "acosh", "asin", "acos", "atanh") and i % 8 == 5:
            x = 1 + x * 1e-3 * (1 if name in ("log", "log2", "acosh") else -math.copysign(1, x))
        if name == "acosh" and x < 1:
            x = 1 + x
        if name in ("asin", "acos", "atanh") and abs(x) >= 1:
            x = 0.5 + 1 / (4 * x)
        yield x


def main():
    count = int(sys.argv[1])
    rng = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    for name, (f, low, high) in FUNCTIONS.items():
        # The argument of a reduction by pi has digits of its own.
        with mp.workdps(400 if name in ("sin", "cos", "tan") else 60):
            for x in inputs(name, low, high, count, rng):
                result, rest = to_float(f(mpf(x)))
                # No check is made where a result is below the normal numbers and its rest is lost.
                print(name, bits(x), bits(result), bits(rest))
    for i in range(count):
        x = abs(any_exponent(rng, -1070, 1020) if i % 2 else rng.uniform(0, 4))
        limit = 700 / max(abs(math.log(x)), 1e-3)
        y = rng.uniform(-limit, limit) if i % 3 else rng.uniform(-4, 4)
        result, rest = to_float(mpf(x) ** mpf(y))
        if result != 0 and math.isfinite(result):
            print("pow", bits(x), bits(y), bits(result), bits(rest))
    for i in range(count):
        y, x = (any_exponent(rng, -30, 30), any_exponent(rng, -30, 30)) if i % 2 else (rng.uniform(-4, 4), rng.uniform(-4, 4))
        result, rest = to_float(mp.atan2(mpf(y), mpf(x)))
        print("atan2", bits(y), bits(x), bits(result), bits(rest))


main()
