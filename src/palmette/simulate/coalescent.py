"""Kingman's coalescent: a random hierarchy in time, and data that have wandered down along it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from palmette._immutable import read_only
from palmette.array_types import Floats, Ints
from palmette.checks import check_integer
from palmette.coalescent.leaf_ages import check_leaf_ages
from palmette.coalescent.process import Process, States, Walk, check_process
from palmette.hierarchy import Hierarchy
from palmette.labels import check_labels

__all__ = ["CoalescentDraw", "coalescent"]


@dataclass(frozen=True, eq=False)
class CoalescentDraw:
    """A hierarchy whose heights are the ages of its clusters, and the data at its leaves, if a process was given."""

    hierarchy: Hierarchy
    x: States | None = None
    """(n, D): row i is what leaf i shows."""
    inner: States | None = None
    """(n − 1, D): row k is the state of the lineage at event k, which makes node n + k of the hierarchy."""


@overload
def coalescent(
    n: int,
    process: Process | None = None,
    rng: Any = None,
    size: None = None,
    *,
    n_columns: int | None = None,
    start: npt.ArrayLike | None = None,
    labels: Iterable[str] | None = None,
    leaf_ages: npt.ArrayLike | None = None,
) -> CoalescentDraw: ...
@overload
def coalescent(
    n: int,
    process: Process | None = None,
    rng: Any = None,
    *,
    size: int,
    n_columns: int | None = None,
    start: npt.ArrayLike | None = None,
    labels: Iterable[str] | None = None,
    leaf_ages: npt.ArrayLike | None = None,
) -> list[CoalescentDraw]: ...
def coalescent(
    n: int,
    process: Process | None = None,
    rng: Any = None,
    size: int | None = None,
    *,
    n_columns: int | None = None,
    start: npt.ArrayLike | None = None,
    labels: Iterable[str] | None = None,
    leaf_ages: npt.ArrayLike | None = None,
) -> CoalescentDraw | list[CoalescentDraw]:
    """While m lineages are left: after an Exponential(m(m − 1)/2) time two of them meet, all pairs alike.

    Node n + k of the hierarchy is event k. Data come down from the root. `Brownian` motion begins at `start` (a number
    or one per column; 0) where its root is flat, at a draw from its `Gaussian` root otherwise; x has noise of the leaf
    variance. `IndependentSites` begin in equilibrium, and on a branch of length l each is drawn anew with probability
    1 − e^(−rate · l). A process of one's own says by its ``walk`` how it is drawn. x has `n_columns` columns; where the
    process does not say how many, 1 unless given.

    With `leaf_ages` (n,), a lineage is there from the age of its leaf on, and m counts those that are there.

    With `size`, that many draws in a list, the first of which do not depend on how many there are.

    >>> from palmette.coalescent import Brownian
    >>> draw = coalescent(4, Brownian(rate=[1.0, 4.0]), rng=1)
    >>> draw.hierarchy, draw.x.shape, draw.inner.shape
    (Hierarchy.from_newick('(3,(1,(0,2)));'), (4, 2), (3, 2))
    >>> draw.hierarchy.heights[4:].round(3)
    array([0.179, 0.282, 5.657])
    """
    n, names = check_integer("n", n, 1), check_labels(labels, n)
    generator = np.random.default_rng(rng)
    walk = None
    if process is not None:
        check_process(process)
        walk = process.walk(None if n_columns is None else check_integer("n_columns", n_columns, 1), start)
    elif n_columns is not None or start is not None:
        raise ValueError("n_columns and start are about data, and there is no process; give one, such as Brownian()")
    born = check_leaf_ages(leaf_ages, n)
    if size is None:
        return _draw(born, names, walk, generator)
    return [_draw(born, names, walk, generator) for _ in range(check_integer("size", size, 0))]


def _draw(born: Floats, names: tuple[str, ...], walk: Walk | None, rng: np.random.Generator) -> CoalescentDraw:
    n = len(born)
    late = born - born.min()
    children, ages = _merges_as_they_arrive(late, rng) if late.any() else _merges(n, rng)
    hierarchy = Hierarchy.from_merges(children, names, heights=np.concatenate([born, ages + born.min()]))
    if walk is None:
        return CoalescentDraw(hierarchy)
    lengths = hierarchy.heights[hierarchy.parents] - hierarchy.heights
    lengths[-1] = 0.0
    states = walk(hierarchy.parents.tolist(), lengths, rng)
    return CoalescentDraw(hierarchy, read_only(states[:n].copy()), read_only(states[n:].copy()))


def _merges(n: int, rng: np.random.Generator) -> tuple[Ints, Floats]:
    m = np.arange(n, 1, -1)  # lineages before each event
    ages = np.cumsum(rng.standard_exponential(n - 1) / (0.5 * m * (m - 1)))
    first, second = rng.integers(0, m), rng.integers(0, m - 1)
    lineages = list(range(n))
    children = np.empty((n - 1, 2), np.int64)
    for k, (i, j) in enumerate(zip(first.tolist(), (second + (second >= first)).tolist(), strict=True)):
        children[k] = sorted((lineages[i], lineages[j]))
        lineages[i] = n + k
        lineages[j] = lineages[-1]
        lineages.pop()
    return children, ages


def _merges_as_they_arrive(born: Floats, rng: np.random.Generator) -> tuple[Ints, Floats]:
    # The youngest leaf has age 0. An event comes when ∫ m(m − 1)/2 dt has grown by an Exponential(1) number.
    n, waiting = len(born), np.argsort(-born, kind="stable").tolist()
    lineages: list[int] = []
    children, ages, now = np.empty((n - 1, 2), np.int64), np.empty(n - 1), 0.0
    for k in range(n - 1):
        hazard = rng.standard_exponential()
        while waiting:
            spent = 0.5 * len(lineages) * (len(lineages) - 1) * (born[waiting[-1]] - now)
            if hazard < spent:
                break
            hazard, now = hazard - spent, born[waiting[-1]]
            lineages.append(waiting.pop())
        now += hazard / (0.5 * len(lineages) * (len(lineages) - 1))
        children[k] = sorted(lineages.pop(int(rng.integers(len(lineages)))) for _ in range(2))
        ages[k] = now
        lineages.append(n + k)
    return children, ages
