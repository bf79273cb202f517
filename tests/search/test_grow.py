"""Growing a sparse trellis: nothing is lost, nothing gets worse, and on small problems everything is found."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from cases import Tilted, cases
from hypothesis import assume, given
from hypothesis import strategies as st
from oracle import hierarchies_over, members
from random_hierarchies import caterpillar, random_merges

import palmette as pal
from palmette import Hierarchy, HierarchyPosterior, SparseTrellis
from palmette.models import Correlation, CorrelationClusters, Dasgupta, Ginkgo, SplitFunction, SumOfSquares, Uniform
from palmette.search import greedy, grow
from palmette.search.grow import _log_psi, _solve, _worth_adding

EVERYTHING = {"min_share": 1e-250, "tolerance": 0.0, "patience": 10**6, "rounds": 10**6}


def points(n, seed=0):
    return np.random.default_rng(seed).normal(size=(n, 2))


def weights(n, seed=0):
    w = np.triu(np.random.default_rng(seed).random((n, n)), 1)
    return w + w.T


def distances(left, right):
    """A split function: leaves are points on a line, two parts are as far apart as their means."""
    mean = lambda mask: np.mean(members(int(mask)))  # noqa: E731
    return np.array([-abs(mean(a) - mean(b)) for a, b in zip(left, right, strict=True)])


MODELS = {
    "uniform": lambda n: Uniform(n),
    "Dasgupta": lambda n: Dasgupta(weights(n), 0.3),
    "correlation": lambda n: Correlation(weights(n) - 0.5, 1.0),
    "sum of squares": lambda n: SumOfSquares(points(n), 1.0),
    "function": lambda n: SplitFunction(n, distances),
    "own": lambda n: Tilted(n, theta=[1.0, 0.0], additive=points(n)[:, :1], pairwise=[weights(n)]),
}
every_model = pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)


def random_start(n, count=1, seed=0):
    rng = np.random.default_rng(seed)
    return SparseTrellis.from_hierarchies([Hierarchy.from_merges(random_merges(n, rng)) for _ in range(count)])


def greedy_start(model):
    return SparseTrellis.from_hierarchies([greedy(model).hierarchy])


def best_value(post):
    return post.log_potential(post.map())


def assert_same(one, other):
    assert one.labels == other.labels
    for name in ("words", "offsets", "left", "right"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


# Everything, if it is let.


@pytest.mark.slow
@every_model
@pytest.mark.parametrize("n", [2, 3, 6])
def test_a_tiny_share_grows_to_the_full_trellis(make, n):
    model = make(n)
    grown = grow(model, random_start(n), **EVERYTHING)
    assert grown.n_clusters == 2**n - 1
    assert grown.sparsity == 1
    full, post = HierarchyPosterior(model), HierarchyPosterior(model, trellis=grown)
    assert post.log_partition == pytest.approx(full.log_partition, abs=1e-10)
    assert best_value(post) == pytest.approx(best_value(full), abs=1e-10)


@given(case=cases(max_leaves=5, kinds="dcsgt"), seed=st.integers(0, 99))
def test_a_small_share_finds_the_best_hierarchy_and_nearly_all_of_the_sum(case, seed):
    assume(case.oracle.log_z > -np.inf and case.scale < 100.0)
    assume(case.oracle.count == len(case.oracle.hierarchies))
    n = case.model.n_leaves
    assume(n > 1)
    grown = grow(case.model, random_start(n, seed=seed), **(EVERYTHING | {"min_share": 1e-9}))
    post = HierarchyPosterior(case.model, trellis=grown)
    # Exchanges that are not worth adding are worth less than the share, each.
    assert post.log_partition <= case.oracle.log_z + 1e-9
    assert post.log_partition == pytest.approx(case.oracle.log_z, abs=1e-4)
    assert best_value(post) == pytest.approx(case.oracle.log_potentials.max(), abs=1e-9)


def test_one_leaf_has_nothing_to_grow():
    grown = grow(Uniform(1), SparseTrellis.from_clusters([], ["0"]))
    assert grown.count == grown.n_clusters == 1


@pytest.mark.parametrize("n", [2, 3])
def test_the_smallest_problems_grow(n):
    grown = grow(Uniform(n), random_start(n))
    assert grown.sparsity == 1


# What a round does.


@every_model
def test_nothing_is_lost_and_nothing_gets_worse(make):
    n = 10
    model = make(n)
    start = random_start(n, count=2, seed=1)
    grown = [grow(model, start, rounds=rounds, min_share=0.01) for rounds in range(6)]
    assert_same(grown[0], start.closed())
    posts = [HierarchyPosterior(model, trellis=trellis) for trellis in grown]
    for before, after in itertools.pairwise(grown):
        assert set(after.masks) >= set(before.masks)
        assert after.is_closed
    for before, after in itertools.pairwise(posts):
        assert after.log_partition >= before.log_partition - 1e-9
        assert best_value(after) >= best_value(before) - 1e-9
        assert after.count >= before.count
    assert grown[-1].n_clusters > grown[0].n_clusters


@every_model
def test_growing_is_deterministic(make):
    model = make(9)
    start = random_start(9, seed=2)
    assert_same(grow(model, start), grow(model, start))


def test_a_smaller_share_gives_a_larger_trellis():
    model = SumOfSquares(points(12), 2.0)
    sizes = [grow(model, greedy_start(model), min_share=share).n_clusters for share in (0.3, 0.03, 0.003)]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1] < 2**12


def test_a_grown_trellis_does_not_grow_any_more():
    model = SumOfSquares(points(9), 1.0)
    once = grow(model, greedy_start(model), patience=10**6, rounds=10**6, min_share=0.01)
    assert_same(grow(model, once, patience=10**6, rounds=10**6, min_share=0.01), once)


def test_the_best_hierarchy_of_a_grown_trellis_has_no_better_neighbour():
    for seed in range(5):
        model = SumOfSquares(points(12, seed), 1.0)
        post = HierarchyPosterior(model, trellis=grow(model, random_start(12, seed=seed), patience=10**6))
        best = post.map()
        assert max(map(model.log_potential, neighbours(best))) <= model.log_potential(best) + 1e-9


def neighbours(hierarchy):
    """All hierarchies one exchange away: a part of a part changes places with the other part."""
    n = hierarchy.n_leaves
    clusters = hierarchy.clusters()
    children = [None] * n + hierarchy.children.tolist()
    for parent in range(n, 2 * n - 1):
        for inner, other in itertools.permutations(children[parent]):
            for moved in children[inner] or ():
                kept = [c for i, c in enumerate(clusters) if i != inner]
                yield Hierarchy.from_clusters([*kept, clusters[moved] | clusters[other]], n=n)


@every_model
def test_scores_of_exchanges_are_sums_of_two_log_potentials(make):
    n = 7
    model = make(n)
    state = _solve(model, random_start(n, count=4, seed=3).aligned_to(model.labels).closed())
    trellis = state.passes.trellis
    full = HierarchyPosterior(model).passes
    rows = []
    for P, A, B in splits_both_ways(trellis):
        for A1, A2 in parts_of(trellis, A):
            rows += [(P, A2, A1, B), (P, A1, A2, B)]
    parent, kept, moved, other = np.array(rows).T.copy()
    found = _log_psi(state.passes, parent, kept, moved, other)
    masks = trellis.masks
    union = [masks[m] | masks[o] for m, o in zip(moved, other, strict=True)]
    upper = full.log_psi_of(union, [masks[k] for k in kept])
    lower = full.log_psi_of([masks[m] for m in moved], [masks[o] for o in other])
    np.testing.assert_allclose(found, upper + lower, atol=1e-10)


def splits_both_ways(trellis):
    for P, left, right in zip(trellis.parent.tolist(), trellis.left.tolist(), trellis.right.tolist(), strict=True):
        yield P, left, right
        yield P, right, left


def parts_of(trellis, cluster):
    here = slice(trellis.offsets[cluster], trellis.offsets[cluster + 1])
    return zip(trellis.left[here].tolist(), trellis.right[here].tolist(), strict=True)


@every_model
def test_a_round_adds_the_clusters_of_all_exchanges_of_enough_weight(make):
    n, min_share = 7, 0.02
    model = make(n)
    state = _solve(model, random_start(n, count=3, seed=4).aligned_to(model.labels).closed())
    trellis, post = state.passes.trellis, HierarchyPosterior(model, trellis=state.passes.trellis)
    full = HierarchyPosterior(model).passes
    log_psi = lambda one, two: float(full.log_psi_of([one], [two])[0])  # noqa: E731
    shares: dict[int, float] = {}
    for P, A, B in splits_both_ways(trellis):
        for A1, A2 in [pair for parts in parts_of(trellis, A) for pair in (parts, parts[::-1])]:
            p, a1, a2, b = (trellis.masks[i] for i in (P, A1, A2, B))
            value = log_psi(a1 | b, a2) + log_psi(a1, b) + state.Z[A1] + state.Z[A2] + state.Z[B] - state.Z[P]
            share = post.cluster_probability(members(p)) * math.exp(value)
            around = state.mu[P] * share_of(state, P, A, B) * share_of(state, A, A1, A2)
            if around >= min_share and trellis.find_mask(a1 | b) < 0:
                shares[a1 | b] = max(shares.get(a1 | b, 0.0), share)
    found = _worth_adding(state, min_share, 10**6)
    assert len(set(found)) == len(found)
    assert set(found) >= {mask for mask, share in shares.items() if share >= min_share * (1 + 1e-9)}
    assert set(found).isdisjoint(trellis.masks)
    extended = trellis.extended(found)
    assert set(extended.masks) == {*trellis.masks, *found}


def share_of(state, P, one, two):
    trellis = state.passes.trellis
    low = min(one, two, key=lambda i: trellis.masks[i] & -trellis.masks[i])
    return float(state.share[trellis.find_splits(np.array([P]), np.array([low]))[0]])


# Limits.


@pytest.mark.parametrize("most", [1, 30, 31, 60, 100])
def test_there_are_at_most_so_many_clusters(most):
    model = SumOfSquares(points(12), 0.1)
    start = random_start(12)
    grown = grow(model, start, max_clusters=most, min_share=1e-6)
    assert start.n_clusters == 23
    assert grown.n_clusters <= max(most, 23)
    assert set(grown.masks) >= set(start.masks)
    if most > 23:
        assert grown.n_clusters > 23


def test_patience_ends_what_no_longer_moves():
    model = SumOfSquares(points(10), 1.0)
    start = greedy_start(model)
    impatient = grow(model, start, min_share=1e-6, tolerance=np.inf, patience=1)
    one_round = grow(model, start, min_share=1e-6, rounds=1)
    assert_same(impatient, one_round)


@pytest.mark.parametrize("forbidden", [(0b0011, 0b0100), (0b0111, 0b1000)], ids=["below the root", "at the root"])
def test_a_start_that_is_impossible_grows_to_what_is_possible(forbidden):
    table = np.zeros((16, 16))
    table[forbidden] = -np.inf
    model = SplitFunction(4, lambda left, right: table[left, right])
    start = SparseTrellis.from_hierarchies([caterpillar(4)])
    assert HierarchyPosterior(model, trellis=start).log_partition == -np.inf
    grown = grow(model, start, **EVERYTHING)
    expected = HierarchyPosterior(model).log_partition
    assert HierarchyPosterior(model, trellis=grown).log_partition == pytest.approx(expected, abs=1e-12)


@given(case=cases(max_leaves=6, kinds="gft"), seed=st.integers(0, 99), count=st.integers(1, 3))
def test_models_that_forbid_splits_grow_without_getting_worse(case, seed, count):
    n = case.model.n_leaves
    assume(n > 1)
    start = random_start(n, count=count, seed=seed)
    grown = grow(case.model, start)
    before, after = (HierarchyPosterior(case.model, trellis=trellis) for trellis in (start.closed(), grown))
    assert set(grown.masks) >= set(start.masks)
    assert after.log_partition >= before.log_partition - case.tolerance
    assert after.log_partition <= case.oracle.log_z + case.tolerance
    assert after.count >= before.count


# Leaves, models, arguments.


def test_the_trellis_may_number_the_leaves_differently():
    model = SumOfSquares(points(9), 1.0)
    start = random_start(9, seed=5)
    turned = start.aligned_to(tuple(str(i) for i in np.random.default_rng(0).permutation(9)))
    grown = grow(model, turned)
    assert grown.labels == model.labels
    assert_same(grown, grow(model, start))


@pytest.mark.parametrize("kind", ["sum of squares", "Dasgupta"])
def test_more_than_one_word_of_leaves_grows(kind):
    n = 80
    model = SumOfSquares(points(n), 5.0) if kind == "sum of squares" else Dasgupta(weights(n), 0.01)
    start = SparseTrellis.from_hierarchies([greedy(model).hierarchy, caterpillar(n)])
    grown = grow(model, start, rounds=3, min_share=0.05)
    before, after = (HierarchyPosterior(model, trellis=trellis) for trellis in (start, grown))
    assert set(grown.masks) > set(start.masks)
    assert after.log_partition > before.log_partition
    assert best_value(after) >= best_value(before) - 1e-9


@pytest.mark.parametrize("min_share", [0.0, 1.0, -0.1, 2.0, np.nan])
def test_a_share_lies_between_zero_and_one(min_share):
    with pytest.raises(ValueError, match="expected a share between 0 and 1"):
        grow(Uniform(4), random_start(4), min_share=min_share)


@pytest.mark.parametrize("model", [None, CorrelationClusters(weights(4)), "Dasgupta"])
def test_what_is_no_model_of_hierarchies_is_refused(model):
    with pytest.raises(TypeError, match="expected a model of hierarchies"):
        grow(model, random_start(4))


def test_a_sample_of_trees_is_no_model_to_grow_with():
    model = pal.posterior.from_trees([caterpillar(4)]).model
    with pytest.raises(TypeError, match="expected a model of hierarchies"):
        grow(model, random_start(4))


@pytest.mark.parametrize("trellis", [None, caterpillar(4), [caterpillar(4)]])
def test_what_is_no_trellis_is_refused(trellis):
    with pytest.raises(TypeError, match="SparseTrellis"):
        grow(Uniform(4), trellis)


def test_a_trellis_of_other_leaves_is_refused():
    with pytest.raises(ValueError, match="labels do not match"):
        grow(Uniform(4), random_start(5))


def test_all_hierarchies_of_five_leaves_are_within_reach():
    """The exchanges of neighbours connect all hierarchies: whatever the start, everything is found."""
    for splits in hierarchies_over(0b11111)[::13]:
        pairs = [(members(left), members(right)) for left, right in splits]
        start = SparseTrellis.from_hierarchies([Hierarchy.from_splits(pairs, list("01234"))])
        assert grow(Uniform(5), start, **EVERYTHING).sparsity == 1


@pytest.mark.slow
def test_jets_of_nine_leaves_need_less_than_a_third_of_the_full_trellis():
    found = 0
    for jet in pal.simulate.ginkgo(30, preset="w", min_leaves=9, max_leaves=9, rng=1):
        model = Ginkgo(jet.momenta, 1.5, 16.0)
        grown = grow(model, greedy_start(model), min_share=0.003)
        assert 3 * grown.n_splits < 9_330
        exact = best_value(HierarchyPosterior(model))
        found += best_value(HierarchyPosterior(model, trellis=grown)) == pytest.approx(exact, abs=1e-9)
    assert found >= 28
