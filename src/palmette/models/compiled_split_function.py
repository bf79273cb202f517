"""Any compiled function of two clusters as a model."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from palmette._jit import as_compiled, inline, inline_with
from palmette.clusters import lowest_leaf
from palmette.models.arguments import pack, unpack, unpacking
from palmette.models.base import check_leaf_count
from palmette.models.compiling import check_compiles
from palmette.models.digits import (
    BITS,
    copy_digits,
    digit_columns,
    mask_of_one,
    mask_of_two,
    members_of_digits,
    members_of_mask,
)
from palmette.models.full_tables import Potentials, load_mask
from palmette.models.split_model import SplitModel
from palmette.threads import Workers

__all__ = ["CompiledSplitFunction"]

# By whether it sees members, of which a feature holds 53: with more than seven, calls cost more than they are worth.
_LIMITS = (
    (63, "as 64-bit masks", "give members=True"),
    (7 * BITS, "by their members", "a SplitModel takes any number"),
)


class CompiledSplitFunction(SplitModel):
    """log ψ(L, R) = f(L, R, *args) for a black box f that Numba compiles, called in the kernels: no table of splits.

    ``f(left, right, *args)`` gets the two clusters of a split as bit masks (int64; bit i set: leaf i belongs) and
    returns its log potential, −inf if it is impossible. With ``members=True`` it gets two increasing arrays of the
    numbers of their leaves instead: slower, but up to 371 leaves, where masks end at 63. The lowest leaf of the split
    is always in `left`, so f need not be symmetric. It is a plain function of what Numba knows, or one with ``@njit``;
    `palmette.clusters.size_of` counts the leaves of a mask.

    `args` are numbers, vectors and matrices, all float64. Others of the same kinds need no new compilation, whereas
    an array that f finds outside becomes a constant in its code.

    It is a `SplitModel` like others: the full trellis, sparse trellises, searches, batches and chains take it. A
    formula that needs sums over clusters only is faster as `features` and `score`.

    >>> import palmette as pal
    >>> from palmette.clusters import size_of
    >>> def uneven(left, right, beta):
    ...     return -beta * abs(size_of(left) - size_of(right))
    >>> pal.HierarchyPosterior(pal.models.CompiledSplitFunction(4, uneven, args=[2.0])).map()
    Hierarchy.from_newick('((0,1),(2,3));')
    """

    features = staticmethod(copy_digits)

    _made_of: ClassVar[tuple[Any, ...]]  # what `_kind` made this class of
    _mask_score: ClassVar[Any]

    def __init__(
        self,
        n_leaves: int,
        function: Callable[..., float],
        *,
        args: Sequence[npt.ArrayLike] = (),
        members: bool = False,
        labels: Sequence[str] | None = None,
    ) -> None:
        columns = digit_columns(check_leaf_count(n_leaves))
        _require_few(n_leaves, bool(members))
        kinds, theta = pack(args)
        check_compiles(function, _SAMPLE[bool(members)], unpack(kinds, theta))
        # Kernels are compiled for a class, so that every function needs one.
        kind = (function, bool(members), kinds, columns.shape[1])
        self.__class__ = _kind(type(self), *kind)  # type: ignore[arg-type]  # a class can be hashed
        super().__init__(n_leaves, theta=theta, additive=columns, labels=labels)

    def __reduce__(self) -> tuple[Any, ...]:
        return _empty, self._made_of, vars(self)

    @property
    def split_table_bytes(self) -> int:
        """What `tabulate_splits` will keep: nothing."""
        return 0

    def tabulate_splits(self, workers: Workers) -> Potentials:
        """No table: f itself, and its arguments."""
        return Potentials(self._mask_score, load_mask, self.theta)


# What calls the user's function with the part first that has the lowest leaf.


def _call_with_masks(function: Any) -> Any:
    @inline_with(function)
    def call(left, right, args):
        first = left if left & lowest_leaf(left | right) else right
        return float(function(np.int64(first), np.int64(left ^ right ^ first), *args))

    return call


def _call_with_members(function: Any) -> Any:
    @inline_with(function)
    def call(left, right, args):
        if right[0] < left[0]:
            left, right = right, left
        return float(function(left, right, *args))

    return call


def _scoring(call: Any, cluster_of: Any, args_of: Any) -> Any:
    @inline_with(call, cluster_of, args_of)
    def score(theta, parent, left, right):
        return call(cluster_of(left), cluster_of(right), args_of(theta, 0))

    return score


@inline
def _itself(mask):
    return mask


@functools.cache
def _kind(
    base: type[CompiledSplitFunction], function: Any, members: bool, kinds: tuple[int, ...], n_digits: int
) -> type[CompiledSplitFunction]:
    call = (_call_with_members if members else _call_with_masks)(as_compiled(function))
    of_digits = members_of_digits if members else (mask_of_one, mask_of_two)[n_digits - 1]
    of_mask = members_of_mask if members else _itself
    score, mask_score = (_scoring(call, cluster_of, unpacking(kinds)) for cluster_of in (of_digits, of_mask))
    names = {
        "__module__": base.__module__,
        "__doc__": base.__doc__,
        "n_features": n_digits,
        "score": staticmethod(score),
        "_mask_score": staticmethod(mask_score),
        "_made_of": (base, function, members, kinds, n_digits),
    }
    return type(base.__name__, (base,), names)


def _empty(*made_of: Any) -> CompiledSplitFunction:
    return object.__new__(_kind(*made_of))


# What two clusters look like to a function that sees masks, and to one that sees members.
_SAMPLE = ((1, 2), (np.zeros(1, np.int64), np.ones(1, np.int64)))


def _require_few(n: int, members: bool) -> None:
    most, seen, instead = _LIMITS[members]
    if n > most:
        raise ValueError(
            f"a compiled split function that sees clusters {seen} has at most {most} leaves, not {n}; {instead}"
        )
