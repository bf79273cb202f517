"""How many splits, hierarchies and partitions there are, in exact integers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from palmette.array_types import Floats

__all__ = [
    "bell_number",
    "double_factorial",
    "exact_count",
    "from_remainders",
    "log_hierarchies",
    "moduli_for",
    "n_splits",
    "stirling_numbers",
]

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


def log_hierarchies(n: npt.ArrayLike) -> Floats:
    """log (2n − 3)!! = log (2n − 2)! / (2^(n−1) (n − 1)!): of the number of binary hierarchies over n leaves.

    >>> np.exp(log_hierarchies([3, 5])).round(9)
    array([  3., 105.])
    """
    m = np.asarray(n, dtype=np.float64)
    return np.asarray(gammaln(2 * m - 1) - (m - 1) * np.log(2.0) - gammaln(m))


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
    moduli = moduli_for(bound)
    return from_remainders(moduli, map(count_modulo, moduli))


def moduli_for(bound: int) -> list[int]:
    """What a number of at most `bound` is known from the remainders of: 0, which stands for 2^64, and some primes."""
    moduli, product = [0], 1 << 64  # unsigned integers wrap around
    for prime in _PRIMES:
        if product <= bound:
            moduli.append(prime)
            product *= prime
    return moduli


def from_remainders(moduli: Iterable[int], remainders: Iterable[int]) -> int:
    """The number with these remainders, by the Chinese remainder theorem.

    >>> from_remainders([0, 5], [7, 2])
    7
    """
    value, product = 0, 1
    for modulus, remainder in zip(moduli, remainders, strict=True):
        m = modulus or 1 << 64
        value += product * ((remainder - value) * pow(product, -1, m) % m)
        product *= m
    return value
