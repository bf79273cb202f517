"""Models of hierarchies: log ψ of a split from the features of three clusters."""

from __future__ import annotations

from typing import Any, ClassVar

from palmette._jit import inline
from palmette.array_types import Floats
from palmette.hierarchy import Hierarchy
from palmette.models.base import FeatureModel, Model
from palmette.models.evaluate import hierarchy_log_potential

__all__ = ["HierarchyModel", "SeparableModel", "SplitModel", "require_binary"]


def require_binary(hierarchy: Hierarchy) -> Hierarchy:
    """The hierarchy itself, if each of its splits has two parts; only such have a potential."""
    if not hierarchy.is_binary:
        raise ValueError(
            "a hierarchy with a potential is binary; this one has a node with three children or more. "
            "Ask for its clusters one by one instead"
        )
    return hierarchy


class HierarchyModel(Model):
    """log ψ(L, R) for every split of every cluster of the leaves."""

    def log_potential(self, hierarchy: Hierarchy) -> float:
        """Σ log ψ over the splits of a binary hierarchy on the same labels (any number of leaves)."""
        return self._log_potential(require_binary(hierarchy).aligned_to(self.labels))

    def _log_potential(self, hierarchy: Hierarchy) -> float:
        raise TypeError(f"{type(self).__name__} does not say how to score a hierarchy")


class SplitModel(FeatureModel, HierarchyModel):
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
    ``bound(theta, n, members, additive, pairwise)``
        at least the largest log potential of a hierarchy over the cluster whose leaves are ``members`` (three or more);
        `additive` and `pairwise` are the model's whole arrays. It steers `search.a_star`, which is exact with any such
        bound, and faster the closer it is. Without one every cluster is looked at. It is not inherited by a model that
        changes `features` or `score`.
    """

    _kind = "SplitModel"
    _signatures = {  # noqa: RUF012 – declared a ClassVar where it comes from
        "features": "theta, n, size, sums, pairs, out",
        "score": "theta, parent, left, right",
        "merge_score": "theta, parent, left, right",
        "bound": "theta, n, members, additive, pairwise",
    }

    merge_score: ClassVar[Any] = None
    bound: ClassVar[Any] = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if {"features", "score"} & vars(cls).keys() and "bound" not in vars(cls):
            cls.bound = None  # what held for another log ψ need not hold for this one

    def _log_potential(self, hierarchy: Hierarchy) -> float:
        return hierarchy_log_potential(self, hierarchy)


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

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.score is not SeparableModel.score:
            raise TypeError(
                f"{cls.__name__} has a score of its own, but that of a SeparableModel follows from its features; "
                "derive from SplitModel instead"
            )
