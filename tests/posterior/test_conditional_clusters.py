"""A sample of trees as a distribution: its clusters keep their frequencies, its splits are put together anew."""

from __future__ import annotations

import math
import pickle
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle import clusters_of, hierarchies_over, members
from random_hierarchies import caterpillar, random_merges

import palmette as pal
from palmette import Hierarchy, HierarchyPosterior, ImpossibleData, SparseTrellis
from palmette.interop import read_trees
from palmette.models import SumOfSquares
from palmette.posterior import ConditionalClusters, from_trees


def mask_of(cluster) -> int:
    return sum(1 << leaf for leaf in cluster)


def as_splits(hierarchy) -> frozenset[tuple[int, int]]:
    return frozenset((mask_of(left), mask_of(right)) for left, right in hierarchy.splits())


def as_hierarchy(splits, n) -> Hierarchy:
    names = [str(i) for i in range(n)]
    return Hierarchy.from_splits([(members(left), members(right)) for left, right in splits], names)


def some_trees(n, count, seed):
    """Random ones, most of them with the leaves in a row, so that they share clusters; some come twice."""
    rng = np.random.default_rng(seed)

    def cut(a, b):
        c = int(rng.integers(a + 1, b)) if b - a > 1 else b
        return a if c == b else (cut(a, c), cut(c, b))

    in_a_row = lambda: Hierarchy.from_nested(cut(0, n), [str(i) for i in range(n)])  # noqa: E731
    made = [in_a_row() if rng.random() < 0.8 else Hierarchy.from_merges(random_merges(n, rng)) for _ in range(count)]
    return [made[i] for i in rng.integers(0, count, 2 * count)]


samples = st.builds(some_trees, st.integers(2, 6), st.integers(1, 6), st.integers(0, 2**16))


def frequencies(trees, weights=None):
    """The weight of every cluster, and of every split, as shares of the whole."""
    n = trees[0].n_leaves
    clusters: Counter[int] = Counter()
    splits: Counter[tuple[int, int]] = Counter()
    shares = np.ones(len(trees)) if weights is None else np.asarray(weights, dtype=float)
    for tree, share in zip(trees, shares / shares.sum(), strict=True):
        clusters.update(dict.fromkeys(clusters_of(as_splits(tree), n), share))
        splits.update(dict.fromkeys(as_splits(tree), share))
    return clusters, splits


def observed_probabilities(trees, weights=None):
    """Every hierarchy's Π f(P → L, R) / f(P)."""
    clusters, splits = frequencies(trees, weights)
    share = lambda s: splits[s] / clusters[s[0] | s[1]] if splits[s] else 0.0  # noqa: E731
    return {h: math.prod(map(share, h)) for h in hierarchies_over((1 << trees[0].n_leaves) - 1)}


def closed_weights(trees, weights=None):
    """Every hierarchy's Π f(C)."""
    clusters, _ = frequencies(trees, weights)
    n = trees[0].n_leaves
    return {h: math.prod(clusters[c] for c in clusters_of(h, n)) for h in hierarchies_over((1 << n) - 1)}


def assert_same_distribution(one, other, tolerance=1e-12):
    assert one.log_partition == pytest.approx(other.log_partition, abs=tolerance)
    for mask in range(1, 1 << one.n_leaves):
        expected = other.cluster_probability(members(mask))
        assert one.cluster_probability(members(mask)) == pytest.approx(expected, abs=tolerance)
    assert one.entropy == pytest.approx(other.entropy, abs=10 * tolerance)


# Observed splits.


@given(trees=samples)
def test_every_cluster_keeps_its_frequency(trees):
    post = from_trees(trees)
    clusters, _ = frequencies(trees)
    assert post.log_partition == pytest.approx(0.0, abs=1e-12)
    for mask in range(1, 1 << trees[0].n_leaves):
        assert post.cluster_probability(members(mask)) == pytest.approx(clusters[mask], abs=1e-12)


