"""Posteriors that are averaged over the parameters of a family, so that no single value is chosen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from typing import cast

import numpy as np
from scipy.special import logsumexp

from palmette.array_types import Floats
from palmette.checks import check_integer
from palmette.evidence.cells import Cell, cells_around
from palmette.evidence.climbing import climb
from palmette.evidence.family import FORMULA_VALUES, Family
from palmette.models.base import Model
from palmette.posterior import HierarchyMixture, HierarchyPosterior, PartitionMixture, PartitionPosterior
from palmette.posterior.kinds import SomePosterior
from palmette.progress import Progress
from palmette.trellis import SomeTrellis

__all__ = ["average", "weighty"]

_TOLERANCE = 0.1  # nats to which the top is found: cells need not lie quite around it
_NEGLIGIBLE = 0.005  # of the weight, in all


def average(
    family: Callable[..., Model],
    /,
    *,
    within: Mapping[str, tuple[float, float]] | None = None,
    prior: Callable[..., float] | None = None,
    most: int = 60,
    trellis: SomeTrellis | None = None,
    progress: bool | None = None,
    **start: float,
) -> HierarchyMixture | PartitionMixture:
    """p(x | data) = ∫ p(x | data, θ) p(θ | data) dθ, for a family that makes a model of parameters: ``family(**θ)``.

    The posterior with θ left open, as a mixture of some twenty posteriors (for two parameters), which answers as one of
    them does. Parameters are positive; `start`, `within` and `trellis` are those of `maximise`. θ has the density
    `prior` beforehand: a function of the parameters by name that returns the logarithm of the density of *log* θ, and
    unless given that is flat `within` its ends. Weights are evidence × prior, on equal cells around the maximum, as
    wide as the curvature there suggests, that hold 99 % of p(θ | data) if it is about normal. `parameters` and
    `weights` of the result say which they are, and its `log_evidence` is log p(data) = log ∫ p(data | θ) p(θ) dθ. The
    evidence of an opponent without structure is averaged over the same θ, if the model has one; see `compare`.

    At most about `most` posteriors are looked at beside those for the maximum; if the evidence is flat over more than
    that, cells are made wider. It needs log Z, so it is for models that fit on the full trellis, or on a sparse one.

    >>> import functools, palmette as pal
    >>> x = [[0.0, 0.1], [0.2, 0.0], [0.1, 0.3], [4.0, 4.1], [4.2, 4.0], [8.0, 0.0], [8.1, 0.2]]
    >>> post = pal.evidence.average(functools.partial(pal.models.Contrasts, x), a=0.5, b=0.1)
    >>> round(post.cluster_probability([0, 1, 2]), 3), round(post.log_evidence, 2)
    (0.995, -25.67)
    """
    members = Family(family, start, within, trellis)
    log_prior = _flat(members) if prior is None else prior
    check_integer("most", most, 1)
    made: dict[bytes, SomePosterior] = {}

    def weighed_by(posterior: SomePosterior, x: Floats) -> float:
        log_density = posterior.log_evidence + float(log_prior(**members.values(x)))
        bar.advance(1)
        return log_density

    def log_weight(x: Floats) -> float:
        return weighed_by(members.posterior(x), x)

    def kept_weight(x: Floats) -> float:
        made[x.tobytes()] = posterior = members.posterior(x)
        return weighed_by(posterior, x)

    with closing(Progress("averaging over parameters", None, progress, unit="posteriors")) as bar:
        cells, logs = _cells(log_weight, kept_weight, members, most)
    chosen = weighty(logs)
    parts = [made[cells[i].x.tobytes()] for i in chosen]
    weighed = (logs[chosen], [members.values(cells[i].x) for i in chosen], _without_structure(members, log_prior))
    if isinstance(parts[0], HierarchyPosterior):
        return HierarchyMixture(cast(list[HierarchyPosterior], parts), *weighed, progress=progress)
    return PartitionMixture(cast(list[PartitionPosterior], parts), *weighed, progress=progress)


_Weight = Callable[[Floats], float]


def _cells(climbed: _Weight, weight: _Weight, members: Family, most: int) -> tuple[list[Cell], Floats]:
    # Cells around the maximum of what is climbed, and the logarithms of the weight in them; the two are one number.
    box = (members.low, members.high)
    top = climb(climbed, members.start, *box, tolerance=_TOLERANCE, most=most)
    cells = cells_around(weight, top.x, top.hessian, *box, most=most)
    return cells, np.array([cell.value + cell.log_volume for cell in cells])


def _without_structure(members: Family, log_prior: Callable[..., float]) -> float | None:
    # log ∫ of the opponent over the same box, with the same prior.
    formula = members.without_structure()
    if formula is None:
        return None
    log_weight = lambda x: formula(x) + float(log_prior(**members.values(x)))  # noqa: E731
    return float(logsumexp(_cells(log_weight, log_weight, members, FORMULA_VALUES)[1]))


def _flat(members: Family) -> Callable[..., float]:
    log_density = -float(np.log(members.high - members.low).sum())
    return lambda **values: log_density


def weighty(logs: Floats) -> list[int]:
    """The numbers of those that are left when the lightest are dropped, as long as they are negligible together."""
    order = np.argsort(logs, kind="stable")
    shares = np.exp(logs[order] - logs.max())
    kept = order[np.cumsum(shares) > _NEGLIGIBLE * shares.sum()]
    return sorted(kept.tolist())
