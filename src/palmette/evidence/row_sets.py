"""Parameters of a model of partitions by the evidence of random sets of rows: quick, however many rows there are.

A Dirichlet process says the same of some rows whatever the others are: the law of their partition does not depend on
how many more there could be. So a few rows have an evidence for the parameters of all, which takes a millisecond.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Any, TypeVar

import numpy as np

from palmette.array_types import Floats, Ints
from palmette.evidence.climbing import climb
from palmette.evidence.family import Family
from palmette.models.base import is_compiled
from palmette.models.cluster_model import ClusterModel, PartitionModel
from palmette.progress import Progress

__all__ = ["best_of_row_sets", "summands"]

SomeModel = TypeVar("SomeModel", bound=PartitionModel)

_ROWS, _SETS = 12, 12
_FEWEST_ROWS = 6
_TERMS = 5_000_000  # summands of all clusters of all sets: a tenth of a second for each value
_TOLERANCE = 0.05  # nats of the sum over all rows
_MOST = 40  # values of it


def best_of_row_sets(
    model: SomeModel,
    ranges: Mapping[str, tuple[float, float]],
    *,
    rng: np.random.Generator | int | None = 0,
    progress: bool | None = None,
) -> SomeModel:
    """argmax over θ of Σ log p(rows of S | θ) over random sets S of twelve rows, for the parameters that have ranges.

    Sets have no row in common for as long as there are rows left. Of twelve rows or fewer there is one set, and the
    maximum is that of the evidence. If there are hundreds of columns, "twelve" is less, down to six.
    """
    size = min(model.n_leaves, _size(model))
    sets = [model.of_rows(rows) for rows in _row_sets(model.n_leaves, size, np.random.default_rng(rng))]
    free: dict[str, Any] = {name: value for name, value in model.free_parameters.items() if name in ranges}
    families = [Family(part.with_parameters, free, ranges, None) for part in sets]
    with closing(Progress("parameters by evidence", None, progress, unit="values")) as bar:

        def log_evidence(x: Floats) -> float:
            bar.advance(1)
            return math.fsum(family.posterior(x).log_evidence for family in families)

        first = families[0]
        summit = climb(log_evidence, first.start, first.low, first.high, tolerance=_TOLERANCE, most=_MOST)
    return model.with_parameters(**first.values(summit.x))


def summands(model: PartitionModel, n: int) -> int:
    """What it takes to score all clusters of n of the leaves: their number, times that of sums over each."""
    columns = model.additive.shape[1] if is_compiled(model, ClusterModel) else 1
    return (1 << n) * max(columns, 1)


def _size(model: PartitionModel) -> int:
    sizes = range(_ROWS, _FEWEST_ROWS, -1)
    return next((n for n in sizes if _SETS * summands(model, n) <= _TERMS), _FEWEST_ROWS)


def _row_sets(n: int, size: int, rng: np.random.Generator) -> list[Ints]:
    blocks = _blocks(n, size, rng)
    return [np.sort(next(blocks)) for _ in range(1 if n == size else _SETS)]


def _blocks(n: int, size: int, rng: np.random.Generator) -> Iterator[Ints]:
    while True:
        order = rng.permutation(n)
        yield from (order[i : i + size] for i in range(0, n - size + 1, size))
