"""Searches are compiled once, and not for every model that they are run with."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
from cases import Tilted

from palmette._plain import IS_PLAIN
from palmette.models import Contrasts, Correlation, CorrelationClusters, Dasgupta, SumOfSquares, Uniform, with_prior
from palmette.search import a_star, beam, greedy, grow
from palmette.trellis.hierarchies.sparse import SparseTrellis

pytestmark = pytest.mark.skipif(IS_PLAIN, reason="nothing is compiled")

# Modules have the names of functions in their packages.
KERNELS = [
    ("palmette.models.evaluate", ["_split_scores", "_cluster_scores", "_member_statistics"]),
    ("palmette.search.greedy", ["_agglomerate"]),
    ("palmette.search.beam", ["_extend"]),
    ("palmette.search.a_star_opening", ["_open", "_fill_pairs", "upper_bound"]),
    ("palmette.search.grow", ["_exchange_scores"]),
]


def models():
    """Other numbers of features, sums, pair sums and parameters; a prior; data column by column; a user's functions."""
    x = np.random.default_rng(0).random((6, 3))
    w = x @ x.T
    yield from (Uniform(6), Dasgupta(w), SumOfSquares(x), Correlation(w - w.mean()), Contrasts(x))
    user = Tilted(6, theta=[1.0, 0.0], additive=np.asfortranarray(x[:, :2]), pairwise=[np.asfortranarray(w)])
    yield from (user, with_prior(user, "yule"), with_prior(Contrasts(x), "yule"))


def test_every_model_is_searched_by_the_same_kernels():
    greedy(CorrelationClusters(np.ones((4, 4))))
    for model in models():
        found = [greedy(model).hierarchy, beam(model).hierarchy, a_star(model).hierarchy]
        assert grow(model, SparseTrellis.from_hierarchies(found)).n_clusters >= 11
        assert model.log_potentials([1, 2], [2, 4]).shape == (2,)
    for module, names in KERNELS:
        for name in names:
            assert len(getattr(importlib.import_module(module), name).signatures) == 1, name
