"""Every measure against its definition, read off lists of clusters, pair by pair."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_hierarchies import any_text, caterpillar, hierarchies, labelled_clusters, random_merges
from scipy.sparse import coo_array, csr_matrix

from palmette import Hierarchy
from palmette.evaluate import (
    dasgupta_cost,
    dendrogram_purity,
    leave_one_out_accuracy,
    robinson_foulds,
    shared_clusters,
    subtree_score,
)
from palmette.models import Dasgupta

# merges, classes, purity by leaves, purity by pairs, subtree score, leave-one-out by majority, by fraction
WORKED = [
    ([[0, 1], [2, 3], [6, 7], [4, 5], [8, 9]], [0, 0, 0, 1, 1, 1], 3 / 4, 3 / 4, 1 / 2, 2 / 3, 2 / 3),
    ([[0, 5], [1, 4], [2, 3], [6, 7], [8, 9]], list("aabbcc"), 2 / 3, 2 / 3, 1 / 3, 1 / 3, 1 / 3),
    ([[0, 1], [4, 2], [5, 3]], list("abab"), 7 / 12, 7 / 12, 0, 1 / 8, 5 / 24),
    ([[0, 1], [2, 3], [4, 5], [7, 8], [6, 9]], list("xxyyyy"), 1, 1, 1, 1, 1),
    (
        [[0, 1], [3, 4], [5, 2], [6, 7]],
        list("xxyyy"),
        (2 + 3 * (1 + 6 / 5) / 3) / 5,
        (2 + 6 / 5) / 4,
        2 / 3,
        4 / 5,
        4 / 5,
    ),
]


# The definitions.


def lowest(clusters, *leaves):
    """The smallest of some clusters that holds these leaves."""
    return min((c for c in clusters if c.issuperset(leaves)), key=len)


def annotated_clusters(h, classes):
    """The clusters that are left when leaves without a class are cut off."""
    return {frozenset(i for i in c if classes[i] is not None) for c in h.clusters()} - {frozenset()}


def slow_dasgupta(h, w):
    clusters = h.clusters()
    return sum(w[i][j] * len(lowest(clusters, i, j)) for i, j in itertools.combinations(range(h.n_leaves), 2))


def slow_robinson_foulds(one, other):
    return len(labelled_clusters(one) ^ labelled_clusters(other))


def slow_purity(h, classes, weighting):
    clusters = annotated_clusters(h, classes)
    by_leaf = []
    for i, own in enumerate(classes):
        partners = [j for j, c in enumerate(classes) if c == own and j != i and own is not None]
        shares = []
        for j in partners:
            below = lowest(clusters, i, j)
            shares.append(sum(classes[x] == own for x in below) / len(below))
        if shares:
            by_leaf.append(shares)
    return np.mean([np.mean(s) for s in by_leaf]) if weighting == "leaf" else np.mean(np.concatenate(by_leaf))


def slow_subtree_score(h, classes):
    clusters = annotated_clusters(h, classes)
    merges = 0
    for cluster in clusters:
        if len({classes[i] for i in cluster}) == 1:
            inside = [c for c in clusters if c < cluster]
            parts = [c for c in inside if not any(c < d for d in inside)]
            merges += max(len(parts) - 1, 0)
    known = [c for c in classes if c is not None]
    return merges / (len(known) - len(set(known)))


def slow_leave_one_out(h, classes, rule):
    clusters = [c for c in annotated_clusters(h, classes) if len(c) > 1]
    credits = []
    for i, own in enumerate(classes):
        if own is not None:
            votes = Counter(classes[j] for j in lowest(clusters, i) if j != i)
            top = [name for name, count in votes.items() if count == max(votes.values())]
            share = votes[own] / votes.total()
            credits.append(share if rule == "fraction" else (own in top) / len(top))
    return np.mean(credits)


@st.composite
def annotated(draw, names=("x", "y", "z", None)):
    """A hierarchy, and classes of which at least one has two leaves."""
    h = draw(hierarchies(max_leaves=10).filter(lambda h: h.n_leaves >= 2))
    classes = draw(st.lists(st.sampled_from(names), min_size=h.n_leaves, max_size=h.n_leaves))
    i, j = draw(st.permutations(range(h.n_leaves)))[:2]
    classes[i] = classes[j] = names[0]
    return h, classes


@st.composite
def two_over_the_same_leaves(draw):
    one = draw(hierarchies(labels=any_text))
    n, labels = one.n_leaves, draw(st.permutations(one.labels))
    other = draw(hierarchies(max_leaves=n).filter(lambda h: h.n_leaves == n)) if n < 4 else None
    if other is None:
        clusters = draw(st.lists(st.sampled_from(one.clusters()), max_size=2 * n))  # some of them shared
        other = Hierarchy.from_clusters(clusters, one.labels)
        if draw(st.booleans()):
            moved = draw(st.permutations(range(n))) if draw(st.booleans()) else [1, 0, *range(2, n)]
            other = Hierarchy.from_clusters([{moved[i] for i in c} for c in other.clusters()], one.labels)
        return one, other.aligned_to(labels)
    return one, Hierarchy.from_clusters(other.clusters(), labels)


def random_similarity(n, seed=0):
    half = np.random.default_rng(seed).normal(size=(n, n))
    return half + half.T


# Dasgupta's cost


@given(hierarchies())
def test_dasguptas_cost_is_the_sum_over_pairs(h):
    w = random_similarity(h.n_leaves)
    assert dasgupta_cost(h, w) == pytest.approx(slow_dasgupta(h, w), abs=1e-9)


@given(hierarchies(binary=True))
def test_dasguptas_cost_is_minus_the_log_potential_of_the_model(h):
    w = random_similarity(h.n_leaves, 1)
    assert dasgupta_cost(h, w) == pytest.approx(-Dasgupta(w, labels=h.labels).log_potential(h), abs=1e-9)


@given(hierarchies(labels=any_text), st.randoms(use_true_random=False))
def test_rows_of_the_similarity_are_found_by_label(h, random):
    w = random_similarity(h.n_leaves, 2)
    rows = list(range(h.n_leaves))
    random.shuffle(rows)
    names = [h.labels[i] for i in rows]
    assert dasgupta_cost(h, w[np.ix_(rows, rows)], labels=names) == pytest.approx(dasgupta_cost(h, w), abs=1e-9)


@given(hierarchies(binary=True))
def test_a_clique_costs_the_same_on_every_binary_hierarchy(h):
    n = h.n_leaves
    assert dasgupta_cost(h, np.ones((n, n))) == (n**3 - n) / 3


def test_a_thousand_leaves_cost_what_the_matrix_of_ancestors_says():
    rng = np.random.default_rng(3)
    w = random_similarity(1000, 3)
    for h in (Hierarchy.from_merges(random_merges(1000, rng)), caterpillar(1000)):
        expected = np.triu(w * h.lca_size(), 1).sum()
        assert dasgupta_cost(h, w) == pytest.approx(expected, rel=1e-10)


@given(hierarchies(labels=any_text), st.randoms(use_true_random=False))
def test_a_sparse_similarity_costs_the_same(h, random):
    w = random_similarity(h.n_leaves, 4) * (random_similarity(h.n_leaves, 5) > 0.5)
    rows = list(range(h.n_leaves))
    random.shuffle(rows)
    names = [h.labels[i] for i in rows]
    for kind in (coo_array, csr_matrix):
        assert dasgupta_cost(h, kind(w)) == pytest.approx(dasgupta_cost(h, w), abs=1e-9)
        shuffled = kind(w[np.ix_(rows, rows)])
        assert dasgupta_cost(h, shuffled, labels=names) == pytest.approx(dasgupta_cost(h, w), abs=1e-9)


def test_one_leaf_costs_nothing():
    assert dasgupta_cost(Hierarchy.from_nested("a"), coo_array([[7.0]])) == 0.0
    assert dasgupta_cost(Hierarchy.from_nested("a"), [[7.0]]) == 0.0


def test_a_similarity_of_another_size_is_refused():
    h = Hierarchy.from_newick("((a,b),c);")
    with pytest.raises(ValueError, match="2 rows, but the hierarchy has 3 leaves"):
        dasgupta_cost(h, np.ones((2, 2)))
    with pytest.raises(ValueError, match="not among them: 'd'"):
        dasgupta_cost(h, np.ones((3, 3)), labels=["a", "b", "d"])
    with pytest.raises(ValueError, match="not symmetric"):
        dasgupta_cost(h, np.triu(np.ones((3, 3)), 1))
    with pytest.raises(ValueError, match="similarity is too large"):
        dasgupta_cost(h, np.full((3, 3), 1e300))
    with pytest.raises(ValueError, match="2 rows, but the hierarchy has 3 leaves"):
        dasgupta_cost(h, coo_array(np.ones((2, 2))))
    with pytest.raises(ValueError, match=r"give w \+ w.T"):
        dasgupta_cost(h, coo_array(np.triu(np.ones((3, 3)), 1)))
    with pytest.raises(ValueError, match="NaN or infinite"):
        dasgupta_cost(h, coo_array(np.full((3, 3), np.nan)))
    with pytest.raises(ValueError, match=r"shape \(2, 3\)"):
        dasgupta_cost(h, coo_array(np.ones((2, 3))))


# Robinson–Foulds


@given(two_over_the_same_leaves())
def test_robinson_foulds_counts_the_clusters_that_only_one_has(pair):
    one, other = pair
    distance = slow_robinson_foulds(one, other)
    assert robinson_foulds(one, other) == robinson_foulds(other, one) == distance
    most = sum(max(h.n_nodes - h.n_leaves - 1, 0) for h in pair)
    assert robinson_foulds(one, other, normalized=True) == (distance / most if most else 0.0)


@given(two_over_the_same_leaves())
def test_shared_clusters_are_those_in_both_lists(pair):
    one, other = pair
    found = shared_clusters(one, other)
    expected = {c for c in labelled_clusters(one) & labelled_clusters(other) if 1 < len(c) < one.n_leaves}
    assert len(found) == len(set(found))
    assert set(found) == expected == set(shared_clusters(other, one))
    assert all(not later < earlier for earlier, later in itertools.combinations(found, 2))


@given(hierarchies(labels=any_text), st.randoms(use_true_random=False))
def test_a_renumbered_hierarchy_is_at_distance_zero(h, random):
    names = list(h.labels)
    random.shuffle(names)
    assert robinson_foulds(h, h.aligned_to(names)) == 0
    assert robinson_foulds(h, h.aligned_to(names), normalized=True) == 0.0


def test_hierarchies_without_a_common_cluster_are_at_distance_one():
    one, other = Hierarchy.from_newick("((a,b),(c,d));"), Hierarchy.from_newick("((a,c),(b,d));")
    assert robinson_foulds(one, other) == 4
    assert robinson_foulds(one, other, normalized=True) == 1.0
    assert isinstance(robinson_foulds(one, one), int)
    assert isinstance(robinson_foulds(one, one, normalized=True), float)


def test_many_leaves_are_compared_exactly():
    rng = np.random.default_rng(4)
    n = 1500
    one = Hierarchy.from_merges(random_merges(n, rng))
    swapped = np.arange(n)
    swapped[:2] = 1, 0
    other = Hierarchy.from_clusters([{int(swapped[i]) for i in c} for c in one.clusters()], n=n)
    assert robinson_foulds(one, other) == slow_robinson_foulds(one, other) > 0
    deep = caterpillar(n)
    assert robinson_foulds(deep, deep.aligned_to(deep.labels[::-1])) == 0
    assert robinson_foulds(deep, one) == slow_robinson_foulds(deep, one)


def test_hierarchies_over_other_leaves_are_refused():
    with pytest.raises(ValueError, match="missing: 'c'; not among them: 'd'"):
        robinson_foulds(Hierarchy.from_newick("((a,b),c);"), Hierarchy.from_newick("((a,b),d);"))
    with pytest.raises(TypeError, match="expected a Hierarchy, not 'x'"):
        robinson_foulds(Hierarchy.from_newick("((a,b),c);"), "x")


# Classes


@given(annotated())
def test_purity_is_the_mean_over_pairs_of_one_class(case):
    h, classes = case
    for weighting in ("leaf", "pair"):
        expected = slow_purity(h, classes, weighting)
        assert dendrogram_purity(h, classes, weighting) == pytest.approx(expected, rel=1e-12)


@given(annotated())
def test_subtree_score_counts_the_merges_inside_classes(case):
    h, classes = case
    assert subtree_score(h, classes) == pytest.approx(slow_subtree_score(h, classes), rel=1e-12)


@given(annotated(names=("x", "y", "z", "u", None)))
def test_leave_one_out_asks_the_nearest_leaves(case):
    h, classes = case
    for rule in ("majority", "fraction"):
        expected = slow_leave_one_out(h, classes, rule)
        assert leave_one_out_accuracy(h, classes, rule) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("merges", "classes", "leaf", "pair", "subtree", "majority", "fraction"), WORKED)
def test_worked_examples(merges, classes, leaf, pair, subtree, majority, fraction):
    h = Hierarchy.from_merges(merges)
    assert dendrogram_purity(h, classes) == dendrogram_purity(h, classes, "leaf") == pytest.approx(leaf, rel=1e-14)
    assert dendrogram_purity(h, classes, "pair") == pytest.approx(pair, rel=1e-14)
    assert subtree_score(h, classes) == pytest.approx(subtree, rel=1e-14)
    assert leave_one_out_accuracy(h, classes) == pytest.approx(majority, rel=1e-14)
    assert leave_one_out_accuracy(h, classes, "fraction") == pytest.approx(fraction, rel=1e-14)


@given(annotated())
def test_only_hierarchies_with_every_class_as_a_cluster_are_perfect(case):
    h, classes = case
    members = {c: frozenset(i for i, own in enumerate(classes) if own == c) for c in classes if c is not None}
    perfect = set(members.values()) <= annotated_clusters(h, classes)
    assert (dendrogram_purity(h, classes) == 1.0) == perfect
    assert (dendrogram_purity(h, classes, "pair") == 1.0) == perfect
    assert (subtree_score(h, classes) == 1.0) == perfect


@given(annotated())
def test_leaves_without_a_class_are_as_good_as_cut_off(case):
    h, classes = case
    kept = sorted(i for i, c in enumerate(classes) if c is not None)
    clusters = [{kept.index(i) for i in c} for c in annotated_clusters(h, classes)]
    pruned = Hierarchy.from_clusters(clusters, n=len(kept))
    known = [classes[i] for i in kept]
    for measure in (dendrogram_purity, subtree_score, leave_one_out_accuracy):
        assert measure(pruned, known) == pytest.approx(measure(h, classes), rel=1e-12)


@given(annotated(), st.randoms(use_true_random=False))
def test_classes_are_found_by_label(case, random):
    h, classes = case
    rows = list(range(h.n_leaves))
    random.shuffle(rows)
    shuffled, names = [classes[i] for i in rows], [h.labels[i] for i in rows]
    for measure in (dendrogram_purity, subtree_score, leave_one_out_accuracy):
        assert measure(h, shuffled, labels=names) == measure(h, classes)


def test_classes_may_be_written_in_many_ways():
    h = Hierarchy.from_newick("((a,b),((c,d),e));")
    expected = dendrogram_purity(h, ["1", "2", "2", "1", None])
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"class": [1, 2, 2, 1, None]})
    for classes in (
        [1, 2, 2, 1, None],
        np.array([1.0, 2.0, 2.0, 1.0, np.nan]),
        np.array(["1", "2", "2", "1", ""]),
        ("1", "2", "2", "1", " "),
        table["class"],
        table["class"].astype("Int64"),
        table["class"].astype("category"),
        np.ma.array([1, 2, 2, 1, 2], mask=[0, 0, 0, 0, 1]),
        iter([True, False, False, True, None]),
    ):
        assert dendrogram_purity(h, classes) == expected


def test_tens_of_thousands_of_leaves_in_thousands_of_classes():
    n, rng = 20_000, np.random.default_rng(5)
    blocks = np.repeat(np.arange(n // 4), 4)  # a caterpillar: block b begins at leaf 4b
    purities = dendrogram_purity(caterpillar(n), blocks)
    shares = [np.mean([min(4, j + 1) / (4 * b + j + 1) for j in (1, 2, 2, 3, 3, 3)]) for b in range(n // 4)]
    assert purities == pytest.approx(np.mean(shares), rel=1e-10)
    classes = rng.integers(3, size=n)
    found = dendrogram_purity(caterpillar(n), classes, "pair")
    places = [np.flatnonzero(classes == c) for c in range(3)]
    # In a caterpillar the pair of the class's members number i < j meets in the cluster of the first j leaves.
    total = sum((j * (j + 1) / (p[j] + 1)) for p in places for j in range(1, len(p)))
    assert found == pytest.approx(total / sum(len(p) * (len(p) - 1) / 2 for p in places), rel=1e-10)


@pytest.mark.parametrize("measure", [dendrogram_purity, subtree_score, leave_one_out_accuracy])
def test_classes_that_say_nothing_are_refused(measure):
    h = Hierarchy.from_newick("((a,b),c);")
    with pytest.raises(ValueError, match="2 classes were given for 3 leaves"):
        measure(h, ["x", "x"])
    with pytest.raises(ValueError, match="two"):
        measure(h, ["x", None, ""])
    with pytest.raises(ValueError, match="two"):
        measure(h, [None, None, None])
    with pytest.raises(TypeError, match="one class per leaf, not a str"):
        measure(h, "xxy")
    with pytest.raises(TypeError, match="one class per leaf, not a dict"):
        measure(h, {"a": "x", "b": "x", "c": "y"})
    with pytest.raises(TypeError, match=r"class 1 is 0\.5"):
        measure(h, [1, 0.5, 1])
    with pytest.raises(TypeError, match="class 0 is array"):
        measure(h, np.eye(3))
    with pytest.raises(TypeError, match="class 2 is inf"):
        measure(h, [1, 1, np.inf])
    with pytest.raises(TypeError, match="strings and integers"):
        measure(h, [1, "1", 1])
    with pytest.raises(TypeError, match="expected a Hierarchy"):
        measure("((a,b),c);", ["x", "x", "y"])
    with pytest.raises(ValueError, match="missing: 'c'"):
        measure(h, ["x", "x", "y"], labels=["a", "b", "d"])


def test_classes_of_one_leaf_each_have_no_purity_but_can_be_foretold_wrongly():
    h = Hierarchy.from_newick("((a,b),c);")
    with pytest.raises(ValueError, match="no two leaves have the same class"):
        dendrogram_purity(h, ["x", "y", "z"])
    with pytest.raises(ValueError, match="no two leaves have the same class"):
        subtree_score(h, ["x", "y", "z"])
    assert leave_one_out_accuracy(h, ["x", "y", "z"]) == 0.0


def test_options_that_do_not_exist_are_refused():
    h = Hierarchy.from_newick("((a,b),c);")
    with pytest.raises(ValueError, match="weighting is 'class'; give one of 'leaf', 'pair'"):
        dendrogram_purity(h, ["x", "x", "y"], weighting="class")
    with pytest.raises(ValueError, match="rule is 'best'"):
        leave_one_out_accuracy(h, ["x", "x", "y"], rule="best")
