"""All ways through the full trellis agree, with slow twins too; counts are exact; what is too large is refused."""

from __future__ import annotations

import math
import tracemalloc
from decimal import Decimal, localcontext
from functools import cache

import numpy as np
import pytest
from cases import OfSizes
from hypothesis import given
from hypothesis import strategies as st
from oracle import correlation, dasgupta, members, splits_of, sum_of_squares
from refused_memory import assert_refused_at_once

from palmette import HierarchyPosterior, PartitionPosterior, TrellisTooLarge
from palmette.models import Correlation, Dasgupta, SplitFunction, SumOfSquares, Uniform, UniformPartitions
from palmette.passes.hierarchies import full
from palmette.passes.hierarchies.conditions import HierarchyConditions
from palmette.passes.hierarchies.full import FullHierarchyPasses
from palmette.passes.hierarchies.separable import SeparablePasses
from palmette.trellis.counting import double_factorial, n_splits

KINDS = ["uniform", "dasgupta", "correlation", "sum of squares"]
BETAS = [0.0, 0.05, 1.0, 10.0, 1e3, 1e6]
WAYS = ["serial", "general", "separable"]


@cache
def data(kind, n):
    rng = np.random.default_rng(n)
    if kind == "sum of squares":
        return rng.normal(size=(n, 3))
    w = np.triu(rng.random((n, n)), 1)
    return w + w.T - (0.5 * (1 - np.eye(n)) if kind == "correlation" else 0.0)


def model_of(kind, n, beta):
    makers = {"dasgupta": Dasgupta, "correlation": Correlation, "sum of squares": SumOfSquares}
    return Uniform(n) if kind == "uniform" else makers[kind](data(kind, n), beta)


def formula_of(kind, n, beta):
    formulas = {"dasgupta": dasgupta, "correlation": correlation, "sum of squares": sum_of_squares}
    return (lambda left, right: 0.0) if kind == "uniform" else formulas[kind](data(kind, n), beta)


def passes_by(way, model, monkeypatch, **options):
    """Passes that take this way: one serial kernel, general kernels level by level, or separable kernels."""
    monkeypatch.setattr(full, "SERIAL", 30 if way == "serial" else 0)
    passes = FullHierarchyPasses(model, **options)
    if way == "general":
        vars(passes)["_is_general"] = True
    if way == "separable":
        assert not passes._is_general
    return passes


def tables_of(passes):
    Z = passes.inside()
    mu = passes.outside(Z).mu
    return Z, passes.maximum(), mu, passes.parent_sizes(Z, mu)


def conditions(n):
    """Two nested clusters are required and two are forbidden."""
    labels = tuple(map(str, range(n)))
    return HierarchyConditions(labels).and_also(require=[[0, 3, 5], [0, 3, 5, 6, 8]], forbid=[[1, 2], [1, 2, 4, 7]])


