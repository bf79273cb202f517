"""Log potentials of given hierarchies, one for each problem of a batch, in a few compiled calls."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from palmette._immutable import read_only
from palmette.array_types import Floats, Ints
from palmette.batch.problems import Problems, merge_rows
from palmette.checks import as_integers
from palmette.hierarchy import Hierarchy
from palmette.models.c_functions import features_of, scores_of
from palmette.models.evaluate import require_log_potentials
from palmette.models.split_model import SplitModel
from palmette.progress import Progress
from palmette.recursions.hierarchies.batch_potentials import score_problems
from palmette.threads import Workers, check_threads

__all__ = ["log_potentials"]

_NANOSECONDS = 50.0  # for each leaf


def log_potentials(
    problems: Problems | Sequence[SplitModel], children: npt.ArrayLike, *, threads: int | None = None
) -> Floats:
    """(N,): Σ log ψ over the splits of one hierarchy of each problem.

    The merges of problem i, in SciPy's numbering, are the n_i − 1 rows of `children` from offsets[i] − i on, as
    `BatchResult.children` and the true splits of jets have them. Any number of leaves.

    >>> from palmette.models import Uniform
    >>> log_potentials([Uniform(2), Uniform(3)], [[0, 1], [0, 1], [3, 2]])
    array([0., 0.])
    """
    batch = Problems.of(problems)
    rows = as_integers(children, "children")
    expected = (int(batch.offsets[-1]) - len(batch), 2)
    if rows.shape != expected and (rows.size or expected[0]):
        raise ValueError(f"children has shape {rows.shape}; these problems have {expected} splits, n − 1 for n leaves")
    # Closed for writing, whatever is given: to a compiler those are two types, and each would have a kernel.
    rows, out = read_only(np.ascontiguousarray(rows.reshape(expected)).view()), np.empty(len(batch))
    data = (features_of(batch.model), scores_of(batch.model)), *batch.arrays()
    with Workers(check_threads(threads), Progress("", None, False)) as workers:
        work = np.asarray(_NANOSECONDS * batch.n_leaves, dtype=np.float64)
        bad = workers.run(lambda first, last: score_problems(*data, rows, first, last, out), work)
    for i in (i for i in bad if i >= 0):
        _refuse(batch, rows, i)
    require_log_potentials(batch.model, out)
    return out


def _refuse(batch: Problems, rows: Ints, i: int) -> None:
    try:
        Hierarchy.from_merges(rows[merge_rows(batch.offsets, i)])
    except ValueError as error:
        raise ValueError(f"the merges of problem {i} are no hierarchy: {error}") from None
