"""How far two partitions are apart: variation of information, and the adjusted Rand index.

Both are of the table of counts n_kl, how many leaves are in cluster k of one and in cluster l of the other.
"""

from __future__ import annotations

import numpy as np

from palmette.array_types import Ints
from palmette.partition import Partition

__all__ = ["adjusted_rand", "variation_of_information"]


def variation_of_information(one: Partition, other: Partition) -> float:
    """H(one | other) + H(other | one) = −Σ n_kl/n (log n_kl/n_k + log n_kl/n_l), in nats.

    A metric of partitions (Meilă 2007): 0 for equal ones, log n at most, and small where clusters are split into a few
    parts. Leaves are matched by label. O(n log n) time.

    >>> one, other = Partition([0, 0, 1, 1]), Partition([0, 0, 1, 2])
    >>> round(variation_of_information(one, other), 4)
    0.3466
    """
    both, first, second = _counts(one, other)
    # Each logarithm is at least 0, so that nothing cancels: of equal partitions all are 0.
    logs = np.log(first / both) + np.log(second / both)
    return float((both * logs).sum() / one.n_leaves)


def adjusted_rand(one: Partition, other: Partition) -> float:
    """(S − E) / (M − E): pairs that are together in both, S, beside those expected by chance, E, and the most, M.

    S = Σ C(n_kl, 2); with A and B the pairs that are together in one and in the other, E = A B / C(n, 2) and
    M = (A + B) / 2 (Hubert and Arabie 1985). 1 for equal partitions, about 0 for those that have nothing to do with
    each other, and negative for worse. Leaves are matched by label. Counts of pairs are whole, so nothing
    cancels.

    >>> round(adjusted_rand(Partition([0, 0, 1, 1]), Partition([0, 0, 1, 2])), 4)
    0.5714
    """
    both, _, _ = _counts(one, other)
    shared, first, second = (_pairs(sizes) for sizes in (both, one.sizes, other.sizes))
    every = one.n_leaves * (one.n_leaves - 1) // 2
    # Both sides times 2 C(n, 2), which makes them whole.
    above, below = 2 * (shared * every - first * second), (first + second) * every - 2 * first * second
    return above / below if below else 1.0  # both put all together, or both nothing


def _counts(one: Partition, other: Partition) -> tuple[Ints, Ints, Ints]:
    # (n_kl, n_k, n_l) of the entries that are not 0.
    for given in (one, other):
        if not isinstance(given, Partition):
            raise TypeError(f"expected a palmette.Partition, not {given!r}")
    if other.labels != one.labels:
        other = other.aligned_to(one.labels)
    keys, both = np.unique(one.membership * other.n_clusters + other.membership, return_counts=True)
    first, second = np.divmod(keys, other.n_clusters)
    return both.astype(np.int64), one.sizes[first], other.sizes[second]


def _pairs(sizes: Ints) -> int:
    return sum(size * (size - 1) // 2 for size in sizes.tolist())
