"""A model on all clusters, as kernels take it: log ψ, what it reads, and which clusters may occur."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from palmette._jit import specialise
from palmette.array_types import Floats, Masks
from palmette.passes.all_clusters import AllClusters
from palmette.passes.hierarchies.potentials import Potentials
from palmette.recursions.hierarchies.inside import solve_all
from palmette.threads import Workers

__all__ = ["SplitTables"]


class SplitTables(NamedTuple):
    """All clusters, log ψ of their splits, and flags of those that may occur (none: all may)."""

    clusters: AllClusters
    potentials: Potentials
    allowed: npt.NDArray[np.uint8]

    @property
    def data(self) -> Any:
        """What the compiled log ψ reads."""
        return self.potentials.data

    @property
    def log_psi(self) -> Any:
        """The compiled log ψ(data, P, L, R)."""
        return self.potentials.log_psi

    def specialised(self, template: Any, **functions: Any) -> Any:
        """`template` compiled for this model's log ψ."""
        return specialise(template, log_psi=self.log_psi, **functions)

    def run(self, workers: Workers, kernel: Any, masks: Masks, work: float, *tables: Any) -> None:
        """kernel(data, allowed, masks, *tables) on slices of the masks, each of which costs `work`."""

        def call(first: int, last: int) -> None:
            kernel(self.data, self.allowed, masks[first:last], *tables)

        workers.run(call, np.full(len(masks), work))

    def solve(self, n: int) -> tuple[Floats, Floats]:
        """log Z and log M of all clusters of the n lowest leaves, in one compiled call."""
        Z, M = np.empty(1 << n), np.empty(1 << n)
        self.specialised(solve_all)(self.data, self.allowed, n, Z, M)
        return Z, M
