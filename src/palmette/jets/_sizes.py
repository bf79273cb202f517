"""How many particles a Ginkgo shower ends with: the law of n, given the mass² of the jet.

    P(1 | t) = 1                                                              t ≤ t_cut
    P(n | t) = Σ_k ∫ f(a | t) P(k | a) ∫ f(b | s) P(n − k | b) db da          t > t_cut,  s = (√t − √a)²

f(a | T) is an exponential law of rate λ/T on [0, 0.999 T): how heavy a child is. Directions do not matter. P(n | ·)
needs those of fewer particles only, so there is no equation to solve: each is tabulated over masses √t, and read by
straight lines in between.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from palmette.array_types import Floats, Ints
from palmette.models.shower_laws import TOP

__all__ = ["size_probabilities"]

_MASSES = 300  # of the tables
_PANELS, _NODES = 24, 4  # of integrals
_NEGLIGIBLE = 1e-9  # of all jets; more particles are not heard of
_TOP_MASS = TOP**0.5


def size_probabilities(
    mass_squared: Floats, most: int, *, rate: float, t_cut: float, root_rate: float | None = None
) -> Floats:
    """(N, most): the probability that a jet of each mass² has 1, 2, …, `most` particles, to about four digits.

    >>> size_probabilities(np.array([9.0, 36.0]), 3, rate=1.5, t_cut=16.0).round(3)
    array([[1.   , 0.   , 0.   ],
           [0.   , 0.599, 0.326]])
    """
    jets = np.sqrt(np.maximum(mass_squared, 0.0) / t_cut)  # masses in units of √t_cut from here on
    grid = _grid(max(float(jets.max(initial=1.0)), 1.1))
    law = _Splitting(grid, rate)
    table = np.zeros((most + 1, _MASSES))  # P(n | t), n = 0 … most, for masses above 1: there is no n = 1
    for n in range(2, most + 1):
        table[n] = law.of_two(n, table)
        if n > 3 and table[n].max() < _NEGLIGIBLE:
            break
    if root_rate is not None and root_rate != rate:
        first, below = _Splitting(grid, root_rate), table.copy()
        for n in range(2, 1 + int(np.flatnonzero(table.any(axis=1)).max(initial=1))):
            table[n] = first.of_two(n, below)
    out = np.array([np.interp(jets, grid.masses, row) for row in table[1:]]).T.reshape(len(jets), most)
    out[jets <= 1.0] = np.arange(most) == 0
    return out


class _Reading(NamedTuple):
    # A table over masses, read at other places by straight lines; 0 below the first mass.
    place: Ints
    share: Floats

    @classmethod
    def at(cls, masses: Floats, x: Floats) -> _Reading:
        steps = (x - masses[0]) / (masses[1] - masses[0])
        place = np.clip(steps.astype(np.int64), 0, len(masses) - 2)
        return cls(np.where(steps > 0.0, place, -1), steps - place)

    def of(self, table: Floats) -> Floats:
        found = table[self.place] + self.share * (table[self.place + 1] - table[self.place])
        return np.where(self.place >= 0, found, 0.0)


class _Pieces(NamedTuple):
    # For each mass m, masses x that a child may have, how wide the piece of each is, and what the tables say there.
    x: Floats
    width: Floats
    drawn: _Reading
    rest: Floats
    after: _Reading

    @classmethod
    def between(cls, low: Floats, high: Floats, masses: Floats) -> _Pieces:
        nodes, weights = np.polynomial.legendre.leggauss(_NODES)
        unit = ((np.arange(_PANELS)[:, None] + 0.5 * (1.0 + nodes)) / _PANELS).ravel()
        span = (high - low)[:, None]
        x = low[:, None] + span * unit
        rest = masses[:, None] - x
        width = span * np.tile(0.5 * weights / _PANELS, _PANELS)
        return cls(x, width, _Reading.at(masses, x), rest, _Reading.at(masses, rest))


class _Grid(NamedTuple):
    masses: Floats
    light: _Pieces
    heavy: _Pieces


@functools.lru_cache(maxsize=4)
def _grid(largest: float) -> _Grid:
    # Whatever the rate.
    masses = np.linspace(1.0, largest, _MASSES)
    ends = np.zeros(_MASSES), np.minimum(1.0, _TOP_MASS * masses), np.ones(_MASSES), np.maximum(1.0, _TOP_MASS * masses)
    return _Grid(masses, _Pieces.between(*ends[:2], masses), _Pieces.between(*ends[2:], masses))


class _Splitting:
    # One split of a jet of each mass m: x is drawn first, and the other child below the rest, m − x.

    def __init__(self, grid: _Grid, rate: float) -> None:
        self._grid, self._rate = grid, rate
        self._light, self._heavy = (self._weights(pieces) for pieces in (grid.light, grid.heavy))
        self._drawn: dict[int, Floats] = {}  # P(k | x) at the heavy pieces
        self._after: dict[int, tuple[Floats, Floats]] = {}  # P(k | drawn below m − x) at the light and the heavy ones

    def of_two(self, n: int, table: Floats) -> Floats:
        """P(n | m) from P(1 … n − 1 | m)."""
        for k in range(1, n):
            if k not in self._after:
                self._drawn[k] = self._grid.heavy.drawn.of(table[k])
                self._after[k] = self._second(k)
        total = (self._light * self._after[n - 1][0]).sum(axis=1)
        for k in range(2, n):
            total += (self._heavy * self._drawn[k] * self._after[n - k][1]).sum(axis=1)
        return np.asarray(total)

    def _second(self, k: int) -> tuple[Floats, Floats]:
        both = self._grid.light, self._grid.heavy
        if k == 1:
            shares = [np.minimum(TOP, 1.0 / np.square(np.maximum(pieces.rest, 0.5))) for pieces in both]
            one, two = (np.expm1(-self._rate * share) / np.expm1(-self._rate * TOP) for share in shares)
            return one, two
        found = (self._heavy * self._drawn[k]).sum(axis=1)
        return both[0].after.of(found), both[1].after.of(found)

    def _weights(self, pieces: _Pieces) -> Floats:
        # How probable it is that the child drawn first has a mass in each piece: ∫ … dx is a sum over these.
        m = self._grid.masses[:, None]
        scale = 2.0 * self._rate / -np.expm1(-self._rate * TOP)
        return np.asarray(scale * pieces.x / m**2 * np.exp(-self._rate * np.square(pieces.x / m)) * pieces.width)
