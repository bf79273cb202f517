"""Smoothed samples: a distribution over all hierarchies, in which nothing is impossible."""

from __future__ import annotations

import math

import numpy as np
import oracle
import pytest
from hypothesis import given
from hypothesis import strategies as st

import palmette as pal
from palmette.hierarchy.masks import hierarchy_of_masks

LABELS = tuple("abcde")
ALL = [
    hierarchy_of_masks([left | right for left, right in splits], LABELS) for splits in oracle.hierarchies_over(0b11111)
]


@given(st.lists(st.integers(0, len(ALL) - 1), min_size=1, max_size=6), st.sampled_from([0.1, 1.0, 7.0]))
def test_probabilities_are_sums_over_all_hierarchies(chosen, concentration):
    law = pal.posterior.smoothed([ALL[i] for i in chosen], concentration=concentration)
    p = np.exp([law.log_prob(h) for h in ALL])
    assert p.sum() == pytest.approx(1.0)
    assert (p > 0.0).all()
    for mask in range(1, 32):
        leaves = [leaf for leaf in range(5) if mask >> leaf & 1]
        exact = sum(share for share, h in zip(p, ALL, strict=True) if frozenset(leaves) in set(h.clusters()))
        assert law.cluster_probability(leaves) == pytest.approx(exact, abs=1e-12)


def test_little_smoothing_is_ccd1_and_much_is_uniform():
    trees = [ALL[i] for i in (3, 3, 17, 40, 62)]
    post = pal.posterior.from_trees(trees)
    almost = pal.posterior.smoothed(trees, concentration=1e-9)
    for h, log_prob in post.best(5):
        assert almost.log_prob(h) == pytest.approx(log_prob, abs=1e-6)
    far = pal.posterior.smoothed(trees, concentration=1e12)
    assert far.log_prob(ALL[0]) == pytest.approx(-math.log(105), abs=1e-6)


def test_kl_between_halves_is_finite_and_zero_for_the_same():
    one, two = [ALL[i] for i in (3, 17, 40)], [ALL[i] for i in (5, 17, 99)]
    post = pal.posterior.from_trees(one)
    assert post.kl(pal.posterior.from_trees(two)) == math.inf
    law = pal.posterior.smoothed(two)
    exact = sum(math.exp(log_prob) * (log_prob - law.log_prob(h)) for h, log_prob in post.best(105))
    assert law.kl_from(post) == pytest.approx(exact)
    assert pal.posterior.smoothed(one, concentration=1e-12).kl_from(post) == pytest.approx(0.0, abs=1e-9)
    with pytest.raises(TypeError, match="expected what from_trees makes"):
        law.kl_from(law)


def test_no_hierarchy_of_many_leaves_is_impossible():
    # Of all hierarchies over n leaves some 2^-n have a given split into halves.
    def halved(leaves):
        half = len(leaves) // 2
        return leaves[0] if half == 0 else (halved(leaves[:half]), halved(leaves[half:]))

    one, other = (pal.Hierarchy.from_nested(halved(np.random.default_rng(seed).permutation(1200))) for seed in (0, 1))
    law = pal.posterior.smoothed([one])
    assert -math.inf < law.log_prob(other) < law.log_prob(one)


def test_draws_have_their_shares():
    law = pal.posterior.smoothed([ALL[i] for i in (3, 3, 17)], concentration=2.0)
    draws = law.sample(2000, rng=0)
    for h in (ALL[3], ALL[17], ALL[50]):
        share = np.mean([draw == h for draw in draws])
        p = math.exp(law.log_prob(h))
        assert abs(share - p) < 4 * math.sqrt(p * (1 - p) / 2000)
