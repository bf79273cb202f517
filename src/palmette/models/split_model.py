"""Models of hierarchies: log ψ of a split from the features of three clusters."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from palmette._jit import inline
from palmette.array_types import Floats, Ints
from palmette.clusters import cluster_members, lowest_first
from palmette.defaults import DEFAULTS
from palmette.hierarchy import Hierarchy
from palmette.models.base import FeatureModel, Model, recast, require_masks
from palmette.models.c_functions import feature_loader
from palmette.models.evaluate import hierarchy_log_potential, pair_log_potentials, split_log_potentials, trellis_sums
from palmette.models.features import size_features
from palmette.models.full_tables import Potentials, feature_table, listed_potentials, separable_potentials
from palmette.models.heights import scatter_heights, self_similarity
from palmette.threads import Workers
from palmette.trellis.counting import log_hierarchies

if TYPE_CHECKING:
    from palmette.trellis.hierarchies.sparse import SparseTrellis

__all__ = ["HierarchyModel", "MaskList", "SeparableModel", "SplitModel", "require_binary"]

# What held for one log ψ need not hold for another.
_NOT_INHERITED = (
    "constant_feature",
    "bound",
    "never_gains",
    "beam_score",
    "beam_outlook",
    "prediction",
    "log_density_offset",
    "log_evidence_without_structure",
    "parameter_ranges",
    "with_parameters",
    "fitted_to",
)

MaskList = Ints | Sequence[int]  # clusters as bit masks, which may be longer than 64 bits


def require_binary(hierarchy: Hierarchy) -> Hierarchy:
    """The hierarchy itself, if each of its splits has two parts; only such have a potential."""
    if not hierarchy.is_binary:
        raise ValueError(
            "a hierarchy with a potential is binary; this one has a node with three children or more. "
            "Ask for its clusters one by one instead"
        )
    return hierarchy


class HierarchyModel(Model):
    """log ψ(L, R) for every split of every cluster of the leaves.

    A subclass of its own needs `log_potentials`, for at most 63 leaves; everything else is made of it. `SplitModel`,
    `CompiledSplitFunction` and `SplitFunction` have done that.
    """

    clusterings = "hierarchies"
    #: Whether it is a `SeparableModel`, whose recursions over all clusters are sums of products.
    is_separable: ClassVar[bool] = False
    #: What is added to a log potential to give the log density of the data given the hierarchy, if ψ is no cost.
    log_density_offset: float | None = None

    @property
    def log_evidence_offset(self) -> float | None:  # type: ignore[override]
        """What is added to log Z to give log p(data), all (2n − 3)!! hierarchies being alike beforehand; or None."""
        given = self.log_density_offset
        return None if given is None else given - float(log_hierarchies(self.n_leaves))

    @property
    def exact_leaves(self) -> int:
        """Leaves up to which everything is summed over unless somebody says otherwise: some ten seconds."""
        return DEFAULTS.most_leaves(asked=not self.is_compiled, separable=self.is_separable)

    @property
    def predictions(self) -> SplitModel | None:
        """What a pair of leaves that a split parts is expected to be, in the place of log ψ; None: nothing is known."""
        return None

    def fitted_to(self, hierarchies: Sequence[Hierarchy]) -> Self | None:
        """The model with the parameters under which the data are most probable, given that one of these was drawn.

        That is argmax over θ of Σ log p(data | hierarchy, θ) over the binary `hierarchies`, which are on the same
        labels. None, as here: the model has no parameters that it would fit. `palmette.evidence.tuned` asks for it.
        """
        return None

    def heights(self, hierarchy: Hierarchy) -> Floats | None:
        """(n_nodes,): how high the nodes of a hierarchy on the same labels are drawn; None, as here: by its shape.

        0 at leaves, and never falling from a child to its parent. The hierarchy may have any number of parts at a node.
        """
        return None

    def with_heights(self, hierarchy: Hierarchy) -> Hierarchy:
        """The same hierarchy with `heights`, and so with branch lengths; as it is if the model has none for it.

        >>> import palmette as pal
        >>> model = pal.models.SumOfSquares([[0.0], [3.0], [7.0]], labels=["a", "b", "c"])
        >>> model.with_heights(pal.Hierarchy.from_newick("((a,b),c);")).to_newick(digits=3)
        '((a:0.427,b:0.427):0.573,c:1);'
        """
        found = self.heights(hierarchy)
        return hierarchy if found is None else hierarchy.with_heights(found)

    def log_potential(self, hierarchy: Hierarchy) -> float:
        """Σ log ψ over the splits of a binary hierarchy on the same labels (any number of leaves)."""
        return self.aligned_log_potential(require_binary(hierarchy).aligned_to(self.labels))

    def aligned_log_potential(self, hierarchy: Hierarchy) -> float:
        """`log_potential` of a binary hierarchy whose leaf i is the model's: override it if there is a shorter way."""
        require_masks(self.n_leaves, "split")
        masks = hierarchy.cluster_masks()
        return float(self.log_potentials(*lowest_first(*masks[hierarchy.children].T)).sum())

    def log_potentials(self, left: MaskList, right: MaskList) -> Floats:
        """(k,): log ψ of k splits by the bit masks of their parts, the one with the lowest leaf in `left`."""
        raise TypeError(f"{type(self).__name__} does not say how to score a split")

    def merge_scores(self, left: MaskList, right: MaskList) -> Floats:
        """(k,): what `search.greedy` maximises, for k pairs of clusters; log ψ."""
        return self.log_potentials(left, right)

    def split_log_potentials(self, trellis: SparseTrellis) -> Floats:
        """(n_splits,): log ψ of all splits of a sparse trellis on the same labels in the same order."""
        require_masks(self.n_leaves, "split")
        masks = trellis.words[:, 0].astype(np.int64)
        return self.log_potentials(masks[trellis.left], masks[trellis.right])

    @property
    def split_table_bytes(self) -> int:
        """What `tabulate_splits` will keep."""
        return int(4 * 3**self.n_leaves) + 8 * (1 << self.n_leaves)

    def tabulate_splits(self, workers: Workers) -> Potentials:
        """The tables for all 2^n clusters from which log ψ of any split can be read, and the compiled reader."""
        return listed_potentials(self.n_leaves, self.log_potentials)


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
    ``pairwise_holds``, ``heights(hierarchy)``
        "squared distances" or "similarities", if that is what the first matrix of `pairwise` holds; and how high nodes
        are drawn. With the first comes the second: the root of each cluster's share of all scatter.
    ``bound(theta, n, members, additive, pairwise)``
        at least the largest log potential of a hierarchy over the cluster whose leaves are ``members`` (three or more);
        `additive` and `pairwise` are the model's whole arrays. It steers `search.a_star`, which is exact with any such
        bound, and faster the closer it is. Without one every cluster is looked at.
    ``never_gains``
        whether log ψ ≤ 0 is known for every split: an attribute or a property, False unless you say otherwise. It saves
        `search.a_star` most of the bounds.
    ``beam_score(theta, parent, left, right)``, ``beam_outlook(theta, m, sizes, cross, gain, out)``
        what a merge brings to a forest of `search.beam`, `score` unless you say otherwise, and what the forest is then
        worth, the sum of what its merges brought unless you say otherwise; see `palmette.models.outlook`. The beam
        scores of a hierarchy add up to its log potential, up to a constant.
    ``constant_feature``
        the number of a feature of P that `score` adds to log ψ as it is, if there is one: `with_prior` puts the prior
        there, and what it needs behind θ, where it would take a feature more. None unless you say otherwise.
    ``prediction(theta, parent, left, right)``
        what a pair of leaves across the split is expected to be, for `link_probabilities` of a posterior; nothing
        unless you say otherwise.
    ``log_density_offset``
        what is added to a log potential to give the log probability (density) of the data given the hierarchy, if it is
        one; None unless you say otherwise. The posterior has a `log_evidence` then.
    ``log_evidence_without_structure``
        the log probability (density) of the same data if all splits had one law, an attribute or a property; None
        unless you say otherwise. `palmette.evidence.compare` sets the `log_evidence` beside it.
    ``parameter_ranges``, ``with_parameters(**values)``, ``fitted_to(hierarchies)``
        a property and two methods: names of parameters and the ends between which they are looked for; the model with
        other ones (see `with_theta`); the model with those under which the data are most probable given these
        hierarchies. With them `palmette.evidence.posterior` finds parameters for any number of leaves.

    The last eleven are not inherited by a model that changes `features`, `score` or `bound`: they may not hold for it.
    """

    _kind = "SplitModel"
    _signatures = {  # noqa: RUF012 – declared a ClassVar where it comes from
        "features": "theta, n, size, sums, pairs, out",
        "score": "theta, parent, left, right",
        "merge_score": "theta, parent, left, right",
        "bound": "theta, n, members, additive, pairwise",
        "beam_score": "theta, parent, left, right",
        "beam_outlook": "theta, m, sizes, cross, gain, out",
        "prediction": "theta, parent, left, right",
    }

    merge_score: ClassVar[Any] = None
    constant_feature: ClassVar[int | None] = None
    bound: ClassVar[Any] = None
    beam_score: ClassVar[Any] = None
    beam_outlook: ClassVar[Any] = None
    prediction: ClassVar[Any] = None
    log_density_offset: float | None = None
    log_evidence_without_structure: float | None = None

    @property
    def never_gains(self) -> bool:
        """Whether log ψ ≤ 0 is known for every split."""
        return False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if {"features", "score", "bound"} & vars(cls).keys():
            for name in _NOT_INHERITED:
                if name not in vars(cls):
                    setattr(cls, name, getattr(SplitModel, name))

    def heights(self, hierarchy: Hierarchy) -> Floats | None:
        """(n_nodes,): √(S(C) / S(all leaves)), S(C) = Σ d_ij / |C| over the pairs of leaves of a cluster C.

        d is what the first matrix of `pairwise` holds: squared distances, so that S is the sum of squares within C, or
        c minus similarities, which are squared distances too with the smallest c that makes them such. None if the
        matrix holds neither, or if no two leaves differ.
        """
        if self.pairwise_holds is None:
            return None
        given: Floats = self.pairwise[0]
        apart = given if self.pairwise_holds == "squared distances" else self._self_similarity - given
        return scatter_heights(hierarchy.aligned_to(self.labels), apart)

    @functools.cached_property
    def _self_similarity(self) -> float:
        return self_similarity(self.pairwise[0])

    @property
    def compiled_merge_score(self) -> Any:
        """`merge_score`, or `score` if there is none, for `search.greedy`."""
        return self.score if self.merge_score is None else self.merge_score

    @property
    def predictions(self) -> SplitModel | None:
        """`prediction` in the place of `score`."""
        if self.prediction is None:
            return None
        return recast(_predicting(type(self)), self)  # type: ignore[arg-type]  # a class can be hashed

    def aligned_log_potential(self, hierarchy: Hierarchy) -> float:
        """`log_potential` of a binary hierarchy whose leaf i is the model's; O(n²) for pair sums, else O(n)."""
        return hierarchy_log_potential(self, hierarchy)

    def log_potentials(self, left: MaskList, right: MaskList) -> Floats:
        """(k,): log ψ of k splits by the bit masks of their parts, for any number of leaves; O(n²) each."""
        pairs = [(cluster_members(one), cluster_members(two)) for one, two in zip(left, right, strict=True)]
        return pair_log_potentials(self, pairs)

    def split_log_potentials(self, trellis: SparseTrellis) -> Floats:
        """(n_splits,): log ψ of all splits of a sparse trellis on the same labels in the same order."""
        t = trellis
        return split_log_potentials(self, t.sizes, *trellis_sums(self, t), t.parent, t.left, t.right)

    @property
    def split_table_bytes(self) -> int:
        """What `tabulate_splits` will keep: the features."""
        return 8 * self.n_features * (1 << self.n_leaves)

    def tabulate_splits(self, workers: Workers) -> Potentials:
        """The features of all 2^n clusters, and the score of a split."""
        table = feature_table(self, workers, self.n_features)
        return Potentials(self.score, feature_loader(self.n_features), self.theta, table)


@functools.cache
def _predicting(base: type[SplitModel]) -> type[SplitModel]:
    names = {"n_features": base.n_features, "features": staticmethod(base.features)}
    return type(f"{base.__name__}Predictions", (SplitModel,), {**names, "score": staticmethod(base.prediction)})


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
    constant_feature = 0
    score = staticmethod(_separable_score)
    may_forbid = False
    is_separable = True

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.constant_feature = SeparableModel.constant_feature
        if cls.score is not SeparableModel.score:
            raise TypeError(
                f"{cls.__name__} has a score of its own, but that of a SeparableModel follows from its features; "
                "derive from SplitModel instead"
            )

    @property
    def split_table_bytes(self) -> int:
        """What `tabulate_splits` will keep: a and u."""
        return 16 * (1 << self.n_leaves)

    def tabulate_splits(self, workers: Workers) -> Potentials:
        """a and u of all 2^n clusters, b of all sizes, and the compiled sum of these."""
        return separable_potentials(feature_table(self, workers, n_rows=2), size_features(self)[:, 2])
