"""exp, log, log Σ exp and unit draws, written so that LLVM can vectorise or inline them."""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np
from numba.extending import intrinsic

from palmette._jit import inline, reduction
from palmette._plain import IS_PLAIN
from palmette.octets import load, not_below, repeat, store

__all__ = [
    "LOG_2_PI",
    "accumulate",
    "add_exponentials",
    "add_shares",
    "exponential",
    "largest",
    "logarithm",
    "one_minus_exponential",
    "scramble",
    "unit_draw",
]

_LOWEST = -708.0  # exp of anything below is subnormal; we call it 0
_LOG2_E = 1.4426950408889634
_LN2_HIGH = 6.93147180369123816490e-01  # k · _LN2_HIGH is exact for |k| < 2^20
_LN2_LOW = 1.90821492927058770002e-10
_C2, _C3, _C4, _C5, _C6, _C7, _C8, _C9, _C10, _C11, _C12, _C13 = (1.0 / math.factorial(i) for i in range(2, 14))

# log x = e log 2 + log c_i + log(m / c_i): c_i is the middle of the i-th of 128 intervals of the mantissa m.
_CENTRES = 1 + (np.arange(128) + 0.5) / 128
_INVERSES, _LOGS = 1 / _CENTRES, np.log(_CENTRES)
_LOG_2 = math.log(2)
LOG_2_PI = math.log(2 * math.pi)

_HARMLESS = 82 * _LOG_2  # 2^29 terms, each smaller by this than the largest, are less than 2^-53 of the sum
_LAST = 1e-15  # of a number so large that it does not feel the former: the largest must count


@intrinsic
def _float_of_bits(typing_context: Any, bits: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], context.get_value_type(numba.types.float64))

    return numba.types.float64(numba.types.int64), codegen


if IS_PLAIN:
    globals().update(_float_of_bits=lambda bits: np.int64(bits).view(np.float64))


@inline
def _reduced(x):
    # (2^k, e^r − 1) for x = k log 2 + r ≥ −708 with |r| ≤ log(2)/2, by the Taylor polynomial of e^r.
    k = np.floor(x * _LOG2_E + 0.5)
    r = (x - k * _LN2_HIGH) - k * _LN2_LOW
    r2 = r * r
    r4 = r2 * r2
    top = (_C8 + _C9 * r) + r2 * (_C10 + _C11 * r) + r4 * (_C12 + _C13 * r)
    tail = (_C2 + _C3 * r) + r2 * ((_C4 + _C5 * r) + r2 * (_C6 + _C7 * r)) + (r4 * r2) * top
    return _float_of_bits((np.int64(k) + 1023) << 52), r + r2 * tail


@inline
def exponential(x):
    """exp(x) for x ≤ 700 to within 2 units in the last place; 0 below −708; NaN stays NaN.

    x = k log 2 + r with |r| ≤ log(2)/2, and exp(r) by its Taylor polynomial: no call, no table, no branch.
    """
    scale, more = _reduced(max(x, _LOWEST))
    value = (1.0 + more) * scale
    if x < _LOWEST:
        return 0.0
    return value if x >= _LOWEST else x


@inline
def one_minus_exponential(x):
    """1 − exp(−x) for x ≥ 0, to all digits also where x is small, which is what `math.expm1` is for; no call."""
    scale, more = _reduced(max(-x, _LOWEST))
    return (1.0 - scale) - scale * more


@inline
def logarithm(x):
    """Natural logarithm of a positive normal x, to 2e-16 (1 + |log x|); inlined, twice as fast as a call of libm."""
    bits = np.float64(x).view(np.int64)
    i = np.uint64((bits >> 45) & 127)
    mantissa = np.int64((bits & 0xFFFFFFFFFFFFF) | 0x3FF0000000000000).view(np.float64)
    r = mantissa * _INVERSES[i] - 1.0
    r2 = r * r
    tail = r2 * ((r * (1 / 3) - 0.5) + r2 * ((r * 0.2 - 0.25) + r2 * (r * (1 / 7) - 1 / 6)))
    return (((bits >> 52) - 1023) * _LOG_2 + _LOGS[i]) + (r + tail)


@reduction
def add_exponentials(values, count, reference):
    """Σ exp(values[j] − reference) over the first `count` entries."""
    total = 0.0
    for j in range(count):
        total += exponential(values[j] - reference)
    return total


@inline
def largest(values, count):
    """The largest of the first `count` entries; NaN is passed over."""
    # Four running maxima, since each waits for the one before it.
    a = b = c = d = -np.inf
    whole = count & ~3
    for j in range(0, whole, 4):
        a = values[j] if values[j] > a else a
        b = values[j + 1] if values[j + 1] > b else b
        c = values[j + 2] if values[j + 2] > c else c
        d = values[j + 3] if values[j + 3] > d else d
    for j in range(whole, count):
        a = values[j] if values[j] > a else a
    a = a if a > b else b
    c = c if c > d else d
    return a if a > c else c


@inline
def _kept(values, count, least):
    # Move the octets that hold a number above `least`, or NaN, to the front; how many numbers there are then. A look at
    # three of them tells whether it is worth while.
    if values[0] > least and values[count >> 1] > least and values[count - 1] > least:
        return count
    kept = 0
    whole = count & ~7
    bound = repeat(least)
    for j in range(0, whole, 8):
        octet = load(values, j)
        if not_below(octet, bound):
            store(octet, values, kept)
            kept += 8
    for j in range(whole, count):
        values[kept] = values[j]
        kept += 1
    return kept


@inline
def add_shares(values, count):
    """Σ exp(values[j]) over the first `count` entries, none of them above 0; what underflows costs nothing.

    The entries are moved about.
    """
    return add_exponentials(values, _kept(values, count, _LOWEST), 0.0)


@inline
def accumulate(values, count, top, reference, total):
    """(r, t) with t e^r = total e^reference + Σ exp(values[j]) over the first `count`, of which `top` is largest.

    Only octets that can change the last bit of the sum are added. The entries are moved about.
    """
    if top > reference:
        total *= math.exp(reference - top)
        reference = top
    if reference > -np.inf:
        total += add_exponentials(
            values, _kept(values, count, reference - _HARMLESS - _LAST * abs(reference)), reference
        )
    else:
        for j in range(count):  # NaN is not larger than anything, and must not get lost
            if values[j] != values[j]:
                reference, total = 0.0, np.nan
    return reference, total


@inline
def scramble(x):
    """The finaliser of splitmix64: every bit of a 64-bit number reaches every bit of the result."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@inline
def unit_draw(seed, item, step):
    """A number uniform in [0, 1) that depends on (seed, item, step) only: the same whatever else is drawn, and when."""
    golden = np.uint64(0x9E3779B97F4A7C15)
    x = scramble(np.uint64(seed) + golden)
    x = scramble(x + golden * (np.uint64(item) + np.uint64(1)))
    x = scramble(x + golden * (np.uint64(step) + np.uint64(1)))
    return np.float64(x >> np.uint64(11)) * 1.1102230246251565e-16