def assert_same(found, expected, scale):
    (Z, M, mu, nu), (slow_Z, slow_M, slow_mu, slow_nu) = found, expected
    np.testing.assert_allclose(Z[1:], slow_Z[1:], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(M[1:], slow_M[1:], rtol=1e-12, atol=1e-12)
    # A probability is the exponential of a difference of numbers of this scale.
    tolerance = max(1e-9, 1e-15 * scale)
    np.testing.assert_allclose(mu, slow_mu, rtol=0, atol=tolerance)
    np.testing.assert_allclose(nu, slow_nu, rtol=0, atol=len(Z).bit_length() * tolerance)
    assert mu.min() >= 0.0
    assert mu.max() <= 1.0


@pytest.mark.parametrize("conditioned", [False, True], ids=["all clusters", "conditioned"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [9, 10, 11, 12, 13])
def test_the_three_ways_through_the_trellis_agree(n, kind, conditioned, monkeypatch):
    ways = WAYS if n > full.SEGMENT_LEAVES else WAYS[:2]
    for beta in BETAS if kind != "uniform" else [0.0]:
        model = model_of(kind, n, beta)
        given = conditions(n) if conditioned else None
        tables = {way: tables_of(passes_by(way, model, monkeypatch, conditions=given)) for way in ways}
        scale = np.abs(tables["serial"][0][-1])
        for way in ways[1:]:
            assert_same(tables[way], tables["serial"], scale)


@given(
    weights=st.lists(st.integers(0, 3), min_size=55, max_size=55),
    beta=st.sampled_from([0.0, 0.3, 5.0, 80.0, 900.0, 1e6]),
    forbidden=st.lists(st.integers(3, 2**11 - 2), max_size=4),
)
def test_ties_zeros_and_forbidden_clusters_at_any_temperature(weights, beta, forbidden):
    """Integers as weights, so that many splits are equally good, and whole groups of them cost nothing."""
    n = 11
    w = np.zeros((n, n))
    w[np.triu_indices(n, 1)] = weights
    clusters = [members(mask) for mask in forbidden if mask.bit_count() > 1]
    given_up = HierarchyConditions(tuple(map(str, range(n)))).and_also(forbid=clusters)
    passes = FullHierarchyPasses(Dasgupta(w + w.T, beta), given_up)
    fast, slow = SeparablePasses(passes.tables), passes._general
    Z, slow_Z = fast.inside(), slow.inside()
    if slow_Z[-1] == -np.inf:
        assert Z[-1] == -np.inf
        return
    found, mu = fast.outside(Z, parents=True), slow.outside(slow_Z)
    tables = (Z, fast.maximum(), found.mu, found.nu)
    scale = np.abs(passes.tables.separable.a).max()
    assert_same(tables, (slow_Z, slow.maximum(), mu, slow.parent_sizes(slow_Z, mu)), scale)
    # Also what is rare has all its digits, but those that the size of the exponents takes.
    some = mu > 1e-100
    np.testing.assert_allclose(found.mu[some], mu[some], rtol=1e-11 + 1e-14 * scale)
    if found.entropy is not None:
        assert found.entropy == pytest.approx(passes.entropy(slow_Z, mu), rel=1e-9, abs=1e-9)


def test_the_entropy_comes_with_the_probabilities_unless_digits_would_be_lost():
    cold, hot = (HierarchyPosterior(Dasgupta(data("dasgupta", 13), beta)) for beta in (1.0, 1e4))
    for post, at_once in ((cold, True), (hot, False)):
        occurrence = post.passes.outside(post._inside)
        assert (occurrence.entropy is not None) is at_once
        assert post.entropy == pytest.approx(post.passes.entropy(post._inside, occurrence.mu), rel=1e-9, abs=1e-9)


# Slow twins.


def log_sum(values):
    top = max(values)
    return top if top == -math.inf else top + math.log(math.fsum(math.exp(x - top) for x in values))


def slow_tables(n, log_psi, possible=lambda mask: True):
    """Log Z, log M, μ and the sizes of parents as dictionaries, from the recursions as they are written down."""
    Z, M = {}, {}
    by_size = sorted(range(1, 1 << n), key=int.bit_count)
    splits = {mask: list(splits_of(mask)) for mask in by_size}
    psi = {}
    for mask in by_size:
        if mask.bit_count() == 1:
            Z[mask] = M[mask] = 0.0
            continue
        Z[mask] = M[mask] = -math.inf
        if possible(mask):
            for split in splits[mask]:
                psi[split] = log_psi(members(split[0]), members(split[1]))
            Z[mask] = log_sum([psi[L, R] + Z[L] + Z[R] for L, R in splits[mask]])
            M[mask] = max(psi[L, R] + M[L] + M[R] for L, R in splits[mask])
    mu = dict.fromkeys(by_size, 0.0) | {(1 << n) - 1: 1.0}
    nu = dict.fromkeys(by_size, 0.0)
    for mask in reversed(by_size):
        if mask.bit_count() > 1 and mu[mask] > 0:
            for L, R in splits[mask]:
                p = mu[mask] * math.exp(psi[L, R] + Z[L] + Z[R] - Z[mask])
                for part in (L, R):
                    mu[part] += p
                    nu[part] += mask.bit_count() * p
    return [np.array([0.0] + [table[mask] for mask in range(1, 1 << n)]) for table in (Z, M, mu, nu)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n", "beta"), [(9, 1.0), (10, 20.0)])
def test_every_way_matches_the_slow_twin(n, beta, kind, monkeypatch):
    expected = slow_tables(n, formula_of(kind, n, beta))
    for way in WAYS if n > full.SEGMENT_LEAVES else WAYS[:2]:
        found = tables_of(passes_by(way, model_of(kind, n, beta), monkeypatch))
        assert_same(found, expected, scale=1e4)


def test_every_way_matches_the_slow_twin_under_conditions(monkeypatch):
    n = 10
    given = conditions(n)
    allowed = FullHierarchyPasses(model_of("dasgupta", n, 0.3), given).allowed
    expected = slow_tables(n, formula_of("dasgupta", n, 0.3), lambda mask: allowed[mask])
    for way in WAYS:
        found = tables_of(passes_by(way, model_of("dasgupta", n, 0.3), monkeypatch, conditions=given))
        assert_same(found, expected, scale=1e3)


def test_a_table_of_any_splits_matches_the_slow_twin(monkeypatch):
    n = 9
    rng = np.random.default_rng(0)
    table = -30 * rng.random((1 << n, 1 << n))
    table[rng.random(table.shape) < 0.5] = -np.inf
    model = SplitFunction(n, lambda left, right: table[left, right])
    mask = lambda cluster: sum(1 << i for i in cluster)  # noqa: E731
    expected = slow_tables(n, lambda left, right: table[mask(left), mask(right)])
    for way in WAYS[:2]:
        assert_same(tables_of(passes_by(way, model, monkeypatch)), expected, scale=1.0)


# Sums that leave the range of float64.


def even_weights(n):
    return np.random.default_rng(7).random((n, n))


@pytest.mark.parametrize("n", [13, 14])
@pytest.mark.parametrize("beta", [30.0, 1e3, 1e6])
def test_sums_beyond_the_range_of_float64_are_done_again_exactly(n, beta, monkeypatch):
    w = even_weights(n)
    model = Dasgupta(w + w.T, beta)
    fast = passes_by("separable", model, monkeypatch)
    Z, n_sought = fast._separable.sums()
    assert 0 < n_sought < 1 << n
    slow = passes_by("general", model, monkeypatch)
    slow_Z = slow.inside()
    np.testing.assert_allclose(Z[1:], slow_Z[1:], rtol=1e-12)
    np.testing.assert_allclose(fast.outside(Z).mu, slow.outside(slow_Z).mu, rtol=0, atol=max(1e-9, 1e-15 * abs(Z[-1])))


def test_sums_within_the_range_of_float64_are_done_once(monkeypatch):
    w = even_weights(13)
    passes = passes_by("separable", Dasgupta(w + w.T, 1.0), monkeypatch)
    assert passes._separable.sums()[1] == 0


def exact_log_partition(w, beta):
    """Log Z of Dasgupta's model to 50 digits: weights are exact, only exp and ln round."""
    n = len(w)
    with localcontext() as context:
        context.prec = 60
        weight = [[Decimal(float(x)) for x in row] for row in w]
        within = {0: Decimal(0)}
        Z = {1 << i: Decimal(0) for i in range(n)}
        for mask in range(1, 1 << n):
            first, *rest = members(mask)
            within[mask] = within[mask & (mask - 1)] + sum(weight[first][j] for j in rest)
        for mask in sorted(range(1, 1 << n), key=int.bit_count):
            if mask.bit_count() > 1:
                factor = -Decimal(beta) * mask.bit_count()
                terms = [factor * (within[mask] - within[L] - within[R]) + Z[L] + Z[R] for L, R in splits_of(mask)]
                top = max(terms)
                Z[mask] = top + sum((x - top).exp() for x in terms if x - top > -120).ln()
        return Z[(1 << n) - 1]


@pytest.mark.parametrize("beta", [1.0, 1e3, 1e6])
def test_log_partition_is_exact_to_twelve_digits_at_any_temperature(beta, monkeypatch):
    w = data("dasgupta", 10)
    exact = exact_log_partition(w, beta)
    for way in WAYS:
        passes = passes_by(way, Dasgupta(w, beta), monkeypatch)
        found = passes.inside()[-1]
        assert abs((Decimal(float(found)) - exact) / exact) < Decimal("1e-12")
        if way == "separable" and beta > 1:
            assert passes._separable.sums()[1] > 0


def test_ties_are_counted_at_any_temperature():
    """All weights one: every hierarchy costs the same, and log Z says how many there are."""
    n, beta = 13, 1e6
    post = HierarchyPosterior(Dasgupta(np.ones((n, n)), beta))
    cost = (n**3 - n) / 3
    assert post.log_partition + beta * cost == pytest.approx(math.log(double_factorial(2 * n - 3)), abs=1e-6)


# Counts.


def hierarchies_with(c, n):
    """The number of hierarchies over n leaves that hold one given cluster of c leaves: it becomes one leaf."""
    return double_factorial(2 * c - 3) * double_factorial(2 * (n - c + 1) - 3)


@pytest.mark.parametrize("n", [1, 2, 3, 10, 20, 25])
def test_without_conditions_the_count_is_a_double_factorial(n):
    assert HierarchyPosterior(Uniform(n)).count == math.prod(range(1, 2 * n - 2, 2))


@pytest.mark.parametrize(("n", "c"), [(6, 2), (13, 4), (13, 9), (18, 9), (18, 10), (19, 9)])
def test_the_count_with_a_required_cluster_is_exact(n, c):
    post = HierarchyPosterior(Uniform(n))
    assert post.condition(require=[range(n - c, n)]).count == hierarchies_with(c, n)


@pytest.mark.parametrize(("n", "c"), [(6, 2), (13, 4), (14, 9)])
def test_the_count_with_a_forbidden_cluster_is_exact(n, c):
    post = HierarchyPosterior(Uniform(n))
    assert post.condition(forbid=[range(c)]).count == double_factorial(2 * n - 3) - hierarchies_with(c, n)


@pytest.mark.slow
def test_a_count_beyond_64_bits_is_exact():
    """Two required halves of twelve leaves: (21!!)², a number above 2^67."""
    halves = [range(12), range(12, 24)]
    count = HierarchyPosterior(Uniform(24)).condition(require=halves).count
    assert count == double_factorial(21) ** 2 > 2**67


@pytest.mark.slow
def test_a_count_beyond_64_bits_with_a_forbidden_cluster_is_exact():
    expected = double_factorial(35) - hierarchies_with(3, 19)
    assert HierarchyPosterior(Uniform(19)).condition(forbid=[[0, 9, 18]]).count == expected > 2**64


class Caterpillars(OfSizes):
    """log ψ = 0 if one side is a leaf, else −inf."""

    @staticmethod
    def score(theta, parent, left, right):
        return 0.0 if min(left[0], right[0]) == 1.0 else -np.inf


@pytest.mark.parametrize("n", [2, 5, 13, 14])
def test_the_count_of_a_model_that_forbids_splits_is_exact(n):
    post = HierarchyPosterior(Caterpillars(n))
    assert post.count == math.factorial(n) // 2
    assert post.log_partition == pytest.approx(math.log(math.factorial(n) // 2), rel=1e-13)


def test_the_number_of_splits_is_what_the_walk_visits():
    for n in range(1, 9):
        assert n_splits(n) == sum(len(list(splits_of(mask))) for mask in range(1, 1 << n))


# Memory.


@pytest.mark.parametrize(
    ("make", "n", "limit"),
    [
        (Uniform, 31, 10**15),
        (Uniform, 40, None),
        (lambda n: Dasgupta(np.ones((n, n))), 40, None),
        (lambda n: SplitFunction(n, lambda left, right: np.zeros(len(left))), 30, 10**10),
        (Uniform, 20, 10_000_000),
        (Uniform, 3, 1),
    ],
)
def test_what_is_too_large_is_refused_before_anything_is_allocated(make, n, limit):
    model = make(n)
    assert_refused_at_once(lambda: HierarchyPosterior(model, max_memory=limit), n, "SparseTrellis")


def test_the_limit_is_named_in_the_units_people_use():
    with pytest.raises(TrellisTooLarge, match=r"n = 20 leaves needs 64 MB; 10 MB are allowed"):
        HierarchyPosterior(Uniform(20), max_memory=10_000_000)


def test_too_large_is_a_kind_of_value_error():
    assert issubclass(TrellisTooLarge, ValueError)


def peak_of(answer):
    answer()  # kernels that are loaded on first use take memory of their own
    tracemalloc.start()
    try:
        answer()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("beta", [0.1, 50.0])
def test_the_memory_that_is_announced_is_enough_for_log_partition_and_map(beta):
    w = even_weights(17)
    model = Dasgupta(w + w.T, beta)

    def answer():
        post = HierarchyPosterior(model)
        return post.log_partition, post.map()

    needed = HierarchyPosterior(model).memory_needed
    assert 0.5 * needed < peak_of(answer) <= 1.01 * needed


def test_all_tables_together_stay_within_the_memory_that_is_allowed():
    w = even_weights(17)
    model = Dasgupta(w + w.T, 0.1)

    def answer(**options):
        post = HierarchyPosterior(model, **options)
        return post.log_partition, post.map(), post.cluster_probability_array()

    used = peak_of(answer)
    with pytest.raises(TrellisTooLarge):
        answer(max_memory=int(0.97 * used))


@pytest.mark.parametrize("n", [1100, 40_000])
def test_any_number_of_leaves_is_too_large_in_words(n):
    for make in (lambda: HierarchyPosterior(Uniform(n)), lambda: PartitionPosterior(UniformPartitions(n))):
        with pytest.raises(TrellisTooLarge, match=rf"n = {n} leaves needs 10\^\d+ bytes"):
            make()
