"""Rivals that are posteriors: the support of a cluster is its probability.

A rival takes (n, d) points, whose columns have mean 0, and a generator. What it does not name has support 0; posteriors
do not name what is below 0.001.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from _linkages import Support

import palmette as pal
from palmette.defaults import DEFAULTS

LEAST = 0.001
SUMMED = 16  # leaves; of more, posteriors are sampled
SWEEPS = 2000  # of each chain, so that the clock has no say


def named(post: Any) -> Support:
    rows = post.cluster_probabilities(LEAST)
    return {frozenset(map(int, row.members)): float(row.probability) for row in rows}


def asked(model: Any) -> Support:
    """What `evidence.posterior` says of points, or of a model whose parameters are left open."""
    limits = {"exact_leaves": SUMMED, "seconds": None, "sweeps": SWEEPS}
    return named(pal.evidence.posterior(model, progress=False, **limits))


def default(x: np.ndarray, _: np.random.Generator) -> Support:
    return asked(x)


def contrasts(x: np.ndarray, _: np.random.Generator, dimension: Any = None) -> Support:
    return asked(pal.models.Contrasts(x, dimension=dimension))


def as_points(x: np.ndarray, _: np.random.Generator) -> Support:
    """The default without profiles."""
    return asked(pal.models.with_prior(pal.models.VarianceShares(x, profiles=0.0), "yule"))


def one_law(x: np.ndarray, _: np.random.Generator, law: str = "gradual", factor: float = 1.0) -> Support:
    """One law of shares of variance, at so many times the effective dimension."""
    model = pal.models.VarianceShares(x, law)
    if factor != 1.0:
        model = pal.models.VarianceShares(x, law, dimension=factor * model.dimension)
    return named(pal.HierarchyPosterior(pal.models.with_prior(model, "yule"), progress=False))


def cost(x: np.ndarray, _: np.random.Generator, name: str, perplexity: float) -> Support:
    """A cost at the β at which so many hierarchies count."""
    model: Any = pal.models.SumOfSquares(x)
    if name == "Dasgupta":
        model = pal.models.Dasgupta((np.corrcoef(x) + 1.0) / 2.0 * (1.0 - np.eye(len(x))))
    return named(pal.HierarchyPosterior(pal.temperature.at_perplexity(model, perplexity), progress=False))


def dirichlet_process(x: np.ndarray, _: np.random.Generator) -> Support:
    """How probable it is that a cluster is one of the partition, with all constants left open."""
    likelihood = pal.likelihoods.NormalGamma.expecting(DEFAULTS.within)
    model = pal.models.DirichletProcess(x, 1.0, likelihood)
    found = named(pal.evidence.partition_posterior(model, progress=False))
    return {cluster: p for cluster, p in found.items() if 1 < len(cluster) < len(x)}
