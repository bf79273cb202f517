"""Sparse trellises of one leaf to two thousand, and beyond a word of bits."""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
import pytest
from oracle import members
from random_hierarchies import caterpillar
from sparse_cases import complete, mask_of, names, some_hierarchies, table

from palmette import Hierarchy, HierarchyPosterior, SparseTrellis
from palmette.models import Dasgupta, SplitFunction, SumOfSquares, Uniform
from palmette.posterior import ConditionalClusters


@pytest.mark.parametrize("make", [caterpillar, None], ids=["caterpillar", "random"])
@pytest.mark.parametrize("n", [2, 3, 64, 200])
def test_one_hierarchy_is_certain(make, n):
    h = caterpillar(n) if make else some_hierarchies(n, 1, seed=n)[0]
    model = SumOfSquares(np.random.default_rng(n).normal(size=(n, 2)), 0.1)
    post = HierarchyPosterior(model, trellis=SparseTrellis.from_hierarchies([h, h]))
    assert post.log_partition == pytest.approx(model.log_potential(h), rel=1e-12)
    assert post.count == 1
    assert post.entropy == 0.0
    assert post.map() == post.consensus() == post.centroid() == post.sample(2, rng=0)[1] == h
    assert [x for x, _ in post.best(5)] == [h]
    assert post.log_prob(h) == pytest.approx(0.0, abs=1e-9)
    assert all(post.cluster_probability(c) == 1.0 for c in h.clusters()[:: 1 + n // 10])
    np.testing.assert_allclose(post.expected_lca_size()[0], [h.sizes[lca(h, 0, j)] for j in range(n)])


def lca(h, i, j):
    above = {i}
    while h.parents[i] >= 0:
        above.add(i := int(h.parents[i]))
    while j not in above:
        j = int(h.parents[j])
    return j


@pytest.mark.parametrize("n", [1, 2, 3])
def test_the_smallest_problems_answer_everything(n):
    post = HierarchyPosterior(Uniform(n), trellis=complete(n))
    assert post.log_partition == pytest.approx(np.log([1, 1, 3][n - 1]))
    assert post.count == [1, 1, 3][n - 1]
    assert post.entropy == pytest.approx(np.log(post.count))
    assert post.map().n_leaves == post.consensus().n_leaves == post.centroid().n_leaves == n
    assert len(post.best(10)) == post.count
    draws = post.sample(4, rng=0)
    assert len(draws) == len(list(draws)) == 4
    assert draws.masks.shape == draws.splits.shape == (4, n - 1)
    assert draws.map().n_leaves == draws.consensus().n_leaves == n
    assert sum(count for _, count in draws.counts()) == 4
    assert post.expected_lca_size().shape == (n, n)
    assert post.kl(post) == post.kl(HierarchyPosterior(Uniform(n))) == 0.0
    assert post.log_prob(post.map()) == pytest.approx(-np.log(post.count))
    assert post.rank(post.map()).value == 1
    assert post.cluster_probability([0]) == 1.0
    assert len(post.cluster_probabilities(0.0)) == [0, 0, 3][n - 1]


@pytest.mark.parametrize("n", [62, 63])
def test_split_functions_see_masks_of_up_to_sixty_three_leaves(n):
    h = caterpillar(n)
    post = HierarchyPosterior(
        SplitFunction(n, lambda left, right: -1.0 * np.bitwise_count(left) - 2.0 * np.bitwise_count(right)),
        trellis=SparseTrellis.from_hierarchies([h]),
    )
    assert post.log_partition == -sum(range(1, n)) - 2.0 * (n - 1)


@pytest.mark.parametrize("n", [64, 70])
def test_split_functions_of_more_leaves_are_refused(n):
    model = SplitFunction(n, lambda left, right: np.zeros(len(left)))
    with pytest.raises(ValueError, match=r"6[23] leaves"):
        HierarchyPosterior(model, trellis=SparseTrellis.from_hierarchies([caterpillar(n)])).map()


# Many leaves: a small problem in which every leaf has become a group of leaves.


class Blown(NamedTuple):
    """Leaf i of the small problem is groups[i] of the large one, a caterpillar of log potential 0."""

    small: HierarchyPosterior
    large: HierarchyPosterior
    groups: list[list[int]]

    def leaves(self, mask):
        return [leaf for i in members(mask) for leaf in self.groups[i]]

    def hierarchy(self, h):
        return _blown(h, self.groups)


def _blown(h, groups):
    chain = lambda leaves: functools.reduce(lambda a, b: (a, b), leaves)  # noqa: E731
    inner = lambda nested: chain(groups[int(nested)]) if isinstance(nested, str) else tuple(map(inner, nested))  # noqa: E731
    return Hierarchy.from_nested(inner(h.to_nested()), names(sum(map(len, groups))))


def blown(seed, n_large, closed, n=5):
    rng = np.random.default_rng(seed)
    cuts = np.sort(rng.choice(np.arange(1, n_large), n - 1, replace=False))
    groups = [part.tolist() for part in np.split(rng.permutation(n_large), cuts)]
    group_of = np.empty(n_large, int)
    for i, group in enumerate(groups):
        group_of[group] = i
    sample = some_hierarchies(n, 5, seed)
    table: dict[frozenset[int], float] = {}

    def log_psi(trellis, group_of):
        sides = [
            [mask_of(set(group_of[list(trellis.members(c))])) for c in side] for side in (trellis.left, trellis.right)
        ]
        keys = [frozenset(pair) for pair in zip(*sides, strict=True)]
        return np.array([0.0 if len(key) == 1 else table.setdefault(key, float(rng.normal())) for key in keys])

    posts = []
    for hierarchies, where in ((sample, np.arange(n)), ([_blown(h, groups) for h in sample], group_of)):
        trellis = SparseTrellis.from_hierarchies(hierarchies, closed=closed)
        posts.append(HierarchyPosterior(ConditionalClusters(trellis, log_psi(trellis, where)), trellis=trellis))
    return Blown(*posts, groups)


many_leaves = pytest.mark.parametrize(("n", "closed"), [(63, False), (64, True), (65, False), (90, True), (150, False)])


def random_hierarchy(n, rng):
    free, rows = list(range(n)), []
    for i in range(n - 1):
        rows.append([free.pop(rng.integers(len(free))) for _ in range(2)])
        free.append(n + i)
    return Hierarchy.from_merges(rows)


@many_leaves
def test_many_leaves_give_the_numbers_of_the_small_problem(n, closed):
    problem = blown(n, n, closed)
    small, large = problem.small, problem.large
    assert large.count == small.count > 1
    assert large.log_partition == pytest.approx(small.log_partition, abs=1e-12)
    assert large.entropy == pytest.approx(small.entropy, abs=1e-12)
    for mask in range(1, 1 << small.n_leaves):
        expected = small.cluster_probability(members(mask))
        assert large.cluster_probability(problem.leaves(mask)) == pytest.approx(expected, abs=1e-12)
    mine = table(small.split_probabilities(range(small.n_leaves)))
    theirs = {mask_of(row.left): row.probability for row in large.split_probabilities(range(n))}
    for (left, right), p in mine.items():
        sides = [mask_of(problem.leaves(mask_of(side))) for side in (left, right)]
        assert theirs[min(sides, key=lambda m: m & -m)] == pytest.approx(p)


@many_leaves
def test_many_leaves_give_the_hierarchies_of_the_small_problem(n, closed):
    problem = blown(n, n, closed)
    small, large = problem.small, problem.large
    assert large.map() == problem.hierarchy(small.map())
    for (mine, p), (theirs, q) in zip(small.best(10), large.best(10), strict=True):
        assert theirs == problem.hierarchy(mine)
        assert q == pytest.approx(p, abs=1e-12)
        assert large.log_prob(theirs) == pytest.approx(p, abs=1e-12)
        assert large.rank(theirs) == small.rank(mine)
        assert large.credible_level(theirs).value == pytest.approx(small.credible_level(mine).value)
    inner = {frozenset(problem.leaves(mask_of(c))) for c in small.consensus().clusters()}
    chains = {frozenset(group[:k]) for group in problem.groups for k in range(1, len(group) + 1)}
    assert set(large.consensus().clusters()) == inner | chains | {frozenset([leaf]) for leaf in range(n)}
    draws = large.sample(2000, rng=1)
    for mask in range(1, 1 << small.n_leaves):
        p = small.cluster_probability(members(mask))
        assert abs(draws.cluster_probability(problem.leaves(mask)) - p) <= 5 * np.sqrt(p * (1 - p) / 2000) + 1e-9
    assert draws.map() == large.map()
    with pytest.raises(ValueError, match="bit masks hold at most 62 leaves"):
        _ = draws.masks


@many_leaves
def test_many_leaves_under_conditions_are_the_small_problem_under_conditions(n, closed):
    problem = blown(n, n, closed)
    row = next(row for row in problem.small.cluster_probabilities(0.0) if 0.0 < row.probability < 1.0)
    mask = mask_of(row.members)
    for verb in ("require", "forbid"):
        small = problem.small.condition(**{verb: [members(mask)]})
        large = problem.large.condition(**{verb: [problem.leaves(mask)]})
        assert large.log_partition == pytest.approx(small.log_partition, abs=1e-12)
        assert large.count == small.count
        assert large.map() == problem.hierarchy(small.map())
        assert large.kl(problem.large) == pytest.approx(small.kl(problem.small), abs=1e-12)
        assert problem.large.kl(large) == problem.small.kl(small) == np.inf


def test_a_thousand_leaves():
    n = 1000
    rng = np.random.default_rng(0)
    sample = [random_hierarchy(n, rng) for _ in range(5)]
    trellis = SparseTrellis.from_hierarchies(sample)
    assert all(trellis.holds(h) for h in sample)
    assert trellis.n_clusters <= n + 5 * (n - 1)
    model = SumOfSquares(rng.normal(size=(n, 2)), 0.01)
    post = HierarchyPosterior(model, trellis=trellis)
    inputs = max(model.log_potential(h) for h in sample)
    assert model.log_potential(post.map()) >= inputs - 1e-9 * abs(inputs)
    assert post.log_partition >= inputs - 1e-9 * abs(inputs)
    best = post.best(3)
    assert 0.0 >= best[0][1] >= best[1][1] >= best[2][1]
    draws = post.sample(5, rng=1)
    assert all(trellis.holds(h) for h in draws)
    assert post.consensus().n_leaves == n


@pytest.mark.slow
def test_two_thousand_leaves_as_deep_as_they_can_be():
    n = 2000
    rng = np.random.default_rng(0)
    order = [str(i) for i in rng.permutation(n)]
    sample = [caterpillar(n), caterpillar(n, order), random_hierarchy(n, rng)]
    post = HierarchyPosterior(
        SumOfSquares(rng.normal(size=(n, 2)), 0.01), trellis=SparseTrellis.from_hierarchies(sample)
    )
    assert post.count >= 3
    assert len(post.best(3)) == 3
    assert post.sample(2, rng=0)[1].n_leaves == post.consensus().n_leaves == post.centroid().n_leaves == n
    assert post.expected_lca_size().max() == n


def test_a_pairwise_model_on_two_hundred_leaves():
    n = 200
    rng = np.random.default_rng(1)
    w = np.triu(rng.random((n, n)), 1)
    model = Dasgupta(w + w.T, 1e-4)
    sample = [caterpillar(n), *some_hierarchies(n, 4, seed=1)]
    post = HierarchyPosterior(model, trellis=SparseTrellis.from_hierarchies(sample, closed=True))
    for h, p in post.best(5):
        assert model.log_potential(h) - post.log_partition == pytest.approx(p, rel=1e-9, abs=1e-9)
    assert model.log_potential(post.map()) >= max(model.log_potential(h) for h in sample) - 1e-9
