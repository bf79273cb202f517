"""The β at which a posterior of any size has a perplexity, by annealing."""

from __future__ import annotations

import math
import warnings
from typing import Any, TypeVar

import numpy as np

from palmette.budget import Budget
from palmette.checks import check_number, check_seconds
from palmette.defaults import DEFAULTS
from palmette.models.base import require_compiled, require_model
from palmette.models.split_model import SplitModel
from palmette.models.tempered import Tempered, require_tempered
from palmette.progress import purpose
from palmette.sampling.annealed import Annealed, anneal
from palmette.sampling.hierarchies.moves import HierarchyMoves
from palmette.trellis.counting import log_hierarchies

__all__ = ["at_perplexity"]

AnyTempered = TypeVar("AnyTempered", bound=Tempered)

_BEYOND = 1.5  # how far past the β that a rough look suggests the annealing goes
_FARTHEST = 1e12  # times the model's own β
_QUICK = 300  # steps of runs that only have to find the right decade
_QUICK_SHARE, _SHARE = 1 / 8, 2 / 3  # of the time that is left, for each of these and for each of those that count
_LOOKS = 60  # temperatures at which the entropy is computed


def at_perplexity(
    model: AnyTempered,
    perplexity: float,
    *,
    steps: int | None = None,
    seconds: float | None = DEFAULTS.annealing_seconds,
    rng: np.random.Generator | int | None = 0,
    threads: int | None = None,
    progress: bool | None = None,
) -> AnyTempered:
    """The same model at the β where exp(entropy of the posterior) is about `perplexity`, for any number of leaves.

    The entropy along β comes from annealed importance sampling, so β has an error: with default settings some percent
    of the logarithm of the perplexity. It takes `seconds` in all, or as long as so many `steps` take, as for
    `anneal_hierarchies`: the same `rng` and `steps` give the same β. If there was no time for more than a quick look, a
    `UserWarning` says so. Up to some 20 leaves `palmette.temperature.at_perplexity` is exact.

    >>> import numpy as np, palmette as pal
    >>> points = np.random.default_rng(0).normal(size=(6, 2))
    >>> exact = pal.temperature.at_perplexity(pal.models.SumOfSquares(points), 100).beta
    >>> estimate = pal.sampling.at_perplexity(pal.models.SumOfSquares(points), 100, steps=100).beta
    >>> bool(abs(np.log(estimate / exact)) < 0.3)
    True
    """
    require_model(model, "hierarchies")
    require_tempered(model)
    n = model.n_leaves
    everything = float(log_hierarchies(n))
    target = math.log(check_number("perplexity", perplexity))
    if not 0.0 < target < everything:
        raise ValueError(
            f"perplexity is {perplexity:g}; expected more than 1 and less than {math.exp(min(everything, 700.0)):.4g}, "
            f"which is how many hierarchies there are over {n} leaves"
        )
    check_seconds(seconds)
    unit = model.with_beta(1.0) if model.beta == 0.0 else model
    moves = HierarchyMoves(require_compiled(unit, SplitModel, "annealed"))
    budget = Budget(seconds if steps is None else None)
    options: dict[str, Any] = {"rng": rng, "threads": threads, "progress": progress}
    with purpose(f"β at a perplexity of {perplexity:g}"):
        found = _quick(moves, target, budget, steps, options)
        last = _BEYOND * _crossing(found, target)
        while not budget.is_spent:
            found = anneal(moves, last=last, steps=steps, seconds=budget.share(_SHARE).seconds, **options)
            if _entropy(found, len(found.tempers) - 1) < target:
                return model.with_beta(unit.beta * _crossing(found, target))
            last *= _BEYOND
    warnings.warn("β is a rough guess, as there was no time for more; allow for more seconds", stacklevel=2)
    return model.with_beta(unit.beta * _crossing(found, target))


def _quick(
    moves: HierarchyMoves, target: float, budget: Budget, steps: int | None, options: dict[str, Any]
) -> Annealed:
    # Short runs, to a β where the entropy is below the target; shorter ones if the clock says so.
    last, quick = 1.0, None if steps is None and budget.seconds is not None else _QUICK
    while last < _FARTHEST:
        seconds = budget.share(_QUICK_SHARE).seconds
        found = anneal(moves, last=last, steps=quick, most=_QUICK, seconds=seconds, n_runs=16, **options)
        if _entropy(found, len(found.tempers) - 1) < target:
            return found
        last *= 4.0
    raise ValueError(
        f"no β brings the perplexity down to {math.exp(target):g}: more hierarchies than that are equally good"
    )


def _crossing(found: Annealed, target: float) -> float:
    # Entropy falls with t; errors make it rise here and there, so the last crossing and the first are averaged.
    looks = np.unique(np.linspace(1, len(found.tempers) - 1, _LOOKS).astype(np.int64))
    entropies = np.array([_entropy(found, int(k)) for k in looks])
    above = np.flatnonzero(entropies >= target)
    below = np.flatnonzero(entropies < target)
    last = int(above[-1]) if len(above) else 0
    first = int(below[0]) if len(below) else len(looks) - 1
    return float(np.exp(np.log(found.tempers[looks[[last, first]]]).mean()))


def _entropy(found: Annealed, k: int) -> float:
    return found.entropy_at(k).value
