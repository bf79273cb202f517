"""Smoothed estimates: right for every tiling, without bias over all of them, and nearer to the truth than shares."""

import numpy as np
import pytest
from move_twin import tilings
from oracle import Oracle, dasgupta, sum_of_squares
from sampling_cases import EXACT, MODEL

import palmette as pal
from palmette.hierarchy.arrays import cluster_bits
from palmette.hierarchy.masks import hierarchy_of_masks
from palmette.passes.hierarchies.conditions import HierarchyConditions
from palmette.sampling import sample_hierarchies
from palmette.sampling.hierarchies.conditioned import conditioned
from palmette.sampling.hierarchies.tilings import smooth
from palmette.trellis.bit_sets import as_words

N = 6
RNG = np.random.default_rng(6)
POINTS = RNG.normal(size=(N, 2))
SIMILARITY = pal.similarity.of_points(POINTS)
MASKS = [mask for mask in range(1, (1 << N) - 1) if mask & (mask - 1)]


def problems():
    yield "dasgupta", pal.models.Dasgupta(SIMILARITY, 2.0), Oracle(N, dasgupta(SIMILARITY, 2.0))
    model = pal.models.SumOfSquares(POINTS, beta=1.5)
    conditions = HierarchyConditions(model.labels).and_also([], [[0, 2], [1, 4]])
    admits = lambda clusters: not {0b000101, 0b010010} & clusters  # noqa: E731
    yield "squares, with conditions", conditioned(model, conditions), Oracle(N, sum_of_squares(POINTS, 1.5), admits)


PROBLEMS = {name: (model, oracle) for name, model, oracle in problems()}


def given(oracle, kept):
    """(k,): the probability of every mask among the hierarchies that have these clusters."""
    weight = np.array([p if kept <= clusters else 0.0 for clusters, p in zip(oracle.clusters, oracle.p, strict=True)])
    return np.array([weight[[mask in c for c in oracle.clusters]].sum() for mask in MASKS]) / weight.sum()


@pytest.mark.parametrize("most", [3, 4])
def test_a_tiling_says_nothing_about_what_is_free(most):
    every: dict = {}
    for tree in PROBLEMS["dasgupta"][1].clusters[::3]:
        law = tilings(tree, N, most)
        assert sum(law.values()) == pytest.approx(1.0)
        for kept, q in law.items():
            assert every.setdefault(kept, q) == pytest.approx(q)  # by whatever arrangement: so there is no bias


@pytest.mark.parametrize("name", PROBLEMS)
def test_every_draw_is_smoothed_by_one_of_its_tilings(name):
    model, oracle = PROBLEMS[name]
    tree, tries = oracle.clusters[int(np.argsort(-oracle.p)[1])], 2000
    parents = hierarchy_of_masks(tree, model.labels).parents.astype(np.int32)
    assert frozenset(cluster_bits(parents, range(N))) == tree
    rows = np.broadcast_to(parents, (1, tries, 2 * N - 1)).copy()
    found = smooth(model, rows, as_words(MASKS, N), np.arange(tries + 1), 1, n_stops=3)[0]
    law = tilings(tree, N, 3)
    expected = np.array([given(oracle, kept) for kept in law])
    gaps = np.abs(found[:, None] - expected).max(axis=2)
    assert gaps.min(axis=1).max() < 1e-10
    if len({tuple(np.round(row, 9)) for row in expected}) == len(law):
        shares, p = np.bincount(gaps.argmin(axis=1), minlength=len(law)) / tries, np.array(list(law.values()))
        assert (np.abs(shares - p) < 5.0 * np.sqrt(p * (1.0 - p) / tries)).all()
    whole = smooth(model, rows[:, :1], as_words(MASKS, N), np.array([0, 1]), 1, n_stops=N)[0, 0]
    np.testing.assert_allclose(whole, given(oracle, frozenset()), atol=1e-10)


def test_bins_and_threads_do_not_matter():
    post = sample_hierarchies(MODEL, seconds=None, sweeps=40)
    wanted = as_words([0b11, 0b1101, 0b111], 10)
    one = smooth(MODEL, post._rows, wanted, np.array([0, 7, 30]), 1)
    each = smooth(MODEL, post._rows, wanted, np.arange(31), 2)
    np.testing.assert_allclose(one, np.stack([each[:, :7].mean(axis=1), each[:, 7:].mean(axis=1)], axis=1), rtol=1e-12)


def test_smoothed_probabilities_are_nearer_to_the_truth():
    counted, smoothed, z = [], [], []
    for seed in range(4):
        post = sample_hierarchies(MODEL, seconds=None, sweeps=100, precision=1e-9, rng=seed)
        for row in post.cluster_probabilities(0.02):
            p = EXACT.cluster_probability(row.members)
            seen, mask = post._seen_clusters, sum(1 << int(leaf) for leaf in row.members)
            share = float(seen.share[seen.trellis.find_mask(mask)])
            counted.append((share - p) ** 2)
            smoothed.append((row.probability - p) ** 2)
            z.append((row.probability - p) / row.standard_error)
    assert np.mean(counted) > 1.5 * np.mean(smoothed)
    assert 0.6 < np.sqrt(np.mean(np.square(z))) < 1.4


def test_errors_are_not_too_small_of_what_few_draws_are_without():
    worlds = pal.datasets.load_worlds()
    points = (worlds.points - worlds.points.mean(axis=0)) / worlds.points.std(axis=0)
    model = pal.models.Dasgupta(pal.similarity.of_points(points), 60.0)
    rows = [row for row in pal.HierarchyPosterior(model).cluster_probabilities(0.99) if row.size < 12]
    assert rows
    for seed in range(2):
        post = sample_hierarchies(model, seconds=None, sweeps=400, rng=seed, progress=False)
        for row in rows:
            found = post.cluster_probability(row.members)
            assert abs(float(found) - row.probability) < 4 * found.standard_error
