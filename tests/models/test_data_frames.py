"""The index of a data frame names the leaves, wherever data come in."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import palmette as pal

NAMES = ("a", "b", "c", "d")
POINTS = pd.DataFrame([[0.0, 1.0], [0.5, 1.5], [4.0, 2.0], [4.5, 3.0]], index=list(NAMES), columns=["x", "y"])
PAIRS = pd.DataFrame(pal.similarity.of_points(POINTS), index=list(NAMES), columns=list(NAMES))
EDGES = (PAIRS > 0.5).astype(float) - np.eye(4)

OF_POINTS = {
    "SumOfSquares": pal.models.SumOfSquares,
    "Contrasts": pal.models.Contrasts,
    "DirichletProcess": lambda x, **o: pal.models.DirichletProcess(x, 1.0, pal.likelihoods.NormalGamma(), **o),
    "greedy": lambda x, **o: pal.coalescent.greedy(x, pal.coalescent.Brownian(), **o).hierarchy,
    "smc": lambda x, **o: pal.coalescent.smc(x, pal.coalescent.Brownian(), 100, n_runs=1, rng=0, **o),
    "fit": lambda x, **o: pal.coalescent.fit(x, pal.coalescent.Brownian(), **o)[1].hierarchy,
    "bayesian": lambda x, **o: pal.search.bayesian(x, pal.likelihoods.NormalGamma(), **o).hierarchy,
    "Graph": lambda x, **o: pal.ultrametric.Graph.from_points(x, 2, **o),
}
OF_PAIRS = {
    "Dasgupta": pal.models.Dasgupta,
    "Correlation": pal.models.Correlation,
    "CorrelationClusters": pal.models.CorrelationClusters,
    "NormalPairs": pal.models.NormalPairs,
    "Graph": lambda x, **o: pal.ultrametric.Graph.from_distances(1 - x, 2, **o),
    "linkages": lambda x, **o: pal.similarity.linkages(x, **o)[0],
}
OF_EDGES = {"HierarchicalRandomGraph": pal.models.HierarchicalRandomGraph, "PoissonPairs": pal.models.PoissonPairs}
ALL = {
    (name, kind): (make, data)
    for makers, kind, data in ((OF_POINTS, "points", POINTS), (OF_PAIRS, "pairs", PAIRS), (OF_EDGES, "edges", EDGES))
    for name, make in makers.items()
}


@pytest.mark.filterwarnings("ignore:of 100 particles")
@pytest.mark.parametrize("case", ALL, ids=" of ".join)
def test_the_index_names_the_leaves(case):
    make, data = ALL[case]
    numbers = ("0", "1", "2", "3")
    assert tuple(make(data).labels) == NAMES
    assert tuple(make(data, labels=list("wxyz")).labels) == tuple("wxyz")
    assert tuple(make(data.to_numpy()).labels) == numbers
    assert tuple(make(data.reset_index(drop=True)).labels) == numbers
    assert tuple(make(data.set_axis(["a", "a", "b", "c"], axis=0)).labels) == numbers
    assert tuple(make(data.set_axis([10, 20, 30, 40], axis=0)).labels) == ("10", "20", "30", "40")


@pytest.mark.parametrize("name", ["Dasgupta", "Correlation", "CorrelationClusters", "NormalPairs", "Graph"])
def test_columns_in_another_order_are_the_same_matrix(name):
    make = OF_PAIRS[name]
    numbers = "weights" if name == "Graph" else "pairwise"
    turned, straight = (getattr(make(data), numbers) for data in (PAIRS[["c", "a", "d", "b"]], PAIRS))
    np.testing.assert_array_equal(turned, straight)


def test_correlations_of_a_frame_keep_their_names():
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(3, 9)), index=["x", "y", "z"])
    assert pal.models.Dasgupta(frame.T.corr()).labels == ("x", "y", "z")
