"""Beam search against the same thing in plain Python, its estimates against enumeration, and jets."""

from __future__ import annotations

import functools
import importlib
import itertools
import math

import numpy as np
import pytest
from cases import Tilted
from ginkgo_formulas import log_psi_of
from hypothesis import given
from hypothesis import strategies as st
from oracle import dasgupta, pair_sum

from palmette.hierarchy import Hierarchy
from palmette.models import Correlation, Dasgupta, Ginkgo, SplitFunction, SumOfSquares, Uniform
from palmette.models.base import Model
from palmette.passes.hierarchies.full import FullHierarchyPasses
from palmette.search import beam, greedy
from palmette.search.forests import Forests, empty_pool
from palmette.simulate import ginkgo

module = importlib.import_module("palmette.search.beam")  # its name in the package is that of the function


# A beam search in plain Python.


def keep_best(pool, width):
    """The best `width` entries by rank, best first; of equal ones those that came first."""
    return dict(sorted(pool.items(), key=lambda entry: -entry[1][0])[:width])


def extended(beam, width, room, gain, outlook, is_forced):
    """Clusters → (rank, gained, hierarchies so far), for the best merges of all forests."""
    pool, least = {}, -math.inf
    for gained, nested in beam:
        if len(pool) + math.comb(len(nested), 2) > room:
            pool = keep_best(pool, width)
            least = min(entry[0] for entry in pool.values()) if len(pool) == width else -math.inf
        for one, two in itertools.combinations(sorted(nested), 2):
            brings, hope = (0.0, 0.0) if is_forced else (gain(one, two), outlook(sorted(nested), one, two))
            merged = {c: tree for c, tree in nested.items() if c not in (one, two)}
            merged[tuple(sorted(one + two))] = (nested[one], nested[two])
            if gained + hope > least:
                clusters = frozenset(merged)
                if clusters not in pool or gained + brings > pool[clusters][1]:
                    pool[clusters] = (gained + hope, gained + brings, merged)
    return [entry[1:] for entry in keep_best(pool, width).values()]


def slow_beam(n, width, gain, outlook=None):
    """`outlook(clusters, one, two)` is what may come if these two are merged now, that merge included."""
    outlook = outlook or (lambda clusters, one, two: gain(one, two))
    room = 4 * width + math.comb(n, 2)  # when a pool is full, only the best are kept
    beam = [(0.0, {(i,): i for i in range(n)})]
    for _ in range(n - 1):
        arguments = (beam, width, room, gain, outlook)
        beam = extended(*arguments, is_forced=False) or extended(*arguments, is_forced=True)
    return Hierarchy.from_nested(next(iter(beam[0][1].values())), [str(i) for i in range(n)])


def cost_to_come_by_triples(w, clusters, one, two):
    """Dasgupta's cost of all merges at least, if these two are merged now."""
    W = {pair: pair_sum(w, *pair) for pair in itertools.combinations(clusters, 2)}
    cost = sum(weight * (len(a) + len(b)) for (a, b), weight in W.items())
    for a, b, c in itertools.combinations(clusters, 3):
        terms = {(a, b): W[a, b] * len(c), (a, c): W[a, c] * len(b), (b, c): W[b, c] * len(a)}
        cost += sum(terms.values()) - terms.get((one, two), max(terms.values()))
    return cost


def gain_to_come_by_neighbours(gain, clusters, one, two):
    """This merge, and half the best merge of every cluster there is after it, but for the two worst."""
    best = [max(gain(c, d) for d in clusters if d != c) for c in clusters if c not in (one, two)]
    return gain(one, two) + 0.5 * sum(sorted([*best, gain(one, two)])[2:])


def with_triples(w):
    return dasgupta(w, 1.0), lambda clusters, one, two: -cost_to_come_by_triples(w, clusters, one, two)


def with_neighbours(cost):
    gain = functools.cache(lambda one, two: -cost(one + two))
    return gain, functools.partial(gain_to_come_by_neighbours, gain)


# Models beside what merges bring, and what may come after them; None if that is not asked. All sums of costs are exact:
# forests with the same clusters tie truly, and which one is kept must not hang on rounding.


