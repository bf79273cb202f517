"""Refining: every regraft weighs what a full re-scoring says, nothing gets worse, and small problems are solved."""

from __future__ import annotations

import itertools
import math
import sys

import numpy as np
import pytest
from cases import Tilted, cases
from hypothesis import given
from hypothesis import strategies as st
from oracle import members
from random_hierarchies import caterpillar
from refine_cases import function, points, random_hierarchy, refined

import palmette as pal
from palmette import Hierarchy, HierarchyPosterior, SparseTrellis
from palmette.models import Correlation, Dasgupta, Ginkgo, SplitFunction, SumOfSquares, Uniform
from palmette.models.evaluate import pair_log_potentials
from palmette.regrafts import regrafts_of
from palmette.regrafts.protocol import best_position
from palmette.regrafts.tree_state import PLACE, POSITIONS, regraft, total
from palmette.search import greedy, refine
from palmette.search.refine import LocalOptimum, _Clock, _Search


def weights(n, seed=0):
    w = np.triu(np.random.default_rng(seed).random((n, n)), 1)
    return w + w.T


def jet(n, seed, likelihood="ordered"):
    momenta = np.random.default_rng(seed).normal(size=(n, 4)) * 10
    momenta[:, 0] = np.sqrt(np.square(momenta[:, 1:]).sum(axis=1) + 1.0)
    return Ginkgo(momenta, rate=1.5, t_cut=9.0, likelihood=likelihood)


def own(n, seed, least_gap=0.0):
    """A user's model; gaps between means that are below the least one are forbidden."""
    return Tilted(n, theta=[1.0, least_gap], additive=points(n, seed)[:, :1], pairwise=[weights(n, seed)])


MODELS = {
    "uniform": lambda n, seed: Uniform(n),
    "Dasgupta": lambda n, seed: Dasgupta(weights(n, seed), 0.3),
    "correlation": lambda n, seed: Correlation(weights(n, seed) - 0.5, 1.0),
    "sum of squares": lambda n, seed: SumOfSquares(points(n, seed), 1.0),
    "ordered jets": lambda n, seed: jet(n, seed),
    "symmetric jets": lambda n, seed: jet(n, seed, "symmetric"),
    "density of jets": lambda n, seed: jet(n, seed, "density"),
    "literal jets": lambda n, seed: jet(n, seed, "literal"),
    "function": function,
    "function that forbids": lambda n, seed: function(n, seed, 0.2),
    "own": own,
    "own that forbids": lambda n, seed: own(n, seed, 0.2),
}
# Kernels are the same for all models. These are in every run: features of points, a model that is no kernel, and a
# user's; the last two forbid some splits.
TELLING = {"sum of squares", "function that forbids", "own that forbids"}
every_model = pytest.mark.parametrize(
    "make",
    [pytest.param(make, id=name, marks=[] if name in TELLING else pytest.mark.slow) for name, make in MODELS.items()],
)


# Slow twins: hierarchies as sets of clusters.


def leaves_below(tree, v):
    one, two = tree.child[v]
    return frozenset([int(v)]) if one == two else leaves_below(tree, one) | leaves_below(tree, two)


def nested_clusters(tree):
    return {leaves_below(tree, v) for v in range(len(tree.size))}


def slow_regraft(clusters, part, beside):
    """Take the part out of every cluster that it is below, then put it into all that hold `beside`, and join them."""
    rest = {cluster - part for cluster in clusters if not cluster <= part}
    grown = {cluster | part if cluster > beside else cluster for cluster in rest}
    return grown | {beside | part} | {cluster for cluster in clusters if cluster <= part}


def splits_of(clusters):
    """Pairs of clusters: the two largest parts of each, the part with the lowest leaf first."""
    for cluster in clusters:
        if len(cluster) > 1:
            inside = [c for c in clusters if c < cluster]
            left = max((c for c in inside if min(cluster) in c), key=len)
            yield left, cluster - left


def slow_log_psi(model, clusters):
    """(forbidden, sum of the others) over the splits of a hierarchy."""
    pairs = [tuple(map(sorted, split)) for split in splits_of(clusters)]
    if isinstance(model, SplitFunction):
        left, right = (np.array([sum(1 << i for i in split[side]) for split in pairs]) for side in (0, 1))
        values = model.log_potentials(left, right)
    else:
        values = pair_log_potentials(model, pairs)
    return int((values == -np.inf).sum()), float(values[values > -np.inf].sum())


def ancestors(tree, v):
    while tree.parent[v] >= 0:
        v = tree.parent[v]
        yield v


