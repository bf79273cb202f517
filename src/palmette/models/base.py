"""What a model is: a few small compiled functions, and the statistics of a cluster that they may see.

`features` turns what is known of one cluster (its size, its sums, its pair sums) into k numbers; `score` turns such
columns into log ψ: those of P, L and R for a split (`SplitModel`), those of one cluster for a partition
(`ClusterModel`). Nothing else is seen, so the same model runs on the full trellis, in batches and in searches.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal, Self, TypeGuard, TypeVar

import numpy as np
import numpy.typing as npt

from palmette._immutable import read_only
from palmette._static import compile_static
from palmette.array_types import Floats
from palmette.checks import is_whole
from palmette.defaults import DEFAULTS
from palmette.labels import check_labels

__all__ = [
    "Clusterings",
    "FeatureModel",
    "Model",
    "check_leaf_count",
    "checked_values",
    "evidence_offset",
    "evidence_without_structure",
    "is_compiled",
    "is_model",
    "recast",
    "require_compiled",
    "require_masks",
    "require_model",
]

Clusterings = Literal["hierarchies", "partitions"]

_MOST_LEAVES = 63  # bits of a mask
_WITH_EVIDENCE = {
    "hierarchies": "VarianceShares, Contrasts, HierarchicalRandomGraph, PoissonPairs and NormalPairs",
    "partitions": "Dirichlet processes",
}
_POSTERIORS = {"hierarchies": "HierarchyPosterior", "partitions": "PartitionPosterior"}
_EXAMPLES = {"hierarchies": "palmette.models.Dasgupta", "partitions": "palmette.models.CorrelationClusters"}


class Model:
    """Leaves with labels, and log ψ for whatever a clustering of them is made of."""

    #: What it is a model of: "hierarchies" or "partitions".
    clusterings: ClassVar[Clusterings]
    #: Whether features and score are compiled functions; if not, it is asked for log ψ of listed splits or clusters.
    is_compiled: ClassVar[bool] = False
    #: Whether log ψ can be −inf. If not, the number of clusterings is known without a pass.
    may_forbid: ClassVar[bool] = True
    #: Whether log ψ is known for every split or cluster, and not only for those of one trellis.
    knows_all: ClassVar[bool] = True
    #: Whether it has a temperature that can be set: a `beta`, and a method `with_beta`, as `Tempered` has them.
    is_tempered: ClassVar[bool] = False
    #: The inverse temperature, if it is tempered.
    beta: float
    #: What the first of its `pairwise` matrices says of two leaves, if it is how alike or how far apart they are.
    pairwise_holds: ClassVar[Literal["similarities", "squared distances"] | None] = None
    #: Whether such similarities are to be of both signs, so that some leaves attract each other and others repel.
    wants_signed: ClassVar[bool] = False
    #: Whether it only retells a sample of trees, and is as good as that.
    is_of_sample: ClassVar[bool] = False
    #: What is added to log Z to give the log evidence, if ψ is a probability of data up to this constant.
    log_evidence_offset: float | None = None
    #: log p(data) if there were nothing to find, of the same data and with the same parameters; None if not known.
    log_evidence_without_structure: float | None = None

    @property
    def free_parameters(self) -> dict[str, float]:
        """The positive parameters that `palmette.evidence` may choose, as they are now, by their names in the call."""
        return {}

    @property
    def parameter_ranges(self) -> Mapping[str, tuple[float, float]]:
        """Between which values `palmette.evidence` looks for parameters, by name; empty: there are none to look for."""
        return {}

    def with_parameters(self, **values: float) -> Self:
        """The same model of the same data with other parameters, those of `parameter_ranges`."""
        raise TypeError(f"{type(self).__name__} has no parameters to set")

    def beta_ratio(self, other: Model) -> float | None:
        """β of the other model over one's own, if it is the same one but for β; else None."""
        return None

    def __init__(self, n_leaves: int, labels: Sequence[str] | None = None) -> None:
        self._n_leaves = check_leaf_count(n_leaves)
        self._labels = check_labels(labels, self._n_leaves)

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return self._n_leaves

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the leaves."""
        return self._labels

    @property
    def exact_leaves(self) -> int:
        """Leaves up to which everything is summed over unless somebody says otherwise: some ten seconds."""
        return DEFAULTS.separable_leaves

    def __repr__(self) -> str:
        return f"{type(self).__name__}(n_leaves={self.n_leaves})"


class FeatureModel(Model):
    """A model of compiled functions: `features` of one cluster, and scores of a few such columns.

    The two kinds are `SplitModel` and `ClusterModel`; subclass one of those.
    """

    is_compiled = True

    n_features: ClassVar[int]
    features: ClassVar[Any]
    score: ClassVar[Any]

    _kind: ClassVar[str]  # whose docstring says what a subclass must define
    _signatures: ClassVar[dict[str, str]] = {}  # of each compiled function

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        compile_static(cls, cls._signatures)

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
            raise TypeError(f"{type(self).__name__} must define {', '.join(missing)}; see {self._kind}")
        if type(self.n_features) is not int or self.n_features < 1:
            raise ValueError(f"n_features is {self.n_features!r}; a model has a whole number of features, at least one")
        super().__init__(n_leaves, labels)
        self._theta = _frozen(theta)
        empty = np.empty((self._n_leaves, 0))
        self._additive = _frozen(empty if additive is None else additive)
        self._pairwise = _frozen(np.empty((0, n_leaves, n_leaves)) if len(pairwise) == 0 else np.stack(pairwise))
        self._check_shapes()

    def __setstate__(self, state: dict[str, Any]) -> None:
        # A pickle forgets that an array is closed for writing, and what is open has kernels of its own.
        vars(self).update(state)
        for array in (self._theta, self._additive, self._pairwise):
            read_only(array)

    @property
    def theta(self) -> Floats:
        """The parameters that `features` and `score` receive, as one read-only vector."""
        return self._theta

    @property
    def compiled_merge_score(self) -> Any:
        """What `search.greedy` maximises: the compiled (θ, parent, left, right) → number, of three columns."""
        raise NotImplementedError

    @property
    def additive(self) -> Floats:
        """(n, d): what is summed over the members of a cluster."""
        return self._additive

    @property
    def pairwise(self) -> Floats:
        """(p, n, n): what is summed over the unordered pairs of a cluster."""
        return self._pairwise

    def with_theta(self, theta: npt.ArrayLike) -> Self:
        """The same model of the same data with as many other parameters: what a `with_parameters` is made of.

        >>> import palmette as pal
        >>> pal.models.Dasgupta([[0, 3], [3, 0]], beta=2.0).with_theta([0.5]).beta
        0.5
        """
        made = copy.copy(self)
        made._theta = _frozen(theta)
        if made._theta.shape != self._theta.shape or not np.isfinite(made._theta).all():
            shape = self._theta.shape
            raise ValueError(f"theta is {theta!r}; {type(self).__name__} takes finite numbers of shape {shape}")
        return made

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


AnyKind = TypeVar("AnyKind", bound=FeatureModel)


def is_model(given: object, clusterings: Clusterings | None = None) -> TypeGuard[Model]:
    """Whether it is a model, of these clusterings if they are named."""
    return isinstance(given, Model) and clusterings in (None, getattr(given, "clusterings", None))


def require_model(
    model: object, clusterings: Clusterings | None = None, wanted: str | None = None, *, all_known: bool = False
) -> None:
    """Refuse what is no model, or one of other clusterings than these; `wanted` is what the message asks for.

    With `all_known` refuse also a model that knows log ψ on one trellis only.
    """
    given = getattr(model, "clusterings", None) if isinstance(model, Model) else None
    is_other = clusterings is not None and given != clusterings
    if given is None or is_other or (all_known and not getattr(model, "knows_all", True)):
        wanted = wanted or f"a model of {clusterings}, such as {_EXAMPLES[str(clusterings)]}"
        hint = f"; hand that to {_POSTERIORS[given]}" if given is not None and is_other else ""
        raise TypeError(f"expected {wanted}, not {model!r}{hint}")


def evidence_offset(model: Model) -> float:
    """What is added to log Z to give log p(data); TypeError if the model gives no probability of data."""
    if model.log_evidence_offset is None:
        raise TypeError(
            f"{type(model).__name__} gives no probability of data, so there is no evidence; log_partition is log Z. "
            f"Those with an evidence are {_WITH_EVIDENCE[model.clusterings]}"
        )
    return float(model.log_evidence_offset)


def evidence_without_structure(model: Model) -> float:
    """log p(data) if there were nothing to find; TypeError if the model does not say."""
    found = model.log_evidence_without_structure
    if found is None:
        raise TypeError(
            f"{type(model).__name__} does not say how probable data without structure are; those that do are "
            f"{_WITH_EVIDENCE[model.clusterings]}"
        )
    return float(found)


def recast(
    kind: type[AnyKind], model: FeatureModel, *, theta: npt.ArrayLike | None = None, additive: Floats | None = None
) -> AnyKind:
    """The data of a model in another class, which makes other features of them; other parameters and sums if given."""
    made = object.__new__(kind)
    FeatureModel.__init__(
        made,
        model.n_leaves,
        theta=model.theta if theta is None else theta,
        additive=model.additive if additive is None else additive,
        pairwise=list(model.pairwise),
        labels=model.labels,
    )
    return made


def is_compiled(model: Model, kind: type[AnyKind]) -> TypeGuard[AnyKind]:
    """Whether a model's functions are compiled; by its clusterings it is then a `SplitModel` or a `ClusterModel`."""
    return model.is_compiled


