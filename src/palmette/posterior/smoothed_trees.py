"""A sample of trees that gives every hierarchy some probability: CCD1 with Dirichlet smoothing.

    p(H) = Π (f(P → L, R) + α u(L, R)) / (f(P) + α),   u(L, R) = N(|L|) N(|R|) / N(|P|),   N(m) = (2m − 3)!!

over the clusters P of H. f counts trees, α is the concentration, and u is how often a cluster splits in this way among
all hierarchies, each counted once: a cluster that was never seen splits as in a hierarchy drawn from all of them. For
α → 0 it is CCD1 (`from_trees`), for α → ∞ uniform.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from palmette.array_types import Floats, Ints, Words
from palmette.checks import check_integer, check_positive
from palmette.clusters import Cluster, cluster_mask
from palmette.hierarchy import Hierarchy
from palmette.hierarchy.masks import hierarchy_of_masks, masks_of_hierarchy
from palmette.posterior.conditional_clusters import sample_weights
from palmette.posterior.hierarchies import HierarchyPosterior
from palmette.trellis.bit_sets import as_words
from palmette.trellis.counting import log_hierarchies
from palmette.trellis.hierarchies.observed import Observed, observe
from palmette.trellis.hierarchies.sparse import SparseTrellis

__all__ = ["SmoothedTrees", "smoothed"]


def smoothed(
    trees: Iterable[Hierarchy], *, concentration: float = 1.0, weights: npt.ArrayLike | None = None
) -> SmoothedTrees:
    """CCD1 of a sample of binary hierarchies with Dirichlet smoothing: no hierarchy and no cluster is impossible.

    `concentration` is α: as if so many more trees had been seen, with this cluster and split at random. It is what
    makes KL between two samples finite: ``smoothed(one).kl_from(from_trees(other))``.

    >>> trees = [Hierarchy.from_newick(text) for text in ["(((a,b),c),d);", "((a,b),(c,d));"]]
    >>> law = smoothed(trees)
    >>> round(law.cluster_probability(["a", "b"]), 4), round(law.cluster_probability(["a", "c"]), 4)
    (0.6444, 0.1111)
    """
    seen = observe(trees, sample_weights(trees, weights))
    return SmoothedTrees(seen, check_positive("concentration", concentration))


class SmoothedTrees:
    """A distribution over all hierarchies; `smoothed` makes it from a sample."""

    trellis = None  # anything can occur

    def __init__(self, seen: Observed, concentration: float) -> None:
        self._trellis = SparseTrellis.from_observed(seen)
        self._counts, self._totals = seen.weight, seen.totals
        self.concentration = concentration

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the leaves."""
        return self._trellis.labels

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return self._trellis.n_leaves

    def log_prob(self, hierarchy: Hierarchy) -> float:
        """log p(H); finite for every binary hierarchy over these labels."""
        if not hierarchy.is_binary:
            raise ValueError("the hierarchy is not binary; there are no probabilities of others")
        masks = masks_of_hierarchy(hierarchy, self.labels)
        inner = hierarchy.children.tolist()
        if not inner:
            return 0.0
        three = [[masks[hierarchy.n_leaves + k], masks[left], masks[right]] for k, (left, right) in enumerate(inner)]
        words = [as_words(list(part), self.n_leaves) for part in zip(*three, strict=True)]
        return float(self.split_log_shares(words[0], words[1], words[2]).sum())

    def cluster_probability(self, cluster: Cluster) -> float:
        """The probability that `cluster` (leaf indices or labels) occurs, exactly, whether it was seen or not.

        A hierarchy comes to the cluster from one seen cluster that holds it to the next smaller one, by a split that
        was counted, or by splits at random that lead past all others.
        """
        mask = cluster_mask(cluster, self.labels)
        own = as_words([mask], self.n_leaves)[0]
        t = self._trellis
        holders = np.flatnonzero(((t.words & own) == own).all(axis=1) & (t.sizes > mask.bit_count()))
        words = np.vstack([own[None, :], t.words[holders]])
        sizes = np.append(mask.bit_count(), t.sizes[holders])
        nested = ((words[None, 1:] & words[:, None]) == words[:, None]).all(axis=2).T & (sizes < sizes[1:, None])
        # occurs[k, s]: that the s-th is in a hierarchy over the k-th, drawn from all; the 0-th is the cluster itself.
        occurs = np.where(nested, np.exp(_log_occurs(sizes[1:, None], np.minimum(sizes, sizes[1:, None]))), 0.0)
        reached = np.zeros(len(holders) + 1)
        reached[0] = 1.0
        number = {int(i): k + 1 for k, i in enumerate(holders)}
        at = t.find_mask(mask)
        if at >= 0:
            number[int(at)] = 0
        for k, holder in enumerate(holders.tolist()):
            first = occurs[k].copy()  # to become: by random splits from here, the s-th is the first seen one
            for s in range(k, 0, -1):
                first[:s] -= first[s] * occurs[s - 1, :s]
            here = slice(t.offsets[holder], t.offsets[holder + 1])
            splits = zip(t.left[here].tolist(), t.right[here].tolist(), self._counts[here].tolist(), strict=True)
            counted = sum(
                count * reached[number[part]]
                for left, right, count in splits
                for part in (left, right)
                if part in number
            )
            total = self._totals[holder] + self.concentration
            reached[k + 1] = (counted + self.concentration * float(first[: k + 1] @ reached[: k + 1])) / total
        return float(min(reached[-1], 1.0))

    def sample(self, size: int, rng: np.random.Generator | int | None = None) -> list[Hierarchy]:
        """`size` independent hierarchies."""
        generator = np.random.default_rng(rng)
        whole = (1 << self.n_leaves) - 1
        return [self._draw(whole, generator) for _ in range(check_integer("size", size, 0))]

    def kl_from(self, other: HierarchyPosterior) -> float:
        """KL(other ‖ self) in nats, of the distribution of another sample of the same leaves: finite."""
        if not isinstance(other, HierarchyPosterior) or other.trellis is None:
            raise TypeError(f"expected what from_trees makes, a HierarchyPosterior on a sparse trellis, not {other!r}")
        if other.labels != self.labels:
            raise ValueError("the two samples have different leaves; read both files with the same labels")
        return other.divergence(self)

    def split_log_shares(self, parent: Words, left: Words, right: Words) -> Floats:
        """log of the probability of each split, given as bit sets, given its parent."""
        t, alpha = self._trellis, self.concentration
        P, L, R = (t.find_words(words) for words in (parent, left, right))
        known = (P >= 0) & (L >= 0) & (R >= 0)
        at = np.where(known, np.maximum(t.find_splits(P, L), t.find_splits(P, R)), -1)  # the left holds the lowest leaf
        counts = np.where(at >= 0, self._counts[at], 0.0)
        totals = np.where(P >= 0, self._totals[P], 0.0)
        sizes = [np.bitwise_count(words).sum(axis=1, dtype=np.int64) for words in (parent, left, right)]
        whole, one, two = (log_hierarchies(size) for size in sizes)  # u alone would underflow beyond a thousand leaves
        with np.errstate(divide="ignore"):
            both = np.logaddexp(np.log(counts), np.log(alpha) + (one + two - whole))
        return np.asarray(both - np.log(totals + alpha))

    def _draw(self, whole: int, generator: np.random.Generator) -> Hierarchy:
        found, waiting = [], [whole]
        while waiting:
            mask = waiting.pop()
            if mask.bit_count() > 1:
                found.append(mask)
                waiting += self._split(mask, generator)
        return hierarchy_of_masks(found, self.labels)

    def _split(self, mask: int, generator: np.random.Generator) -> tuple[int, int]:
        t, at = self._trellis, self._trellis.find_mask(mask)
        total = self._totals[at] if at >= 0 else 0.0
        if generator.random() * (total + self.concentration) < total:
            here = np.arange(t.offsets[at], t.offsets[at + 1])
            chosen = int(generator.choice(here, p=self._counts[here] / total))
            return t.masks[t.left[chosen]], t.masks[t.right[chosen]]
        return _random_split(mask, generator)


def _random_split(mask: int, generator: np.random.Generator) -> tuple[int, int]:
    # The first split of a hierarchy drawn from all: leaves are put one by one onto a branch, the root's among them. Two
    # parts with a and b leaves have 2a − 1 and 2b − 1 branches.
    leaves = generator.permutation([leaf for leaf in range(mask.bit_length()) if mask >> leaf & 1]).tolist()
    parts = [1 << leaves[0], 1 << leaves[1]]
    for leaf in leaves[2:]:
        a, b = (2 * part.bit_count() - 1 for part in parts)
        where = generator.integers(a + b + 1)
        if where == a + b:
            parts = [parts[0] | parts[1], 1 << leaf]
        else:
            parts[int(where >= a)] |= 1 << leaf
    return parts[0], parts[1]


def _log_occurs(whole: Ints, part: Ints) -> Floats:
    # log of the share of the hierarchies over `whole` leaves that have a given cluster of `part` of them.
    return log_hierarchies(part) + log_hierarchies(whole - part + 1) - log_hierarchies(whole)
