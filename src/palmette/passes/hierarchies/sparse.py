"""A model on a sparse trellis: the same passes as on the full one, over the listed splits."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

import numpy as np

from palmette._immutable import read_only
from palmette.array_types import Floats, Ints, Words
from palmette.clusters import mask_of_leaves
from palmette.models.split_model import HierarchyModel, MaskList, SplitModel
from palmette.passes.hierarchies.conditions import HierarchyConditions
from palmette.passes.hierarchies.protocol import HierarchyPasses, Outside, SplitShares
from palmette.passes.resources import Resources
from palmette.recursions.hierarchies import sparse as kernels
from palmette.trellis.bit_sets import as_words
from palmette.trellis.hierarchies.sparse import SparseTrellis

__all__ = ["SparseHierarchyPasses"]


class SparseHierarchyPasses(HierarchyPasses):
    """The hierarchies of a sparse trellis that meet the conditions; clusters go by their numbers there."""

    trellis: SparseTrellis

    def __init__(
        self,
        model: HierarchyModel,
        trellis: SparseTrellis,
        conditions: HierarchyConditions | None = None,
        resources: Resources | None = None,
        *,
        log_psi: Floats | None = None,
    ) -> None:
        self.model = model
        self.n = model.n_leaves
        self.trellis = trellis.aligned_to(model.labels)
        self._conditions = HierarchyConditions(model.labels) if conditions is None else conditions
        self._given = log_psi
        self._resources = Resources() if resources is None else resources
        what = f"the sparse trellis of {trellis.n_clusters:,} clusters and {trellis.n_splits:,} splits"
        self._resources.require(what, self.memory_needed, "Raise max_memory or take fewer hierarchies")

    @property
    def memory_needed(self) -> int:
        """Bytes for log Z and the MAP."""
        return 16 * self.trellis.n_clusters + 32 * self.trellis.n_splits

    @property
    def sizes(self) -> Ints:
        """(m,): the number of leaves of each cluster."""
        return self.trellis.sizes

    @property
    def root(self) -> int:
        """The number of the cluster of all leaves."""
        return self.trellis.n_clusters - 1

    def number(self, mask: int) -> int:
        """The number of the cluster with this bit mask, −1 if it is not there."""
        return self.trellis.find_mask(mask)

    def mask_of(self, cluster: int) -> int:
        """The bit mask of a cluster."""
        return self.trellis.masks[cluster]

    def shared(self, leaves: Iterable[int]) -> Ints:
        """(m,): how many of these leaves each cluster holds."""
        given = as_words([mask_of_leaves(leaves)], self.n)
        return np.asarray(np.bitwise_count(self.trellis.words & given).sum(axis=1, dtype=np.int64))

    @property
    def _splits(self) -> tuple[int, Ints, Ints, Ints]:
        return self.n, self.trellis.offsets, self.trellis.left, self.trellis.right

    @cached_property
    def log_psi(self) -> Floats:
        """(n_splits,): log ψ of every split; −inf where the conditions forbid it."""
        values = self.model.split_log_potentials(self.trellis) if self._given is None else self._given
        if not self._conditions:
            return values
        allowed = self._conditions.allowed(self.sizes, self.shared)
        t = self.trellis
        return np.where(allowed[t.parent] & allowed[t.left] & allowed[t.right], values, -np.inf)

    def with_sums(self, u: Floats) -> SparseHierarchyPasses:
        """The same splits, also those that the model forbids, with log ψ(L, R) = u(L) + u(R)."""
        values = u[self.trellis.left] + u[self.trellis.right]
        return SparseHierarchyPasses(self.model, self.trellis, self._conditions, self._resources, log_psi=values)

    def inside(self) -> Floats:
        """(m,): log Z of every cluster; −inf where no hierarchy is possible."""
        Z = np.empty(self.trellis.n_clusters)
        kernels.inside(*self._splits, self.log_psi, Z)
        return read_only(Z)

    def maximum(self) -> Floats:
        """(m,): log M of every cluster: the largest log potential of a hierarchy over it."""
        M = np.empty(self.trellis.n_clusters)
        kernels.maximum(*self._splits, self.log_psi, M)
        return read_only(M)

    def best_rows(self, M: Floats) -> Ints:
        """(n − 1,): the splits of the trellis that the best hierarchy is made of, given `maximum`."""
        return np.array([self.trellis.offsets[cluster] + best for cluster, best in self.best_splits(M)], dtype=np.int64)

    def outside(self, Z: Floats) -> Outside:
        """μ, (m,): the probability that each cluster occurs."""
        return Outside(self.probabilities(Z)[0])

    def probabilities(self, Z: Floats) -> tuple[Floats, Floats]:
        """(m,) that each cluster occurs, and (n_splits,) of each split given its parent."""
        mu, share = np.empty(self.trellis.n_clusters), self.shares(Z)
        kernels.outside(*self._splits, share, mu)
        return read_only(mu), share

    def shares(self, Z: Floats) -> Floats:
        """(n_splits,): the probability of each split given its parent."""
        share = np.empty(self.trellis.n_splits)
        kernels.shares(*self._splits, self.log_psi, Z, share)
        return share

    def count(self) -> int:
        """The number of hierarchies of non-zero potential, exactly."""
        return self.trellis.count_possible(self.log_psi > -np.inf)

    def entropy(self, Z: Floats, mu: Floats) -> float:
        """−Σ p log p over hierarchies: that of the splits, each weighted by how probable its parent is."""
        share = self.shares(Z)
        some = share > 0.0
        return float(-(mu[self.trellis.parent[some]] * share[some] * np.log(share[some])).sum())

    def divergence(self, Z: Floats, mu: Floats, other: SplitShares) -> float:
        """Σ p log(p/q) over hierarchies; +inf where q = 0 < p."""
        share = self.shares(Z)
        t = self.trellis
        some = np.flatnonzero(share * mu[t.parent] > 0.0)
        P, L, R = (t.words[side[some]] for side in (t.parent, t.left, t.right))
        theirs = other.split_log_shares(P, L, R)
        return float((mu[t.parent[some]] * share[some] * (np.log(share[some]) - theirs)).sum())

    def expected(self, Z: Floats, mu: Floats, values: HierarchyModel) -> float:
        """E[Σ v(L, R)] over the splits of hierarchies, v being log ψ of another model, where p > 0."""
        share = self.shares(Z)
        p = mu[self.trellis.parent] * share
        some = p > 0.0
        return float(p[some] @ values.split_log_potentials(self.trellis)[some])

    def split_log_shares(self, parent: Words, left: Words, right: Words, Z: Floats) -> Floats:
        """log of the probability of each split, given as bit sets, given its parent; −inf if it is not there."""
        at = self.trellis.find_splits(*(self.trellis.find_words(words) for words in (parent, left)))
        out = np.full(len(at), -np.inf)
        there = at[at >= 0]
        t = self.trellis
        possible = Z[t.parent[there]] > -np.inf
        values = np.full(len(there), -np.inf)
        s = there[possible]
        values[possible] = self.log_psi[s] + (Z[t.left[s]] + Z[t.right[s]] - Z[t.parent[s]])
        out[at >= 0] = values
        return out

    def splits(self, cluster: int, V: Floats) -> tuple[Ints, Ints, Floats]:
        """The two parts of every split of a cluster, and log ψ + V of both."""
        here = slice(self.trellis.offsets[cluster], self.trellis.offsets[cluster + 1])
        left, right = self.trellis.left[here], self.trellis.right[here]
        return left, right, self.log_psi[here] + (V[left] + V[right])

    def log_psi_of(self, left: MaskList, right: MaskList) -> Floats:
        """log ψ of the splits into these pairs of clusters, given as masks; −inf where one is not there."""
        lower = [min(pair, key=lambda mask: mask & -mask) for pair in zip(left, right, strict=True)]
        union = as_words([one | two for one, two in zip(left, right, strict=True)], self.n)
        at = self.trellis.find_splits(*(self.trellis.find_words(words) for words in (union, as_words(lower, self.n))))
        return np.where(at >= 0, self.log_psi[at], -np.inf) if len(at) else np.empty(0)

    def pair_sums(self, values: Floats) -> Floats:
        """(n, n): Σ values[C] over the clusters that hold both i and j; on the diagonal, that hold i."""
        out = self._pairs()
        kernels.add_pairs(self.n, self.trellis.words, values, out)
        return out + np.triu(out, 1).T

    def _pairs(self) -> Floats:
        what = f"the matrix of all pairs of {self.n:,} leaves"
        self._resources.require(what, 8 * self.n**2, "Ask for the clusters that matter")
        return np.zeros((self.n, self.n))

    def expected_lca_sizes(self, Z: Floats, mu: Floats) -> Floats:
        """(n, n): the expected size of the smallest cluster that holds both i and j; 1 on the diagonal."""
        share = self.shares(Z)
        out = self._pairs()
        t = self.trellis
        kernels.add_separated(self.n, t.words, t.left, t.right, mu[t.parent] * t.sizes[t.parent] * share, out)
        out += out.T
        np.fill_diagonal(out, 1.0)
        return out

    def expected_at_parting(self, Z: Floats, mu: Floats, values: SplitModel) -> Floats:
        """(n, n): E[v(L, R)] at the split with i on one side and j on the other, 0 on the diagonal."""
        share = self.shares(Z)
        out = self._pairs()
        t = self.trellis
        v = values.split_log_potentials(t)
        least = float(v.min(initial=0.0))  # what is added up must not be negative
        kernels.add_separated(self.n, t.words, t.left, t.right, mu[t.parent] * share * (v - least), out)
        out = out + out.T + least
        np.fill_diagonal(out, 0.0)
        return out

    def draw(self, Z: Floats, size: int, seed: int) -> tuple[Ints, Floats]:
        """(size, n − 1) splits of exact draws, increasing; (size,) log potentials."""
        out = np.empty((size, self.n - 1), dtype=np.int64)
        log_potentials = np.empty(size)
        fixed = (*self._splits, self.log_psi, Z, np.uint64(seed), out, log_potentials)
        with self._resources.workers(f"drawing hierarchies, n = {self.n}", float(size)) as workers:
            workers.run(lambda i, j: kernels.draw(*fixed, i, j), np.full(size, 100.0 * self.n))
        return out, log_potentials
