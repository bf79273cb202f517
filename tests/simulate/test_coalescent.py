"""The coalescent against its waiting times, topologies and marginals; data against the hierarchy they came down."""

from __future__ import annotations

import functools
import itertools
import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from scipy import stats

from palmette.coalescent import Brownian, Gaussian, IndependentSites
from palmette.coalescent.process import Process
from palmette.hierarchy import Hierarchy
from palmette.simulate import coalescent

UNLIKELY = 1e-3  # seeds are fixed, so a test that passes goes on passing


def times(hierarchy: Hierarchy) -> np.ndarray:
    """The ages of the events, shape (n − 1,)."""
    return hierarchy.heights[hierarchy.n_leaves :]


def shape(hierarchy: Hierarchy) -> frozenset[frozenset[int]]:
    """Its clusters, times apart."""
    return frozenset(hierarchy.clusters())


def fits(counts: dict[Any, int], expected: dict[Any, float]) -> bool:
    total = sum(counts.values())
    assert set(counts) <= set(expected)
    if len(expected) == 1:
        return True
    observed = [counts.get(key, 0) for key in expected]
    return bool(stats.chisquare(observed, [total * p for p in expected.values()]).pvalue > UNLIKELY)


@functools.cache
def of_six_leaves() -> list[Any]:
    return coalescent(6, rng=1, size=3000)


def test_waiting_times_are_exponential_with_one_rate_per_pair() -> None:
    n = 6
    ages = np.array([times(draw.hierarchy) for draw in of_six_leaves()])
    durations = np.diff(ages, axis=1, prepend=0.0)
    for k, m in enumerate(range(n, 1, -1)):
        assert stats.kstest(durations[:, k] * math.comb(m, 2), "expon").pvalue > UNLIKELY
    correlation = np.corrcoef(durations.T) - np.eye(n - 1)
    assert np.abs(correlation).max() < 4 / math.sqrt(len(ages))


@pytest.mark.parametrize("pair", [(0, 1), (2, 5)])
def test_any_pair_meets_at_rate_one(pair: tuple[int, int]) -> None:
    ages = [draw.hierarchy.heights[draw.hierarchy.lca(*pair)] for draw in of_six_leaves()]
    assert stats.kstest(ages, "expon").pvalue > UNLIKELY


def test_all_ranked_histories_of_four_leaves_are_equally_likely() -> None:
    draws = coalescent(4, rng=3, size=1800)
    clusters = [[frozenset(c) for c in draw.hierarchy.clusters()] for draw in draws]
    histories = Counter(tuple(c[4:]) for c in clusters)
    assert len(histories) == 18
    assert fits(histories, dict.fromkeys(histories, 1 / 18))
    # 3 balanced shapes have two histories each, 12 caterpillars one.
    shapes = Counter(shape(draw.hierarchy) for draw in draws)
    assert fits(shapes, {s: (1 / 9 if len([c for c in s if len(c) == 2]) == 2 else 1 / 18) for s in shapes})
    assert len(shapes) == 15


def test_restricting_to_some_leaves_gives_the_coalescent_of_those() -> None:
    leaves = [1, 3, 6]
    large = [draw.hierarchy.restricted(leaves) for draw in coalescent(8, rng=4, size=1000)]
    ages = np.array([times(h) for h in large])
    assert stats.kstest(ages[:, 0] * 3.0, "expon").pvalue > UNLIKELY
    assert stats.kstest(ages[:, 1] - ages[:, 0], "expon").pvalue > UNLIKELY
    assert abs(stats.spearmanr(ages[:, 0], ages[:, 1] - ages[:, 0]).statistic) < 4 / math.sqrt(1000)
    first = Counter(frozenset(h.clusters()[3]) for h in large)
    assert fits(first, {frozenset(pair): 1 / 3 for pair in itertools.combinations(range(3), 2)})
    small = np.array([times(draw.hierarchy) for draw in coalescent(3, rng=5, size=1000)])
    assert stats.ks_2samp(ages[:, 1], small[:, 1]).pvalue > UNLIKELY


