"""Many small problems at once: log Z, the best hierarchy and draws of each, most of them in a few compiled calls.

A thread takes a slice of the problems and solves each on its own full trellis; no Python code runs for a single one.
Beyond 17 leaves all threads work on one problem after another, and from some size on it is sampled, or sparse.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from palmette._immutable import read_only
from palmette.array_types import Floats, Ints
from palmette.batch.large import Answer, grow_one, sample_one, solve_one
from palmette.batch.problems import Problems, merge_rows
from palmette.checks import as_integers, check_choice, check_integer, check_whole
from palmette.defaults import DEFAULTS
from palmette.drawing.cards import card, html_table
from palmette.errors import ImpossibleData
from palmette.hierarchy import Hierarchy
from palmette.models.split_model import SplitModel
from palmette.progress import Progress
from palmette.recursions.hierarchies.batch import solve_problems
from palmette.recursions.hierarchies.batch_tables import addresses_of
from palmette.recursions.hierarchies.tiles import listed_splits
from palmette.sampling.run import FEWEST_SWEEPS
from palmette.search.posteriors import Beyond
from palmette.threads import Workers, check_threads

__all__ = ["FEWEST_LEAVES", "KERNEL_LEAVES", "BatchResult", "Beyond", "infer", "work_of"]

FEWEST_LEAVES = 3  # of `exact_leaves`: below, there is nothing to sample

KERNEL_LEAVES = 17  # a thread that solves a problem in one call hears no Ctrl-C before it is done: a second at most
_NANOSECONDS = 5.0  # per 3^n: (3^n)/2 splits of about ten nanoseconds
_SHOWN = 10  # problems in a notebook
_DRAW_NANOSECONDS = 8.0  # per 2^n: a draw walks over some 2^n splits
_MOVE_NANOSECONDS = 2e4  # a sweep is n moves
_PILOT_SWEEPS = 3000  # of a problem that is sampled, whatever is asked for
_GROWN_NANOSECONDS = 1e8  # per leaf of a problem on a sparse trellis; they differ by a factor of ten


@dataclass(frozen=True, eq=False)
class BatchResult:
    """What `infer` found: arrays with one entry per problem, and the hierarchies of any of them on demand.

    The merges of problem i, in SciPy's numbering, are the n_i − 1 rows of `children` from offsets[i] − i on; they
    are −1 where every hierarchy has probability zero. Those of its draws are the same rows of `drawn_children`.

    Problems whose kind is "sampled" have a log Z with an error, the best hierarchy that was found, and draws of chains,
    whose log-probabilities are as uncertain as log Z is. −inf means there that no possible hierarchy was found, and an
    error of ∞ that log Z is only known to be at least so much. That is so for all problems whose kind is "sparse": all
    that they have is that of a grown trellis.
    """

    log_partition: Floats  #: (N,)
    map_log_potential: Floats  #: (N,)
    offsets: Ints  #: (N + 1,)
    children: npt.NDArray[np.int32]  #: (Σ (n_i − 1), 2)
    drawn_children: npt.NDArray[np.int32]  #: (n_draws, Σ (n_i − 1), 2)
    drawn_log_probs: Floats  #: (N, n_draws): log-probability of each draw; −inf where nothing is possible
    kinds: npt.NDArray[np.str_]  #: (N,): "exact", "sampled" or "sparse"
    log_partition_errors: Floats  #: (N,): the standard error of log Z; 0 if it is exact
    r_hat: Floats  #: (N,): how far chains agree: 1 if they do, or if there are none
    labels: tuple[tuple[str, ...], ...] | None = None

    @property
    def n_leaves(self) -> Ints:
        """(N,): the number of leaves of each problem."""
        return np.diff(self.offsets)

    def __len__(self) -> int:
        return len(self.log_partition)

    def map(self, i: int) -> Hierarchy:
        """The hierarchy of largest potential of problem i; of equal ones, the lowest mask at the highest split.

        If it was sampled, the best one that was found: the best draw, cooled down.
        """
        return self._hierarchy(self.children, i)

    def draws(self, i: int) -> list[Hierarchy]:
        """The draws from the posterior of problem i."""
        return [self._hierarchy(children, i) for children in self.drawn_children]

    def _hierarchy(self, children: npt.NDArray[np.int32], i: int) -> Hierarchy:
        if not -len(self) <= i < len(self):
            raise IndexError(f"problem {i} does not exist; the problems are 0 to {len(self) - 1}")
        i = int(i) % len(self)
        if self.log_partition[i] == -np.inf:
            raise ImpossibleData(f"every hierarchy of problem {i} has probability zero under the model")
        rows = children[merge_rows(self.offsets, i)]
        return Hierarchy.from_merges(rows, None if self.labels is None else self.labels[i])

    def _repr_html_(self) -> str:
        count = min(len(self), _SHOWN)
        rows = [
            [str(i), str(self.n_leaves[i]), f"{self.log_partition[i]:.6g}", f"{self.map_log_potential[i]:.6g}", kind]
            for i, kind in enumerate(self.kinds[:count].tolist())
        ]
        columns = ["problem", "leaves", "log Z", "log potential of the best", "kind"]
        more = len(self) - count
        facts = [("problems", len(self)), ("draws of each", self.drawn_log_probs.shape[1])]
        return card("BatchResult", facts, html_table(columns, rows, f"… and {more:,} more" if more else ""))

    def __repr__(self) -> str:
        return f"BatchResult({len(self)} problems)"


def infer(
    problems: Problems | Sequence[SplitModel],
    *,
    n_draws: int = 0,
    seed: int = 0,
    streams: npt.ArrayLike | None = None,
    exact_leaves: int = DEFAULTS.batch_leaves,
    sweeps: int = DEFAULTS.batch_sweeps,
    beyond: Beyond = DEFAULTS.beyond,
    threads: int | None = None,
    progress: bool | None = None,
) -> BatchResult:
    """log Z(X), the best hierarchy and `n_draws` draws of every problem: exact on its full trellis, or sampled.

    `problems` are models that share their functions (the same class, any data), or a `Problems` record, which needs
    no Python object for each. One leaf gives log Z = 0; a problem in which every hierarchy has probability zero gives
    −inf. The numbers do not depend on `threads` (None: all processors). `progress` shows a bar on stderr: None means
    if that is a terminal.

    Problems of more than `exact_leaves` are sampled, which takes some seconds each: four chains of `sweeps` sweeps, as
    `sampling.sample_hierarchies` has them, and 16 annealed runs of as many steps for log Z. What was sampled says so,
    and has errors: see `BatchResult`. An exact problem takes half a minute at 20 leaves, and a third of it for each
    leaf less. With `beyond` "sparse" they are given a trellis that is grown, as `search.posterior` does it: the best
    hierarchy is often better than what chains find, and log Z a lower bound that may be far too low.

    Every problem has a random stream of its own: its draws and chains depend on `seed` and on its entry of `streams`,
    a whole number, and on nothing else. Streams are 0, 1, … unless given: give them if a part of the problems is
    solved here and a part elsewhere.

    >>> from palmette.models import Uniform
    >>> result = infer([Uniform(2), Uniform(4), Uniform(6)])  # exp(log Z) = 1, 3·5, 3·5·7·9
    >>> result.log_partition.round(3)
    array([0.   , 2.708, 6.851])
    >>> result.map(1)
    Hierarchy.from_newick('(0,(1,(2,3)));')
    >>> infer([Uniform(4)], n_draws=2, seed=1).draws(0)
    [Hierarchy.from_newick('(((0,2),1),3);'), Hierarchy.from_newick('(((0,3),2),1);')]
    """
    batch = Problems.of(problems)
    exact_leaves = check_integer("exact_leaves", exact_leaves, FEWEST_LEAVES)
    sweeps = check_integer("sweeps", sweeps, FEWEST_SWEEPS)
    n_draws, seed = check_whole("n_draws", n_draws), check_whole("seed", seed)
    check_choice("beyond", beyond, get_args(Beyond))
    n, sizes, streams = len(batch), batch.n_leaves, _check_streams(streams, len(batch))
    out = _Arrays.empty(batch, n_draws)
    most = min(KERNEL_LEAVES, exact_leaves)
    data = (addresses_of(batch.model), listed_splits(), *batch.arrays(), np.uint64(seed), streams, most)
    work = work_of(sizes, n_draws, exact_leaves, sweeps, beyond)
    is_large = sizes > most
    bar = Progress(f"{n} problems", float(work.sum()), progress)
    with Workers(check_threads(threads), bar) as workers:
        workers.run(lambda first, last: solve_problems(*data, first, last, *out[:5]), np.where(is_large, 0.0, work))
        for i in np.flatnonzero(is_large).tolist():
            one = (batch.alone(i), n_draws, seed, int(streams[i]))
            if sizes[i] <= exact_leaves:
                found = solve_one(*one, threads)
            else:
                found = sample_one(*one, threads, sweeps) if beyond == "sampled" else grow_one(*one)
            out.put(batch.offsets, i, found)
            bar.advance(float(work[i]))
    for array in out:
        read_only(array)
    kinds = read_only(np.where(sizes > exact_leaves, beyond, "exact"))
    return BatchResult(out.log_z, out.log_m, batch.offsets, *out[2:5], kinds, *out[5:], batch.labels)


class _Arrays(NamedTuple):
    # What is found, problem after problem; the first five are filled by the kernel.
    log_z: Floats
    log_m: Floats
    children: npt.NDArray[np.int32]
    drawn: npt.NDArray[np.int32]
    logs: Floats
    errors: Floats
    r_hat: Floats

    @classmethod
    def empty(cls, batch: Problems, n_draws: int) -> _Arrays:
        n, n_merges = len(batch), int(batch.offsets[-1]) - len(batch)
        merges = np.full((1 + n_draws, n_merges, 2), -1, np.int32)
        logs = np.full((n, n_draws), -np.inf)
        logs[batch.n_leaves == 1] = 0.0
        return cls(np.empty(n), np.empty(n), merges[0], merges[1:], logs, np.zeros(n), np.ones(n))

    def put(self, offsets: Ints, i: int, found: Answer) -> None:
        self.log_z[i], self.log_m[i] = found.log_partition, found.map_log_potential
        self.errors[i], self.r_hat[i] = found.error, found.r_hat
        if found.log_partition > -np.inf:
            rows = merge_rows(offsets, i)
            self.children[rows] = found.children
            if len(self.drawn):
                self.drawn[:, rows], self.logs[i] = found.drawn, found.drawn_log_probs


def work_of(sizes: Ints, n_draws: int, exact_leaves: int, sweeps: int, beyond: Beyond = DEFAULTS.beyond) -> Floats:
    """Nanoseconds that problems of these sizes take, about."""
    small = np.minimum(sizes, exact_leaves)
    exact = _NANOSECONDS * 3.0**small + n_draws * _DRAW_NANOSECONDS * 2.0**small
    sampled = _MOVE_NANOSECONDS * sizes * ((DEFAULTS.batch_chains + DEFAULTS.batch_runs) * sweeps + _PILOT_SWEEPS)
    large = sampled if beyond == "sampled" else _GROWN_NANOSECONDS * sizes
    return np.asarray(np.where(sizes > exact_leaves, large, exact), dtype=np.float64)


def _check_streams(streams: npt.ArrayLike | None, n: int) -> Ints:
    if streams is None:
        return np.arange(n)
    given = as_integers(streams, "streams")
    if given.shape != (n,):
        raise ValueError(f"streams has shape {given.shape}; expected one whole number for each problem, ({n},)")
    return given
