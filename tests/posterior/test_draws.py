"""What draws of hierarchies and draws of partitions have in common."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from partition_cases import affinities

from palmette import Draws, HierarchyPosterior, PartitionDraws, PartitionPosterior
from palmette.models import CorrelationClusters, SumOfSquares

NAMES = ["ant", "bee", "cat", "dog", "eel"]


def hierarchies():
    points = np.random.default_rng(2).normal(size=(5, 2))
    return HierarchyPosterior(SumOfSquares(points, 1.0, labels=NAMES)), Draws, "masks"


def partitions():
    return (
        PartitionPosterior(CorrelationClusters(affinities(5, seed=2), 1.0, labels=NAMES)),
        PartitionDraws,
        "memberships",
    )


@pytest.fixture(scope="module", params=[hierarchies, partitions])
def drawn(request):
    post, kind, rows = request.param()
    return post, post.sample(400, rng=3), kind, rows


def test_draws_are_a_sequence(drawn):
    post, draws, kind, _ = drawn
    assert isinstance(draws, kind)
    assert len(draws) == len(list(draws)) == 400
    assert draws.labels == draws[0].labels == post.labels
    assert draws[-1] == draws[399] == list(draws)[-1]
    assert draws[np.int64(3)] == draws[3]
    assert draws[0] in draws
    with pytest.raises(IndexError):
        draws[400]


def test_a_slice_of_draws_is_draws(drawn):
    _, draws, kind, _ = drawn
    part = draws[10:50:2]
    assert isinstance(part, kind)
    assert len(part) == 20
    assert list(part) == list(draws)[10:50:2]
    np.testing.assert_array_equal(part.log_probs, draws.log_probs[10:50:2])


def test_draws_cannot_be_changed(drawn):
    _, draws, _, rows = drawn
    for array in (getattr(draws, rows), draws.log_probs):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_log_probs_are_those_of_the_posterior(drawn):
    post, draws, _, _ = drawn
    np.testing.assert_allclose(draws.log_probs, [post.log_prob(draw) for draw in draws], rtol=1e-12, atol=1e-12)
    assert draws.log_probs.max() <= 0.0


def test_counts_are_those_of_the_items(drawn):
    _, draws, _, _ = drawn
    expected = Counter(draws)
    found = draws.counts()
    assert dict(found) == expected
    assert [count for _, count in found] == sorted(expected.values(), reverse=True)


@pytest.mark.parametrize("size", [-1, 2.0, True, "3", None])
def test_a_size_that_is_no_count_is_refused(drawn, size):
    problem = ValueError if size == -1 else TypeError
    with pytest.raises(problem, match=r"size (must be an integer, not|is -1; it must be at least 0)"):
        drawn[0].sample(size)
