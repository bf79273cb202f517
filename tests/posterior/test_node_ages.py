"""Ages from dated trees, against a plain computation."""

from __future__ import annotations

import numpy as np
import pytest

import palmette as pal
from palmette.interop import TreeSet, read_trees


def dated(n_trees, n, seed):
    """Dated trees, simulated: coalescents of the same leaves."""
    process = pal.coalescent.Brownian()
    found = [pal.simulate.coalescent(n, process, n_columns=1, rng=seed + k).hierarchy for k in range(n_trees)]
    return [pal.Hierarchy.from_newick(h.to_newick()) for h in found]


def shortest(values, share):
    """By looking at every pair."""
    x = np.sort(values)
    pairs = [
        (x[j] - x[i], x[i], x[j]) for i in range(len(x)) for j in range(i, len(x)) if j - i + 1 >= share * len(x) - 1e-9
    ]
    return min(pairs)[1:]


@pytest.mark.parametrize("level", [0.5, 0.95])
def test_ages_are_those_of_the_trees_that_have_the_cluster(level):
    trees = dated(60, 4, 0)
    post = pal.posterior.from_trees(trees)
    for shown in (post.map(), post.consensus(), pal.posterior.most_credible(trees)):
        found = pal.posterior.node_ages(trees, shown, level=level)
        for node, cluster in enumerate(shown.clusters()):
            names = {shown.labels[leaf] for leaf in cluster}
            ages = []
            for tree in trees:
                for other, height in zip(tree.clusters(), tree.heights, strict=True):
                    if {tree.labels[leaf] for leaf in other} == names:
                        ages.append(height)
            assert found.share[node] == pytest.approx(len(ages) / 60)
            assert found.mean[node] == pytest.approx(np.mean(ages))
            assert found.median[node] == pytest.approx(np.median(ages), abs=1e-9)
            np.testing.assert_allclose((found.low[node], found.high[node]), shortest(ages, level), atol=1e-9)
        lengths = found.hierarchy.branch_lengths[:-1]
        assert (lengths >= 0.0).all()


def test_weights_count_as_repetitions():
    trees = dated(12, 3, 5)
    repeats = np.arange(12) % 3 + 1
    many = [tree for tree, k in zip(trees, repeats, strict=True) for _ in range(k)]
    one = pal.posterior.node_ages(trees, trees[0], weights=repeats)
    two = pal.posterior.node_ages(many, trees[0])
    for name in ("mean", "median", "low", "high", "share"):
        np.testing.assert_allclose(getattr(one, name), getattr(two, name), atol=1e-12)


@pytest.mark.parametrize(
    ("weights", "message"), [([1.0], "one for each"), ([1.0, -1.0], "negative"), ([0, 0], "positive")]
)
def test_wrong_weights_are_refused(weights, message):
    trees = dated(2, 3, 5)
    with pytest.raises(ValueError, match=message):
        pal.posterior.node_ages(trees, trees[0], weights=weights)


def test_the_most_credible_tree_has_the_largest_product():
    trees = dated(40, 4, 9)
    post = pal.posterior.from_trees(trees)
    products = [np.prod([post.cluster_probability(c) for c in tree.clusters()]) for tree in trees]
    assert pal.posterior.most_credible(trees) == trees[int(np.argmax(products))]


def test_leaves_may_have_ages_and_lengths_must_be_there():
    tree = read_trees("((a:1,b:3):1,c:2);")
    assert pal.posterior.node_ages(tree, tree[0]).median.tolist() == [2.0, 0.0, 2.0, 3.0, 4.0]
    with pytest.raises(ValueError, match="tree 1 has a branch without length"):
        pal.posterior.node_ages(read_trees("((a:1,b):1,c:2);"), tree[0])
    with pytest.raises(ValueError, match="level is 0"):
        pal.posterior.node_ages(tree, tree[0], level=0)


def test_sets_of_trees_are_joined_whatever_the_order_of_their_leaves():
    one = read_trees("((a:1,b:2)0.5:3,(c:4,d:5):6); (a:1,b:1,(c:2,d:3):4);")
    two = read_trees("[&W 2] ((d:1,a:2):3,(b:4,c:5)0.7:6);")
    both = TreeSet.joined([one, two])
    assert both.labels == one.labels
    assert [h.to_newick() for h in both[:2]] == [h.to_newick() for h in one]
    assert both[2] == two[0]
    assert both.weights.tolist() == [1.0, 1.0, 2.0]
    named = dict(zip(both[2].labels, both[2].branch_lengths[:4].tolist(), strict=True))
    assert named == {"a": 2.0, "b": 4.0, "c": 5.0, "d": 1.0}
    with pytest.raises(ValueError, match="labels do not match"):
        TreeSet.joined([one, read_trees("((a,b),x);")])
