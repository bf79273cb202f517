"""How many: splits, hierarchies, partitions, and those that a model allows, in exact integers."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from palmette.recursions.hierarchies.inside import count_clusters

if TYPE_CHECKING:
    from palmette.passes.hierarchies.full import FullHierarchyPasses

__all__ = ["bell_number", "count_hierarchies", "double_factorial", "exact_count", "n_splits", "stirling_numbers"]

_PRIMES = (4294967291, 4294967279, 4294967231, 4294967197)


def n_splits(n: int) -> int:
    """(3^n − 2^(n+1) + 1) / 2: the splits of all clusters of n leaves.

    >>> n_splits(3)
    6
    """
    return int((3**n - 2 ** (n + 1) + 1) // 2)


def double_factorial(n: int) -> int:
    """N!! = n (n − 2) (n − 4) …; 1 for n ≤ 0.

    >>> double_factorial(7)
    105
    """
    return math.prod(range(n, 0, -2))


def bell_number(n: int) -> int:
    """B(n): the partitions of n leaves.

    >>> [bell_number(n) for n in range(7)]
    [1, 1, 2, 5, 15, 52, 203]
    """
    return sum(stirling_numbers(n))


def stirling_numbers(n: int) -> list[int]:
    """S(n, 0), …, S(n, n): the partitions of n leaves into k clusters.

    >>> stirling_numbers(4)
    [0, 1, 7, 6, 1]
    """
    row = [1]
    for _ in range(n):  # a further leaf joins one of k clusters, or is a cluster of its own
        row = [k * here + before for k, (here, before) in enumerate(zip([*row, 0], [0, *row], strict=True))]
    return row


def exact_count(count_modulo: Callable[[int], int], bound: int) -> int:
    """A number of at most `bound`, from its remainders modulo 2^64 (asked for as 0) and, if need be, some primes."""
    moduli, product = [0], 1 << 64  # 0 stands for 2^64: unsigned integers wrap around
    for prime in _PRIMES:
        if product <= bound:
            moduli.append(prime)
            product *= prime
    return _chinese_remainder({modulus or 1 << 64: count_modulo(modulus) for modulus in moduli})


def count_hierarchies(trellis: FullHierarchyPasses) -> int:
    """The number of hierarchies of non-zero potential."""
    most = double_factorial(2 * trellis.n - 3)
    if not trellis.model.may_forbid and len(trellis.allowed) == 0:
        return most
    return exact_count(partial(_count_modulo, trellis), most)


def _count_modulo(trellis: FullHierarchyPasses, modulus: int) -> int:
    kernel = trellis.specialised(count_clusters)
    counts = np.zeros(1 << trellis.n, dtype=np.uint64)
    counts[1 << np.arange(trellis.n)] = 1
    with trellis.workers("counting hierarchies", 3.0 * n_splits(trellis.n)) as workers:
        for k in range(2, trellis.n + 1):
            masks = trellis.clusters_of_size(k)
            trellis.over(workers, kernel, masks, 3.0 * 2.0 ** (k - 1), np.uint64(modulus), counts)
    return int(counts[-1])


def _chinese_remainder(residues: dict[int, int]) -> int:
    value, modulus = 0, 1
    for m, residue in residues.items():
        value += modulus * ((residue - value) * pow(modulus, -1, m) % m)
        modulus *= m
    return value
