"""What passes over hierarchies are: the questions that a posterior asks of a model on a trellis."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from palmette.array_types import Floats, Numbers, Words
from palmette.models.split_model import HierarchyModel, MaskList, SplitModel
from palmette.passes.protocol import Passes
from palmette.trellis.hierarchies.sparse import SparseTrellis

__all__ = ["HierarchyPasses", "Normalised", "Outside", "SplitShares", "Splits"]

Splits = tuple[Numbers, Numbers, Floats]  #: the two parts of each split, and a value


class Outside(NamedTuple):
    """What the pass from the root down comes to."""

    mu: Floats
    """The probability that each cluster occurs."""
    entropy: float | None = None
    """−Σ p log p over hierarchies, if it came up on the way; else `HierarchyPasses.entropy` has to walk."""


class SplitShares(Protocol):
    """A distribution over hierarchies in which clusters split independently: all that a divergence asks of it."""

    @property
    def trellis(self) -> SparseTrellis | None:
        """What can occur is in it; None if anything can."""

    def split_log_shares(self, parent: Words, left: Words, right: Words, /) -> Floats:
        """log of the probability of each split, given as bit sets, given its parent; −inf where it is not there."""


class HierarchyPasses(Passes, Protocol):
    """Passes over hierarchies. Z, M and μ, from `outside`, have one entry for each cluster."""

    model: HierarchyModel
    """What gives log ψ."""
    trellis: SparseTrellis | None
    """The chosen clusters and splits; None if all are there, so that sums are over every hierarchy."""

    @property
    def root(self) -> int:
        """The cluster of all leaves."""

    def number(self, mask: int) -> int:
        """The cluster with this bit mask, −1 if it is not there."""

    def mask_of(self, cluster: int) -> int:
        """The bit mask of a cluster."""

    def outside(self, Z: Floats) -> Outside:
        """μ, the probability that each cluster occurs, and perhaps the entropy."""

    def splits(self, cluster: int, V: Floats) -> Splits:
        """L, R and log ψ(L, R) + V(L) + V(R) of all splits of a cluster, by increasing L, which has its lowest leaf."""

    def split_log_shares(self, parent: Words, left: Words, right: Words, Z: Floats) -> Floats:
        """log of the probability of each split, given as bit sets, given its parent; −inf where it is not there."""

    def log_psi_of(self, left: MaskList, right: MaskList) -> Floats:
        """log ψ of the splits into these pairs of clusters, given as masks; −inf where one is not there."""

    def with_sums(self, u: Floats) -> HierarchyPasses:
        """The same clusters and splits with log ψ(L, R) = u(L) + u(R)."""

    def draw(self, Z: Floats, size: int, seed: int) -> tuple[Numbers, Floats]:
        """(size, n − 1) rows of exact draws, increasing, and (size,) log potentials.

        Rows are numbers of the trellis's splits or, if it is the full one, masks of the clusters of two leaves or more.
        """

    def entropy_alone(self, Z: Floats) -> float:
        """The entropy for one who does not want μ: what is too rare to matter may be passed over."""
        mu, entropy = self.outside(Z)
        return self.entropy(Z, mu) if entropy is None else entropy

    def divergence(self, Z: Floats, mu: Floats, other: SplitShares) -> float:
        """Σ p log(p/q) over hierarchies, q being the other's; +inf where q = 0 < p."""

    def expected(self, Z: Floats, mu: Floats, values: HierarchyModel) -> float:
        """E[Σ v(L, R)] over the splits of hierarchies, v being log ψ of another model, where p > 0."""

    def pair_sums(self, values: Floats) -> Floats:
        """(n, n): Σ values[C] over the clusters that hold both i and j; on the diagonal, that hold i."""

    def expected_lca_sizes(self, Z: Floats, mu: Floats) -> Floats:
        """(n, n): the expected size of the smallest cluster that holds both i and j; 1 on the diagonal."""

    def expected_at_parting(self, Z: Floats, mu: Floats, values: SplitModel) -> Floats:
        """(n, n): E[v(L, R)] at the split with i on one side and j on the other, 0 on the diagonal.

        v is given as a model of the same leaves, in the place of log ψ.
        """

    def best_splits(self, M: Floats) -> list[tuple[int, int]]:
        """The clusters of two leaves or more of the best hierarchy, given `maximum`, and which of its splits each has.

        Ties: the lowest left part.
        """
        found, stack = [], [self.root]
        while stack:
            cluster = stack.pop()
            if self.sizes[cluster] > 1:
                left, right, values = self.splits(cluster, M)
                best = int(np.argmax(values))
                found.append((cluster, best))
                stack += [int(left[best]), int(right[best])]
        return found

    def best_masks(self, M: Floats) -> list[int]:
        """The clusters of two leaves or more of the best hierarchy, given `maximum`; ties: the lowest left part."""
        return [self.mask_of(cluster) for cluster, _ in self.best_splits(M)]


class Normalised(NamedTuple):
    """The distribution of passes whose log Z is known."""

    passes: HierarchyPasses
    Z: Floats

    @property
    def trellis(self) -> SparseTrellis | None:
        """What can occur is in it; None if anything can."""
        return self.passes.trellis

    def split_log_shares(self, parent: Words, left: Words, right: Words) -> Floats:
        """log of the probability of each split, given as bit sets, given its parent; −inf where it is not there."""
        return self.passes.split_log_shares(parent, left, right, self.Z)