def require_compiled(model: Model, kind: type[AnyKind], done: str) -> AnyKind:
    """The model, if it is a `SplitModel` or `ClusterModel`, as `kind` says; else it cannot be `done`, say sampled."""
    require_model(model, kind.clusterings, all_known=True)
    if not is_compiled(model, kind):
        raise TypeError(f"{model!r} cannot be {done}: its moves need a model of compiled functions, a {kind.__name__}")
    return model


def require_masks(n: int, what: str) -> None:
    """Refuse more leaves than the bit masks of a function of splits or clusters hold."""
    if n > _MOST_LEAVES:
        raise ValueError(
            f"a {what} function sees clusters as 64-bit masks: at most {_MOST_LEAVES} leaves, not {n}; "
            f"write a {what.title()}Model"
        )


def checked_values(values: npt.ArrayLike, what: str, names: Callable[[int], str], count: int) -> Floats:
    """What a person's function returned for so many splits or clusters: one number each, none NaN or +inf."""
    array = np.asarray(values, dtype=np.float64)
    if array.shape != (count,):
        raise ValueError(
            f"the {what} function returned an array of shape {array.shape} for {count} {what}s; expected ({count},)"
        )
    bad = np.flatnonzero(np.isnan(array) | (array == np.inf))
    if len(bad):
        raise ValueError(
            f"the {what} function returned {array[bad[0]]} for the {what} {names(bad[0])}; "
            f"log potentials are finite or -inf"
        )
    return array


def check_leaf_count(n_leaves: int) -> int:
    """A number of leaves that a model can have."""
    if not is_whole(n_leaves):
        raise TypeError(f"the number of leaves must be an integer, not {type(n_leaves).__name__}")
    if n_leaves < 1:
        raise ValueError(f"a model needs at least one leaf; the data have {n_leaves}")
    return int(n_leaves)


def _frozen(values: npt.ArrayLike) -> Floats:
    if np.iscomplexobj(values):
        raise TypeError("theta, additive and pairwise must be real numbers, not complex ones")
    return read_only(np.array(values, dtype=np.float64, order="C"))  # row by row, as functions in C read it
