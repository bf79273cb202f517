"""Whether samples of trees agree, against frequencies that are counted by hand."""

from __future__ import annotations

import math

import numpy as np
import oracle
import pytest

import palmette as pal
from palmette.evaluate import Agreement
from palmette.hierarchy.masks import hierarchy_of_masks

LABELS = tuple("abcde")
ALL = [
    hierarchy_of_masks([left | right for left, right in splits], LABELS) for splits in oracle.hierarchies_over(0b11111)
]


def test_samples_are_compared_by_the_frequencies_of_clusters():
    one, two = [ALL[i] for i in (3, 17, 40)], [ALL[i] for i in (3, 17, 99)]
    found = pal.evaluate.agreement([one, two])
    shares = [
        {
            c: np.mean([c in set(h.clusters()) for h in sample])
            for h in one + two
            for c in h.clusters()
            if 1 < len(c) < 5
        }
        for sample in (one, two)
    ]
    gaps = {c: abs(shares[0][c] - shares[1][c]) for c in shares[0]}
    assert found.deviation == pytest.approx(np.mean(list(gaps.values())) / math.sqrt(2), abs=1e-6)
    assert found.largest == pytest.approx(max(gaps.values()), abs=1e-6)
    assert pal.evaluate.agreement([one, one]).deviation == 0.0
    with pytest.raises(ValueError, match="two with trees are needed"):
        pal.evaluate.agreement([one])
    with pytest.raises(ValueError, match="all trees of a sample have weight 0"):
        pal.evaluate.agreement([one, pal.interop.read_trees("[&W 0] (a,b);")])


@pytest.mark.parametrize(("deviation", "agree"), [(0.0, True), (0.01, None), (0.049, None), (0.05, False)])
def test_samples_agree_a_hundredth_apart_and_not_from_a_twentieth_on(deviation, agree):
    assert Agreement(deviation, deviation, ("a", "b"), 1).agree is agree
