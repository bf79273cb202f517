"""Which leaves a cluster has, as numbers that add up: the digits of its bit mask, 53 leaves to each.

    digit c of C = Σ 2^(i − 53c) over the leaves i of C with 53c ≤ i < 53(c + 1)

A float64 holds it exactly. So a model whose features are these knows its clusters themselves, wherever sums are known.
"""

from __future__ import annotations

import numpy as np

from palmette._jit import inline, maker
from palmette.array_types import Floats
from palmette.clusters import add_members, size_of

__all__ = ["BITS", "copy_digits", "digit_columns", "mask_of_one", "mask_of_two", "members_of_digits", "members_of_mask"]

BITS = 53
_SHIFT = np.uint64(BITS)


def digit_columns(n: int) -> Floats:
    """(n, k): what each leaf adds to the digits of a cluster.

    >>> digit_columns(3)
    array([[1.],
           [2.],
           [4.]])
    """
    leaves = np.arange(n)
    columns = np.zeros((n, -(-n // BITS)))
    columns[leaves, leaves // BITS] = 2.0 ** (leaves % BITS)
    return columns


@inline
def copy_digits(theta, n, size, sums, pairs, out):
    """The features of a model that knows its clusters themselves."""
    for c in range(out.size):
        out[c] = sums[c]


@inline
def _word(digit):
    return np.uint64(np.int64(digit))


@inline
def mask_of_one(digits):
    """The bit mask of a cluster of at most 53 leaves."""
    return _word(digits[0])


@inline
def mask_of_two(digits):
    """The bit mask of a cluster of at most 64 leaves."""
    return _word(digits[0]) | _word(digits[1]) << _SHIFT


@maker
def members_of_mask(mask):
    """The leaves of a cluster, increasing."""
    out = np.empty(size_of(mask), np.int64)
    add_members(mask, 0, out, 0)
    return out


@maker
def members_of_digits(digits):
    """The leaves of a cluster, increasing."""
    size = 0
    for c in range(len(digits)):
        size += size_of(_word(digits[c]))
    out = np.empty(size, np.int64)
    count = 0
    for c in range(len(digits)):
        count = add_members(_word(digits[c]), BITS * c, out, count)
    return out
