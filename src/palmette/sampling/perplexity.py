"""The β at which a posterior of any size has a perplexity, by annealing."""

from __future__ import annotations

import math
from typing import Any, TypeVar

import numpy as np

from palmette.checks import check_number
from palmette.defaults import DEFAULTS
from palmette.models.base import require_compiled, require_model
from palmette.models.split_model import SplitModel
from palmette.models.tempered import Tempered, require_tempered
from palmette.sampling.annealed import Annealed, anneal_hierarchies
from palmette.trellis.counting import log_hierarchies

__all__ = ["at_perplexity"]

AnyTempered = TypeVar("AnyTempered", bound=Tempered)

_BEYOND = 1.5  # how far past the β that a rough look suggests the annealing goes
_FARTHEST = 1e12  # times the model's own β
_QUICK = 300  # steps of runs that only have to find the right decade
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
    of the logarithm of the perplexity. `steps` and `seconds` are those of `anneal_hierarchies`: the same `rng` and
    `steps` give the same β. Up to some 20 leaves `palmette.temperature.at_perplexity` is exact.

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
    unit = model.with_beta(1.0) if model.beta == 0.0 else model
    options: dict[str, Any] = {"rng": rng, "threads": threads, "progress": progress}
    compiled = require_compiled(unit, SplitModel, "annealed")
    last = _BEYOND * _crossing(_quick(compiled, target, options), target)
    while True:
        found = anneal_hierarchies(compiled, last=last, steps=steps, seconds=seconds, **options)
        if _entropy(found, len(found.tempers) - 1) < target:
            return model.with_beta(unit.beta * _crossing(found, target))
        last *= _BEYOND


def _quick(model: SplitModel, target: float, options: dict[str, Any]) -> Annealed:
    # Short runs, to a β where the entropy is below the target.
    last = 1.0
    while last < _FARTHEST:
        found = anneal_hierarchies(model, last=last, steps=_QUICK, n_runs=16, **options)
        if _entropy(found, _QUICK) < target:
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
