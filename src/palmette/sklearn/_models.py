"""From parameters and rows to a model of palmette: what the two clusterers with a trellis share."""

from typing import Any, ClassVar, Self, get_args

import numpy as np
from sklearn.utils import check_array

from palmette import evidence, search
from palmette.array_types import Floats
from palmette.checks import check_choice, check_integer
from palmette.defaults import DEFAULTS
from palmette.models import Model, with_prior
from palmette.models.base import is_model
from palmette.models.variance_shares import leaves_law_open
from palmette.sampling.cooling import fewer_sweeps
from palmette.search.posteriors import Beyond
from palmette.similarity import KINDS, centred, distances, likeness, linkages, median_distance, to_distances
from palmette.sklearn._base import Clusterer
from palmette.sklearn._similarity import bandwidth_of, gamma_of, similarity_of

__all__ = ["ModelClusterer"]

_FEWEST = 8  # sweeps, of which half are kept


class ModelClusterer(Clusterer):
    """A `Clusterer` with a model, a temperature, and a posterior that is exact up to `max_leaves` leaves."""

    _names: ClassVar[dict[str, type[Model]]]  # the models that have a name
    _kind: ClassVar[type[Model]]  # of models that will do

    model: Any
    beta: float | None
    perplexity: float | None
    similarity: Any
    gamma: float | None
    missing: str | None
    max_leaves: int
    beyond: str
    sweeps: int | None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is_precomputed
        return tags

    @property
    def _is_precomputed(self) -> bool:
        return isinstance(self.similarity, str) and self.similarity == "precomputed"

    @property
    def _takes_gaps(self) -> bool:
        return super()._takes_gaps and not self._is_precomputed

    @property
    def _only_compares(self) -> bool:
        return _is_of_similarities(self._maker()) if self.similarity is None else self.similarity in KINDS

    def _learned(self) -> Self:
        return super()._learned().set_params(gamma=getattr(self, "gamma_", None))  # type: ignore[no-any-return]

    def _own_score(self, X: Any) -> float:
        if not self._is_precomputed:
            return super()._own_score(X)
        matrix = similarity_of(check_array(X, dtype=np.float64), "precomputed")
        return self._silhouette(to_distances(matrix), metric="precomputed")

    def _posterior(self, points: Floats, beyond: Any = None, **options: Any) -> Any:
        most = check_integer("max_leaves", self.max_leaves, 1)
        model = self._make_model(points)
        options |= {
            "exact_leaves": most,
            "perplexity": self.perplexity,
            "beyond": beyond or self._beyond(),
            "sweeps": self._sweeps(len(points)),
            "hierarchies": linkages(self._likeness(model, points), model.labels),
            "progress": self.progress,
        }
        if model.clusterings == "hierarchies":
            if leaves_law_open(model):
                return evidence.posterior(with_prior(model, "yule"), **options)
            # Of a Dirichlet process they are given: searches over parameters fit it a hundred times.
            if model.parameter_ranges:
                model = evidence.tuned(model, exact_leaves=most, rng=options.get("rng"), progress=self.progress)
        return search.posterior(model, **options)

    def _sweeps(self, n: int) -> int:
        if self.sweeps is not None:
            return check_integer("sweeps", self.sweeps, _FEWEST)
        return fewer_sweeps(DEFAULTS.fitted_sweeps, n, _FEWEST)

    def _beyond(self) -> Any:
        # A temperature for a perplexity takes chains longer than a fit should.
        check_choice("beyond", self.beyond, get_args(Beyond))
        return "sparse" if self.perplexity is not None else self.beyond

    def _likeness(self, model: Any, points: Floats) -> Floats:
        # For the linkages that chosen clusters come from.
        if model.pairwise_holds == "similarities":
            return np.asarray(model.pairwise[0])
        if self._is_precomputed:
            return points
        # A likelihood of clusters does not mind in which unit a column is; other models of rows do.
        is_mixture = model.clusterings == "partitions" and model.log_evidence_offset is not None
        return likeness(points, filled=is_mixture or bool(np.isnan(points).any()))

    def _make_model(self, points: Floats) -> Any:
        maker = self._maker()
        data = self._data(points, maker)
        named = maker in self._names.values()
        made = maker(data, **self._options(maker, points)) if named else maker(data)
        if not is_model(made, self._kind.clusterings):
            raise TypeError(f"model made {made!r}; expected a palmette.models.{self._kind.__name__}")
        if made.n_leaves != len(points):
            raise ValueError(f"model made {made!r} of {len(points)} rows; expected one leaf for each, in their order")
        return self._at_beta(made)

    def _maker(self) -> Any:
        if isinstance(self.model, str) and self.model in self._names:
            return self._names[self.model]
        if not callable(self.model):
            check_choice("model", self.model, self._names, ", or a function that makes a model of X")
        return self.model

    def _data(self, points: Floats, maker: Any) -> Floats:
        # What the model is made of: similarities where it asks for them, or where the user does; else the rows.
        kind = self.similarity
        if kind is None and not _is_of_similarities(maker):
            return points
        if maker in self._names.values() and not _is_of_similarities(maker):
            raise ValueError(
                f"similarity is {kind!r}, but model {self.model!r} reads the rows as they are; leave it out"
            )
        kind = "rbf" if kind is None else kind
        matrix = similarity_of(points, kind, self._bandwidth(points, kind), self._leaf_labels)
        is_ours = isinstance(kind, str) and not self._is_precomputed
        return centred(matrix) if is_ours and getattr(maker, "wants_signed", False) else matrix

    def _bandwidth(self, points: Floats, kind: Any) -> float | None:
        given = None if self.gamma is None else bandwidth_of(self.gamma)
        if not (isinstance(kind, str) and kind == "rbf"):
            return None
        bandwidth = median_distance(distances(points, missing="pairwise")) if given is None else given
        self.gamma_ = gamma_of(bandwidth) if self.gamma is None else float(self.gamma)
        return bandwidth

    def _options(self, maker: Any, points: Floats) -> dict[str, Any]:
        return {"labels": self._leaf_labels}

    def _at_beta(self, model: Any) -> Any:
        if self.beta is None and self.perplexity is None:
            return model
        if not model.is_tempered:
            raise TypeError(f"{model!r} has no temperature: leave beta and perplexity out")
        if self.beta is not None and self.perplexity is not None:
            raise ValueError("beta and perplexity are both given, and each of them sets the temperature; give one")
        return model if self.beta is None else model.with_beta(self.beta)


def _is_of_similarities(maker: Any) -> bool:
    # Whether it is a model that is made of a matrix; what a function makes is not known.
    return getattr(maker, "pairwise_holds", None) == "similarities"
