"""The bounds of log potentials: never below the best hierarchy, and as their formulas say."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from cases import cases
from hypothesis import given
from hypothesis import strategies as st
from oracle import members

from palmette.models import Correlation, Dasgupta, Ginkgo, SplitModel, SumOfSquares, Uniform
from palmette.models.bounds import dasgupta_bound
from palmette.models.c_functions import bounds_of
from palmette.models.ginkgo import _Literal
from palmette.passes.hierarchies.full import FullHierarchyPasses
from palmette.search.a_star_opening import upper_bound


def upper_bounds(model, clusters):
    """(m,): U(C) of m clusters of three leaves or more, given by their leaves; +inf if the model has no bound."""
    listed = [np.asarray(cluster, dtype=np.int64) for cluster in clusters]
    data = (model.additive, model.pairwise)
    return np.array([upper_bound(bounds_of(model.bound), model.theta, cluster, *data) for cluster in listed])


def symmetric(entries, n):
    """A symmetric matrix from a function that draws so many numbers."""
    w = np.zeros((n, n))
    w[np.triu_indices(n, 1)] = entries(n * (n - 1) // 2)
    return w + w.T


def particles(rng, n):
    """Massive and massless ones, some of them parallel, on very different scales."""
    p = rng.standard_normal((n, 3)) * rng.choice([0.01, 1.0, 30.0], (n, 1), p=[0.1, 0.8, 0.1])
    if n > 2 and rng.random() < 0.3:
        p[1] = 2 * p[0]
    mass = rng.random(n) * rng.choice([0.0, 1.0, 3.0])
    return np.column_stack([np.sqrt((p**2).sum(axis=1) + mass**2), p])


def jet(likelihood):
    def make(rng, n):
        rate, t_cut = rng.choice([0.1, 1.5, 8.0]), rng.choice([1e-3, 0.5, 3.0, 50.0])
        root = {"root_rate": 2 * rate}
        return Ginkgo(particles(rng, n), rate, t_cut, likelihood=likelihood, **root)

    return make


def points(rng, n):
    scale = rng.choice([1e-3, 1.0, 1e4])
    return np.where(rng.random((n, 1)) < 0.2, 1.0, scale * rng.standard_normal((n, rng.integers(1, 4))))


MODELS = {
    "uniform": lambda rng, n: Uniform(n),
    "dasgupta": lambda rng, n: Dasgupta(symmetric(rng.random, n), rng.choice([0.0, 0.3, 1.0, 1e4])),
    "dasgupta, any sign": lambda rng, n: Dasgupta(symmetric(rng.standard_normal, n)),
    "dasgupta, ties": lambda rng, n: Dasgupta(symmetric(lambda m: rng.integers(-1, 3, m), n)),
    "correlation": lambda rng, n: Correlation(symmetric(rng.standard_normal, n), rng.choice([0.0, 0.3, 1.0, 1e4])),
    "correlation, ties": lambda rng, n: Correlation(symmetric(lambda m: rng.integers(-2, 2, m), n)),
    "correlation, repulsion": lambda rng, n: Correlation(symmetric(lambda m: -(rng.exponential(1, m) ** 4), n)),
    "sums of squares": lambda rng, n: SumOfSquares(points(rng, n), rng.choice([0.0, 0.3, 1.0])),
    "ordered": jet("ordered"),
    "symmetric": jet("symmetric"),
    "literal": jet("literal"),
}


def large_clusters(n):
    return [members(mask) for mask in range(1 << n) if mask.bit_count() >= 3]


def violations(model):
    """(cluster, U, M) wherever U(C) < M(C): there must be none."""
    best = FullHierarchyPasses(model).maximum()
    clusters = large_clusters(model.n_leaves)
    upper = upper_bounds(model, clusters)
    assert not np.isnan(upper).any()
    of_clusters = best[[sum(1 << i for i in cluster) for cluster in clusters]] if clusters else np.empty(0)
    return [row for row in zip(clusters, upper, of_clusters, strict=True) if row[1] < row[2]]


@pytest.mark.parametrize("kind", MODELS)
def test_no_hierarchy_over_any_cluster_exceeds_the_bound(kind):
    for seed in range(40):
        rng = np.random.default_rng(seed)
        assert violations(MODELS[kind](rng, 3 + seed % 6)) == []


@given(cases(max_leaves=5, kinds="udcsgl"))
def test_no_hierarchy_of_awkward_models_exceeds_the_bound(case):
    assert violations(case.model) == []
    if case.model.n_leaves >= 3:
        root = upper_bounds(case.model, [range(case.model.n_leaves)])[0]
        assert root >= case.oracle.log_potentials.max() - case.tolerance


@pytest.mark.parametrize("kind", [kind for kind in MODELS if kind not in ("ordered", "symmetric", "literal")])
def test_bounds_of_costs_are_reached_over_three_leaves(kind):
    for seed in range(20):
        model = MODELS[kind](np.random.default_rng(seed), 3)
        best = FullHierarchyPasses(model).maximum()[-1]
        assert upper_bounds(model, [[0, 1, 2]])[0] == pytest.approx(best, rel=1e-9, abs=1e-9)


class TooLow(Correlation):
    """The bound of another model, which does not hold for this one."""

    bound = staticmethod(dasgupta_bound)


def test_a_bound_that_is_too_low_would_be_noticed():
    for seed in range(30):
        assert violations(TooLow(symmetric(np.random.default_rng(seed).random, 6) - 0.3))


# The formulas once more, in plain Python.


def slow_dasgupta(w, cluster):
    pairs = sum(w[i, j] for i, j in itertools.combinations(cluster, 2))
    triples = ([w[i, j], w[i, k], w[j, k]] for i, j, k in itertools.combinations(cluster, 3))
    return 2 * pairs + sum(sum(triple) - max(triple) for triple in triples)


def slow_share(pairs, own, cluster, i, s):
    """The least that leaf i brings to the pair sum of s leaves."""
    return own[i] + 0.5 * sum(sorted(pairs[i, j] for j in cluster if j != i)[: s - 1])


def slow_least(pairs, own, cluster, s):
    return sum(sorted(slow_share(pairs, own, cluster, i, s) for i in cluster)[:s])


def slow_cheapest(pairs, cluster, weight, floor):
    """The recursion over sizes; the leaves of the smaller part of the first split are chosen by trying all."""
    own, k = np.zeros(len(pairs)), len(cluster)
    cost = [0.0, 0.0] + [slow_least(pairs, own, cluster, s) * weight(s) for s in range(2, k)]
    value = [0.0, 0.0, 0.0]
    for m in range(3, k):
        value.append(min(cost[a] + cost[m - a] + value[a] + value[m - a] for a in range(1, m)))

    def parts(b):
        share = lambda i, s: slow_share(pairs, own, cluster, i, s) * weight(s)  # noqa: E731
        return min(
            sum(share(i, b if i in chosen else k - b) for i in cluster) for chosen in itertools.combinations(cluster, b)
        )

    return min(max(parts(b), floor) + value[b] + value[k - b] for b in range(1, k // 2 + 1))


def slow_uncut(repulsion, cluster):
    """Every triple of repulsive pairs leaves one uncut, paid for out of the triples' shares of their pairs."""
    triples = [
        t for t in itertools.combinations(cluster, 3) if all(repulsion[p] > 0 for p in itertools.combinations(t, 2))
    ]
    often = lambda i, j: sum(i in t and j in t for t in triples)  # noqa: E731
    return sum(min(repulsion[i, j] / often(i, j) for i, j in itertools.combinations(t, 2)) for t in triples)


