"""Tables whose groups are known, most of them from laws that no rival has: groups of unequal spread, on a line, in t
noise, in columns that hang together or mean nothing; gradients and noise, which have no groups."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import NamedTuple

import numpy as np
from _linkages import Cluster, Support

import palmette as pal

LEAVES = 12
COLUMNS = 6
BLOCK = 10  # columns that hang together


class Known(NamedTuple):
    """Points, and their groups; of nested ones, those of all levels."""

    x: np.ndarray
    groups: frozenset[Cluster]
    wrong: frozenset[Cluster] = frozenset()
    """Clusters of whole groups that are none: the outer two of three on a line."""


def _of_sizes(sizes: Iterable[int]) -> tuple[np.ndarray, frozenset[Cluster]]:
    group = np.repeat(np.arange(len(list(sizes))), list(sizes))
    return group, frozenset(frozenset(np.flatnonzero(group == k).tolist()) for k in range(group[-1] + 1))


def _known(x: np.ndarray, groups: frozenset[Cluster] = frozenset()) -> Known:
    return Known(x - x.mean(axis=0), groups)


def mixture(
    rng: np.random.Generator, sizes: tuple[int, ...] = (4, 4, 4), spreads: tuple[float, ...] = (1.0, 1.0, 1.0)
) -> Known:
    """Centres from N(0, 3²), groups with a spread each."""
    group, groups = _of_sizes(sizes)
    noise = rng.normal(size=(len(group), COLUMNS)) * np.array(spreads)[group, None]
    return _known(3.0 * rng.normal(size=(len(sizes), COLUMNS))[group] + noise, groups)


def on_a_line(rng: np.random.Generator, columns: int, apart: float = 5.0) -> Known:
    """Next means so far apart in every column."""
    group, groups = _of_sizes((4, 4, 4))
    x = apart * group[:, None] + rng.normal(size=(LEAVES, columns))
    return _known(x, groups)._replace(wrong=frozenset([frozenset(np.flatnonzero(group != 1).tolist())]))


def triangle(rng: np.random.Generator) -> Known:
    """Three means, 6 from each other."""
    group, groups = _of_sizes((4, 4, 4))
    return _known(6.0 / np.sqrt(2.0) * np.eye(3, COLUMNS)[group] + rng.normal(size=(LEAVES, COLUMNS)), groups)


def in_a_plane(rng: np.random.Generator, columns: int, apart: float) -> Known:
    """Three means in a plane, so far from each other."""
    group, groups = _of_sizes((4, 4, 4))
    corners = apart * np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])
    return _known(np.pad(corners, ((0, 0), (0, columns - 2)))[group] + rng.normal(size=(LEAVES, columns)), groups)


def nested(rng: np.random.Generator) -> Known:
    """Two groups of two groups of three."""
    group, groups = _of_sizes((3, 3, 3, 3))
    pair, pairs = _of_sizes((6, 6))
    centres = 6.0 * rng.normal(size=(2, COLUMNS))[pair] + 2.0 * rng.normal(size=(4, COLUMNS))[group]
    return _known(centres + rng.normal(size=(LEAVES, COLUMNS)), groups | pairs)


def in_t_noise(rng: np.random.Generator) -> Known:
    group, groups = _of_sizes((4, 4, 4))
    return _known(3.0 * rng.normal(size=(3, COLUMNS))[group] + rng.standard_t(2, size=(LEAVES, COLUMNS)), groups)


def in_blocks(rng: np.random.Generator, correlation: float, apart: float) -> Known:
    """Sixty columns in blocks of ten that hang together; centres from N(0, apart²)."""
    group, groups = _of_sizes((4, 4, 4))
    columns = 6 * BLOCK
    common = np.repeat(rng.normal(size=(LEAVES, 6)), BLOCK, axis=1)
    own = rng.normal(size=(LEAVES, columns))
    noise = np.sqrt(correlation) * common + np.sqrt(1.0 - correlation) * own
    return _known(apart * rng.normal(size=(3, columns))[group] + noise, groups if apart else frozenset())


def beside_noise(rng: np.random.Generator) -> Known:
    """Seven columns that tell, and thirteen of noise."""
    group, groups = _of_sizes((4, 4, 4))
    x = rng.normal(size=(LEAVES, 20))
    x[:, :7] += 3.0 * rng.normal(size=(3, 7))[group]
    return _known(x, groups)


def gradient(rng: np.random.Generator) -> Known:
    """Points along a line, at equal steps, in noise."""
    direction = rng.normal(size=COLUMNS)
    means = np.linspace(0.0, 10.0, LEAVES)[:, None] * direction / np.linalg.norm(direction)
    return _known(means + rng.normal(size=(LEAVES, COLUMNS)))


def noise(rng: np.random.Generator, columns: int) -> Known:
    return _known(rng.normal(size=(LEAVES, columns)))


def t_noise(rng: np.random.Generator) -> Known:
    return _known(rng.standard_t(2, size=(LEAVES, COLUMNS)))


def of_contrasts(rng: np.random.Generator) -> Known:
    """From the law of `Contrasts`, whose hierarchy is all true."""
    made = pal.simulate.contrasts(LEAVES, COLUMNS, a=0.5, b=0.2, rng=rng)
    return _known(made.x, frozenset(c for c in made.hierarchy.clusters() if 1 < len(c) < LEAVES))


TABLES: dict[str, Callable[[np.random.Generator], Known]] = {
    "three groups": mixture,
    "of 6, 4 and 2, spreads ½, 1 and 2": partial(mixture, sizes=(6, 4, 2), spreads=(0.5, 1.0, 2.0)),
    "on a line, 2 columns": partial(on_a_line, columns=2),
    "on a line, 7 columns": partial(on_a_line, columns=7),
    "a triangle": triangle,
    "two groups of two": nested,
    "in t noise": in_t_noise,
    **{
        f"60 columns, blocks at {correlation:g}": partial(in_blocks, correlation=correlation, apart=1.0)
        for correlation in (0.3, 0.6, 0.9)
    },
    "7 columns beside 13 of noise": beside_noise,
    "the law of `Contrasts`": of_contrasts,
    "no groups: a gradient": gradient,
    "no groups: noise, 6 columns": partial(noise, columns=COLUMNS),
    "no groups: noise, 60 columns": partial(noise, columns=60),
    "no groups: noise, blocks at .6": partial(in_blocks, correlation=0.6, apart=0.0),
    "no groups: t noise": t_noise,
}


class Findings(NamedTuple):
    """Of clusters that are as good as certain."""

    found: float
    """The share of the groups that are among them; NaN if there are no groups."""
    cutting: int
    """How many cut through a group, with some of it, not all, and leaves from elsewhere; and how many are wrong."""
    within: int
    """How many are parts of a smallest group, or of all points if there are no groups."""


def findings(support: Support, table: Known, level: float) -> Findings:
    """What a support of at least `level` has found, and what it takes for certain that is not there."""
    known = table.groups
    sure = {cluster for cluster, p in support.items() if p >= level}
    if not known:
        return Findings(float("nan"), 0, len(sure))
    false = sure - known
    cutting = {c for c in false if c in table.wrong or any(c & g and c - g and g - c for g in known)}
    smallest = [g for g in known if not any(other < g for other in known)]
    within = {c for c in false - cutting if any(c < g for g in smallest)}
    return Findings(len(sure & known) / len(known), len(cutting), len(within))
