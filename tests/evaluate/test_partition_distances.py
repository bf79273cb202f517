"""Distances of partitions, against counts of pairs, entropies by hand, and scikit-learn."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from palmette import Partition
from palmette.evaluate import adjusted_rand, variation_of_information

two_memberships = st.integers(1, 12).flatmap(
    lambda n: st.tuples(*[st.lists(st.integers(0, 4), min_size=n, max_size=n)] * 2)
)


def entropy(counts):
    n = sum(counts)
    return -sum(count / n * math.log(count / n) for count in counts if count)


@given(two_memberships)
def test_they_are_their_formulas(memberships):
    one, other = memberships
    n, both = len(one), list(zip(one, other, strict=True))
    joint, first, second = (entropy([given.count(key) for key in set(given)]) for given in (both, one, other))
    p, q = Partition(one), Partition(other)
    assert variation_of_information(p, q) == pytest.approx(2 * joint - first - second, abs=1e-12)
    pairs = list(itertools.combinations(range(n), 2))
    a, b = (sum(given[i] == given[j] for i, j in pairs) for given in (one, other))
    shared = sum(both[i] == both[j] for i, j in pairs)
    expected = a * b / max(len(pairs), 1)
    most = (a + b) / 2
    assert adjusted_rand(p, q) == pytest.approx(1.0 if most == expected else (shared - expected) / (most - expected))
    assert adjusted_rand(p, q) == adjusted_rand(q, p)
    assert adjusted_rand(p, p) == 1.0
    assert variation_of_information(p, p) == 0.0


@given(two_memberships)
def test_scikit_learn_agrees(memberships):
    metrics = pytest.importorskip("sklearn.metrics")
    one, other = memberships
    p, q = Partition(one), Partition(other)
    assert adjusted_rand(p, q) == pytest.approx(metrics.adjusted_rand_score(one, other))
    shared = metrics.mutual_info_score(one, other)
    alone = sum(metrics.mutual_info_score(given, given) for given in (one, other))
    assert variation_of_information(p, q) == pytest.approx(alone - 2 * shared, abs=1e-9)


def test_leaves_are_matched_by_label():
    one = Partition([0, 0, 1, 1, 2], labels=list("abcde"))
    other = one.aligned_to(list("ecadb"))
    assert variation_of_information(one, other) == 0.0
    assert adjusted_rand(one, other) == 1.0
    with pytest.raises(ValueError, match="the labels do not match"):
        adjusted_rand(one, Partition([0, 0, 1, 1, 2]))
    with pytest.raises(TypeError, match=r"expected a palmette.Partition, not \[0, 1\]"):
        variation_of_information(Partition([0, 1]), [0, 1])


def test_many_leaves_overflow_nothing():
    rng, n = np.random.default_rng(0), 200_000  # a product of two numbers of pairs is beyond 2^63
    one = Partition(rng.integers(0, 2, n))
    assert adjusted_rand(one, one) == 1.0
    assert abs(adjusted_rand(one, Partition(rng.integers(0, 2, n)))) < 1e-4
