"""Any function of two clusters as a model."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from palmette.array_types import Floats, Ints
from palmette.models.base import checked_values, require_masks
from palmette.models.split_model import HierarchyModel, MaskList

__all__ = ["SplitFunction", "SplitValues", "split_values"]

SplitValues = HierarchyModel | Callable[[Ints, Ints], npt.ArrayLike]  #: a number for every split


class SplitFunction(HierarchyModel):
    """log ψ(L, R) = f(L, R) for a black box f over arrays of bit masks.

    ``f(left, right)`` gets two int64 arrays of the same length (bit i set: leaf i belongs; the lowest leaf of the split
    is always in `left`) and returns as many log potentials, −inf where a split is impossible. It is called with the
    splits of many clusters at a time, and must treat each on its own. Up to 17 leaves all its values are kept; beyond,
    it is called anew in each pass. What Numba can compile is faster as a `CompiledSplitFunction`, and goes further.

    >>> import numpy as np, palmette as pal
    >>> balanced = lambda left, right: -np.abs(np.bitwise_count(left) - 1.0 * np.bitwise_count(right))
    >>> pal.HierarchyPosterior(pal.models.SplitFunction(4, balanced)).map()
    Hierarchy.from_newick('((0,1),(2,3));')
    """

    def __init__(
        self, n_leaves: int, function: Callable[[Ints, Ints], npt.ArrayLike], *, labels: Sequence[str] | None = None
    ) -> None:
        super().__init__(n_leaves, labels)
        if not callable(function):
            raise TypeError(f"expected a function of two mask arrays, not {function!r}")
        self._function = function

    def log_potentials(self, left: MaskList, right: MaskList) -> Floats:
        """f(left, right), checked: one number per split, none NaN or +inf."""
        require_masks(self.n_leaves, "split")
        left, right = np.asarray(left, dtype=np.int64), np.asarray(right, dtype=np.int64)
        name = lambda i: f"{left[i]:#b} | {right[i]:#b}"  # noqa: E731
        return checked_values(self._function(left, right), "split", name, len(left))


def split_values(f: SplitValues, model: HierarchyModel) -> HierarchyModel:
    """A number for every split of the leaves of `model`, as a model whose log ψ it is."""
    if not isinstance(f, HierarchyModel):
        return SplitFunction(model.n_leaves, f, labels=model.labels)
    if f.labels != model.labels:
        raise ValueError("the function has other leaves than the posterior; make it with the same labels, in one order")
    return f
