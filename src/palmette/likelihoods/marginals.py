"""log m of many clusters by one call of a C function: marginals(θ, |θ|, count, sizes, sums, d, out).

It is compiled for a likelihood the first time that it is asked for, and kernels take its address.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types

from palmette._addresses import INTEGERS, NUMBERS, c_function, caller, pointer, vector
from palmette._jit import kernel

__all__ = ["fill_marginals", "marginals_of"]

_N = types.int64
_MARGINALS = types.void(NUMBERS, _N, _N, INTEGERS, NUMBERS, _N, NUMBERS)

_call_marginals = caller(_MARGINALS)

log_marginal: Any = None  # a likelihood's, put in by `c_function`


@kernel
def fill_marginals(address, theta, sizes, sums, count, out):
    """out[i] = log m of the first `count` clusters, of so many rows with the sums (m, d)."""
    known = pointer(sizes, 0), pointer(sums, 0), sums.shape[1]
    _call_marginals(address, (pointer(theta, 0), theta.size, count, *known, pointer(out, 0)))


def _marginals(theta, m, count, sizes, sums, d, out):
    parameters = vector(theta, 0, m)
    for i in range(count):  # what is left of this is refused: nobody hears of what a function raises
        out[i] = np.nan
    for i in range(count):
        out[i] = log_marginal(parameters, sizes[i], vector(sums, i * d, d))


def marginals_of(log_marginal: Any) -> int:
    """The address of `marginals` with the compiled log m(θ, size, sums) of a likelihood."""
    return c_function(_marginals, _MARGINALS, log_marginal=log_marginal).address