@every_model
@pytest.mark.parametrize("n", [3, 7])
def test_every_regraft_weighs_what_a_full_rescoring_says(make, n):
    model = make(n, 1)
    regrafts = regrafts_of(model)
    tree, walk = regrafts.tree_of(random_hierarchy(n, n))
    clusters = nested_clusters(tree)
    now = slow_log_psi(model, clusters)
    for moved in range(2 * n - 1):
        part = leaves_below(tree, moved)
        for top in ancestors(tree, moved):
            regrafts.survey(regrafts.data, tree, walk, moved, top)
            place, count = walk.counts[PLACE], walk.counts[POSITIONS]
            assert count == 2 * (tree.size[top] - tree.size[moved]) - 1
            for i in range(count):
                beside = leaves_below(tree, walk.node[i]) - part
                then = slow_log_psi(model, slow_regraft(clusters, part, beside))
                assert walk.impossible[i] - walk.impossible[place] == then[0] - now[0]
                assert walk.gain[i] - walk.gain[place] == pytest.approx(then[1] - now[1], abs=1e-9 * (1 + abs(now[1])))


@every_model
def test_the_best_position_has_the_fewest_forbidden_splits_and_the_largest_gain(make):
    model = make(8, 2)
    regrafts = regrafts_of(model)
    tree, walk = regrafts.tree_of(random_hierarchy(8, 3))
    root = int(np.flatnonzero(tree.parent < 0)[0])
    for moved in set(range(15)) - {root}:
        regrafts.survey(regrafts.data, tree, walk, moved, root)
        keys = list(zip(-walk.impossible, walk.gain, strict=True))[: walk.counts[POSITIONS]]
        best = best_position(walk)
        assert keys[best][0] == max(keys)[0]
        assert keys[best][1] == pytest.approx(max(keys)[1], abs=1e-9)


def described(tree):
    """Cluster → all that a tree knows of it; a split function has masks only."""
    columns = (tree.size[:, None], tree.sums, tree.pairs, tree.table, tree.log_psi[:, None])
    return {leaves_below(tree, v): np.concatenate([c[v] for c in columns]) for v in range(len(tree.size))}


@every_model
def test_after_many_moves_the_state_is_what_is_built_from_scratch(make):
    n = 12
    model, rng = make(n, 4), np.random.default_rng(5)
    regrafts = regrafts_of(model)
    tree, walk = regrafts.tree_of(random_hierarchy(n, 6))
    for _ in range(60):
        moved = int(rng.choice(np.flatnonzero(tree.parent >= 0)))
        top = int(rng.choice(list(ancestors(tree, moved))))
        before, part = nested_clusters(tree), leaves_below(tree, moved)
        regrafts.survey(regrafts.data, tree, walk, moved, top)
        target = int(rng.integers(walk.counts[POSITIONS]))
        expected = slow_regraft(before, part, leaves_below(tree, walk.node[target]) - part)
        if target != walk.counts[PLACE]:
            regraft(tree.parent, tree.child, moved, target, walk)
            regrafts.refresh(regrafts.data, tree, walk, moved)
        assert nested_clusters(tree) == expected
    again = described(regrafts.tree_of(Hierarchy.from_parents(tree.parent, model.labels))[0])
    for cluster, values in described(tree).items():
        np.testing.assert_allclose(values, again[cluster], rtol=1e-9, atol=1e-9)


# What refine promises.


@pytest.mark.slow
@given(case=cases(max_leaves=5), start=st.integers(0, 99), rounds=st.integers(0, 5))
def test_it_is_never_worse_and_says_what_the_model_says(case, start, rounds):
    model = case.model
    hierarchy = random_hierarchy(model.n_leaves, start, model.labels)
    before = model.log_potential(hierarchy)
    found = refined(model, hierarchy, rounds, start)
    assert found.log_potential == model.log_potential(found.hierarchy)
    assert found.log_potential > before or found.hierarchy is hierarchy
    assert found.log_potential <= case.oracle.log_potentials.max() + case.tolerance
    assert found.bound is None


def all_clusters(n):
    # All hierarchies, by passes that need no other kernels than those that are compiled already.
    return SparseTrellis.from_clusters([members(mask) for mask in range(1, 1 << n)], [str(i) for i in range(n)])