@given(trees=samples)
def test_the_probability_of_a_tree_is_the_product_of_its_splits(trees):
    post = from_trees(trees)
    n = trees[0].n_leaves
    expected = observed_probabilities(trees)
    assert sum(expected.values()) == pytest.approx(1.0)
    assert post.count == sum(p > 0 for p in expected.values())
    some = sorted(expected.values(), reverse=True)[:10]
    np.testing.assert_allclose([np.exp(p) for _, p in post.best(10)], [p for p in some if p > 0], atol=1e-12)
    for h in list(expected)[:: 1 + len(expected) // 40]:
        assert np.exp(post.log_prob(as_hierarchy(h, n))) == pytest.approx(expected[h], abs=1e-12)
    entropy = -math.fsum(p * math.log(p) for p in expected.values() if p > 0)
    assert post.entropy == pytest.approx(entropy, abs=1e-12)
    assert expected[as_splits(post.map())] == pytest.approx(max(expected.values()))


def test_splits_keep_their_frequencies():
    trees = [Hierarchy.from_newick(text) for text in ["(((a,b),c),d);"] * 2 + ["((a,b),(c,d));"] + ["(((a,c),b),d);"]]
    post = from_trees(trees)
    rows = {(row.left, row.right): row.probability for row in post.split_probabilities(["a", "b", "c"])}
    assert rows == {(("a", "b"), ("c",)): pytest.approx(2 / 3), (("a", "c"), ("b",)): pytest.approx(1 / 3)}
    assert post.subtree_probability(Hierarchy.from_newick("((a,b),c);")) == pytest.approx(0.5)


def test_trees_that_were_not_sampled_are_possible_if_their_splits_were():
    trees = [Hierarchy.from_newick(text) for text in ["(((a,b),c),((d,e),f));", "((a,(b,c)),(d,(e,f)));"]]
    unseen = Hierarchy.from_newick("(((a,b),c),(d,(e,f)));")
    post = from_trees(trees)
    assert post.count == 4
    assert np.exp(post.log_prob(unseen)) == pytest.approx(0.25)
    assert post.log_prob(Hierarchy.from_newick("(((a,c),b),(d,(e,f)));")) == -np.inf
    assert post.rank(unseen).value == 1


@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize("n", [2, 3, 6, 100])
def test_equal_trees_are_certain(n, closed):
    tree = caterpillar(n)
    post = from_trees([tree] * 5, closed=closed)
    assert post.log_partition == pytest.approx(0.0, abs=1e-12)
    assert post.count == 1
    assert post.entropy == 0.0
    assert post.map() == post.consensus() == post.centroid() == tree
    assert post.sample(3, rng=0).counts() == [(tree, 3)]


@pytest.mark.parametrize("closed", [False, True])
def test_one_leaf_is_certain(closed):
    post = from_trees([Hierarchy.from_nested("a")] * 2, closed=closed)
    assert post.log_partition == 0.0
    assert post.count == 1
    assert post.map() == Hierarchy.from_nested("a")


# Closed.


@given(trees=samples)
def test_closed_is_the_product_of_the_frequencies_of_the_clusters(trees):
    post = from_trees(trees, closed=True)
    n = trees[0].n_leaves
    weights = closed_weights(trees)
    total = math.fsum(weights.values())
    assert post.log_partition == pytest.approx(math.log(total), abs=1e-12)
    assert post.count == sum(w > 0 for w in weights.values())
    listed = [(clusters_of(h, n), w) for h, w in weights.items() if w > 0]
    for mask in range(1, 1 << n):
        expected = math.fsum(w for clusters, w in listed if mask in clusters) / total
        assert post.cluster_probability(members(mask)) == pytest.approx(expected, abs=1e-12)
    for h in list(weights)[:: 1 + len(weights) // 40]:
        assert np.exp(post.log_prob(as_hierarchy(h, n))) == pytest.approx(weights[h] / total, abs=1e-12)


@given(trees=samples)
def test_closed_holds_whatever_observed_holds(trees):
    observed, closed = from_trees(trees), from_trees(trees, closed=True)
    assert observed.count <= closed.count
    assert observed.kl(closed) < np.inf
    assert all(closed.log_prob(h) > -np.inf for h, _ in observed.best(20))


# Weights.


@given(trees=samples, seed=st.integers(0, 99), closed=st.booleans())
def test_whole_weights_repeat_trees(trees, seed, closed):
    weights = np.random.default_rng(seed).integers(1, 5, len(trees))
    repeated = [tree for tree, weight in zip(trees, weights, strict=True) for _ in range(weight)]
    assert_same_distribution(from_trees(trees, weights=weights, closed=closed), from_trees(repeated, closed=closed))
    shares = from_trees(trees, weights=1e-3 * weights, closed=closed)
    assert_same_distribution(shares, from_trees(trees, weights=weights, closed=closed))


@given(trees=samples, seed=st.integers(0, 99), closed=st.booleans())
def test_trees_of_no_weight_might_as_well_not_be_there(trees, seed, closed):
    weights = np.random.default_rng(seed).integers(0, 2, len(trees)).astype(float)
    weights[seed % len(trees)] = 2.5
    kept = [tree for tree, weight in zip(trees, weights, strict=True) if weight > 0]
    post = from_trees(trees, weights=weights, closed=closed)
    without = from_trees([kept[0].aligned_to(trees[0].labels), *kept[1:]], weights=weights[weights > 0], closed=closed)
    assert_same_distribution(post, without)
    assert post.count == without.count
    assert post.map() == without.map()
    assert all(without.log_prob(h) > -np.inf for h in post.sample(20, rng=0))
    for tree in trees:
        assert post.log_prob(tree) == pytest.approx(without.log_prob(tree), abs=1e-9)


def test_one_tree_of_all_the_weight_is_certain():
    one, other = (Hierarchy.from_newick(text) for text in ["(((a,b),c),d);", "(((a,c),b),d);"])
    for closed in (False, True):
        post = from_trees([other, one], weights=[0, 3], closed=closed)
        assert post.log_partition == pytest.approx(0.0, abs=1e-12)
        assert post.map() == one
        assert post.count == 1
        assert post.log_prob(other) == -np.inf
        assert post.cluster_probability(["a", "c"]) == 0.0


@pytest.mark.parametrize(
    ("weights", "message"),
    [([1.0], "expected one for each of the 2"), ([1.0, -1.0], "not negative"), ([0.0, 0.0], "some of them positive")],
)
def test_wrong_weights_are_refused(weights, message):
    with pytest.raises(ValueError, match=message):
        from_trees([caterpillar(4)] * 2, weights=weights)


def test_a_file_of_trees_brings_its_weights():
    text = "(((a,b),c),d); [&W 2] (d,(c,(b,a))); [&W 3] ((a,b),(c,d)); [&W 0.5] (((c,a),b),d);"
    trees = read_trees(text)
    for closed in (False, True):
        post = from_trees(trees, closed=closed)
        assert_same_distribution(post, from_trees(list(trees), weights=trees.weights, closed=closed))
    post = from_trees(trees)
    assert post.cluster_probability(["c", "d"]) == pytest.approx(3 / 6.5)
    assert from_trees(trees, weights=[1, 1, 1, 1]).cluster_probability(["c", "d"]) == pytest.approx(0.25)
    assert from_trees(trees[:2]).count == 1
    assert SparseTrellis.from_hierarchies(trees).count == 3
    with pytest.raises(ValueError, match="tree 2 has no root"):
        from_trees(read_trees("((a,b),c); (a,b,c);"))


# Names, errors, options.


@given(trees=samples, seed=st.integers(0, 99), closed=st.booleans())
def test_leaves_may_be_numbered_differently_in_every_tree(trees, seed, closed):
    rng = np.random.default_rng(seed)
    mixed = [trees[0], *(t.aligned_to([str(i) for i in rng.permutation(t.n_leaves)]) for t in trees[1:])]
    assert_same_distribution(from_trees(mixed, closed=closed), from_trees(trees, closed=closed))
    turned = from_trees(mixed[::-1], closed=closed)
    assert turned.labels == mixed[-1].labels
    expected = from_trees(trees, closed=closed)
    for row in expected.cluster_probabilities(0.0):
        assert turned.cluster_probability(row.members) == pytest.approx(row.probability, abs=1e-12)


def test_what_is_no_sample_is_refused():
    with pytest.raises(ValueError, match="no hierarchy was given"):
        from_trees([])
    with pytest.raises(ValueError, match="hierarchy 1 is not binary"):
        from_trees([caterpillar(3), Hierarchy.from_newick("(0,1,2);")])
    with pytest.raises(TypeError, match="number 0 is a str"):
        from_trees(["((a,b),c);"])
    with pytest.raises(ValueError, match="labels do not match"):
        from_trees([Hierarchy.from_newick("((a,b),c);"), Hierarchy.from_newick("((a,b),d);")])


def test_options_go_to_the_posterior():
    trees = some_trees(6, 4, seed=0)
    assert_same_distribution(from_trees(iter(trees), threads=1, progress=False), from_trees(trees))
    with pytest.raises(ValueError, match="threads is 0"):
        from_trees(trees, threads=0)


# A sample of a known posterior.


@pytest.fixture(scope="module")
def exact():
    return HierarchyPosterior(SumOfSquares(np.random.default_rng(4).normal(size=(6, 2)), 1.0))


def test_draws_make_a_distribution_with_their_shares(exact):
    draws = exact.sample(300, rng=1)
    post = from_trees(draws)
    for mask in range(1, 64):
        assert post.cluster_probability(members(mask)) == pytest.approx(draws.cluster_probability(members(mask)))
    assert post.consensus() == draws.consensus()


def test_more_draws_come_closer_to_what_was_sampled(exact):
    few, many = (from_trees(exact.sample(size, rng=2)) for size in (100, 10_000))
    assert 0.0 < many.kl(exact) < few.kl(exact)
    assert many.kl(exact) < 0.02
    top = exact.map()
    assert many.log_prob(top) == pytest.approx(exact.log_prob(top), abs=0.2)


# Two samples.


@given(n=st.integers(2, 5), seed=st.integers(0, 2**16), closed=st.tuples(st.booleans(), st.booleans()))
def test_the_divergence_of_two_samples_matches_enumeration(n, seed, closed):
    one, two = some_trees(n, 5, seed), some_trees(n, 5, seed + 1)
    two = two if seed % 3 else one + two  # holds all of the first
    tables = []
    for trees, is_closed in zip((one, two), closed, strict=True):
        weights = closed_weights(trees) if is_closed else observed_probabilities(trees)
        total = sum(weights.values())
        tables.append({h: w / total for h, w in weights.items()})
    p, q = tables
    terms = [p[h] * (math.log(p[h] / q[h]) if q[h] > 0 else np.inf) for h in p if p[h] > 0]
    posts = [from_trees(trees, closed=is_closed) for trees, is_closed in zip((one, two), closed, strict=True)]
    assert posts[0].kl(posts[1]) == pytest.approx(sum(terms), abs=1e-10)
    assert posts[0].kl(posts[0]) == pytest.approx(0.0, abs=1e-12)


def test_two_samples_need_the_leaves_in_the_same_order():
    one = from_trees([Hierarchy.from_newick("((a,b),c);")])
    other = [Hierarchy.from_newick("(c,(a,b));")]
    with pytest.raises(ValueError, match="different leaves"):
        one.kl(from_trees(other))
    assert one.kl(from_trees(tree.aligned_to(one.labels) for tree in other)) == 0.0


# The model.


def test_the_model_scores_hierarchies_and_the_splits_of_any_trellis():
    trees = some_trees(6, 6, seed=3)
    post = from_trees(trees)
    model = post.model
    assert isinstance(model, ConditionalClusters)
    expected = observed_probabilities(trees)
    for tree in trees:
        assert model.log_potential(tree) == pytest.approx(math.log(expected[as_splits(tree)]))
    closed = model.trellis.closed()
    assert closed.n_splits > model.trellis.n_splits
    values = model.split_log_potentials(closed)
    assert (values > -np.inf).sum() == model.trellis.n_splits
    on_closed = HierarchyPosterior(model, trellis=closed)
    assert_same_distribution(on_closed, post)
    part = HierarchyPosterior(model, trellis=SparseTrellis.from_hierarchies(trees[:1]))
    assert part.log_partition == pytest.approx(model.log_potential(trees[0]))
    turned = SparseTrellis.from_hierarchies([tree.aligned_to(tree.labels[::-1]) for tree in trees])
    assert_same_distribution(HierarchyPosterior(model, trellis=turned), post)


def test_foreign_hierarchies_are_impossible_under_the_model():
    model = from_trees([Hierarchy.from_newick("((a,b),c);")]).model
    foreign = Hierarchy.from_newick("((a,c),b);")
    assert model.log_potential(foreign) == -np.inf
    post = HierarchyPosterior(model, trellis=SparseTrellis.from_hierarchies([foreign]))
    assert post.log_partition == -np.inf
    with pytest.raises(ImpossibleData):
        post.map()
    with pytest.raises(ValueError, match="labels do not match"):
        model.log_potential(Hierarchy.from_newick("((a,b),d);"))


def test_conditions_hold_for_samples():
    trees = some_trees(6, 6, seed=5)
    post = from_trees(trees)
    row = next(row for row in post.cluster_probabilities(0.0) if row.probability < 1.0)
    given_that = post.condition(require=[row.members])
    assert np.exp(given_that.log_partition) == pytest.approx(row.probability)
    assert np.exp(post.condition(forbid=[row.members]).log_partition) == pytest.approx(1.0 - row.probability)
    assert given_that.cluster_probability(row.members) == pytest.approx(1.0)


def test_a_sample_travels():
    post = from_trees(some_trees(70, 5, seed=0), weights=np.arange(1.0, 11.0))
    twin = pickle.loads(pickle.dumps(post))
    assert twin.log_partition == post.log_partition
    assert twin.map() == post.map()
    assert twin.kl(post) < 1e-12


def test_many_leaves_keep_their_frequencies():
    trees = some_trees(130, 15, seed=1)
    weights = np.random.default_rng(0).random(len(trees))
    post = from_trees(trees, weights=weights)
    clusters, _ = frequencies(trees, weights)
    assert post.log_partition == pytest.approx(0.0, abs=1e-10)
    for mask in list(clusters)[::7]:
        assert post.cluster_probability(members(mask)) == pytest.approx(clusters[mask], abs=1e-10)
    assert post.count == pal.SparseTrellis.from_hierarchies(trees).count
