"""What agglomerative searches make of next to nothing."""

from __future__ import annotations

import numpy as np
import pytest

from palmette import Hierarchy
from palmette.models import SplitFunction, Uniform
from palmette.search import beam, greedy


@pytest.mark.parametrize("search", [greedy, beam])
@pytest.mark.parametrize("n", [1, 2])
def test_one_leaf_and_two_leaves(search, n):
    for model in (Uniform(n), SplitFunction(n, lambda left, right: np.zeros(len(left)))):
        found = search(model)
        assert found.hierarchy.n_leaves == n
        assert found.log_potential == 0.0
        assert found.bound is found.gap is None


@pytest.mark.parametrize("search", [greedy, beam])
def test_a_hierarchy_comes_out_even_if_all_are_forbidden(search):
    found = search(SplitFunction(6, lambda left, right: np.full(len(left), -np.inf)))
    assert found.log_potential == -np.inf
    assert found.hierarchy == Hierarchy.from_nested((((((0, 1), 2), 3), 4), 5))
