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
from palmette.evidence.average import weighty
from palmette.models import HierarchyModel, VarianceShares, with_prior
from palmette.models.priors import Prior, check_prior
from palmette.models.share_law import GroupShares
from palmette.posterior import HierarchyMixture, HierarchyPosterior
from palmette.progress import Progress
from palmette.search.greedy import greedy
from palmette.trellis.hierarchies.sparse import SparseTrellis

__all__ = ["averaged", "chosen", "weights_of_readings"]

_LEVELS = (0.5, 0.25, 0.12, 0.06, 0.03)  # of noise, alike beforehand
_NOISE = 2 / 3  # beforehand; degrees and groups share the rest
_LEAST_SHARE = 0.2  # of profiles in the distances; below, rows are seen as points only
_ROWS, _SUBSETS = 10, 24  # on which laws are compared where not all rows can be


class _Reading(NamedTuple):
    # A law that weighs the table, and one that answers.
    weighs: VarianceShares
    answers: VarianceShares


def averaged(model: VarianceShares, prior: Prior, progress: bool | None = None) -> HierarchyMixture:
    """Σ over noise, degrees, and groups at five noise levels, each as points and as profiles, weighed by evidence.

    `log_evidence` is the log Bayes factor of all of these but noise against noise; `parameters` tell the parts apart.
    """
    readings = [reading for view in _views(model) for reading in _readings(view)]
    with closing(Progress("weighing laws by evidence", len(readings), progress, unit="laws")) as bar:
        logs = np.array([_log_evidence(reading.weighs, prior, bar) for reading in readings])
    logs = logs.reshape(-1, 1 + len(_LEVELS)) + _log_priors()
    of_views = logsumexp(logs, axis=1)
    log_evidence = float(logsumexp(of_views) - np.log(len(of_views)))
    share = _share_of_profiles(of_views, model.n_leaves)
    with np.errstate(divide="ignore"):  # profiles that lose everything
        log_shares = np.log([1.0 - share, share])[: len(of_views)]
    within = log_shares[:, None] + logs - of_views[:, None]
    weights = np.concatenate([[np.log(_NOISE)], (np.log(1.0 - _NOISE) + log_evidence + within).ravel()])
    answers = [reading.answers for reading in readings]
    models = [model.with_law("noise"), *answers]
    told = [(1.0, 0.0), *((one.noise_level, one.profiles) for one in answers)]
    kept = weighty(weights)
    parts = [HierarchyPosterior(with_prior(models[i], prior), progress=progress) for i in kept]
    parameters = [dict(zip(("noise_level", "profiles"), told[i], strict=True)) for i in kept]
    return HierarchyMixture(parts, weights[kept], parameters, 0.0, log_evidence=log_evidence, progress=progress)


def chosen(model: VarianceShares, prior: Prior, seed: int = 0) -> HierarchyModel:
    """The model of the law with most evidence, as random sets of ten rows and Ward's hierarchy tell, and of distances.

    Evidence of all rows cannot be summed. The mean of that of ten, for each contrast, is a first estimate. It misses
    groups that only many rows tell from noise, for which Ward's hierarchy, followed from the top as far as it pays,
    gives another; the larger of the two counts.
    """
    rng, n, views = np.random.default_rng(seed), model.n_leaves, _views(model)
    size = min(_ROWS, n)
    subsets = [np.sort(rng.choice(n, size, replace=False)) for _ in range(_SUBSETS)]
    logs = np.array([[_subset_evidence(view, rows, prior) for rows in subsets] for view in views])
    share = float(np.mean([_share_of_profiles(one, size) for one in logsumexp(logs + _log_priors(), axis=2).T]))
    readings = _readings(views[0].mixed_with(views[1], share) if share >= _LEAST_SHARE else model)
    estimates = logs.mean(axis=(0, 1)) * (n - 1) / (size - 1)
    followed = _followed([reading.weighs for reading in readings], prior)
    totals = np.maximum(estimates, followed) + _log_priors() + np.log(1.0 - _NOISE)
    if totals.max() < np.log(_NOISE):
        return with_prior(model.with_law("noise").lean(), prior)
    return with_prior(readings[int(np.argmax(totals))].answers.lean(), prior)


def weights_of_readings(mixture: HierarchyMixture) -> dict[str, float]:
    """How probable it is that the table is noise, that clusters differ by degrees, and that there are groups.

    Of a posterior of points that was averaged. "profiles" is how much of all but noise rows as profiles have.

    >>> import palmette as pal
    >>> line = [[0.0], [0.3], [0.1], [5.0], [5.2], [5.3], [10.0], [10.3], [9.8]]
    >>> {name: round(weight, 2) for name, weight in weights_of_readings(pal.evidence.posterior(line)).items()}
    {'noise': 0.11, 'degrees': 0.05, 'groups': 0.85, 'profiles': 0.0}
    """
    sums = {"noise": 0.0, "degrees": 0.0, "groups": 0.0, "profiles": 0.0}
    for weight, told in zip(mixture.weights.tolist(), mixture.parameters, strict=True):
        name = {0.0: "degrees", 1.0: "noise"}.get(told["noise_level"], "groups")
        sums[name] += weight
        sums["profiles"] += weight * told["profiles"]
    sums["profiles"] /= max(1.0 - sums["noise"], 1e-300)
    return sums


def _views(model: VarianceShares) -> list[VarianceShares]:
    profiles = model.as_profiles()
    return [model] if profiles is None else [model, profiles]


def _readings(view: VarianceShares) -> list[_Reading]:
    # Degrees are weighed by "slight", whose evidence is right about noise, and answered by "gradual", which foretells.
    degrees = _Reading(view.with_law("slight"), view.with_law("gradual"))
    groups = [view.with_law(replace(GroupShares(), noise_level=level)) for level in _LEVELS]
    return [degrees, *(_Reading(one, one) for one in groups)]


def _log_priors() -> Floats:
    # Of the readings, given that the table is not noise.
    log_priors: Floats = np.log(np.array([0.5] + [0.5 / len(_LEVELS)] * len(_LEVELS)))
    return log_priors


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


def _followed(models: Sequence[VarianceShares], prior: Prior) -> Floats:
    # Log evidence, by model, of hierarchies that begin as Ward's, until what is below is as good as noise, as probable
    # as the law has it: a level below the noise within groups is not to be as good as one above.
    law, n = check_prior(prior), models[0].n_leaves
    trellis = SparseTrellis.from_hierarchies([greedy(models[0]).hierarchy])
    totals, h = law.log_totals(n), law.law(n).h
    splits = np.array([model.split_log_potentials(trellis) for model in models]) + h[trellis.sizes[trellis.parent]]
    ends = [model.log_noise(trellis) if model.noise_level > 0.0 else np.zeros(trellis.n_clusters) for model in models]
    sums = totals[trellis.sizes] + np.array(ends)
    for split, parent in enumerate(trellis.parent):  # children come before their parents
        below = splits[:, split] + sums[:, trellis.left[split]] + sums[:, trellis.right[split]]
        sums[:, parent] = np.logaddexp(sums[:, parent], below)
    found: Floats = sums[:, -1] - totals[-1]
    return found