def test_the_coalescent_of_another_library_has_the_same_ages_and_shapes() -> None:
    msprime = pytest.importorskip("msprime")
    n, size = 7, 2000
    ours = [draw.hierarchy for draw in coalescent(n, rng=6, size=size)]
    theirs = []
    for sequence in msprime.sim_ancestry(n, ploidy=1, population_size=1, num_replicates=size, random_seed=7):
        theirs.append(Hierarchy.from_newick(sequence.first().as_newick()))
    for statistic in (lambda h: times(h).max(), lambda h: times(h).min(), lambda h: np.nansum(h.branch_lengths)):
        assert stats.ks_2samp([statistic(h) for h in ours], [statistic(h) for h in theirs]).pvalue > UNLIKELY
    cherries = [np.bincount([(h.sizes == 2).sum() for h in some], minlength=4)[1:] for some in (ours, theirs)]
    assert stats.chi2_contingency(cherries).pvalue > UNLIKELY


@pytest.mark.parametrize("n", [1, 2, 3, 40])
def test_events_come_in_order_and_leaves_are_at_zero(n: int) -> None:
    for draw in coalescent(n, rng=8, size=20):
        assert draw.hierarchy.is_binary
        assert draw.x is draw.inner is None
        assert (draw.hierarchy.heights[:n] == 0).all()
        assert (np.diff(np.append(0.0, times(draw.hierarchy))) > 0).all()


def shared_time(hierarchy: Hierarchy) -> np.ndarray:
    """(n, n): how long the paths from the root to i and to j run together."""
    return hierarchy.heights[-1] - hierarchy.cophenetic()


@pytest.mark.parametrize("variance", [None, 0.7])
@pytest.mark.parametrize("leaf_variance", [0.0, 0.4])
def test_the_covariance_of_rows_is_the_time_that_they_share(variance: float | None, leaf_variance: float) -> None:
    count = 40_000
    root = "flat" if variance is None else Gaussian(3.0, variance)
    draw = coalescent(6, Brownian(2.0, root, leaf_variance), rng=9, n_columns=count)
    expected = shared_time(draw.hierarchy) + (variance or 0.0) + leaf_variance * np.eye(6)
    assert draw.x is not None
    deviations = draw.x - (0.0 if variance is None else 3.0)
    spread = 2.0 * np.outer(np.sqrt(np.diag(expected)), np.sqrt(np.diag(expected)))
    assert np.abs(deviations @ deviations.T / count - 2.0 * expected).max() < 5 * spread.max() / math.sqrt(count)
    assert np.abs(deviations.mean(axis=1)).max() < 5 * math.sqrt(spread.max() / count)


@pytest.mark.parametrize("rate", [[[2.0, 0.9], [0.9, 1.0]], [[2.0, 0.0], [0.0, 1.0]], [2.0, 1.0]])
def test_increments_between_columns_vary_like_the_rate(rate: Any) -> None:
    steps = []
    for draw in coalescent(5, Brownian(rate), rng=10, size=2000, start=[1.0, -1.0]):
        states, parents = np.vstack([draw.x, draw.inner]), draw.hierarchy.parents[:-1]
        lengths = draw.hierarchy.heights[parents] - draw.hierarchy.heights[:-1]
        assert states[-1].tolist() == [1.0, -1.0]
        steps.append((states[:-1] - states[parents]) / np.sqrt(lengths)[:, None])
    found = np.cov(np.concatenate(steps).T)
    assert np.abs(found - (rate if np.ndim(rate) == 2 else np.diag(rate))).max() < 5 * 3.0 / math.sqrt(16_000)


def test_the_sample_covariance_is_unbiased_for_the_rate() -> None:
    squares = [np.var(draw.x, axis=0, ddof=1) for draw in coalescent(5, Brownian([0.5, 4.0]), rng=11, size=2000)]
    error = np.std(squares, axis=0) / math.sqrt(2000)
    assert (np.abs(np.mean(squares, axis=0) - [0.5, 4.0]) < 4 * error).all()


EQUILIBRIA = [[0.2, 0.8], [0.5, 0.3, 0.2], [1.0], [0.0, 0.25, 0.75]]


