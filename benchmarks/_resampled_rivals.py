"""Rivals that draw columns again, or halve them: bootstraps, means over draws, and sharpness that halves choose."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

import numpy as np
from _linkages import Linkage, Support, average_of_correlations, bootstrap_proportions, clusters_of, ward
from _posterior_rivals import cost, default, one_law
from _scores import squared_error

import palmette as pal

DRAWS = 400  # of columns, at each of ten scales
BAGS = 20
FACTORS = (0.125, 0.25, 0.5, 1.0, 2.0)  # of the effective dimension
PERPLEXITIES = (10.0, 100.0, 1e3, 1e4, 1e5, 1e6)
HALVINGS = 4

Rule = Callable[[np.ndarray], Support]


def approximately_unbiased(x: np.ndarray, rng: np.random.Generator, method: Linkage) -> Support:
    """AU of the clusters of the tree of all columns; others have none."""
    rows = pal.evaluate.bootstrap(
        x, lambda z: pal.Hierarchy.from_linkage(method(z)), n_draws=DRAWS, rng=rng, threads=1, progress=False
    )
    return {frozenset(map(int, row.members)): row.au for row in rows}


def mean_of(supports: Iterable[Support]) -> Support:
    given = list(supports)
    clusters = {cluster for support in given for cluster in support}
    return {cluster: sum(support.get(cluster, 0.0) for support in given) / len(given) for cluster in clusters}


def with_bootstraps(x: np.ndarray, rng: np.random.Generator) -> Support:
    """The mean of the default and of BP of both linkages."""
    resampled = [bootstrap_proportions(x, rng, method) for method in (ward, average_of_correlations)]
    return mean_of([default(x, rng), *resampled])


def bagged(x: np.ndarray, rng: np.random.Generator) -> Support:
    """The mean of the default over draws of columns (Huggins and Miller 2019)."""
    d = x.shape[1]
    return mean_of(default(x[:, rng.integers(d, size=d)], rng) for _ in range(BAGS))


def chosen_by_halves(x: np.ndarray, rng: np.random.Generator, rules: Sequence[Rule]) -> Support:
    """By all columns, the rule of which one half of the columns best predicts trees of the other half."""
    errors = np.zeros(len(rules))
    for _ in range(HALVINGS):
        halves = np.array_split(rng.permutation(x.shape[1]), 2)
        for seen, hidden in (halves, halves[::-1]):
            trees = [clusters_of(method(x[:, hidden])) for method in (ward, average_of_correlations)]
            for i, rule in enumerate(rules):
                support = rule(x[:, seen])
                errors[i] += sum(squared_error(support, tree) for tree in trees)
    return rules[int(np.argmin(errors))](x)


def calibrated(x: np.ndarray, rng: np.random.Generator) -> Support:
    """The law "gradual" at the dimension that halves choose."""
    return chosen_by_halves(x, rng, [partial(one_law, _=rng, factor=factor) for factor in FACTORS])


def calibrated_cost(x: np.ndarray, rng: np.random.Generator, name: str) -> Support:
    """A cost at the perplexity that halves choose."""
    return chosen_by_halves(x, rng, [partial(cost, _=rng, name=name, perplexity=each) for each in PERPLEXITIES])
