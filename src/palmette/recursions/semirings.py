"""What a recursion adds and multiplies: sums of products, or maxima of sums."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from palmette._jit import inline

__all__ = ["MAXIMUM", "SUM", "Semiring"]


class Semiring(NamedTuple):
    """Compiled ⊕ and ⊗, and the zero of ⊕."""

    add: Any
    multiply: Any
    zero: Any


@inline
def _sum(x, y):
    return x + y


@inline
def _product(x, y):
    return x * y


@inline
def _larger(x, y):
    return y if y > x else x  # one instruction, where max() would also look for NaN


@inline
def _nothing():
    return 0.0


@inline
def _minus_infinity():
    return -np.inf


SUM = Semiring(_sum, _product, _nothing)
MAXIMUM = Semiring(_larger, _sum, _minus_infinity)
