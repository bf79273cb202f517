"""Decimal text to the nearest float, in compiled code and bit for bit what `float(text)` gives.

A number w · 10^q with w < 2^64 is rounded by one or two multiplications of w with the 128 leading bits of 5^q (Lemire,
*Number parsing at a gigabyte per second*, 2021; that no case is left in doubt is proved by Mushtak and Lemire, 2023).
Numbers of more than 19 digits, and those of very large or very small exponent, are left to Python: for them
`number_bits` says where in the text they begin.

Why not NumPy: for the numbers of ten thousand trees of a hundred leaves, cut out already, `np.fromstring` and `astype`
from bytes take 2.3 and 2.5 times as long as reading the whole file takes with this, and Python's `float` 3.0 times
(benchmarks/tree_files.py).
"""

import numpy as np

from palmette._jit import inline

__all__ = ["NONE", "number_bits"]

NONE = 0x7FF8000000000000  # the bits of NaN: no number; anything above is NONE + 1 + where a number for Python begins
_LEAST, _MOST = -300, 260  # of q: no result is subnormal, and none is above 1e279, so that any sum of them is finite
_DIGITS = 19  # that fit into 64 bits
_FAR = 100_000  # exponents beyond it need not be told apart
_WORD, _HALF, _LOW_HALF = np.uint64(64), np.uint64(32), np.uint64(0xFFFFFFFF)
_ZERO, _ONE, _THREE = np.uint64(0), np.uint64(1), np.uint64(3)
_TEN, _SPARE, _TOP = np.uint64(10), np.uint64(9), np.uint64(63)
_SPARE_BITS = np.uint64(0x1FF)  # the lowest nine bits: all ones if the second multiplication can matter
_MINUS, _PLUS, _POINT, _E = 45, 43, 46, 101


def _leading_bits(q: int) -> int:
    """The 128 leading bits of 5^q: cut off for q ≥ 0, and the next larger ones for q < 0."""
    power: int = 5 ** abs(q)
    size = power.bit_length()
    if q >= 0:
        return power >> (size - 128) if size > 128 else power << (128 - size)
    bits: int = (1 << (size + 127 if q >= -27 else 2 * size + 128)) // power + 1
    return bits >> (bits.bit_length() - 128)


_POWERS = np.array([[p >> 64, p & (2**64 - 1)] for p in map(_leading_bits, range(_LEAST, _MOST + 1))], dtype=np.uint64)


@inline
def number_bits(data, at, stop):
    """The bits (int64) of the number data[at:stop]; NONE if it is none, and NONE + 1 + at if Python must read it.

    A number is what `float` takes of digits, sign, point and exponent; data[stop] must exist.
    """
    start = at
    negative = data[at] == _MINUS
    if negative or data[at] == _PLUS:
        at += 1
    w, digits, whole_end = _digits(data, at, _ZERO, 0)
    end, n_read, shift = whole_end, whole_end - at, 0
    if data[end] == _POINT:
        w, digits, end = _digits(data, whole_end + 1, w, digits)
        shift = end - whole_end - 1
        n_read += shift
    exponent, end = _exponent(data, end)
    if n_read == 0 or end != stop:
        return NONE
    q = exponent - shift
    if digits == 0:
        bits = np.int64(0)
    elif digits > _DIGITS or q < _LEAST or q > _MOST:
        return NONE + 1 + start
    else:
        bits = np.int64(_rounded(w, q))
    return bits | (-0x8000000000000000 if negative else 0)


@inline
def _digits(data, at, w, digits):
    """(10^k w + the k digits that begin at `at`, how many of all are significant, where they end)."""
    while data[at] >= 48 and data[at] <= 57:
        digits += digits > 0 or data[at] > 48
        w = w * _TEN + np.uint64(data[at] - 48)  # wraps around beyond 19 digits, and is then not used
        at += 1
    return w, digits, at


@inline
def _exponent(data, at):
    """(the exponent that stands at `at`, or 0; where it ends): an e without digits ends where it begins."""
    if data[at] | 32 != _E:
        return 0, at
    end = at + 1
    negative = data[end] == _MINUS
    if negative or data[end] == _PLUS:
        end += 1
    first, value = end, 0
    while data[end] >= 48 and data[end] <= 57:
        value = 10 * value + (data[end] - 48) if value < _FAR else value
        end += 1
    if end == first:
        return 0, at
    return (-value if negative else value), end


@inline
def _rounded(w, q):
    """The bits of the float nearest to w · 10^q, ties to even, for w > 0 and q within the table."""
    zeros = _leading_zeros(w)
    w <<= zeros
    row = q - _LEAST
    high, low = _product(w, _POWERS[row, 0])
    if high & _SPARE_BITS == _SPARE_BITS:
        carry = _product(w, _POWERS[row, 1])[0]
        low += carry
        high += _ONE if low < carry else _ZERO
    upper = high >> _TOP
    mantissa = high >> (upper + _SPARE)
    tie = low <= _ONE and q >= -4 and q <= 23 and mantissa & _THREE == _ONE
    if tie and mantissa << (upper + _SPARE) == high:
        mantissa -= _ONE
    mantissa = (mantissa + (mantissa & _ONE)) >> _ONE
    exponent = ((217706 * q) >> 16) + 63 + np.int64(upper) - np.int64(zeros) + 1023
    # A mantissa that was rounded up to 2^53 carries into the exponent, as it should.
    return (np.uint64(exponent - 1) << np.uint64(52)) + mantissa


@inline
def _product(a, b):
    """(high, low) words of a · b."""
    a_high, a_low = a >> _HALF, a & _LOW_HALF
    b_high, b_low = b >> _HALF, b & _LOW_HALF
    low = a_low * b_low
    middle = a_high * b_low + (low >> _HALF)
    other = a_low * b_high + (middle & _LOW_HALF)
    return a_high * b_high + (middle >> _HALF) + (other >> _HALF), (other << _HALF) | (low & _LOW_HALF)


@inline
def _leading_zeros(w):
    zeros = _ZERO
    step = _HALF
    while step > _ZERO:
        if w >> (_WORD - step) == _ZERO:
            w <<= step
            zeros += step
        step >>= _ONE
    return zeros
