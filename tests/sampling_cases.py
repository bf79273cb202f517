"""A posterior that chains are compared with, and one that they get stuck in."""

import numpy as np

import palmette as pal

RNG = np.random.default_rng(1)
POINTS = np.concatenate([RNG.normal(size=(4, 2)), RNG.normal(size=(3, 2)) + 3.0, RNG.normal(size=(3, 2)) - [3.0, 0.0]])
MODEL = pal.models.SumOfSquares(POINTS, beta=1.0)
EXACT = pal.HierarchyPosterior(MODEL, progress=False)


def z_scores(sampled, exact):
    rows = [(row, exact.cluster_probability(row.members)) for row in sampled.cluster_probabilities(0.0)]
    return np.array([(row.probability - p) / row.standard_error for row, p in rows if 0.005 < p < 0.995])


def rows_and_columns(beta):
    """A grid of four by four: leaves are alike in a row, and as much so in a column, so there are two best answers."""
    row, column = np.divmod(np.arange(16), 4)
    similarity = 1.0 * (row[:, None] == row) + 1.0 * (column[:, None] == column)
    np.fill_diagonal(similarity, 0.0)
    return pal.models.Dasgupta(similarity, beta=beta)