def slow_correlation(w, cluster):
    repulsion = np.maximum(-w, 0.0)
    attraction = sum(max(w[i, j], 0.0) for i, j in itertools.combinations(cluster, 2))
    return attraction + slow_cheapest(repulsion, cluster, lambda s: 1.0, slow_uncut(repulsion, cluster))


SLOW_COSTS = {
    "dasgupta": lambda model, c: slow_dasgupta(model.pairwise[0], c),
    "dasgupta, any sign": lambda model, c: slow_dasgupta(model.pairwise[0], c),
    "correlation": lambda model, c: slow_correlation(model.pairwise[0], c),
    "correlation, ties": lambda model, c: slow_correlation(model.pairwise[0], c),
    "correlation, repulsion": lambda model, c: slow_correlation(model.pairwise[0], c),
    "sums of squares": lambda model, c: slow_cheapest(model.pairwise[0], c, lambda s: 1 / s, 0.0),
}


@pytest.mark.parametrize("kind", SLOW_COSTS)
def test_bounds_of_costs_are_as_their_formulas_say(kind):
    for seed in range(6):
        model = MODELS[kind](np.random.default_rng(seed), 6)
        clusters = large_clusters(6)
        expected = [-model.beta * SLOW_COSTS[kind](model, cluster) for cluster in clusters]
        raised = 1e-12 * model.beta * model.n_leaves * np.abs(model.pairwise[0]).sum()
        np.testing.assert_allclose(upper_bounds(model, clusters), expected, rtol=1e-10, atol=raised)


