"""How many: splits, hierarchies, and hierarchies that a model allows, in exact integers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from palmette.recursions.inside import count_clusters

if TYPE_CHECKING:
    from palmette.trellis.full import FullTrellis

__all__ = ["count_hierarchies", "double_factorial", "n_splits"]

# (2n − 3)!! passes 2^64 at n = 19 and stays below 2^160 up to n = 30.
_PRIMES = (4294967291, 4294967279, 4294967231)
_FITS_64_BITS = 18


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


def count_hierarchies(trellis: FullTrellis) -> int:
    """The number of hierarchies of non-zero potential.

    Counted modulo 2^64 and, where that may not be enough, modulo three primes; the remainders tell the number.
    """
    if not trellis.model.may_forbid and len(trellis.allowed) == 0:
        return double_factorial(2 * trellis.n - 3)
    moduli = (0,) if trellis.n <= _FITS_64_BITS else (0, *_PRIMES)  # 0 stands for 2^64: unsigned integers wrap around
    return _chinese_remainder({modulus or 1 << 64: _count_modulo(trellis, modulus) for modulus in moduli})


def _count_modulo(trellis: FullTrellis, modulus: int) -> int:
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