def test_states_are_in_equilibrium_everywhere() -> None:
    draws = coalescent(4, IndependentSites([0.3, 1.0, 1.0, 5.0], EQUILIBRIA), rng=12, size=2000)
    for get in (lambda draw: draw.x[2], lambda draw: draw.inner[0], lambda draw: draw.inner[-1]):
        states = np.array([get(draw) for draw in draws])
        for d, q in enumerate(EQUILIBRIA):
            possible = {k: p for k, p in enumerate(q) if p > 0}
            assert fits(dict(Counter(states[:, d].tolist())), possible)


def test_leaves_agree_as_often_as_the_time_between_them_says() -> None:
    count = 20_000
    q, rate = np.array([0.2, 0.5, 0.3]), 0.8
    draw = coalescent(5, IndependentSites(rate, [q] * count), rng=13)
    kept = np.exp(-2 * rate * draw.hierarchy.cophenetic())
    expected = kept + (1 - kept) * (q @ q)
    assert draw.x is not None
    found = (draw.x[:, None] == draw.x[None]).mean(axis=2)
    assert np.abs(found - expected).max() < 5 * 0.5 / math.sqrt(count)


def test_counts_of_a_state_have_the_law_of_an_urn() -> None:
    # Over all hierarchies one site is Dirichlet-multinomial with α = 2λ, whatever n is.
    rate, q = 0.6, np.array([0.3, 0.7])
    ones = Counter(int(draw.x.sum()) for draw in coalescent(5, IndependentSites(rate, [q]), rng=14, size=2000))
    law = stats.betabinom(5, 2 * rate * q[1], 2 * rate * q[0])
    assert fits(ones, {k: float(law.pmf(k)) for k in range(6)})


@pytest.mark.parametrize("process", [None, Brownian(1.0, Gaussian()), IndependentSites(1.0, EQUILIBRIA)])
def test_the_seed_decides_and_more_draws_leave_the_first_as_they_were(process: Any) -> None:
    few, many = coalescent(5, process, rng=15, size=2), coalescent(5, process, rng=15, size=4)
    (one,) = coalescent(5, process, rng=np.random.default_rng(15), size=1)
    for a, b in [*zip(few, many, strict=False), (one, coalescent(5, process, rng=15))]:
        assert np.array_equal(a.hierarchy.heights, b.hierarchy.heights)
        assert a.hierarchy == b.hierarchy
        assert np.array_equal(a.x, b.x)
        assert np.array_equal(a.inner, b.inner)
    assert few[0].hierarchy.heights[-1] != few[1].hierarchy.heights[-1]
    assert coalescent(5, process, rng=16).hierarchy.heights[-1] != few[0].hierarchy.heights[-1]


def test_one_leaf_is_the_root_and_labels_are_kept() -> None:
    draw = coalescent(1, Brownian([1.0, 2.0]), rng=1, start=[4.0, 5.0], labels=["only"])
    assert draw.hierarchy.labels == ("only",)
    assert draw.x is not None
    assert draw.inner is not None
    assert draw.x.tolist() == [[4.0, 5.0]]
    assert draw.inner.shape == (0, 2)
    assert coalescent(1, IndependentSites(1.0, [[0.0, 1.0]]), rng=1).x == [[1]]
    assert coalescent(2, rng=1, size=0) == []
    assert coalescent(3, Brownian(), rng=1).x.shape == (3, 1)


def test_many_leaves_are_no_trouble() -> None:
    draw = coalescent(30_000, Brownian(), rng=1)
    assert 1.0 < draw.hierarchy.heights[-1] < 20.0


class Own(Process):
    """A process of which nobody knows how to draw."""


class Aging(Process):
    """The state is how far it is from the root."""

    def walk(self, n_columns: int | None, start: Any) -> Any:
        def walk(parents: list[int], lengths: Any, rng: Any) -> Any:
            states = np.repeat(lengths[:, None], n_columns or 1, axis=1)
            states[-1] = start
            for v in range(len(parents) - 2, -1, -1):
                states[v] += states[parents[v]]
            return states

        return walk


