"""Two explanations of the same data, as a Bayes factor in words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from palmette.defaults import DEFAULTS
from palmette.drawing.cards import card
from palmette.evidence.family import Family
from palmette.evidence.maximise import Optimum, best_without_structure
from palmette.models.base import Model
from palmette.posterior import HierarchyMixture, HierarchyPosterior, PartitionMixture, PartitionPosterior
from palmette.sampling import SampledPartitions, SampledPosterior

__all__ = ["Comparison", "Strength", "compare"]

Strength = Literal["none", "positive", "strong", "very strong"]
OfHierarchies = HierarchyPosterior | HierarchyMixture | SampledPosterior
OfPartitions = PartitionPosterior | PartitionMixture | SampledPartitions
Compared = OfHierarchies | OfPartitions | Optimum

_FROM: dict[Strength, float] = {"very strong": 5.0, "strong": 3.0, "positive": 1.0}
_WORDS = {"positive": "prefer", "strong": "strongly prefer", "very strong": "very strongly prefer"}
_NAMES = {"hierarchies": ("a hierarchy", "no hierarchy"), "partitions": ("several clusters", "one cluster")}


@dataclass(frozen=True)
class Comparison:
    """How much more probable the data are with structure than without; as a string, in words.

    >>> print(Comparison(-55.87, -53.47))
    These data prefer no hierarchy: log Bayes factor −2.40.
    """

    log_evidence: float
    """log p(data) of the model."""
    log_evidence_without_structure: float
    """log p(data) of its opponent: one Gaussian, one probability of edges, one cluster."""
    clusterings: Literal["hierarchies", "partitions"] = "hierarchies"
    """What the structure is."""
    is_bound: bool = False
    """Whether some of the model was left out, so that its evidence, and the Bayes factor, is a lower bound."""
    at_best: bool = False
    """Whether the opponent has the parameters that are best for it."""
    standard_error: float = 0.0
    """Of the log evidence of the model, and so of the log Bayes factor, if it is an estimate."""

    @property
    def log_bayes_factor(self) -> float:
        """log p(data | structure) − log p(data | none), in nats; positive: structure."""
        return self.log_evidence - self.log_evidence_without_structure

    @property
    def probability(self) -> float:
        """That of structure, if both were as probable beforehand."""
        return 0.5 * (1.0 + math.tanh(0.5 * self.log_bayes_factor))

    @property
    def strength(self) -> Strength:
        """From 1, 3 and 5 nats on: positive, strong, very strong (Kass and Raftery 1995); whichever side it is for."""
        return next((name for name, least in _FROM.items() if abs(self.log_bayes_factor) >= least), "none")

    @property
    def prefers_structure(self) -> bool | None:
        """Whether the data prefer structure; None if they do not tell."""
        return None if self.strength == "none" else self.log_bayes_factor > 0.0

    def _repr_html_(self) -> str:
        facts = [("log evidence", self.log_evidence), ("without structure", self.log_evidence_without_structure)]
        return card(str(self), facts)

    def __str__(self) -> str:
        some, none = _NAMES[self.clusterings]
        if self.prefers_structure is None:
            head = f"These data do not tell {some} from {none}"
        else:
            head = f"These data {_WORDS[self.strength]} {some if self.prefers_structure else none}"
        number = f"{self.log_bayes_factor:+.2f}".replace("-", "−")
        number += f" ± {self.standard_error:.2g}" if self.standard_error > 0.0 else ""
        best = f", {none} at its best" if self.at_best else ""
        return f"{head}: log Bayes factor {'at least ' if self.is_bound else ''}{number}{best}."


def compare(found: Compared, /, *, at_best: bool | None = False) -> Comparison:
    """The evidence of a model beside that of the same data without structure: log Bayes factor, in words.

    Both are densities of the same data. Without structure, `Contrasts` have one variance for all contrasts, which is
    one Gaussian; the models of pairs have one law for all pairs; a Dirichlet process has one cluster.

    `found` says how parameters are treated, and both sides are treated alike. A *mixture* from `average`: integrated
    over the same values with the same prior, which is the one to ask. A *posterior*: both with the parameters of its
    model, to be taken if they were fixed before the data were seen; if they are those of `tuned`, say `at_best`, and
    the opponent has the best of its `parameter_ranges` too (None: it has, unless `found` is a mixture or there are no
    such ranges, as it should be with whatever `evidence.posterior` gives). An *optimum* from `maximise`: each at its
    own best, which flatters whoever has more to gain: `Contrasts` as a → ∞ are one Gaussian, so at their best they
    never lose. Of a *sampled* posterior the evidence is an estimate, by annealing, which takes up to half a minute.

    >>> import palmette as pal
    >>> path = [[0, 1, 0, 0, 0], [1, 0, 1, 0, 0], [0, 1, 0, 1, 0], [0, 0, 1, 0, 1], [0, 0, 0, 1, 0]]
    >>> print(compare(pal.HierarchyPosterior(pal.models.HierarchicalRandomGraph(path))))
    These data do not tell a hierarchy from no hierarchy: log Bayes factor +0.18.
    """
    if not isinstance(found, Compared):
        raise TypeError(f"expected a posterior, a mixture from average or an optimum from maximise, not {found!r}")
    without = found.log_evidence_without_structure
    if without is None:
        raise TypeError(f"{type(found.model).__name__} does not say how probable data without structure are")
    if isinstance(found, Optimum):
        return Comparison(found.log_evidence, without, found.model.clusterings, not found.is_exact, at_best=True)
    has_ranges = bool(found.model.parameter_ranges)
    at_best = has_ranges and found.kind != "averages" if at_best is None else at_best
    if at_best and has_ranges:
        without = max(without, _best_without_structure(found.model))
    error = found.log_evidence_error
    is_bound = bool(found.conditions) or (error is None and not found.is_exact)
    return Comparison(float(found.log_evidence), without, found.model.clusterings, is_bound, at_best, error or 0.0)


def _best_without_structure(model: Model) -> float:
    family = Family(model.with_parameters, model.free_parameters, model.parameter_ranges, None)
    found = best_without_structure(family, DEFAULTS.evidence_tolerance)
    return -math.inf if found is None else found
