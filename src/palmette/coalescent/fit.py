"""Parameters of a process in turns with a history that is searched for.

**The scale is not found in turns**, for the reason in `palmette.coalescent.estimate_brownian`: `fit` takes only the
shape from the histories it finds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy.typing as npt

from palmette.checks import check_choice, check_integer, check_points
from palmette.coalescent.greedy import FoundHistory, Rule, Ties, greedy
from palmette.coalescent.priors import Prior
from palmette.coalescent.process import Process, check_process
from palmette.labels import labels_of

__all__ = ["fit"]

Scale = Literal["moments", "em"]


def fit(
    x: npt.ArrayLike,
    process: Process,
    rule: Rule = "rate1",
    rounds: int = 3,
    scale: Scale | None = "moments",
    *,
    prior: Prior | None = None,
    labels: Sequence[str] | None = None,
    progress: bool | None = None,
    ties: Ties = "log-z",
    leaf_ages: npt.ArrayLike | None = None,
) -> tuple[Any, FoundHistory]:
    """(process, found): a greedy history and the parameters for it, in turns, and at last the history for these.

    The shape of Λ, or the ratios of the rates of sites, and the equilibria come from the histories, the scale does not:
    see the top of this module. `scale` for `Brownian` motion: "moments" sets the trace of Λ to that of the
    `sample_covariance`; "em" starts there and takes a step of `estimate_scale` in each round; None keeps the trace. A
    process with one number for Λ has no shape. The mean rate of `IndependentSites` is always kept. `rule`,
    `ties` and `leaf_ages` as in `greedy`; "em" takes leaves of one age only.

    >>> from palmette.coalescent import Brownian
    >>> process, found = fit([[0.0, 1.0], [0.5, 5.0], [3.0, -6.0], [2.0, 1.0]], Brownian([1.0, 1.0]))
    >>> process.rate.round(3), found.hierarchy
    (array([ 2.301, 20.511]), Hierarchy.from_newick('(((0,1),3),2);'))
    """
    if scale is not None:
        check_choice("scale", scale, ("moments", "em"), ", or None")
    check_integer("rounds", rounds, 0)
    points, labels = check_points(x, "x", missing=True), labels_of(x, labels)
    check_process(process)
    process = process.first_guess(points, scale, leaf_ages)
    for _ in range(rounds):
        found = greedy(points, process, rule, labels, progress, ties=ties, leaf_ages=leaf_ages)
        process = process.refitted(points, found.hierarchy, prior, scale)
    return process, greedy(points, process, rule, labels, progress, ties=ties, leaf_ages=leaf_ages)
