"""Points under laws of shares of variance: weighed by evidence where that can be summed, else the best one is taken.

A table is noise, or its clusters differ by degrees, or it has groups with noise inside; and rows are seen as points, or
also as profiles. What each of these has for a weight, and why, is in docs/design.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logsumexp

from palmette.array_types import Floats
from palmette.checks import check_points
from palmette.labels import labels_of
from palmette.models import HierarchyModel, Uniform, VarianceShares, with_prior
from palmette.models.effective_dimension import Dimension
from palmette.models.priors import BetaSplitting, Prior, check_prior
from palmette.models.profiles import profiles_of
from palmette.models.share_law import GroupShares
from palmette.posterior import HierarchyMixture, HierarchyPosterior
from palmette.progress import Progress
from palmette.search.greedy import greedy
from palmette.trellis.hierarchies.sparse import SparseTrellis

__all__ = ["Views", "averaged", "chosen", "views_of"]

_LEVELS = (0.5, 0.25, 0.12, 0.06, 0.03)  # of noise, alike beforehand
_NOISE = 2 / 3  # beforehand; degrees and groups share the rest
_NEGLIGIBLE = 0.005  # of the weight, in all
_PROFILE_COLUMNS = 8  # from which on profiles are looked at: two of the columns are lost to level and spread
_LEAST_SHARE = 0.2  # of profiles in the distances; below, rows are seen as points only
_ROWS, _SUBSETS = 10, 24  # on which laws are compared where not all rows can be

Views = tuple[VarianceShares, VarianceShares | None]  # of rows as points, and as profiles if they are looked at


class _Reading(NamedTuple):
    # A law that weighs the table, and one that answers.
    weighs: VarianceShares
    answers: VarianceShares


def views_of(points: npt.ArrayLike, dimension: Dimension, labels: Sequence[str] | None) -> Views:
    """Rows as points, and as profiles if there are enough columns for it and no row is flat."""
    x, names = check_points(points), labels_of(points, labels)
    one = VarianceShares(x, dimension=dimension, labels=names)
    x = x[:, (x != x[:1]).any(axis=0)]
    if x.shape[1] < _PROFILE_COLUMNS or not profiles_of(x).any(axis=1).all():
        return one, None
    return one, VarianceShares(x, dimension=dimension, profiles=1.0, labels=names)


def averaged(views: Views, prior: Prior, progress: bool | None = None) -> HierarchyMixture:
    """Σ over noise, degrees, and groups at five noise levels, each as points and as profiles, weighed by evidence.

    `log_evidence` is the log Bayes factor of all of these but noise against noise; `parameters` tell the parts apart.
    """
    kinds = [(view, reading) for view in views if view is not None for reading in _readings(view)]
    with closing(Progress("weighing laws by evidence", len(kinds), progress, unit="laws")) as bar:
        logs = np.array([_log_evidence(reading.weighs, prior, bar) for _, reading in kinds])
    logs = logs.reshape(-1, 1 + len(_LEVELS)) + _log_priors()
    of_views = logsumexp(logs, axis=1)
    log_evidence = float(logsumexp(of_views) - np.log(len(of_views)))
    share = _share_of_profiles(of_views, views[0].n_leaves)
    shares = np.array([1.0 - share, share])[: len(of_views)]
    within = np.log(shares)[:, None] + logs - of_views[:, None]
    weights = np.concatenate([[np.log(_NOISE)], (np.log(1.0 - _NOISE) + log_evidence + within).ravel()])
    models = [_noise(views[0]), *(reading.answers for _, reading in kinds)]
    told = [{"noise_level": 1.0, "profiles": 0.0}]
    told += [{"noise_level": r.answers.noise_level, "profiles": r.answers.profiles} for _, r in kinds]
    kept = _weighty(weights)
    parts = [HierarchyPosterior(with_prior(models[i], prior), progress=progress) for i in kept]
    return HierarchyMixture(
        parts, weights[kept], [told[i] for i in kept], 0.0, log_evidence=log_evidence, progress=progress
    )


def chosen(views: Views, prior: Prior, seed: int = 0) -> HierarchyModel:
    """The model of the law with most evidence, as random sets of ten rows and Ward's hierarchy tell, and of distances.

    Evidence of all rows cannot be summed. The mean of that of ten, for each contrast, is a first estimate. It misses
    groups that only many rows tell from noise, for which Ward's hierarchy, followed from the top as far as it pays,
    gives another; the larger of the two counts.
    """
    rng, n = np.random.default_rng(seed), views[0].n_leaves
    size = min(_ROWS, n)
    subsets = [np.sort(rng.choice(n, size, replace=False)) for _ in range(_SUBSETS)]
    present = [view for view in views if view is not None]
    logs = np.array([[_subset_evidence(view, rows, prior) for rows in subsets] for view in present])
    share = float(np.mean([_share_of_profiles(one, size) for one in logsumexp(logs + _log_priors(), axis=2).T]))
    model = _mixed(present, share) if share >= _LEAST_SHARE else present[0]
    readings = _readings(model)
    estimates = logs.mean(axis=(0, 1)) * (n - 1) / (size - 1)
    followed = np.array([_followed(reading.weighs, prior) for reading in readings])
    totals = np.maximum(estimates, followed) + _log_priors() + np.log(1.0 - _NOISE)
    if totals.max() < np.log(_NOISE):
        return with_prior(_noise(model), prior)
    return with_prior(readings[int(np.argmax(totals))].answers, prior)


def _readings(view: VarianceShares) -> list[_Reading]:
    # Degrees are weighed by "slight", whose evidence is right about noise, and answered by "gradual", which foretells.
    degrees = _Reading(view.with_law("slight"), view.with_law("gradual"))
    groups = [view.with_law(replace(GroupShares(), noise_level=level)) for level in _LEVELS]
    return [degrees, *(_Reading(one, one) for one in groups)]


def _log_priors() -> Floats:
    # Of the readings, given that the table is not noise.
    log_priors: Floats = np.log(np.array([0.5] + [0.5 / len(_LEVELS)] * len(_LEVELS)))
    return log_priors


def _noise(view: VarianceShares) -> HierarchyModel:
    # Noise has all hierarchies alike; the density of the others is relative to it.
    return Uniform(view.n_leaves, labels=view.labels)


def _log_evidence(model: VarianceShares, prior: Prior, bar: Progress | None = None) -> float:
    found = HierarchyPosterior(with_prior(model, prior), progress=False).log_evidence
    if bar is not None:
        bar.advance(1)
    return found


def _subset_evidence(view: VarianceShares, rows: npt.NDArray[np.int64], prior: Prior) -> list[float]:
    return [_log_evidence(reading.weighs, prior) for reading in _readings(view.of_rows(rows))]


def _share_of_profiles(log_evidence: Floats, n: int) -> float:
    # Half, less as their evidence falls behind for each contrast, and never more. The two are no densities of the same
    # data: what the evidence tells is whether profiles lose what there is to see, and not which one foretells better.
    if len(log_evidence) < 2:
        return 0.0
    return float(expit(min(0.0, log_evidence[1] - log_evidence[0]) / (n - 1)))


def _mixed(views: Sequence[VarianceShares], share: float) -> VarianceShares:
    return views[0] if len(views) < 2 else views[0].mixed_with(views[1], share)


def _followed(model: VarianceShares, prior: Prior) -> float:
    # log evidence of hierarchies that begin as Ward's, until what is below is as good as noise.
    law = check_prior(prior)
    tree = greedy(model).hierarchy
    trellis = SparseTrellis.from_hierarchies([tree])
    assert isinstance(law, BetaSplitting)
    totals, h = law.log_totals(model.n_leaves), law.law(model.n_leaves).h
    sums = totals[trellis.sizes].astype(np.float64)
    splits = model.split_log_potentials(trellis) + h[trellis.sizes[trellis.parent]]
    for split in np.argsort(trellis.parent, kind="stable"):
        parent, left, right = trellis.parent[split], trellis.left[split], trellis.right[split]
        sums[parent] = np.logaddexp(sums[parent], splits[split] + sums[left] + sums[right])
    return float(sums[-1] - totals[-1])


def _weighty(logs: Floats) -> list[int]:
    # Those that are left when the lightest are dropped, as long as they are negligible together.
    order = np.argsort(logs, kind="stable")
    weights = np.exp(logs[order] - logs.max())
    return sorted(order[np.cumsum(weights) > _NEGLIGIBLE * weights.sum()].tolist())