def largest(f, low, high, top):
    """max f(T) over low ≤ T ≤ high; f rises up to `top`, and falls after it."""
    return max(f(T) for T in [low, high, top] if low <= T <= high and math.isfinite(T))


def slow_ordered(model, is_root, a, b, least, heaviest, low, high):
    rate, t_cut = (model.root_rate if is_root else model.rate), model.t_cut
    K = -math.log(-math.expm1(-rate))
    if high < t_cut:
        return -math.inf
    low, light, heavy = max(low, t_cut), max(least[b], t_cut), max(least[a], t_cut)
    fixed = 2 * K - math.log(4 * math.pi)
    if a == 1:
        return fixed + 2 * math.log(1 - math.exp(-rate * t_cut / low))
    hi = heavy if b == 1 else max(heavy, light)
    first = largest(lambda T: math.log(rate / T) - rate * hi / T, low, high, rate * hi)
    return fixed + first + (0.0 if b == 1 else -1 - math.log(min(heavy, light)))


def slow_symmetric(model, is_root, a, b, least, heaviest, low, high):
    rate, t_cut = (model.root_rate if is_root else model.rate), model.t_cut
    K = -math.log(-math.expm1(-0.999 * rate))
    if high <= t_cut:
        return -math.inf
    low = max(low, t_cut)

    def factors(size):
        """The largest factor of a child drawn first, and of one drawn second."""
        t = max(least[size], t_cut)
        dense = largest(lambda T: math.log(rate / T) - rate * t / T, low, high, rate * t), -1 - math.log(t)
        light = math.log(1 - math.exp(-rate * t_cut / low)), math.log(1 - math.exp(-rate))
        if size > 1:
            return dense
        return tuple(map(max, light, dense)) if heaviest > t_cut else light

    (first_a, second_a), (first_b, second_b) = factors(a), factors(b)
    return 2 * K - math.log(4 * math.pi) + max(first_a + second_b, first_b + second_a)


def slow_literal(model, is_root, a, b, least, heaviest, low, high):
    rate, children = (model.root_rate if is_root else model.rate), least[a] + least[b]
    K = -math.log(-math.expm1(-rate))
    if max(rate * children / 2, low) == 0.0:
        return math.inf
    return largest(
        lambda T: 2 * (K + math.log(rate) - math.log(T)) - rate * children / T if T > 0 else -math.inf,
        low,
        high,
        rate * children / 2,
    )