@pytest.mark.slow
@every_model
def test_small_problems_are_solved(make):
    solved = []
    for n, seed in itertools.product([3, 4, 6, 9], range(2)):
        model = make(n, seed)
        post = HierarchyPosterior(model, trellis=all_clusters(n))
        best = -np.inf if post.log_partition == -np.inf else post.log_potential(post.map())
        found = refined(model, random_hierarchy(n, seed), 2 if isinstance(model, SplitFunction) else 12, seed)
        assert found.log_potential <= best + 1e-9 * (1 + abs(best)) or best == -np.inf
        solved.append(found.log_potential == best or found.log_potential >= best - 1e-9 * (1 + abs(best)))
    assert np.mean(solved) > 0.85


def test_it_improves_on_greedy_and_more_rounds_are_not_worse():
    model = SumOfSquares(points(40, 1))
    start = greedy(model)
    found = [refined(model, start.hierarchy, rounds).log_potential for rounds in (0, 1, 2, 10, 25)]
    assert found[0] == start.log_potential
    assert found[1] > start.log_potential
    assert found == sorted(found)
    assert found[-1] > found[1]


@every_model
def test_the_same_seed_gives_the_same_hierarchy(make):
    model, start = make(10, 3), random_hierarchy(10, 8)
    rounds = 2 if isinstance(model, SplitFunction) else 12
    one, two = (refined(model, start, rounds, rng) for rng in (5, np.random.default_rng(5)))
    assert one == two


def test_another_seed_takes_another_way():
    model, start = SumOfSquares(points(60)), caterpillar(60)
    assert len({refined(model, start, 3, seed).hierarchy for seed in range(4)}) > 1


def test_the_order_of_labels_does_not_matter():
    names = [f"leaf {i}" for i in range(20)]
    model = SumOfSquares(points(20), labels=names)
    start = random_hierarchy(20, 1, names)
    shuffled = start.aligned_to(tuple(np.random.default_rng(2).permutation(names).tolist()))
    one, two = refined(model, start, 5), refined(model, shuffled, 5)
    assert one.log_potential == two.log_potential == model.log_potential(two.hierarchy)
    assert one.hierarchy == two.hierarchy
    assert refined(model, shuffled, 0).hierarchy is shuffled


@pytest.mark.parametrize("n", [1, 2])
def test_one_and_two_leaves_come_back_as_they_are(n):
    for model in (SumOfSquares(points(n)), function(n, 0)):
        start = random_hierarchy(n, 0)
        found = refine(model, start)
        assert found.hierarchy is start
        assert found.log_potential == model.log_potential(start)


def test_of_three_leaves_the_best_of_three_hierarchies_is_found():
    model = SumOfSquares([[0.0], [5.0], [0.1]])
    for nested in [((0, 1), 2), ((0, 2), 1), ((1, 2), 0)]:
        found = refined(model, Hierarchy.from_nested(nested), 1)
        assert found.hierarchy == Hierarchy.from_nested(((0, 2), 1))


def test_where_all_are_equal_the_given_one_comes_back():
    start = random_hierarchy(30, 1)
    assert refined(Dasgupta(np.zeros((30, 30))), start, 12).hierarchy is start


def test_rounding_is_not_taken_for_a_gain():
    # All hierarchies cost the same, up to the order of additions; there is no end to moves that seem to gain.
    model = Dasgupta(np.full((40, 40), 0.1))
    start = caterpillar(40)
    found = refined(model, start, 12)
    assert found.log_potential == pytest.approx(model.log_potential(start), rel=1e-12)
    assert found.log_potential >= model.log_potential(start)


# Splits that are forbidden.


def only_neighbours(n):
    """Clusters are intervals: of the (2n − 3)!! hierarchies only a Catalan number is possible."""

    def log_psi(left, right):
        union = left | right
        shifted = union // (union & -union)
        return np.where(
            shifted & (shifted + 1) == 0, -np.abs(np.bitwise_count(left) - 1.0 * np.bitwise_count(right)), -np.inf
        )

    return SplitFunction(n, log_psi)


def test_an_impossible_hierarchy_becomes_possible():
    model = only_neighbours(12)
    start = random_hierarchy(12, 3)
    assert model.log_potential(start) == -np.inf
    found = refined(model, start, 3)
    assert found.log_potential == model.log_potential(found.hierarchy) > -np.inf


def test_forbidden_splits_go_in_a_compiled_model_too():
    solved = 0
    for seed in range(6):
        model = own(12, seed, 0.02)
        start = random_hierarchy(12, seed)
        found = refined(model, start, 8)
        assert found.log_potential >= model.log_potential(start)
        solved += found.log_potential > -np.inf
    assert solved >= 5


def test_where_everything_is_forbidden_the_given_one_comes_back():
    start = random_hierarchy(8, 0)
    for model in (SplitFunction(8, lambda left, right: np.full(len(left), -np.inf)), own(8, 0, 100.0)):
        found = refined(model, start, 5)
        assert found.hierarchy is start
        assert found.log_potential == -np.inf


