"""Whether two samples of trees, or more, agree."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from palmette.clusters import cluster_members
from palmette.hierarchy import Hierarchy
from palmette.links import offsets_of
from palmette.sampling.diagnostics import split_frequency_deviation
from palmette.trellis.bit_sets import from_words
from palmette.trellis.hierarchies.observed import observe

__all__ = ["Agreement", "agreement"]


class Agreement(NamedTuple):
    """How far the frequencies of clusters are apart between samples."""

    deviation: float
    """The average standard deviation of split frequencies."""
    largest: float
    """The largest difference of a frequency between two samples."""
    cluster: tuple[str, ...]
    """The cluster that it is of, by its labels; empty if there is none but leaves and root."""
    n_clusters: int
    """Clusters that reach `least` in a sample."""

    @property
    def agree(self) -> bool | None:
        """Whether they say the same: below a deviation of 0.01; not from 0.05 on; None between, if only somewhat."""
        if self.deviation < 0.01:
            return True
        return None if self.deviation < 0.05 else False


def agreement(samples: Sequence[Iterable[Hierarchy]], *, least: float = 0.1) -> Agreement:
    """The average standard deviation of split frequencies between samples, as MrBayes has it, and where it is worst.

    Over the clusters that reach `least` in one of the samples. It is finite also where `kl` is not, and `agree` of the
    result says whether it is small. Samples are sequences of binary hierarchies over the same labels, each with
    `weights` if it is a `TreeSet`.

    >>> one, two = (Hierarchy.from_newick(text) for text in ("((a,b),c);", "(a,(b,c));"))
    >>> agreement([[one, one, two], [one, two, two]])
    Agreement(deviation=0.235702, largest=0.333333, cluster=('a', 'b'), n_clusters=2)
    """
    each = [list(sample) for sample in samples]
    if len(each) < 2 or not all(each):
        raise ValueError(f"{len(each)} samples were given, or one is empty; two with trees are needed at least")
    given = [getattr(sample, "weights", np.ones(len(trees))) for sample, trees in zip(samples, each, strict=True)]
    if not all(own.sum() > 0 for own in given):
        raise ValueError("all trees of a sample have weight 0; leave it out, or read its trees without weights")
    trees = [tree for sample in each for tree in sample]
    starts = offsets_of([len(sample) for sample in each])
    frequencies = []
    for own, start in zip(given, starts, strict=False):
        weights = np.zeros(len(trees))
        weights[start : start + len(own)] = own
        seen = observe(trees, weights)
        frequencies.append(seen.totals[len(seen.labels) : -1] / weights.sum())
    shares = np.clip(np.array(frequencies), 0.0, 1.0)
    gaps = np.ptp(shares, axis=0)
    worst = int(gaps.argmax()) if gaps.size else -1
    members: tuple[str, ...] = ()
    if worst >= 0:
        mask = from_words(seen.words[len(seen.labels) + worst][None])[0]
        members = tuple(seen.labels[leaf] for leaf in cluster_members(mask))
    deviation = split_frequency_deviation(shares, least=least)
    n_reached = int((shares.max(axis=0, initial=0.0) >= least).sum())
    return Agreement(round(deviation, 6), round(float(gaps.max(initial=0.0)), 6), members, n_reached)
