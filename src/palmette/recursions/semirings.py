"""What a recursion adds and multiplies: sums of products, or maxima of sums.

Which of them is the first argument of each function. It is a constant in the kernels that these become part of, so
nothing is left of the question when they are compiled.
"""

from __future__ import annotations

import numpy as np

from palmette._jit import inline

__all__ = ["MAXIMUM", "SUM", "nothing", "plus", "times"]

SUM, MAXIMUM = True, False


@inline
def plus(sums, x, y):
    """x ⊕ y."""
    if sums:
        return x + y
    return y if y > x else x  # one instruction, where max() would also look for NaN


@inline
def times(sums, x, y):
    """x ⊗ y."""
    return x * y if sums else x + y


@inline
def nothing(sums):
    """What there is before the first ⊕."""
    return 0.0 if sums else -np.inf
