"""Many small problems at once: log Z and the best hierarchy of each, in a few compiled calls.

Problems that share a model's functions, such as the jets of one experiment, lie one after the other in ragged arrays;
a thread takes a slice of them and solves each on its own full trellis. No Python code runs for a single problem.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from palmette._checks import as_integers
from palmette._immutable import read_only
from palmette.errors import ImpossibleData, TrellisTooLarge
from palmette.hierarchy import Hierarchy
from palmette.models.split_model import SplitModel
from palmette.progress import Progress
from palmette.recursions.batch import batch_kernel
from palmette.recursions.schedule import Workers, check_threads

__all__ = ["BatchResult", "Problems", "infer"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

MOST_LEAVES = 17  # beyond, one problem holds a thread for longer than Ctrl-C should have to wait
_NANOSECONDS = 5.0  # per 3^n: (3^n)/2 splits of about ten nanoseconds


@dataclass(frozen=True, eq=False)
class Problems:
    """N data sets for one model's functions, end to end: problem i has the rows offsets[i] to offsets[i + 1].

    `model` lends its compiled functions. `theta` is (N, m), or (1, m) if all problems share it; `additive` is
    (Σ n_i, d); `pairwise` is flat: the p matrices of problem 0, row by row, then those of problem 1, ….
    Make one with `like`, or with `of` from models that exist already.
    """

    model: SplitModel
    offsets: Ints
    theta: Floats
    additive: Floats
    pairwise: Floats
    labels: tuple[tuple[str, ...], ...] | None = None

    @classmethod
    def like(
        cls,
        model: SplitModel,
        offsets: npt.ArrayLike,
        *,
        additive: npt.ArrayLike | None = None,
        pairwise: npt.ArrayLike | None = None,
        theta: npt.ArrayLike | None = None,
    ) -> Problems:
        """Other data under the law of `model`, whose own data do not matter; θ is that of `model` unless given.

        All entries must be finite and matrices symmetric. What a model checks beyond that when it is made, or
        computes from its arguments, is up to you here: for jets see `palmette.models.particles`.

        >>> import numpy as np
        >>> from palmette.models import Ginkgo
        >>> momenta = np.array([[5, 3, 0, 0], [5, -3, 0, 0], [9, 0, 4, 0], [9, 0, 0, 4], [9, 4, 0, 0.0]])
        >>> law = Ginkgo(momenta[:2], rate=1.5, t_cut=16.0)
        >>> Problems.like(law, [0, 2, 5], additive=momenta).n_leaves
        array([2, 3])
        """
        _check_model(model, "the model")
        edges = _check_offsets(offsets)
        sizes = np.diff(edges)
        n_problems, total = len(sizes), int(edges[-1])
        width, depth = model.additive.shape[1], len(model.pairwise)
        own = model.theta if theta is None else np.asarray(theta, dtype=np.float64)
        own = own[None, :] if own.ndim == 1 else own
        m = len(model.theta)
        return cls(
            model,
            edges,
            _shaped(own, "theta", {(1, m), (n_problems, m)}, "one row, or one row per problem"),
            _shaped(additive, "additive", {(total, width)}, "one row per leaf"),
            _shaped(
                pairwise,
                "pairwise",
                {(depth * int((sizes**2).sum()),)},
                "flat, the matrices of one problem after another",
            ),
        )

    @classmethod
    def of(cls, models: Sequence[SplitModel]) -> Problems:
        """The data of models that share their functions, stacked.

        >>> from palmette.models import Uniform
        >>> len(Problems.of([Uniform(3), Uniform(5)]))
        2
        """
        models = list(models)
        if not models:
            raise ValueError("no models were given; a batch needs at least one, for its functions")
        for i, model in enumerate(models):
            _check_model(model, f"problem {i}")
            _check_same(models[0], model, i)
        return cls(
            models[0],
            read_only(np.concatenate([[0], np.cumsum([model.n_leaves for model in models])])),
            read_only(np.stack([model.theta for model in models])),
            read_only(np.concatenate([model.additive for model in models])),
            read_only(np.concatenate([model.pairwise.ravel() for model in models])),
            tuple(model.labels for model in models),
        )

    @property
    def n_leaves(self) -> Ints:
        """(N,): the number of leaves of each problem."""
        return np.diff(self.offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __repr__(self) -> str:
        return f"Problems({len(self)} × {repr(self.model).partition('(')[0]}, {self.offsets[-1]} leaves)"


@dataclass(frozen=True, eq=False)
class BatchResult:
    """What `infer` found: arrays with one entry per problem, and the best hierarchy of any of them on demand.

    The merges of problem i, in SciPy's numbering, are the n_i − 1 rows of `children` from offsets[i] − i on; they
    are −1 where every hierarchy has probability zero.
    """

    log_partition: Floats
    map_log_potential: Floats
    offsets: Ints
    children: npt.NDArray[np.int32]
    labels: tuple[tuple[str, ...], ...] | None = None

    @property
    def n_leaves(self) -> Ints:
        """(N,): the number of leaves of each problem."""
        return np.diff(self.offsets)

    def __len__(self) -> int:
        return len(self.log_partition)

    def map(self, i: int) -> Hierarchy:
        """The hierarchy of largest potential of problem i; of equal ones, the lowest mask at the highest split."""
        if not -len(self) <= i < len(self):
            raise IndexError(f"problem {i} does not exist; the problems are 0 to {len(self) - 1}")
        i = int(i) % len(self)
        if self.log_partition[i] == -np.inf:
            raise ImpossibleData(f"every hierarchy of problem {i} has probability zero under the model")
        rows = self.children[self.offsets[i] - i : self.offsets[i + 1] - i - 1]
        return Hierarchy.from_merges(rows, None if self.labels is None else self.labels[i])

    def __repr__(self) -> str:
        return f"BatchResult({len(self)} problems)"


def infer(
    problems: Problems | Sequence[SplitModel], *, threads: int | None = None, progress: bool | None = None
) -> BatchResult:
    """log Z(X) and the best hierarchy of every problem, each on its full trellis.

    `problems` are models that share their functions (the same class, any data), or a `Problems` record, which needs
    no Python object for each. Up to 17 leaves each; one leaf gives log Z = 0; a problem in which every hierarchy has
    probability zero gives −inf. The numbers do not depend on `threads` (None: all processors). `progress` shows a
    bar on stderr: None means if that is a terminal.

    >>> from palmette.models import Uniform
    >>> result = infer([Uniform(2), Uniform(4), Uniform(6)])  # exp(log Z) = 1, 3·5, 3·5·7·9
    >>> result.log_partition.round(3)
    array([0.   , 2.708, 6.851])
    >>> result.map(1)
    Hierarchy.from_newick('(0,(1,(2,3)));')
    """
    batch = problems if isinstance(problems, Problems) else Problems.of(problems)
    sizes = batch.n_leaves
    _check_sizes(sizes)
    n = len(batch)
    result = BatchResult(
        np.empty(n), np.empty(n), batch.offsets, np.full((int(batch.offsets[-1]) - n, 2), -1, np.int32), batch.labels
    )
    p, k = len(batch.model.pairwise), batch.model.n_features
    pair_offsets = np.concatenate([[0], np.cumsum(p * sizes**2)])
    kernel = batch_kernel(batch.model)
    data = (batch.theta, batch.offsets, batch.additive, pair_offsets, batch.pairwise, p, k)
    out = (result.log_partition, result.map_log_potential, result.children)
    work = np.asarray(_NANOSECONDS * 3.0**sizes, dtype=np.float64)
    with Workers(check_threads(threads), Progress(f"{n} problems", float(work.sum()), progress)) as workers:
        workers.run(lambda first, last: kernel(*data, first, last, *out), work)
    for array in out:
        read_only(array)
    return result


def _check_sizes(sizes: Ints) -> None:
    too_large = np.flatnonzero(sizes > MOST_LEAVES)
    if len(too_large):
        i = int(too_large[0])
        raise TrellisTooLarge(
            f"problem {i} has {sizes[i]} leaves ({len(too_large)} of {len(sizes)} problems have too many); a batch "
            f"takes up to {MOST_LEAVES}, since each is solved in one call. Leave those out, and give each to a "
            f"HierarchyPosterior of its own"
        )


def _check_model(model: object, name: str) -> None:
    if not isinstance(model, SplitModel):
        raise TypeError(
            f"{name} is a {type(model).__name__}; a batch takes models with compiled features and score "
            f"(SplitModel), such as palmette.models.Ginkgo"
        )


def _check_same(one: SplitModel, two: SplitModel, i: int) -> None:
    if (one.features, one.score, one.n_features) != (two.features, two.score, two.n_features):
        raise ValueError(
            f"problem {i} is {two!r} but problem 0 is {one!r}; the problems of a batch share one model's "
            f"functions. Make one batch for each kind"
        )
    for name in ("theta", "additive", "pairwise"):
        a, b = (getattr(model, name).shape for model in (one, two))
        # The number of parameters, of columns, of matrices.
        if (a[1:] if name == "additive" else a[:1]) != (b[1:] if name == "additive" else b[:1]):
            raise ValueError(f"{name} of problem {i} has shape {b}, that of problem 0 has shape {a}; they must match")


def _check_offsets(offsets: npt.ArrayLike) -> Ints:
    edges = as_integers(offsets, "offsets")
    if edges.ndim != 1 or len(edges) == 0 or edges[0] != 0:
        raise ValueError("offsets must be a flat array that begins with 0 and ends with the total number of leaves")
    short = np.flatnonzero(np.diff(edges) < 1)
    if len(short):
        i = int(short[0])
        raise ValueError(
            f"problem {i} has {edges[i + 1] - edges[i]} leaves (offsets {edges[i]} to {edges[i + 1]}); "
            f"every problem needs at least one"
        )
    return read_only(edges)


def _shaped(values: Any, name: str, shapes: set[tuple[int, ...]], meaning: str) -> Floats:
    expected = " or ".join(map(str, sorted(shapes)))
    if values is None:
        if not any(0 in shape for shape in shapes):
            raise ValueError(f"the model reads {name}; give an array of shape {expected}: {meaning}")
        values = np.empty(min(shapes))
    array = np.array(values, dtype=np.float64, order="C")
    if array.shape not in shapes:
        raise ValueError(f"{name} has shape {array.shape}; expected {expected}: {meaning}")
    if not np.isfinite(array).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise ValueError(f"{name} holds {array[where]} at {where}; entries must be finite")
    return read_only(array)
