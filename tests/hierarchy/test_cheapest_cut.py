"""The cheapest cut against all cuts."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_hierarchies import caterpillar, hierarchies

from palmette import Hierarchy


def cuts(h, node):
    """All sets of nodes at or below `node` that hold each of its leaves once."""
    yield [node]
    below = h.links.children_of(node)
    if below:
        for parts in itertools.product(*(list(cuts(h, child)) for child in below)):
            yield [one for part in parts for one in part]


@given(hierarchies(max_leaves=8), st.data())
def test_it_is_the_cheapest_of_all_cuts(h, data):
    costs = np.array(data.draw(st.lists(st.integers(-9, 9), min_size=h.n_nodes, max_size=h.n_nodes)), dtype=float)
    all_cuts = list(cuts(h, h.n_nodes - 1))
    for k in range(1, h.n_leaves + 1):
        those = [costs[nodes].sum() for nodes in all_cuts if len(nodes) == k]
        if not those:
            with pytest.raises(ValueError, match=f"not binary, and no {k} of its clusters"):
                h.cheapest_cut(costs, k)
            continue
        found = h.cheapest_cut(costs, k)
        assert found.n_clusters == k
        assert sum(costs[h.find(cluster)] for cluster in found.clusters()) == min(those)


def test_depth_is_no_concern():
    costs = np.where(np.arange(2999) < 1500, 0.0, 1e6)
    assert np.bincount(caterpillar(3000).cheapest_cut(costs, 1500).membership)[0] == 1501


def test_what_cannot_be_cut_is_refused():
    h = Hierarchy.from_newick("((a,b),c);")
    with pytest.raises(ValueError, match="cannot cut 3 leaves into 4 clusters"):
        h.cheapest_cut([1.0, 2.0], 4)
    with pytest.raises(ValueError, match="costs has shape"):
        h.cheapest_cut([1.0], 2)
    with pytest.raises(ValueError, match="costs must be finite"):
        h.cheapest_cut([1.0, np.nan], 2)
