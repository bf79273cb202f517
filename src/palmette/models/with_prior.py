"""A model and a prior on the shape of the hierarchy, as one model.

The prior adds h(|P|) to log ψ. A model that adds a feature of P to log ψ as it is (`constant_feature`; a separable one
has it) has h in there. Others have one more feature, which the score adds; and what can only be asked is asked, and
then h is added.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any, Self, cast

import numpy as np

from palmette._jit import inline_with
from palmette.array_types import Floats
from palmette.hierarchy import Hierarchy
from palmette.models.base import Model, recast
from palmette.models.features import all_but_the_last
from palmette.models.priors import BetaSplitting, Prior, check_prior
from palmette.models.split_model import HierarchyModel, MaskList, SeparableModel, SplitModel, require_binary
from palmette.trellis.hierarchies.sparse import SparseTrellis

__all__ = ["PriorModel", "with_prior", "without_prior"]


class PriorModel(HierarchyModel):
    """log ψ(L, R) + h(|L ∪ R|) for the log ψ of a model: what `with_prior` makes."""

    #: The model without the prior.
    model: HierarchyModel
    #: The law of shapes.
    prior: BetaSplitting

    @property
    def log_evidence_offset(self) -> float | None:  # type: ignore[override]
        """What is added to log Z to give log p(data) under the prior; None if the model is no likelihood."""
        given = self.model.log_density_offset
        return None if given is None else given + self.prior.law(self.n_leaves).log_constant

    @property
    def log_evidence_without_structure(self) -> float | None:  # type: ignore[override]
        """That of the model: where there is no hierarchy, none has a prior."""
        return self.model.log_evidence_without_structure

    @property
    def predictions(self) -> SplitModel | None:
        """Those of the model: given a hierarchy, its prior says nothing more."""
        return self.model.predictions

    @property
    def free_parameters(self) -> dict[str, float]:
        """Those of the model; the prior's own stays."""
        return self.model.free_parameters

    @property
    def parameter_ranges(self) -> Mapping[str, tuple[float, float]]:
        """Those of the model."""
        return self.model.parameter_ranges

    def with_parameters(self, **values: float) -> Self:
        """With other parameters of the model."""
        return cast(Self, with_prior(self.model.with_parameters(**values), self.prior))

    def fitted_to(self, hierarchies: Sequence[Hierarchy]) -> Self | None:
        """With the parameters that the model fits to them; the prior stays."""
        fitted = self.model.fitted_to(hierarchies)
        return None if fitted is None else cast(Self, with_prior(fitted, self.prior))

    def heights(self, hierarchy: Hierarchy) -> Floats | None:
        """Those of the model: the prior sees sizes, and no data."""
        return self.model.heights(hierarchy)

    def log_prior(self, hierarchy: Hierarchy) -> float:
        """log p(H) of a binary hierarchy on the same labels, before the data are seen."""
        aligned = require_binary(hierarchy).aligned_to(self.labels)
        return min(self._log_shape(aligned) + self.prior.law(self.n_leaves).log_constant, 0.0)

    def _log_shape(self, hierarchy: Hierarchy) -> float:
        # Σ h over its clusters.
        sizes = np.diff(hierarchy.intervals)[self.n_leaves :, 0]
        return float(self.prior.law(self.n_leaves).h[sizes].sum())

    def __reduce__(self) -> tuple[Any, ...]:
        return with_prior, (self.model, self.prior)

    def __repr__(self) -> str:
        return f"with_prior({self.model!r}, {self.prior!r})"


class _AskedPrior(PriorModel):
    # A model that can only be asked for log ψ.

    def aligned_log_potential(self, hierarchy: Hierarchy) -> float:
        return self.model.aligned_log_potential(hierarchy) + self._log_shape(hierarchy)

    def log_potentials(self, left: MaskList, right: MaskList) -> Floats:
        sizes = [int(one).bit_count() + int(two).bit_count() for one, two in zip(left, right, strict=True)]
        return self.model.log_potentials(left, right) + self.prior.law(self.n_leaves).h[sizes]

    def split_log_potentials(self, trellis: SparseTrellis) -> Floats:
        h = self.prior.law(self.n_leaves).h
        return self.model.split_log_potentials(trellis) + h[trellis.sizes[trellis.parent]]


# θ of a compiled one: that of the model, h, the constant feature, and how many numbers h has.


def _described(features: Any, is_constant: bool) -> Any:
    # The features of a model with h added to a constant one, or behind them.
    @inline_with(features)
    def with_constant(theta, n, size, sums, pairs, out):
        count, constant = int(theta[-1]), int(theta[-2])
        own = theta.size - 2 - count
        features(theta[:own], n, size, sums, pairs, out)
        out[constant] += theta[own + size] if size < count else np.nan

    @inline_with(features)
    def with_one_more(theta, n, size, sums, pairs, out):
        count, k = int(theta[-1]), out.size - 1
        own = theta.size - 2 - count
        features(theta[:own], n, size, sums, pairs, out[:k])
        out[k] = theta[own + size] if size < count else np.nan

    return with_constant if is_constant else with_one_more