def symmetric(entries, n):
    w = np.zeros((n, n))
    w[np.triu_indices(n, 1)] = entries(n * (n - 1) // 2)
    return w + w.T


def dasgupta_case(entries):
    def make(rng, n):
        w = symmetric(lambda m: entries(rng, m), n)
        return Dasgupta(w), *with_triples(w)

    return make


def correlation_case(entries):
    def make(rng, n):
        w = symmetric(lambda m: entries(rng, m), n)
        return Correlation(w), *with_neighbours(lambda cluster: pair_sum(np.maximum(-w, 0.0), cluster))

    return make


def sum_of_squares_case(rng, n):
    x = 840.0 * rng.integers(-50, 50, (n, 2))  # a multiple of all sizes, so that means are whole
    squared = ((x[:, None] - x[None]) ** 2).sum(axis=2)
    return SumOfSquares(x), *with_neighbours(lambda cluster: pair_sum(squared, cluster) / len(cluster))


def particles(rng, n):
    p = rng.standard_normal((n, 3))
    return np.column_stack([np.sqrt((p**2).sum(axis=1) + rng.random(n)), p])


def jet_case(likelihood):
    def make(rng, n):
        momenta, rate, t_cut = particles(rng, n), rng.choice([0.3, 1.5]), rng.choice([0.1, 1.0, 4.0])
        return Ginkgo(momenta, rate, t_cut, likelihood=likelihood), log_psi_of(momenta, likelihood, rate, t_cut), None

    return make


def table_case(rng, n):
    """Few values, so that many forests tie; some splits, or most, or all, are forbidden."""
    table = rng.integers(-3, 3, (1 << n, 1 << n)).astype(float)
    table[rng.random(table.shape) < rng.choice([0.0, 0.3, 0.9, 1.0])] = -np.inf
    mask = lambda cluster: sum(1 << i for i in cluster)  # noqa: E731
    model = SplitFunction(n, lambda left, right: table[left, right])
    return model, lambda one, two: table[mask(one), mask(two)], None


def tilted_case(rng, n):
    x, w, least = 3 * rng.random(n), symmetric(rng.random, n), rng.choice([0.0, 0.3, 10.0])

    def log_psi(one, two):
        gap = abs(x[list(one)].mean() - x[list(two)].mean())
        return -np.inf if gap < least else -gap + 0.1 * pair_sum(w, one, two)

    return Tilted(n, theta=[1.0, least], additive=x[:, None], pairwise=[w]), log_psi, None


CASES = {
    "uniform": lambda rng, n: (Uniform(n), lambda one, two: 0.0, None),
    "dasgupta": dasgupta_case(lambda rng, m: rng.integers(0, 1024, m) / 1024),
    "dasgupta, any sign": dasgupta_case(lambda rng, m: rng.integers(-1024, 1024, m) / 1024),
    "dasgupta, ties": dasgupta_case(lambda rng, m: rng.integers(-1, 3, m)),
    "correlation": correlation_case(lambda rng, m: rng.integers(-1024, 1024, m) / 1024),
    "correlation, ties": correlation_case(lambda rng, m: rng.integers(-2, 2, m)),
    "sums of squares": sum_of_squares_case,
    "ordered": jet_case("ordered"),
    "symmetric": jet_case("symmetric"),
    "literal": jet_case("literal"),
    "split function": table_case,
    "user's": tilted_case,
}
WITHOUT_ESTIMATE = ["uniform", "ordered", "symmetric", "literal", "split function"]
# Kernels of all models are the same. These are in every run: an estimate of each kind, ties, jets, which forbid
# splits, a model that is no kernel, and a user's.
TELLING = [kind for kind in CASES if kind not in ("uniform", "symmetric", "literal")]


def kinds(names):
    return [pytest.param(name, marks=[] if name in TELLING else pytest.mark.slow) for name in names]


@pytest.mark.parametrize("kind", kinds(CASES))
def test_the_beam_is_that_of_plain_python(kind):
    for seed in range(12):
        rng = np.random.default_rng(seed)
        n, width = 1 + seed % 8, [1, 2, 3, 7, 20][seed % 5]
        model, gain, outlook = CASES[kind](rng, n)
        assert beam(model, width).hierarchy == slow_beam(n, width, gain, outlook)


@given(
    st.integers(2, 7),
    st.integers(1, 30),
    st.integers(0, 2**32 - 1),
    st.sampled_from([kind for kind in TELLING if kind != "user's"]),
)
def test_the_beam_of_any_width_is_that_of_plain_python(n, width, seed, kind):
    model, gain, outlook = CASES[kind](np.random.default_rng(seed), n)
    assert beam(model, width).hierarchy == slow_beam(n, width, gain, outlook)


def best_log_potential(model):
    return FullHierarchyPasses(model).maximum()[-1]


@pytest.mark.parametrize("kind", kinds(kind for kind in CASES if kind != "user's"))
def test_a_beam_that_keeps_every_forest_is_exact(kind):
    for seed in range(15):
        model, _, _ = CASES[kind](np.random.default_rng(seed), 2 + seed % 5)
        best = best_log_potential(model)
        assert beam(model, 2000).log_potential == pytest.approx(best, rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("kind", kinds(WITHOUT_ESTIMATE))
def test_one_forest_without_an_estimate_is_greedy_agglomeration(kind):
    for seed in range(15):
        model, gain, _ = CASES[kind](np.random.default_rng(seed), 2 + seed % 7)
        assert model.log_potential(beam(model, 1).hierarchy) == pytest.approx(greedy(model).log_potential)
        assert beam(model, 1).hierarchy == slow_beam(model.n_leaves, 1, gain)


# The estimates.


def ranks(model, slots):
    """(low, high) → (rank, gained) of all merges of one forest."""
    forests = Forests(np.array([slots], np.int32), np.zeros(1), np.zeros(1, np.uint64))
    pool = empty_pool(len(slots), 1)
    module._compiled(model)(forests, 0, len(set(slots)), False, pool)
    rows = zip(pool.low.tolist(), pool.high.tolist(), pool.rank, pool.gained, strict=True)
    return {(low, high): (rank, gained) for low, high, rank, gained in itertools.islice(rows, int(pool.size[0]))}


def random_forest(rng, n):
    """The slots of a forest of n leaves, and its clusters."""
    slots = [0]
    for i in range(1, n):
        slots.append(int(rng.choice([*set(slots), i, i])))
    return slots, [tuple(j for j in range(n) if slots[j] == i) for i in sorted(set(slots))]


def best_completion(clusters, gain, fewest):
    """The most that merges of these clusters can bring until so many are left; by trying all."""
    if len(clusters) <= fewest:
        return 0.0

    def after(one, two):
        rest = [c for c in clusters if c not in (one, two)]
        return gain(one, two) + best_completion([*rest, tuple(sorted(one + two))], gain, fewest)

    return max(after(one, two) for one, two in itertools.combinations(clusters, 2))


ESTIMATED = ["dasgupta", "dasgupta, any sign", "dasgupta, ties", "correlation", "correlation, ties", "sums of squares"]


@pytest.mark.parametrize("kind", ESTIMATED)
def test_ranks_are_as_their_formulas_say_and_never_too_low(kind):
    fewest = 1 if kind.startswith("dasgupta") else 2  # the root costs nothing where costs are those of clusters
    for seed in range(25):
        rng = np.random.default_rng(seed)
        n = 3 + seed % 5
        model, gain, outlook = CASES[kind](rng, n)
        slots, clusters = random_forest(rng, n)
        found = ranks(model, slots)
        assert len(found) == math.comb(len(clusters), 2)
        for one, two in itertools.combinations(clusters, 2):
            rank, gained = found[one[0], two[0]]
            assert gained == pytest.approx(gain(one, two), rel=1e-12)
            assert rank == pytest.approx(outlook(clusters, one, two), rel=1e-12, abs=1e-12)
            after = [*(c for c in clusters if c not in (one, two)), tuple(sorted(one + two))]
            to_come = best_completion(after, gain, fewest)
            assert rank >= gain(one, two) + to_come - 1e-9 * (1 + abs(to_come))


# What the pool knows forests by, and how they are shared out to calls.


def pool_of(model, slots, keys):
    forests = Forests(np.array(slots, np.int32), np.zeros(len(slots)), np.array(keys, np.uint64))
    pool = empty_pool(len(slots[0]), 10)
    module._compiled(model)(forests, 0, len(set(slots[0])), False, pool)
    return pool


def test_forests_are_told_apart_when_their_keys_agree():
    one, two = [0, 0, 2, 3, 4], [0, 1, 2, 2, 4]
    first, second = (pool_of(Uniform(5), [slots], [0]) for slots in (one, two))
    n_one, n_two = int(first.size[0]), int(second.size[0])
    shift = int(first.keys[0]) - int(second.keys[1])  # {0, 1, 2}, 3, 4 gets the key of {0, 2, 3}, 1, 4
    both = pool_of(Uniform(5), [one, two], [0, shift % 2**64])
    assert both.keys[0] == both.keys[n_one + 1]
    assert both.size[0] == n_one + n_two


def test_merges_that_lead_to_the_same_clusters_are_one():
    one, two = [0, 0, 2, 3, 4], [0, 1, 2, 2, 4]
    root = np.zeros(1, np.uint64)
    leaves = pool_of(Uniform(5), [[0, 1, 2, 3, 4]], root)
    key_of = {(low, high): key for low, high, key in zip(leaves.low, leaves.high, leaves.keys, strict=True)}
    both = pool_of(Uniform(5), [one, two], [key_of[0, 1], key_of[2, 3]])
    assert both.size[0] == 6 + 6 - 1


@pytest.mark.parametrize("kind", ["dasgupta", "ordered"])
def test_how_many_forests_one_call_takes_changes_nothing(kind, monkeypatch):
    model, _, _ = CASES[kind](np.random.default_rng(5), 9)
    expected = beam(model, 30)
    monkeypatch.setattr(module, "_CHUNK", 0.0)
    assert beam(model, 30) == expected


# Jets.


def test_the_beam_on_jets_lies_between_greedy_and_the_best():
    jets = ginkgo(200, min_leaves=5, max_leaves=10, rng=1)
    models = [Ginkgo(jet.momenta, jets.rate, jets.t_cut) for jet in jets]
    found = np.array([[best_log_potential(m), beam(m).log_potential, greedy(m).log_potential] for m in models])
    below_best, above_greedy = found[:, 0] - found[:, 1], found[:, 1] - found[:, 2]
    assert (below_best > -1e-9).all()
    assert 0.25 < below_best.mean() < 0.6
    assert 0.8 < above_greedy.mean() < 1.4


# Few leaves, many, and none of the sort.


def test_a_hierarchy_comes_out_even_if_a_compiled_model_forbids_all():
    found = beam(Ginkgo(particles(np.random.default_rng(0), 6), 1.5, 1e6), 4)
    assert found.log_potential == -np.inf
    assert found.hierarchy == Hierarchy.from_nested((((((0, 1), 2), 3), 4), 5))


def test_a_hundred_leaves_in_groups_are_found():
    group = np.arange(100) % 4
    w = np.where(group[:, None] == group, 1.0, 0.1)
    clusters = set(map(frozenset, beam(Dasgupta(w), 3).hierarchy.clusters()))
    assert {frozenset(range(i, 100, 4)) for i in range(4)} <= clusters


def test_the_same_input_gives_the_same_hierarchy():
    model, _, _ = CASES["dasgupta, ties"](np.random.default_rng(1), 12)
    assert beam(model) == beam(model)


def test_labels_of_the_model_are_kept():
    w = np.array([[0, 0, 1], [0, 0, 0], [1, 0, 0.0]])
    assert beam(Dasgupta(w, labels=["x", "y", "z"])).hierarchy == Hierarchy.from_newick("((x,z),y);")


@pytest.mark.parametrize("width", [0, -3, 1.5, "wide", True])
def test_a_width_is_a_whole_number(width):
    with pytest.raises(ValueError, match=r"width is .*; expected how many forests to keep"):
        beam(Uniform(4), width)


def test_what_is_no_model_of_hierarchies_is_refused():
    with pytest.raises(TypeError, match=r"expected a model of hierarchies.*Dasgupta"):
        beam(Model(3))


def test_a_split_function_of_too_many_leaves_is_refused():
    with pytest.raises(ValueError, match="at most 63 leaves, not 64"):
        beam(SplitFunction(64, lambda left, right: np.zeros(len(left))))