def slow_mass_bound(model, cluster, limit):
    p = model.momenta
    pairs = 2 * (np.outer(p[:, 0], p[:, 0]) - p[:, 1:] @ p[:, 1:].T)
    own, k = np.diag(pairs) / 2, len(cluster)
    slack = 2e-14 * p[list(cluster), 0].sum() ** 2
    least = [0.0] + [max(slow_least(pairs, own, cluster, s) - slack, 0.0) for s in range(1, k + 1)]
    high = max(slow_least(pairs, own, cluster, k) + slack, 0.0)
    heaviest = max(slack, max(own[i] for i in cluster) + slack)
    value = [0.0, 0.0]
    for m in range(2, k + 1):
        ends = least[m], high if m == k else math.inf
        parts = [(m - b, b) for b in range(1, m // 2 + 1)]
        value.append(
            max(limit(model, m == model.n_leaves, a, b, least, heaviest, *ends) + value[a] + value[b] for a, b in parts)
        )
    return value[k]


@pytest.mark.parametrize("kind", ["ordered", "symmetric", "literal"])
def test_bounds_of_jets_are_as_their_formulas_say(kind):
    limit = {"ordered": slow_ordered, "symmetric": slow_symmetric, "literal": slow_literal}[kind]
    for seed in range(12):
        model = MODELS[kind](np.random.default_rng(seed), 6)
        clusters = large_clusters(6)
        expected = [slow_mass_bound(model, cluster, limit) for cluster in clusters]
        np.testing.assert_allclose(upper_bounds(model, clusters), expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("likelihood", ["ordered", "symmetric"])
def test_the_bound_of_an_impossible_cluster_is_minus_infinity(likelihood):
    rng = np.random.default_rng(1)
    model = Ginkgo(particles(rng, 5), 1.5, 1e9, likelihood=likelihood)
    assert (upper_bounds(model, large_clusters(5)) == -np.inf).all()


# Who has a bound.


class Shifted(_Literal):
    @staticmethod
    def score(theta, parent, left, right):
        return parent[1] - parent[2] * (left[0] + right[0]) + 1.0


class Doubled(Dasgupta):
    @staticmethod
    def features(theta, n, size, sums, pairs, out):
        out[0] = -2.0 * theta[0] * size * pairs[0]
        out[1] = pairs[0]
        out[2] = 2.0 * theta[0] * size


class Renamed(Dasgupta):
    @staticmethod
    def merge_score(theta, parent, left, right):
        return parent[1]


class Bounded(Doubled):
    @staticmethod
    def bound(theta, n, members, additive, pairwise):
        return 2.0 * dasgupta_bound(theta, n, members, additive, pairwise)


def test_a_model_that_changes_its_log_potential_loses_the_bound():
    rng = np.random.default_rng(3)
    for model in (Shifted(particles(rng, 5), 1.5), Doubled(symmetric(rng.random, 5))):
        assert model.bound is None
        assert (upper_bounds(model, large_clusters(5)) == np.inf).all()
        assert not model.never_gains


def test_a_separable_model_has_no_score_of_its_own():
    with pytest.raises(TypeError, match=r"Other has a score of its own.*derive from SplitModel"):

        class Other(Dasgupta):
            @staticmethod
            def score(theta, parent, left, right):
                return 0.0


def test_a_model_that_changes_only_how_it_merges_keeps_the_bound():
    assert Renamed.bound is Dasgupta.bound is dasgupta_bound


def test_a_model_may_bring_a_bound_of_its_own():
    model = Bounded(symmetric(np.random.default_rng(3).random, 6))
    assert violations(model) == []
    root = upper_bounds(model, [range(6)])[0]
    assert root == pytest.approx(2 * upper_bounds(Dasgupta(model.pairwise[0]), [range(6)])[0])
    assert type("Heir", (Bounded,), {}).bound is Bounded.bound


def test_a_bound_with_other_parameters_is_refused():
    with pytest.raises(TypeError, match="bound"):
        type("Wrong", (SplitModel,), {"n_features": 1, "bound": staticmethod(lambda cluster: 0.0)})


def test_no_clusters_have_no_bounds():
    assert upper_bounds(Uniform(4), []).shape == (0,)


@given(st.integers(0, 2**32 - 1))
def test_where_nothing_is_gained_no_split_has_a_positive_log_potential(seed):
    for kind, make in MODELS.items():
        model = make(np.random.default_rng(seed), 4)
        if model.never_gains:
            assert (FullHierarchyPasses(model).maximum()[1:] <= 1e-12).all(), kind


def test_what_is_known_to_gain_nothing():
    w = symmetric(np.random.default_rng(3).random, 4)
    for model in (Uniform(4), Dasgupta(w), Correlation(w - 0.5), SumOfSquares(w)):
        assert model.never_gains
    for model in (Dasgupta(w - 0.5), Ginkgo(particles(np.random.default_rng(0), 4), 1.0, 1.0)):
        assert not model.never_gains
