"""Parameters by evidence for any number of leaves: from posterior draws, over and over."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from palmette.budget import Budget
from palmette.checks import check_integer, check_positive, check_seconds, seed_of
from palmette.hierarchy import Hierarchy
from palmette.models.base import require_model
from palmette.models.split_model import HierarchyModel
from palmette.posterior import HierarchyPosterior
from palmette.progress import purpose
from palmette.sampling import sample_hierarchies
from palmette.search.greedy import greedy

__all__ = ["tuned"]

SomeModel = TypeVar("SomeModel", bound=HierarchyModel)

_DRAWS = 500
_COMPARED = 100  # of these, to see what was gained
_CHAINS, _SWEEPS = 2, 100  # beyond the exact limit


def tuned(
    model: SomeModel,
    *,
    exact_leaves: int | None = None,
    tolerance: float = 0.01,
    most: int = 20,
    seconds: float | None = None,
    rng: np.random.Generator | int | None = 0,
    progress: bool | None = None,
) -> SomeModel:
    """The model with the parameters under which the data are most probable, by expectation and maximisation.

    Draw hierarchies from the posterior; take the parameters under which the data are most probable given these
    (`fitted_to` of the model); again, until log p(data | hierarchy) of the draws gains less than `tolerance` nats on
    average, or `most` times. Each step raises log p(data), but for the noise of 500 draws, up to a local maximum; four
    to six are usual. It begins at the greedy hierarchy. Up to `exact_leaves` leaves draws are exact (20 unless given;
    22 if the model is separable); beyond they are those of short Markov chains, each from where the last ended. If
    `seconds` from the greedy hierarchy on are up before, the parameters are those that it had come to, and a
    `UserWarning` says so; a step by exact draws is always finished.

    `maximise` takes any family and gives the curvature and a warning at a boundary, but more posteriors, all exact.

    >>> import palmette as pal
    >>> x = [[0.0, 0.1], [0.2, 0.0], [0.1, 0.3], [4.0, 4.1], [4.2, 4.0], [8.0, 0.0], [8.1, 0.2]]
    >>> models = pal.models.Contrasts(x), pal.evidence.tuned(pal.models.Contrasts(x))
    >>> [round(pal.HierarchyPosterior(model).log_evidence, 1) for model in models]
    [-30.4, -22.3]
    """
    require_model(model, "hierarchies", "a model of hierarchies, such as palmette.models.Contrasts(points)")
    check_positive("tolerance", tolerance)
    check_integer("most", most, 1)
    check_seconds(seconds)
    limit = model.exact_leaves if exact_leaves is None else check_integer("exact_leaves", exact_leaves, 0)
    seed = seed_of(rng)
    draws: Sequence[Hierarchy] = [greedy(model).hierarchy]
    model, budget = _fitted(model, draws), Budget(seconds)
    for step in range(most):
        if budget.is_spent:
            words = f"parameters are those after {step} steps, as there was no time for more; allow for more seconds"
            warnings.warn(words, stacklevel=2)
            break
        # The same random numbers in every step, so that what changes are the parameters and not the noise.
        with purpose(f"parameters by evidence, step {step + 1}"):
            if model.n_leaves <= limit:
                draws = _exact(model, seed, progress)
            else:
                draws = _chained(model, draws, seed, budget.seconds, progress)
        before, model = model, _fitted(model, draws)
        compared = draws[:: max(1, len(draws) // _COMPARED)]
        if np.mean([model.log_potential(h) - before.log_potential(h) for h in compared]) < tolerance:
            break
    return model


def _fitted(model: SomeModel, draws: Sequence[Hierarchy]) -> SomeModel:
    found = model.fitted_to(draws)
    if found is None:
        raise TypeError(
            f"{model!r} does not say which parameters fit given hierarchies; palmette.evidence.maximise does without, "
            "or write `fitted_to`"
        )
    return found


def _exact(model: HierarchyModel, seed: int, progress: bool | None) -> Sequence[Hierarchy]:
    return list(HierarchyPosterior(model, progress=progress).sample(_DRAWS, rng=seed))


def _chained(
    model: HierarchyModel, starts: Sequence[Hierarchy], seed: int, seconds: float | None, progress: bool | None
) -> Sequence[Hierarchy]:
    # Short chains, but for the first quarter of each. A chain that goes on has no need to come from far away.
    chains = sample_hierarchies(
        model,
        seconds=seconds,
        sweeps=_SWEEPS,
        n_chains=_CHAINS,
        starts=[starts[-1 - i % len(starts)] for i in range(_CHAINS)],
        rng=seed,
        progress=progress,
    )
    return list(chains.sample(_DRAWS, rng=seed))
