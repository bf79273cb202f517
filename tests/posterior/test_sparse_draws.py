"""Draws from a sparse trellis: exact frequencies, hierarchies of the trellis, the same for the same seed."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from oracle import Oracle, clusters_of, members, sum_of_squares
from scipy.stats import chisquare
from sparse_cases import complete, some_hierarchies

from palmette import Draws, Hierarchy, HierarchyPosterior, SparseTrellis
from palmette.models import SumOfSquares, Uniform


def large_clusters(clusters):
    return frozenset(c for c in clusters if c & (c - 1))


def assert_exact_frequencies(draws, expected):
    size = len(draws)
    found = Counter(frozenset(row) for row in draws.masks.tolist())
    assert all(expected.get(h, 0.0) > 0 for h in found)
    common = [h for h, p in expected.items() if p * size >= 5]
    observed, wanted = np.array([found[h] for h in common]), size * np.array([expected[h] for h in common])
    rest = size - wanted.sum()
    if rest > 1e-6:
        observed, wanted = np.append(observed, size - observed.sum()), np.append(wanted, rest)
    assert chisquare(observed, wanted * observed.sum() / wanted.sum()).pvalue > 1e-3


@pytest.mark.parametrize("trellis", ["all clusters", "observed", "closed"])
def test_draws_have_the_exact_frequencies(trellis):
    x = np.random.default_rng(1).normal(size=(5, 2))
    sample = some_hierarchies(5, 6, seed=2)
    closed = trellis == "closed"
    on = complete(5) if trellis == "all clusters" else SparseTrellis.from_hierarchies(sample, closed=closed)
    splits = {(on.masks[left], on.masks[right]) for left, right in zip(on.left, on.right, strict=True)}
    oracle = Oracle(5, sum_of_squares(x, 0.3))
    inside = {h: p for h, p in zip(oracle.hierarchies, oracle.p, strict=True) if h <= splits}
    assert len(inside) == on.count > 5
    expected = {large_clusters(clusters_of(h, 5)): p / sum(inside.values()) for h, p in inside.items()}
    assert_exact_frequencies(HierarchyPosterior(SumOfSquares(x, 0.3), trellis=on).sample(20_000, rng=4), expected)


@pytest.fixture(scope="module")
def sampled():
    labels = ["ant", "bee", "cat", "dog", "eel", "fox"]
    sample = [Hierarchy.from_parents(h.parents, labels) for h in some_hierarchies(6, 6, seed=11)]
    model = SumOfSquares(np.random.default_rng(2).normal(size=(6, 2)), 0.2, labels=labels)
    post = HierarchyPosterior(model, trellis=SparseTrellis.from_hierarchies(sample))
    return post, post.sample(400, rng=3)


def test_draws_are_hierarchies_of_the_trellis(sampled):
    post, draws = sampled
    trellis = post.trellis
    assert len(draws) == len(list(draws)) == 400
    assert draws.splits.shape == draws.masks.shape == (400, 5)
    for h, splits, masks in zip(draws, draws.splits, draws.masks.tolist(), strict=True):
        assert h.labels == post.labels
        assert trellis.holds(h)
        assert sorted(trellis.find_hierarchy(h)) == splits.tolist()
        assert masks == sorted(m for m in h.cluster_masks().tolist() if m & (m - 1))
    np.testing.assert_allclose(draws.log_probs, [post.log_prob(h) for h in draws], atol=1e-12)
    for array in (draws.splits, draws.log_probs):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_draws_answer_by_shares(sampled):
    post, draws = sampled
    assert dict(draws.counts()) == Counter(draws)
    counts = [count for _, count in draws.counts()]
    assert counts == sorted(counts, reverse=True)
    found = Counter(itertools.chain(*(h.clusters() for h in draws)))
    for mask in range(1, 1 << 6):
        cluster = frozenset(members(mask))
        assert draws.cluster_probability(cluster) == pytest.approx(found[cluster] / 400)
    rows = draws.cluster_probabilities(0.05)
    shares = [row.probability for row in rows]
    assert shares == sorted(shares, reverse=True)
    assert min(shares) >= 0.05
    assert all(draws.cluster_probability(row.members) == row.probability and 1 < row.size < 6 for row in rows)
    assert set(draws.consensus().clusters()) == {c for c, count in found.items() if count > 200}
    assert draws.map() == post.map()
    assert draws.cluster_probability(["fox"]) == 1.0


def test_a_slice_of_draws_is_draws(sampled):
    _, draws = sampled
    part = draws[10:50:2]
    assert isinstance(part, Draws)
    assert list(part) == list(draws)[10:50:2]
    np.testing.assert_array_equal(part.splits, draws.splits[10:50:2])
    assert draws[-1] == draws[399]
    with pytest.raises(IndexError):
        draws[400]
    with pytest.raises(ValueError, match="there are no draws"):
        draws[:0].consensus()
    with pytest.raises(ValueError, match="full trellis, which does not number its splits"):
        _ = HierarchyPosterior(Uniform(3)).sample(1, rng=0).splits


def test_draws_depend_on_their_seed_and_number_only():
    n = 40
    model = SumOfSquares(np.random.default_rng(0).normal(size=(n, 2)), 0.05)
    trellis = SparseTrellis.from_hierarchies(some_hierarchies(n, 10, seed=0), closed=True)
    posts = [HierarchyPosterior(model, trellis=trellis, threads=threads) for threads in (1, 2, 3)]
    one, *others = (post.sample(3000, rng=11) for post in posts)
    assert len(np.unique(one.splits, axis=0)) > 10
    for other in others:
        np.testing.assert_array_equal(one.splits, other.splits)
        np.testing.assert_array_equal(one.log_probs, other.log_probs)
    np.testing.assert_array_equal(posts[1].sample(100, rng=11).splits, one.splits[:100])
    np.testing.assert_array_equal(posts[0].sample(9, rng=np.random.default_rng(11)).splits, one.splits[:9])
    assert not np.array_equal(posts[0].sample(100, rng=12).splits, one.splits[:100])
