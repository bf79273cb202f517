"""How many splits, hierarchies and partitions there are, in exact integers."""

from __future__ import annotations

import math
from collections.abc import Callable

__all__ = ["bell_number", "double_factorial", "exact_count", "n_splits", "stirling_numbers"]

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


def _chinese_remainder(residues: dict[int, int]) -> int:
    value, modulus = 0, 1
    for m, residue in residues.items():
        value += modulus * ((residue - value) * pow(modulus, -1, m) % m)
        modulus *= m
    return value
