"""The hierarchy of the clusters that a distribution believes in."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from palmette.checks import check_share
from palmette.hierarchy import Hierarchy
from palmette.hierarchy.arrays import cluster_bits
from palmette.hierarchy.masks import hierarchy_of_masks

__all__ = ["check_threshold", "consensus"]


def check_threshold(threshold: float) -> None:
    """Refuse what is not a probability below 1."""
    check_share("threshold", threshold, below_one=True)


def consensus(masks: list[int], probabilities: npt.ArrayLike, labels: tuple[str, ...], threshold: float) -> Hierarchy:
    """The hierarchy of the clusters with probability strictly above `threshold`; its support are their probabilities.

    Above one half no two of them can cross. Below, they are added by falling probability, each if it crosses none
    of those already there.
    """
    check_threshold(threshold)
    n = len(labels)
    chosen: dict[int, float] = {(1 << n) - 1: 1.0}
    # A probability of exactly the threshold may come out a few units in the last place above it.
    above = [(-p, mask.bit_count(), mask) for mask, p in zip(masks, np.asarray(probabilities), strict=True)]
    for negative, size, mask in sorted(item for item in above if -item[0] > threshold + 1e-12):
        if size >= 2 and not any(_crosses(mask, other) for other in chosen):
            chosen[mask] = -float(negative)
    hierarchy = hierarchy_of_masks(chosen, labels)
    masks = cluster_bits(hierarchy.parents, range(n))
    return hierarchy.with_support([chosen.get(mask, np.nan) for mask in masks])


def _crosses(one: int, other: int) -> bool:
    shared = one & other
    return shared not in (0, one, other)
