"""Many small problems at once: log Z, the best hierarchy and exact draws of each, in a few compiled calls.

A thread takes a slice of the problems and solves each on its own full trellis. No Python code runs for a single one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from palmette._immutable import read_only
from palmette.array_types import Floats, Ints
from palmette.batch.problems import Problems
from palmette.checks import as_integers, check_whole
from palmette.defaults import DEFAULTS
from palmette.errors import ImpossibleData, TrellisTooLarge
from palmette.hierarchy import Hierarchy
from palmette.models.split_model import SplitModel
from palmette.progress import Progress
from palmette.recursions.hierarchies.batch import batch_kernel
from palmette.threads import Workers, check_threads

__all__ = ["BatchResult", "infer", "work_of"]

_NANOSECONDS = 5.0  # per 3^n: (3^n)/2 splits of about ten nanoseconds
_DRAW_NANOSECONDS = 8.0  # per 2^n: a draw walks over some 2^n splits


@dataclass(frozen=True, eq=False)
class BatchResult:
    """What `infer` found: arrays with one entry per problem, and the hierarchies of any of them on demand.

    The merges of problem i, in SciPy's numbering, are the n_i − 1 rows of `children` from offsets[i] − i on; they
    are −1 where every hierarchy has probability zero. Those of its draws are the same rows of `drawn_children`.
    """

    log_partition: Floats  #: (N,)
    map_log_potential: Floats  #: (N,)
    offsets: Ints  #: (N + 1,)
    children: npt.NDArray[np.int32]  #: (Σ (n_i − 1), 2)
    drawn_children: npt.NDArray[np.int32]  #: (n_draws, Σ (n_i − 1), 2)
    drawn_log_probs: Floats  #: (N, n_draws): log-probability of each draw; −inf where nothing is possible
    labels: tuple[tuple[str, ...], ...] | None = None

    @property
    def n_leaves(self) -> Ints:
        """(N,): the number of leaves of each problem."""
        return np.diff(self.offsets)

    def __len__(self) -> int:
        return len(self.log_partition)

    def map(self, i: int) -> Hierarchy:
        """The hierarchy of largest potential of problem i; of equal ones, the lowest mask at the highest split."""
        return self._hierarchy(self.children, i)

    def draws(self, i: int) -> list[Hierarchy]:
        """The exact draws from the posterior of problem i."""
        return [self._hierarchy(children, i) for children in self.drawn_children]

    def _hierarchy(self, children: npt.NDArray[np.int32], i: int) -> Hierarchy:
        if not -len(self) <= i < len(self):
            raise IndexError(f"problem {i} does not exist; the problems are 0 to {len(self) - 1}")
        i = int(i) % len(self)
        if self.log_partition[i] == -np.inf:
            raise ImpossibleData(f"every hierarchy of problem {i} has probability zero under the model")
        rows = children[self.offsets[i] - i : self.offsets[i + 1] - i - 1]
        return Hierarchy.from_merges(rows, None if self.labels is None else self.labels[i])

    def __repr__(self) -> str:
        return f"BatchResult({len(self)} problems)"


def infer(
    problems: Problems | Sequence[SplitModel],
    *,
    n_draws: int = 0,
    seed: int = 0,
    streams: npt.ArrayLike | None = None,
    threads: int | None = None,
    progress: bool | None = None,
) -> BatchResult:
    """log Z(X), the best hierarchy and `n_draws` exact draws of every problem, each on its full trellis.

    `problems` are models that share their functions (the same class, any data), or a `Problems` record, which needs
    no Python object for each. Up to 17 leaves each; one leaf gives log Z = 0; a problem in which every hierarchy has
    probability zero gives −inf. The numbers do not depend on `threads` (None: all processors). `progress` shows a
    bar on stderr: None means if that is a terminal.

    Every problem has a random stream of its own: its draws depend on `seed` and on its entry of `streams`, a whole
    number, and on nothing else. Streams are 0, 1, … unless given: give them if a part of the problems is solved here
    and a part elsewhere.

    >>> from palmette.models import Uniform
    >>> result = infer([Uniform(2), Uniform(4), Uniform(6)])  # exp(log Z) = 1, 3·5, 3·5·7·9
    >>> result.log_partition.round(3)
    array([0.   , 2.708, 6.851])
    >>> result.map(1)
    Hierarchy.from_newick('(0,(1,(2,3)));')
    >>> infer([Uniform(4)], n_draws=2, seed=1).draws(0)
    [Hierarchy.from_newick('(((0,2),1),3);'), Hierarchy.from_newick('(((0,3),2),1);')]
    """
    batch = problems if isinstance(problems, Problems) else Problems.of(problems)
    sizes = batch.n_leaves
    _check_sizes(sizes)
    n, n_merges = len(batch), int(batch.offsets[-1]) - len(batch)
    n_draws, seed = check_whole("n_draws", n_draws), check_whole("seed", seed)
    streams = _check_streams(streams, n)
    children = np.full((1 + n_draws, n_merges, 2), -1, np.int32)
    out = (np.empty(n), np.empty(n), children[0], children[1:], np.full((n, n_draws), -np.inf))
    out[-1][sizes == 1] = 0.0
    data = (*batch.arrays(), np.uint64(seed), streams)
    kernel = batch_kernel(batch.model)
    work = work_of(sizes, n_draws)
    with Workers(check_threads(threads), Progress(f"{n} problems", float(work.sum()), progress)) as workers:
        workers.run(lambda first, last: kernel(*data, first, last, *out), work)
    log_z, log_m, best, drawn, logs = map(read_only, out)
    return BatchResult(log_z, log_m, batch.offsets, best, drawn, logs, batch.labels)


def work_of(sizes: Ints, n_draws: int = 0) -> Floats:
    """Nanoseconds that problems of these sizes take, about."""
    return np.asarray(_NANOSECONDS * 3.0**sizes + n_draws * _DRAW_NANOSECONDS * 2.0**sizes, dtype=np.float64)


def _check_streams(streams: npt.ArrayLike | None, n: int) -> Ints:
    if streams is None:
        return np.arange(n)
    given = as_integers(streams, "streams")
    if given.shape != (n,):
        raise ValueError(f"streams has shape {given.shape}; expected one whole number for each problem, ({n},)")
    return given


def _check_sizes(sizes: Ints) -> None:
    too_large = np.flatnonzero(sizes > DEFAULTS.batch_leaves)
    if len(too_large):
        i = int(too_large[0])
        raise TrellisTooLarge(
            f"problem {i} has {sizes[i]} leaves ({len(too_large)} of {len(sizes)} problems have too many); a batch "
            f"takes up to {DEFAULTS.batch_leaves}, since each is solved in one call. Leave those out, and give each to "
            f"a HierarchyPosterior of its own"
        )
