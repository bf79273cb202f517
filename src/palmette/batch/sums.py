"""log Z of many small problems and nothing else: what fitting parameters takes, over and over."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from palmette._immutable import read_only
from palmette.array_types import Floats
from palmette.batch.inference import KERNEL_LEAVES, work_of
from palmette.batch.problems import Problems
from palmette.models.split_model import SplitModel
from palmette.posterior.hierarchies import HierarchyPosterior
from palmette.progress import Progress
from palmette.recursions.hierarchies.batch_sums import sum_kernel
from palmette.threads import Workers, check_threads

__all__ = ["log_partitions"]


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
    batch = problems if isinstance(problems, Problems) else Problems.of(problems)
    sizes, out = batch.n_leaves, np.empty(len(batch))
    kernel, data = sum_kernel(batch.model), (*batch.arrays(), KERNEL_LEAVES)
    work = work_of(sizes, 0, int(sizes.max(initial=0)), 0)
    is_large = sizes > KERNEL_LEAVES
    bar = Progress(f"{len(batch)} problems", float(work.sum()), progress)
    with Workers(check_threads(threads), bar) as workers:
        workers.run(lambda first, last: kernel(*data, first, last, out), np.where(is_large, 0.0, work))
        for i in np.flatnonzero(is_large).tolist():
            out[i] = HierarchyPosterior(batch.alone(i), threads=threads, progress=False).log_partition
            bar.advance(float(work[i]))
    return read_only(out)