# Fusing, and lines that begin anew.


def stopwatch(rounds=10**9):
    return _Clock(None, rounds, pal.progress.Progress("", 1.0, False))


def optimum(model, hierarchy):
    return LocalOptimum(hierarchy, model.log_potential(hierarchy), 0)


def test_what_is_fused_takes_the_best_from_each():
    x = np.concatenate([points(8, 1), points(8, 2) + 50.0])
    model = SumOfSquares(x)
    halves = [Hierarchy.from_newick(h.to_newick()) for h in (random_hierarchy(8, 1), random_hierarchy(8, 2))]
    best = [HierarchyPosterior(SumOfSquares(part)).map() for part in (x[:8], x[8:])]
    join = lambda one, two: Hierarchy.from_nested((one.to_nested(), shifted(two.to_nested())), model.labels)  # noqa: E731
    mixed = [join(best[0], halves[1]), join(halves[0], best[1])]
    search = _Search(model, mixed[0])
    fused = search.fuse([optimum(model, h) for h in mixed])
    assert fused.hierarchy == join(*best)
    assert fused.log_potential == model.log_potential(fused.hierarchy)


def shifted(nested):
    return tuple(map(shifted, nested)) if isinstance(nested, tuple) else int(nested) + 8


@every_model
@pytest.mark.parametrize("closed", [True, False])
def test_what_is_fused_is_at_least_as_good_as_each(make, closed, monkeypatch):
    monkeypatch.setattr(sys.modules[_Search.__module__], "_MOST_CLOSED", 500 if closed else 0)
    for seed in range(5):
        model = make(9, seed)
        optima = [optimum(model, random_hierarchy(9, 10 * seed + i)) for i in range(4)]
        fused = _Search(model, optima[0].hierarchy).fuse(optima)
        assert fused.log_potential >= max(one.log_potential for one in optima)
        assert fused.log_potential == model.log_potential(fused.hierarchy)


def test_a_new_line_leaves_the_best_hierarchy_and_ends_in_an_optimum_of_its_own():
    model = Dasgupta(weights(40, 3))
    search = _Search(model, greedy(model).hierarchy)
    first = search.run(0, search.start.hierarchy, 7, stopwatch())
    onward, anew = (search.run(1, first.hierarchy, 7, stopwatch(), displaced=share) for share in (0.0, 0.6))
    assert onward.log_potential >= first.log_potential
    shared = set(first.hierarchy.cluster_masks()) & set(anew.hierarchy.cluster_masks())
    assert len(shared) < 70  # of 79, of which 41 are in every hierarchy
    assert anew == search.run(1, first.hierarchy, 7, stopwatch(), displaced=0.6)


def test_lines_that_are_stuck_are_fused_and_begun_anew(monkeypatch):
    model = SumOfSquares(points(40))
    shares, fused = [], []
    run, fuse = _Search.run, _Search.fuse

    def watched_run(self, *args, displaced=0.0):
        shares.append(displaced)
        return run(self, *args, displaced=displaced)

    monkeypatch.setattr(_Search, "run", watched_run)
    monkeypatch.setattr(_Search, "fuse", lambda self, optima: fused.append(len(optima)) or fuse(self, optima))
    refined(model, greedy(model).hierarchy, 30)
    assert not any(shares[:4])
    assert {0.0, 0.1, 0.3} <= set(shares)
    assert sum(share > 0 for share in shares) <= len(fused) <= 10
    assert fused == sorted(fused)
    assert max(fused) <= 6


def test_ranks_put_the_possible_first_and_then_the_fewest_forbidden_splits():
    h = random_hierarchy(3, 0)
    order = [
        LocalOptimum(h, -math.inf, 2),
        LocalOptimum(h, -math.inf, 1),
        LocalOptimum(h, -5.0, 0),
        LocalOptimum(h, -4.0, 0),
    ]
    for one, two in itertools.combinations(order, 2):
        assert two.gains_on(one)
        assert not one.gains_on(two)
    assert not LocalOptimum(h, -4.0 + 1e-14, 0).gains_on(order[-1])
    assert not order[0].gains_on(order[0])


def test_the_count_of_forbidden_splits_is_that_of_the_hierarchy():
    model = only_neighbours(8)
    start = random_hierarchy(8, 3)
    search = _Search(model, start)
    tree, _ = regrafts_of(model).tree_of(start)
    assert search.start.forbidden == slow_log_psi(model, nested_clusters(tree))[0] == total(tree.log_psi)[0]
