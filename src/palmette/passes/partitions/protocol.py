"""What passes over partitions are: the questions that a posterior asks of a model on a trellis."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from palmette.array_types import Floats, Numbers
from palmette.labels import align_labels
from palmette.models.cluster_model import PartitionModel
from palmette.partition import Partition
from palmette.passes.protocol import Passes
from palmette.trellis.partitions.sparse import PartitionTrellis

__all__ = ["Choices", "Normalised", "PartitionPasses"]

Choices = tuple[Numbers, Numbers, Floats]  #: clusters, what each leaves or goes with, and a value

_FITTED = 500  # leaves: for more, the least squares of `_expected_sum` take too long


class PartitionPasses(Passes, Protocol):
    """Passes over partitions. A partition is a path of *choices* of a cluster in a *state*, which is what is left.

    Z and M have one entry for each state, μ, from `outside`, one for each cluster.
    """

    model: PartitionModel
    """What gives log ψ."""
    trellis: PartitionTrellis | None
    """The chosen clusters; None if all are there, so that sums are over every partition."""
    n_clusters: int | None
    """How many clusters the partitions have; None if it may be any number."""

    @property
    def log_psi(self) -> Floats:
        """log ψ of every cluster; −inf where the conditions forbid it."""

    @property
    def start(self) -> int:
        """The state in which everything is left."""

    @property
    def end(self) -> int:
        """The state in which nothing is left."""

    def members(self, cluster: int) -> tuple[int, ...]:
        """The leaves of a cluster."""

    def find(self, leaves: Iterable[int]) -> int:
        """The cluster of these leaves, −1 if it is not there."""

    def shared(self, leaves: Iterable[int]) -> Numbers:
        """How many of these leaves each cluster holds."""

    def log_partition(self, Z: Floats) -> float:
        """log Z of all leaves, given `inside`."""

    def log_partitions_by_number(self) -> Floats:
        """(n + 1,): log Z of all leaves for every number of clusters."""

    def outside(self, Z: Floats) -> Floats:
        """μ: the probability that each cluster occurs."""

    def together_table(self, mu: Floats) -> Floats:
        """What `together` and `coclustering` read."""

    def together(self, table: Floats, leaves: frozenset[int]) -> float:
        """The probability that all of these leaves are in one cluster, given `together_table`."""

    def coclustering(self, table: Floats) -> Floats:
        """(n, n): the probability that i and j are in one cluster, given `together_table`; 1 on the diagonal."""

    def leaf_sums(self, values: Floats) -> Floats:
        """(n,): Σ values[C] over the clusters that hold each leaf."""

    def cluster_sums(self, values: Floats) -> Floats:
        """Σ values[i] over the leaves of each cluster."""

    def log_joint(self, clusters: list[int], Z: Floats) -> float:
        """log Σ over the partitions that have these disjoint clusters among theirs."""

    def choices(self, state: int, V: Floats) -> Choices:
        """The clusters that can be taken first, what each leaves, and log ψ + V of that."""

    def splits(self, leaves: Iterable[int]) -> Choices:
        """The pairs of clusters that these leaves can be split into, and the sum of their log ψ."""

    def partition_of(self, clusters: list[int]) -> Partition:
        """The partition of these clusters."""

    def draw(self, Z: Floats, size: int, seed: int) -> tuple[Numbers, Floats]:
        """(size, n) memberships of exact draws, numbered by first appearance; (size,) log potentials."""

    def best_path(self, M: Floats) -> list[int] | None:
        """The clusters of the best partition, given `maximum`, or None; ties go to the first choice in every state."""
        clusters, state = [], self.start
        while state != self.end:
            taken, left, values = self.choices(state, M)
            best = int(np.argmax(values))
            if values[best] == -np.inf:
                return None
            clusters.append(int(taken[best]))
            state = int(left[best])
        return clusters

    def entropy(self, Z: Floats, mu: Floats) -> float:
        """−Σ p log p over partitions: log Z − E Σ log ψ."""
        large, small = self._expected_sum(mu, self.log_psi)
        return (self.log_partition(Z) - large) - small

    def divergence(self, Z: Floats, mu: Floats, other: Normalised) -> float:
        """Σ p log(p/q) over partitions, q being the other's; +inf where q = 0 < p."""
        log_z, wanted = self.log_partition(Z), other.passes.n_clusters
        if wanted not in (None, self.n_clusters):  # all other conditions are on single clusters: −inf in log ψ
            others = np.delete(self.log_partitions_by_number(), wanted)
            if (np.exp(others - log_z) > 0.0).any():
                return np.inf
        with np.errstate(invalid="ignore"):  # where both are −inf
            ratio = self.log_psi_elsewhere(mu > 0.0, other.passes) - self.log_psi
        large, small = self._expected_sum(mu, ratio)
        if large == -np.inf:
            return np.inf
        return (other.passes.log_partition(other.Z) - log_z - large) - small

    def log_psi_elsewhere(self, wanted: npt.NDArray[np.bool_], other: PartitionPasses) -> Floats:
        """log ψ that `other` gives to the wanted clusters, by label; −inf where it does not have them."""
        order = align_labels(other.model.labels, self.model.labels)  # our leaf i is its leaf order[i]
        out = np.full(len(wanted), -np.inf)
        for cluster in np.flatnonzero(wanted):
            found = other.find(order[list(self.members(int(cluster)))].tolist())
            if found >= 0:
                out[cluster] = other.log_psi[found]
        return out

    def _expected_sum(self, mu: Floats, values: Floats) -> tuple[float, float]:
        """E Σ values[C] over the clusters C of a draw, in two parts: a sum over leaves, and what is left.

        Every leaf i is in one cluster, so Σ_i a_i = E Σ_C a(C) with a(C) = Σ_{i∈C} a_i, whatever a. With the a that
        fits the values best the second part is of the size of their differences. Where the values are large and nearly
        cancel against log Z, as in an entropy, log Z minus the first part is as exact as log Z, and nothing else is
        large.
        """
        some = mu > 0.0
        weighted = np.zeros(len(values))
        weighted[some] = mu[some] * values[some]
        if not np.isfinite(weighted).all():
            return -np.inf, 0.0
        if self.n <= _FITTED:
            together = self.coclustering(self.together_table(mu))
            share = np.asarray(np.linalg.lstsq(together, self.leaf_sums(weighted), rcond=1e-9)[0], dtype=np.float64)
        else:
            share = self.leaf_sums(weighted / np.maximum(self.sizes, 1))
        gaps = values[some] - self.cluster_sums(share)[some]
        return float(share.sum()), float(np.dot(mu[some], gaps))


class Normalised(NamedTuple):
    """The distribution of passes whose log Z is known."""

    passes: PartitionPasses
    Z: Floats
