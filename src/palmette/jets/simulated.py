"""Jets from a simulation: with their true hierarchies, and the law that made them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy.typing as npt

from palmette.array_types import Floats, Ints
from palmette.jets.jet import Ids, Jets

__all__ = ["GinkgoJets"]


class GinkgoJets(Jets):
    """Many Ginkgo showers in a few arrays; item i is made on demand, and slices are `GinkgoJets` again."""

    children: Ints  #: (N − n_jets, 2): the true splits of all jets, one jet after another
    rate: float
    root_rate: float
    t_cut: float

    def __init__(
        self,
        momenta: npt.ArrayLike,
        offsets: npt.ArrayLike,
        children: npt.ArrayLike,
        rate: float,
        root_rate: float,
        t_cut: float,
        ids: Mapping[str, npt.ArrayLike] | None = None,
        leaf_bounds: tuple[int, int | None] | None = None,
    ) -> None:
        super().__init__(momenta, offsets, ids, children)
        self.__dict__.update(rate=rate, root_rate=root_rate, t_cut=t_cut, _leaf_bounds=leaf_bounds)

    @property
    def law(self) -> dict[str, float]:
        """The parameters of the law that made these jets: rate, root_rate and t_cut.

        >>> from palmette.simulate import ginkgo
        >>> ginkgo(1, rng=1).law
        {'rate': 1.5, 'root_rate': 1.5, 't_cut': 16.0}
        """
        return {"rate": self.rate, "root_rate": self.root_rate, "t_cut": self.t_cut}

    @property
    def leaf_bounds(self) -> tuple[int, int | None] | None:
        """The fewest and the most particles (None: any number) of showers that were kept; others were drawn anew.

        >>> from palmette.simulate import ginkgo
        >>> ginkgo(1, max_leaves=10, rng=1).leaf_bounds
        (1, 10)
        """
        bounds: tuple[int, int | None] | None = self.__dict__["_leaf_bounds"]
        return bounds

    def _like(self, momenta: Floats, offsets: Ints, ids: Ids, children: Ints | None) -> Self:
        assert children is not None
        return type(self)(momenta, offsets, children, **self.law, ids=ids, leaf_bounds=self.leaf_bounds)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (
            self.momenta,
            self.offsets,
            self.children,
            *self.law.values(),
            dict(self.ids),
            self.leaf_bounds,
        )
