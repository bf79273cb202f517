import re

import numpy as np
import pytest
from hypothesis import given
from random_hierarchies import any_text, hierarchies
from scipy.cluster import hierarchy as sch
from scipy.spatial.distance import squareform

from palmette.hierarchy import Hierarchy
from palmette.interop import from_linkage, to_linkage
from palmette.partition import Partition

METHODS = ["single", "complete", "average", "ward", "centroid", "median"]


def random_linkage(n, method, seed):
    return sch.linkage(np.random.default_rng(seed).normal(size=(n, 3)), method)


@pytest.mark.parametrize("method", METHODS[:4])
@pytest.mark.parametrize("n", [2, 3, 30])
def test_monotone_linkages_round_trip_exactly(n, method):
    Z = random_linkage(n, method, n)
    assert np.array_equal(to_linkage(from_linkage(Z)), Z)


@pytest.mark.parametrize("method", METHODS)
def test_the_leaf_order_is_that_of_scipy(method):
    Z = random_linkage(40, method, 1)
    assert from_linkage(Z).leaf_order.tolist() == sch.leaves_list(Z).tolist()


@pytest.mark.parametrize("method", METHODS)
def test_cophenetic_heights_are_those_of_scipy(method):
    Z = random_linkage(40, method, 2)
    assert np.array_equal(from_linkage(Z).cophenetic(), squareform(sch.cophenet(Z)))


@pytest.mark.parametrize("method", METHODS)
def test_cuts_are_those_of_scipy(method):
    Z = random_linkage(40, method, 3)
    h = from_linkage(Z)
    raised = to_linkage(h)[:, 2]
    for k in range(1, 41):
        expected = Partition(sch.fcluster(Z, k, "maxclust"))
        if expected.n_clusters == k:  # where an inversion is repaired heights tie, and SciPy skips k
            assert h.cut(k) == expected
        else:
            assert len(np.unique(raised)) < len(raised)


@pytest.mark.parametrize("method", METHODS)
def test_cuts_at_a_height_are_those_of_scipy(method):
    Z = random_linkage(40, method, 4)
    h = from_linkage(Z)
    for height in [0.0, *Z[::5, 2], *(Z[::5, 2] + 1e-9), 100.0]:
        assert h.cut_height(height) == Partition(sch.fcluster(Z, height, "distance"))


@given(hierarchies(binary=True, labels=any_text, heights=True))
def test_every_binary_hierarchy_becomes_a_linkage_that_scipy_accepts(h):
    Z = to_linkage(h)
    assert Hierarchy.from_linkage(Z, h.labels) == h
    if h.n_leaves > 1:
        assert sch.is_valid_linkage(Z, throw=True)
        assert sch.is_monotonic(Z)
        assert (np.diff(Z[:, 2]) >= 0).all()
        assert sch.leaves_list(Z).tolist() == h.leaf_order.tolist()
        sch.dendrogram(Z, no_plot=True)


@given(hierarchies(binary=True, heights=True))
def test_each_merge_is_written_with_the_largest_height_at_or_below_it(h):
    heights = dict(zip(h.clusters(), h.heights, strict=True))
    again = from_linkage(to_linkage(h))
    for cluster, written in zip(again.clusters()[h.n_leaves :], again.heights[h.n_leaves :], strict=True):
        below = [height for c, height in heights.items() if c <= cluster and len(c) > 1]
        assert written == max(0, *below)


def test_a_linkage_without_heights_counts_levels():
    Z = to_linkage(Hierarchy.from_newick("((a,b),(c,(d,e)));"))
    assert Z[:, 2].tolist() == [1, 1, 2, 3]
    assert sch.is_valid_linkage(Z)


def test_labels_are_taken():
    assert from_linkage([[0, 1, 1.0, 2]], ["a", "b"]).labels == ("a", "b")


@pytest.mark.parametrize(
    ("Z", "message"),
    [
        ([[0, 1, 1.0]], "a linkage has shape (n - 1, 4): child, child, height, size; this has (1, 3)"),
        ([0, 1, 1.0, 2], "this has (4,)"),
        ([[0, 1, np.nan, 2]], "row 0 of the linkage is [0.0, 1.0, nan, 2.0]; all entries must be finite"),
        ([[0, 1, 1, 2], [0.5, 3, 1, 3]], "row 1 of the linkage joins [0.5, 3.0]; node numbers are whole"),
        ([[0, 1, 1, 3]], "row 0 of the linkage says that its cluster has 3 leaves, but it has 2"),
        ([[0, 2, 1, 2]], "row 0 of children is [0, 2], but it makes node 2"),
        ([[0, 1e300, 1, 2]], "may only join nodes 0 to 1"),
        ([[0, -1e300, 1, 2]], "may only join nodes 0 to 1"),
        ([[0, 1, 1, 2], [0, 2, 1, 3]], "node 0 is merged 2 times"),
    ],
)
def test_what_is_no_linkage_is_refused(Z, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        from_linkage(Z)


def test_a_linkage_of_words_is_refused():
    with pytest.raises(TypeError, match="an array of numbers with four columns"):
        from_linkage([["a", "b", "c", "d"]])


def test_a_multifurcating_hierarchy_has_no_linkage():
    with pytest.raises(ValueError, match="needs a binary hierarchy, but node 3 has 3 children"):
        to_linkage(Hierarchy.from_newick("(a,b,c);"))