def _scored(score: Any) -> Any:
    # log ψ + h, which is the last feature.
    @inline_with(score)
    def with_last(theta, parent, left, right):
        own = theta.size - 2 - int(theta[-1])
        value = score(theta[:own], all_but_the_last(parent), all_but_the_last(left), all_but_the_last(right))
        return value + parent[-1]

    return with_last


def _unchanged(score: Any) -> Any:
    # What is no log ψ does not change.
    @inline_with(score)
    def without_last(theta, parent, left, right):
        own = theta.size - 2 - int(theta[-1])
        return score(theta[:own], all_but_the_last(parent), all_but_the_last(left), all_but_the_last(right))

    return without_last


@functools.cache
def _kind(
    name: str, n_features: int, features: Any, score: Any, merge_score: Any, is_constant: bool
) -> type[PriorModel]:
    # The class of models with these functions, whose kernels are then compiled once; no score: separable. With a
    # constant feature scores see what they did before.
    is_separable = score is None
    names = {
        "__doc__": PriorModel.__doc__,
        "n_features": n_features if is_constant else n_features + 1,
        "features": staticmethod(_described(features, is_constant)),
        # These hold also where log ψ is another.
        "parameter_ranges": PriorModel.parameter_ranges,
        "with_parameters": PriorModel.with_parameters,
        "fitted_to": PriorModel.fitted_to,
        "log_evidence_without_structure": PriorModel.log_evidence_without_structure,
    }
    if not is_separable:
        names["score"] = staticmethod(score if is_constant else _scored(score))
    if merge_score is not None:
        names["merge_score"] = staticmethod(merge_score if is_constant else _unchanged(merge_score))
    return type(name, (PriorModel, SeparableModel if is_separable else SplitModel), names)


def _compiled(model: SplitModel, law_h: Floats) -> PriorModel:
    score = None if isinstance(model, SeparableModel) else model.score
    constant = model.constant_feature
    given = (model.n_features, model.features, score, model.merge_score, constant is not None)
    kind: Any = _kind(type(model).__name__, *given)
    theta = np.concatenate([model.theta, law_h, [constant or 0, len(law_h)]])
    return cast(PriorModel, recast(kind, model, theta=theta))


def with_prior(model: HierarchyModel, prior: Prior) -> HierarchyModel:
    """log ψ(L, R) + h(|L ∪ R|): the same model, for hierarchies that are not alike before the data are seen.

    `prior` is "uniform", "yule" or a `BetaSplitting`. `log_evidence` of the posterior is then under this prior, if the
    model has one. Any model of hierarchies can be given, and separable ones stay as fast as they are. A cost with a
    prior has no temperature that could be set any more: β would have to leave the prior alone. Set it before.

    >>> import palmette as pal
    >>> x = [[0.0], [1.0], [3.0], [4.2], [8.0]]
    >>> for prior in ("uniform", "yule", pal.models.BetaSplitting(10.0)):
    ...     post = pal.HierarchyPosterior(pal.models.with_prior(pal.models.Contrasts(x), prior))
    ...     print(f"{post.log_evidence:.4f} {post.cluster_probability([0, 1]):.4f}")
    -11.2670 0.2793
    -11.3052 0.2978
    -11.3259 0.3080
    """
    if not isinstance(model, HierarchyModel):
        raise TypeError(f"expected a model of hierarchies, such as palmette.models.Contrasts, not {model!r}")
    chosen = check_prior(prior)
    base = model.model if isinstance(model, PriorModel) else model
    if prior == "uniform":
        return base
    if isinstance(base, SplitModel):
        made = _compiled(base, chosen.law(base.n_leaves).h)
    else:
        made = object.__new__(_AskedPrior)
        Model.__init__(made, base.n_leaves, base.labels)
    handed_on = {name: getattr(base, name) for name in ("may_forbid", "knows_all", "pairwise_holds")}
    vars(made).update(handed_on, model=base, prior=chosen)
    return made


def without_prior(model: HierarchyModel) -> tuple[HierarchyModel, Prior]:
    """The model that `with_prior` was given, and the prior; "uniform" if there is none.

    >>> import palmette as pal
    >>> without_prior(with_prior(pal.models.Uniform(3), "yule"))
    (Uniform(n_leaves=3), BetaSplitting(beta=0.0))
    """
    return (model.model, model.prior) if isinstance(model, PriorModel) else (model, "uniform")
