"""Data sets that share a model's functions, such as the jets of one experiment, end to end in ragged arrays."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from palmette._immutable import read_only
from palmette.array_types import Floats, Ints
from palmette.checks import as_integers
from palmette.links import offsets_of
from palmette.models.base import is_model
from palmette.models.split_model import SplitModel

__all__ = ["Problems", "merge_rows"]


def merge_rows(offsets: Ints, i: int) -> slice:
    """Which rows are the n − 1 merges of problem i where those of all problems lie end to end."""
    return slice(int(offsets[i]) - i, int(offsets[i + 1]) - i - 1)


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
        width, n_pairs = model.additive.shape[1], len(model.pairwise) * int((sizes**2).sum())
        own = model.theta if theta is None else np.asarray(theta, dtype=np.float64)
        own = own[None, :] if own.ndim == 1 else own
        m = len(model.theta)
        return cls(
            model,
            edges,
            _shaped(own, "theta", {(1, m), (n_problems, m)}, "one row, or one row per problem"),
            _shaped(additive, "additive", {(total, width)}, "one row per leaf"),
            _shaped(pairwise, "pairwise", {(n_pairs,)}, "flat, the matrices of one problem after another"),
        )

    @classmethod
    def of(cls, models: Problems | Sequence[SplitModel]) -> Problems:
        """The data of models that share their functions, stacked; problems as they are.

        >>> from palmette.models import Uniform
        >>> len(Problems.of([Uniform(3), Uniform(5)]))
        2
        """
        if isinstance(models, Problems):
            return models
        models = list(models)
        if not models:
            raise ValueError("no models were given; a batch needs at least one, for its functions")
        for i, model in enumerate(models):
            _check_model(model, f"problem {i}")
            _check_same(models[0], model, i)
        return cls(
            models[0],
            read_only(offsets_of([model.n_leaves for model in models])),
            read_only(np.stack([model.theta for model in models])),
            read_only(np.concatenate([model.additive for model in models])),
            read_only(np.concatenate([model.pairwise.ravel() for model in models])),
            tuple(model.labels for model in models),
        )

    @property
    def n_leaves(self) -> Ints:
        """(N,): the number of leaves of each problem."""
        return np.diff(self.offsets)

    def alone(self, i: int) -> SplitModel:
        """Problem i as a model of its own: the functions and the law of `model`, and these data."""
        n, own = int(self.n_leaves[i]), copy.copy(self.model)
        p = len(self.model.pairwise)
        first = p * int((self.n_leaves[:i] ** 2).sum())
        SplitModel.__init__(  # not that of the class, which makes the data out of something else
            own,
            n,
            theta=self.theta[i if len(self.theta) > 1 else 0],
            additive=self.additive[self.offsets[i] : self.offsets[i + 1]],
            pairwise=list(self.pairwise[first : first + p * n * n].reshape(p, n, n)),
            labels=None if self.labels is None else self.labels[i],
        )
        return own

    def arrays(self) -> tuple[Any, ...]:
        """(θ, offsets, additive, pair_offsets, pairwise, p, k): what `solve_problems` and its kin are given."""
        p, k = len(self.model.pairwise), self.model.n_features
        pair_offsets = offsets_of(p * self.n_leaves**2)
        return self.theta, self.offsets, self.additive, pair_offsets, self.pairwise, p, k

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __repr__(self) -> str:
        return f"Problems({len(self)} × {repr(self.model).partition('(')[0]}, {self.offsets[-1]} leaves)"


def _check_model(model: object, name: str) -> None:
    if not (is_model(model, "hierarchies") and model.is_compiled):
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