def test_a_process_of_ones_own_is_simulated_by_its_walk() -> None:
    draw = coalescent(5, Aging(), rng=1, n_columns=2, start=3.0)
    assert draw.x is not None
    np.testing.assert_allclose(draw.x, np.full((5, 2), 3.0 + draw.hierarchy.heights[-1]))


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        ((0,), {}, ValueError, "n is 0; it must be at least 1"),
        ((2.0,), {}, TypeError, "n must be an integer"),
        ((2, Brownian), {}, TypeError, "expected a process, such as"),
        ((2, Own()), {}, TypeError, "Brownian and IndependentSites"),
        ((2, Brownian()), {"size": -1}, ValueError, "size is -1"),
        ((2, Brownian()), {"n_columns": 0}, ValueError, "n_columns is 0"),
        ((2, Brownian([1.0, 2.0])), {"n_columns": 3}, ValueError, r"speak of \[2, 3\] columns"),
        ((2, Brownian()), {"start": [[1.0]]}, ValueError, "one finite number, or one per column"),
        ((2, Brownian()), {"start": np.nan}, ValueError, "one finite number, or one per column"),
        ((2, Brownian(1.0, Gaussian())), {"start": 1.0}, ValueError, "Gaussian root, which says where it begins"),
        ((2, IndependentSites(1.0, EQUILIBRIA)), {"start": 0}, ValueError, "sites begin in equilibrium"),
        ((2, IndependentSites(1.0, EQUILIBRIA)), {"n_columns": 3}, ValueError, r"speak of \[3, 4\] columns"),
        (
            (2, IndependentSites()),
            {},
            ValueError,
            '"empirical", but there are no data yet; give one',
        ),
        ((2, IndependentSites(1.0, "uniform")), {}, ValueError, 'equilibrium is "uniform", but there are no data yet'),
        ((2,), {"n_columns": 3}, ValueError, "there is no process"),
        ((2,), {"labels": ["a"]}, ValueError, "1 labels were given for 2 leaves"),
    ],
)
def test_bad_input_is_refused_with_a_reason(arguments: Any, options: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        coalescent(*arguments, **options)


# Hierarchy.restricted, on which the test of marginals above rests.


def test_restricting_keeps_clusters_and_heights() -> None:
    rng = np.random.default_rng(17)
    for draw in coalescent(9, rng=18, size=60):
        h = draw.hierarchy
        kept = np.sort(rng.choice(9, rng.integers(1, 10), replace=False))
        some = h.restricted(kept.tolist())
        assert some.labels == tuple(h.labels[i] for i in kept)
        assert np.array_equal(some.cophenetic(), h.cophenetic()[np.ix_(kept, kept)])
        wanted = {frozenset(np.flatnonzero(np.isin(kept, list(c))).tolist()) for c in h.clusters()} - {frozenset()}
        assert set(some.clusters()) == wanted
        assert some == h.restricted([h.labels[i] for i in kept[::-1]])


@pytest.mark.parametrize(
    ("newick", "leaves", "expected"),
    [
        ("(((a:1,b:2):3,c:4)0.5:5,d:6);", "ad", "(a:9,d:6);"),
        ("(((a:1,b:2):3,c:4)0.5:5,d:6):7;", "ac", "(a:4,c:4);"),
        ("(((a:1,b:2),c:4):5,d:6);", "ac", "(a:1,c:4);"),
        ("(((a:1,b:2),c:4):5,d:6);", "d", "d;"),
        ("((a,b,c),d,e);", "abe", "((a,b),e);"),
        ("((a,b,c)0.9,d,e);", "abcde", "((a,b,c),d,e);"),
    ],
)
def test_restricting_adds_up_branch_lengths(newick: str, leaves: str, expected: str) -> None:
    assert Hierarchy.from_newick(newick).restricted(list(leaves)).to_newick() == expected


def test_restricting_refuses_no_leaves_and_unknown_ones() -> None:
    h = Hierarchy.from_newick("((a,b),c);")
    with pytest.raises(ValueError, match="no leaves were given"):
        h.restricted([])
    with pytest.raises(ValueError, match="no leaf is called 'x'"):
        h.restricted(["a", "x"])
    with pytest.raises(ValueError, match="leaf 3 does not exist"):
        h.restricted([0, 3])
