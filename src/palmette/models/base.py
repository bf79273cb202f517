"""What a model is: two small compiled functions, and the statistics of a cluster that they may see.

A model scores a split of the cluster P into L and R: log ψ(L, R). It does so in two steps. `features` turns what is
known of one cluster (its size, its sums, its pair sums) into k numbers; `score` turns three such columns (of P, L
and R) into log ψ. Nothing else is seen, so the same model runs on the full trellis, in batches and in searches.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from palmette._immutable import read_only
from palmette._jit import as_compiled, inline
from palmette.hierarchy import Hierarchy
from palmette.labels import check_labels
from palmette.models.evaluate import hierarchy_log_potential

__all__ = ["Model", "SeparableModel", "SplitModel", "require_binary"]

Floats = npt.NDArray[np.float64]


def require_binary(hierarchy: Hierarchy) -> Hierarchy:
    """The hierarchy itself, if each of its splits has two parts; only such have a potential."""
    if not hierarchy.is_binary:
        raise ValueError(
            "a hierarchy with a potential is binary; this one has a node with three children or more. "
            "Ask for its clusters one by one instead"
        )
    return hierarchy


_PARAMETERS = {
    "features": "theta, n, size, sums, pairs, out",
    "score": "theta, parent, left, right",
    "merge_score": "theta, parent, left, right",
}


def _check_parameters(model: str, name: str, function: Any) -> None:
    given = list(inspect.signature(getattr(function, "py_func", function)).parameters)
    if len(given) != _PARAMETERS[name].count(",") + 1:
        raise TypeError(
            f"{model}.{name} takes ({', '.join(given)}); write it as a static method with ({_PARAMETERS[name]})"
        )


class Model:
    """Leaves with labels, and log ψ for every split of every cluster of them."""

    #: Whether log ψ can be −inf. If not, the number of hierarchies is known without a pass.
    may_forbid: ClassVar[bool] = True

    def __init__(self, n_leaves: int, labels: Sequence[str] | None = None) -> None:
        self._n_leaves = _check_count(n_leaves)
        self._labels = check_labels(labels, self._n_leaves)

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return self._n_leaves

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the leaves."""
        return self._labels

    def log_potential(self, hierarchy: Hierarchy) -> float:
        """Σ log ψ over the splits of a binary hierarchy on the same labels (any number of leaves)."""
        return self._log_potential(require_binary(hierarchy).aligned_to(self.labels))

    def _log_potential(self, hierarchy: Hierarchy) -> float:
        raise TypeError(f"{type(self).__name__} does not say how to score a hierarchy")

    def __repr__(self) -> str:
        return f"{type(self).__name__}(n_leaves={self.n_leaves})"


class SplitModel(Model):
    """log ψ(L, R) = score(θ, features(P), features(L), features(R)), P = L ∪ R.

    Subclass it, set `n_features`, write `features` and `score` as static methods, and hand the data to
    `super().__init__`; see the tutorial "A model of your own". Both are compiled for you if they are plain Python.

    ``features(theta, n, size, sums, pairs, out)``
        fills ``out`` (k numbers) for one cluster of ``size`` leaves out of ``n``. ``sums[c]`` is the sum of column c
        of `additive` over its members, ``pairs[c]`` the sum of matrix c of `pairwise` over its unordered pairs.
    ``score(theta, parent, left, right)``
        log ψ from three tuples of k numbers; symmetric in left and right; −inf for an impossible split; never NaN.
    ``merge_score(theta, parent, left, right)``
        what greedy agglomeration maximises; `score` unless you say otherwise. Cost models must: the largest log ψ
        of a cost model belongs to the *least* similar pair.
    """

    n_features: ClassVar[int]
    features: ClassVar[Any]
    score: ClassVar[Any]
    merge_score: ClassVar[Any] = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name in ("features", "score", "merge_score"):
            function = cls.__dict__.get(name)
            if isinstance(function, staticmethod):
                function = function.__func__
            if function is not None:
                _check_parameters(cls.__name__, name, function)
                setattr(cls, name, staticmethod(as_compiled(function)))

    def __init__(
        self,
        n_leaves: int,
        *,
        theta: npt.ArrayLike = (),
        additive: npt.ArrayLike | None = None,
        pairwise: Sequence[npt.ArrayLike] = (),
        labels: Sequence[str] | None = None,
    ) -> None:
        missing = [name for name in ("n_features", "features", "score") if not hasattr(self, name)]
        if missing:
            raise TypeError(f"{type(self).__name__} must define {', '.join(missing)}; see SplitModel")
        super().__init__(n_leaves, labels)
        self._theta = _frozen(theta)
        empty = np.empty((self._n_leaves, 0))
        self._additive = _frozen(empty if additive is None else additive)
        self._pairwise = _frozen(np.empty((0, n_leaves, n_leaves)) if len(pairwise) == 0 else np.stack(pairwise))
        self._check_shapes()

    @property
    def theta(self) -> Floats:
        """The parameters that `features` and `score` receive, as one read-only vector."""
        return self._theta

    @property
    def additive(self) -> Floats:
        """(n, d): what is summed over the members of a cluster."""
        return self._additive

    @property
    def pairwise(self) -> Floats:
        """(p, n, n): what is summed over the unordered pairs of a cluster."""
        return self._pairwise

    def _log_potential(self, hierarchy: Hierarchy) -> float:
        return hierarchy_log_potential(self, hierarchy)

    def _check_shapes(self) -> None:
        n = self._n_leaves
        if self._additive.ndim != 2 or len(self._additive) != n:
            raise ValueError(f"additive has shape {self._additive.shape}; expected ({n}, d): one row per leaf")
        if self._pairwise.ndim != 3 or self._pairwise.shape[1:] != (n, n):
            raise ValueError(f"pairwise has shape {self._pairwise.shape}; expected matrices of shape ({n}, {n})")
        for name in ("theta", "additive", "pairwise"):
            if not np.isfinite(getattr(self, name)).all():
                raise ValueError(f"{name} of {type(self).__name__} holds NaN or infinite values")
        gap = np.abs(self._pairwise - self._pairwise.transpose(0, 2, 1)).max(initial=0.0)
        if gap > 1e-9 * np.abs(self._pairwise).max(initial=0.0):
            raise ValueError(f"a matrix in pairwise is not symmetric (entries differ by {gap:g}); pairs are unordered")


@inline
def _separable_score(theta: Floats, parent: Any, left: Any, right: Any) -> float:
    return parent[0] + parent[2] * (left[1] + right[1])  # type: ignore[no-any-return]


class SeparableModel(SplitModel):
    """log ψ(L, R) = a(P) + b(|P|)·(u(L) + u(R)), finite for every split.

    `features` fills ``out[0] = a``, ``out[1] = u`` and ``out[2] = b``, where b may depend on the size (and n, θ) only;
    further features, for `merge_score`, may follow. Such models run several times faster: their recursions become
    sums of products of one table.
    """

    n_features = 3
    score = staticmethod(_separable_score)
    may_forbid = False


def _check_count(n_leaves: int) -> int:
    if isinstance(n_leaves, bool) or not isinstance(n_leaves, int | np.integer):
        raise TypeError(f"the number of leaves must be an integer, not {type(n_leaves).__name__}")
    if n_leaves < 1:
        raise ValueError(f"a hierarchy needs at least one leaf; the data have {n_leaves}")
    return int(n_leaves)


def _frozen(values: npt.ArrayLike) -> Floats:
    if np.iscomplexobj(values):
        raise TypeError("theta, additive and pairwise must be real numbers, not complex ones")
    return read_only(np.array(values, dtype=np.float64))
