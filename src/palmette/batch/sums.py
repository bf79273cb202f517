"""One number for each of many small problems: log Z, for fits that ask over and over, or an expectation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from palmette._immutable import read_only
from palmette.array_types import Floats
from palmette.batch.inference import KERNEL_LEAVES, work_of
from palmette.batch.problems import Problems
from palmette.models.split_model import SplitModel
from palmette.posterior.hierarchies import HierarchyPosterior
from palmette.progress import Progress
from palmette.recursions.hierarchies.batch import mean_problems, sum_problems
from palmette.recursions.hierarchies.batch_tables import addresses_of
from palmette.recursions.hierarchies.tiles import listed_splits
from palmette.threads import Workers, check_threads

__all__ = ["expected", "log_partitions"]


def log_partitions(
    problems: Problems | Sequence[SplitModel], *, threads: int | None = None, progress: bool | None = None
) -> Floats:
    """(N,): log Z(X) of every problem, exactly; −inf where no hierarchy is possible, 0 for one leaf.

    The same numbers as those of `infer`, without its arrays of hierarchies. All are summed over: a problem of more
    leaves than a full trellis on this machine can have raises `TrellisTooLarge`.

    >>> from palmette.models import Uniform
    >>> log_partitions([Uniform(2), Uniform(4), Uniform(6)]).round(3)  # exp(log Z) = 1, 3·5, 3·5·7·9
    array([0.   , 2.708, 6.851])
    """
    batch = Problems.of(problems)
    data, out = (addresses_of(batch.model), listed_splits(), *batch.arrays()), np.empty(len(batch))
    small = lambda first, last: sum_problems(*data, KERNEL_LEAVES, first, last, out)  # noqa: E731
    return _filled(out, batch, small, lambda i, posterior: posterior.log_partition, threads, progress)


def expected(
    problems: Problems | Sequence[SplitModel],
    values: Problems | Sequence[SplitModel],
    *,
    threads: int | None = None,
    progress: bool | None = None,
) -> Floats:
    """(N,): E[Σ v(L, R) over the splits of a hierarchy] for every problem, exactly; NaN where none is possible.

    v is given as `values`, problems of the same leaves whose log ψ is taken for it, as in
    `HierarchyPosterior.expected`: a `SplitModel` of your own makes any function of sums over clusters. A mean of 0/1
    functions is an expected number of such splits.

    >>> from palmette.models import Dasgupta
    >>> cost = Dasgupta([[0, 1, 1], [1, 0, 1], [1, 1, 0]])
    >>> expected([cost.with_beta(0.0)], [cost])  # all hierarchies alike: one pair at 2 leaves, two at 3
    array([-8.])
    """
    batch, given = Problems.of(problems), Problems.of(values)
    if not np.array_equal(batch.offsets, given.offsets):
        raise ValueError(f"the values are of {given!r}, the problems are {batch!r}; both need the same leaves")
    data = addresses_of(batch.model), listed_splits(), batch.arrays(), addresses_of(given.model), given.arrays()
    fixed, out = (*data, KERNEL_LEAVES), np.empty(len(batch))

    def large(i: int, posterior: HierarchyPosterior) -> float:
        return posterior.expected(given.alone(i)) if posterior.log_partition > -np.inf else np.nan

    small = lambda first, last: mean_problems(*fixed, first, last, out)  # noqa: E731
    return _filled(out, batch, small, large, threads, progress)


def _filled(
    out: Floats,
    batch: Problems,
    small: Callable[[int, int], Any],
    large: Callable[[int, HierarchyPosterior], float],
    threads: int | None,
    progress: bool | None,
) -> Floats:
    # Small problems by slices, large ones by passes of their own.
    sizes = batch.n_leaves
    work = work_of(sizes, 0, int(sizes.max(initial=0)), 0)
    is_large = sizes > KERNEL_LEAVES
    bar = Progress(f"{len(batch)} problems", float(work.sum()), progress)
    with Workers(check_threads(threads), bar) as workers:
        workers.run(small, np.where(is_large, 0.0, work))
        for i in np.flatnonzero(is_large).tolist():
            out[i] = large(i, HierarchyPosterior(batch.alone(i), threads=threads, progress=False))
            bar.advance(float(work[i]))
    return read_only(out)
