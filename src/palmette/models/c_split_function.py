"""A function in C, or in whatever can be called as C is, as a model."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from numba import types

from palmette._addresses import NUMBERS, caller, pointer
from palmette._jit import inline
from palmette._plain import IS_PLAIN
from palmette.checks import is_whole
from palmette.clusters import lowest_leaf
from palmette.models.base import check_leaf_count
from palmette.models.digits import copy_digits, digit_columns, mask_of_two
from palmette.models.full_tables import Potentials, load_mask
from palmette.models.split_model import SplitModel
from palmette.threads import Workers

__all__ = ["CSplitFunction"]

_MOST_LEAVES = 63
_TRIED = 64  # splits, before anything depends on them

_call = caller(types.float64(types.int64, types.int64, NUMBERS, types.int64))

if IS_PLAIN:
    _VECTOR = ctypes.POINTER(ctypes.c_double)
    _PROTOTYPE = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_int64, ctypes.c_int64, _VECTOR, ctypes.c_int64)

    def _call(address: int, arguments: tuple[Any, ...]) -> float:
        left, right, theta, count = arguments
        numbers = np.ascontiguousarray(theta, dtype=np.float64)
        return float(_PROTOTYPE(int(address))(left, right, numbers.ctypes.data_as(_VECTOR), count))


@inline
def _ask(theta, one, two):
    # θ begins with the address, which is a whole number of less than 53 bits.
    first = one if one & lowest_leaf(one | two) else two
    given = np.int64(first), np.int64(one ^ two ^ first)
    return _call(np.int64(theta[0]), (*given, pointer(theta, 1), theta.size - 1))


@inline
def _score(theta, parent, left, right):
    return _ask(theta, mask_of_two(left), mask_of_two(right))


@inline
def _mask_score(theta, P, L, R):
    return _ask(theta, L, R)


class CSplitFunction(SplitModel):
    """log ψ(L, R) = f(L, R, θ) for a function that is compiled already, given by where it lies.

        double f(int64_t left, int64_t right, const double *theta, int64_t n_theta)

    The two clusters of a split are bit masks (bit i set: leaf i belongs), up to 63 leaves; the lowest leaf of the split
    is in `left`, so f need not be symmetric. It returns a finite log potential, or −inf for an impossible split,
    depends on nothing else, and may be called by several threads at once. `theta` are numbers of its own, the same for
    all splits.

    `function` is an address, a function of `ctypes`, or whatever has an `address`, as `numba.cfunc` makes it; of cffi
    it is ``int(ffi.cast("intptr_t", f))``. An object is kept as long as the model; of an address, see that what lies
    there stays. Nothing is compiled, and whatever takes a `SplitModel` takes it. Since an address means nothing
    elsewhere, the model cannot be pickled.

    >>> import numba
    >>> import palmette as pal
    >>> @numba.cfunc("float64(int64, int64, CPointer(float64), int64)")
    ... def first_alone(left, right, theta, n_theta):
    ...     return theta[0] if left & (left - 1) == 0 else 0.0
    >>> model = pal.models.CSplitFunction(4, first_alone, theta=[3.0])
    >>> pal.HierarchyPosterior(model).map()
    Hierarchy.from_newick('(0,(1,(2,3)));')
    """

    n_features = 2
    features = staticmethod(copy_digits)
    score = staticmethod(_score)

    def __init__(
        self,
        n_leaves: int,
        function: Any,
        *,
        theta: npt.ArrayLike = (),
        labels: Sequence[str] | None = None,
    ) -> None:
        if check_leaf_count(n_leaves) > _MOST_LEAVES:
            raise ValueError(f"a C function of bit masks has at most {_MOST_LEAVES} leaves, not {n_leaves}")
        self._function = function
        columns = digit_columns(n_leaves)
        digits = np.pad(columns, ((0, 0), (0, self.n_features - columns.shape[1])))
        numbers = np.asarray(theta, dtype=np.float64).ravel()
        super().__init__(n_leaves, theta=[_address_of(function), *numbers], additive=digits, labels=labels)
        self._try_out()

    def _try_out(self) -> None:
        # NaN and +inf are told before anything depends on them.
        if self.n_leaves > 1:
            rng = np.random.default_rng(0)
            left = rng.integers(1, (1 << self.n_leaves) - 1, _TRIED)
            self.log_potentials(left, ((1 << self.n_leaves) - 1) ^ left)

    @property
    def split_table_bytes(self) -> int:
        """What `tabulate_splits` will keep: nothing."""
        return 0

    def tabulate_splits(self, workers: Workers) -> Potentials:
        """No table: f itself, and its numbers."""
        return Potentials(_mask_score, load_mask, self.theta)

    def __copy__(self) -> Self:
        made = object.__new__(type(self))
        vars(made).update(vars(self))
        return made

    def __reduce__(self) -> Any:
        raise TypeError(
            f"{self!r} cannot be pickled: an address means nothing in another process. Make the model there, or take a "
            "CompiledSplitFunction"
        )


def _address_of(function: Any) -> float:
    found = getattr(function, "address", function)
    if isinstance(found, ctypes._CFuncPtr):  # type: ignore[attr-defined]  # what all of its functions derive from
        found = ctypes.cast(found, ctypes.c_void_p).value
    if not is_whole(found) or not 0 < int(found) < 1 << 53:
        raise TypeError(
            f"function is {function!r}; expected an address, a function of ctypes, or one of numba.cfunc, which has one"
        )
    return float(found)
