"""Bayesian hierarchical clustering against golden numbers, the recursion of the paper, and lists of partitions."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import palmette as pal
from palmette.hierarchy import Hierarchy
from palmette.likelihoods import BetaBernoulli, DirichletCategorical, Likelihood, NormalGamma, NormalInverseWishart
from palmette.search import bayesian

NORMAL_POINTS = [
    [0.418, -0.711],
    [0.103, -1.073],
    [-0.644, 0.416],
    [3.836, 0.258],
    [3.08, 0.063],
    [4.531, 0.31],
    [3.598, -0.645],
]
NORMAL_MERGES = [[3, 5], [4, 7], [6, 8], [0, 1], [2, 10], [9, 11]]
NORMAL_LOG_R = [
    -0.011044291987365895,
    -0.008653545717985267,
    -0.012299575500597015,
    -0.22688004533689998,
    -0.8352696440549963,
    -3.1863314354476806,
]
BINARY_POINTS = [[0, 1, 1, 1, 1], [1, 0, 1, 0, 0], [0, 0, 1, 1, 1], [0, 1, 0, 0, 0], [0, 1, 1, 0, 1], [0, 0, 1, 0, 1]]
BINARY_LOG_R = [
    -0.3883931242095171,
    -0.36250283614416645,
    -0.1678117901956533,
    -0.9542275012379129,
    -1.1857154289190142,
]


def log_total(found: Any, concentration: float) -> float:
    """log d at the root, from the two normalisations of one weight."""
    n = found.hierarchy.n_leaves
    rising = math.lgamma(concentration + n) - math.lgamma(concentration)
    return float(found.log_evidence_bound + rising - found.log_evidence)


def test_normal_golden_numbers() -> None:
    found = bayesian(NORMAL_POINTS, NormalInverseWishart(0.0, 0.5, 4.0, np.eye(2)), concentration=0.7)
    assert np.sort(found.hierarchy.children, axis=1).tolist() == NORMAL_MERGES
    assert np.log(found.probabilities) == pytest.approx(NORMAL_LOG_R, abs=1e-12)
    assert found.log_evidence == pytest.approx(-24.925823489227025, abs=1e-12)
    assert log_total(found, 0.7) == pytest.approx(6.247789461937959, abs=1e-12)
    assert found.partition == pal.Partition([0, 0, 1, 2, 2, 2, 2])


def test_binary_golden_numbers() -> None:
    # Four pairs of leaves tie, so only the numbers are determined, not the merges.
    found = bayesian(BINARY_POINTS, BetaBernoulli())
    assert np.log(found.probabilities) == pytest.approx(BINARY_LOG_R, abs=1e-12)
    assert found.log_evidence == pytest.approx(-20.788647790203655, abs=1e-12)
    assert log_total(found, 1.0) == pytest.approx(5.036952602413629, abs=1e-12)


# The recursion as the paper has it, and the partitions that agree with a hierarchy, one by one.


def paper_recursion(hierarchy: Hierarchy, log_m: Any, concentration: float) -> tuple[list[float], float]:
    """log r of every inner node, and log p(data | hierarchy)."""
    clusters = hierarchy.clusters()
    log_d, log_p, log_r = {}, {}, []
    for v in range(hierarchy.n_leaves):
        log_d[v], log_p[v] = math.log(concentration), log_m(clusters[v])
    for v, (i, j) in enumerate(hierarchy.children.tolist(), start=hierarchy.n_leaves):
        prior = math.log(concentration) + math.lgamma(len(clusters[v]))
        log_d[v] = np.logaddexp(prior, log_d[i] + log_d[j])
        one = prior - log_d[v] + log_m(clusters[v])
        apart = log_d[i] + log_d[j] - log_d[v] + log_p[i] + log_p[j]
        log_p[v] = np.logaddexp(one, apart)
        log_r.append(float(one - log_p[v]))
    return log_r, float(log_p[hierarchy.n_nodes - 1])


def agreeing_partitions(hierarchy: Hierarchy, node: int) -> list[list[int]]:
    """Every partition of the leaves below `node` into clusters of the hierarchy, as lists of nodes."""
    if node < hierarchy.n_leaves:
        return [[node]]
    left, right = (agreeing_partitions(hierarchy, child) for child in hierarchy.children[node - hierarchy.n_leaves])
    return [[node], *(one + two for one, two in itertools.product(left, right))]


def listed_evidence(hierarchy: Hierarchy, log_m: Any, concentration: float) -> float:
    clusters = hierarchy.clusters()
    prior = [math.log(concentration) + math.lgamma(len(c)) for c in clusters]
    partitions = agreeing_partitions(hierarchy, hierarchy.n_nodes - 1)
    weights = [sum(prior[v] + log_m(clusters[v]) for v in p) for p in partitions]
    totals = [sum(prior[v] for v in p) for p in partitions]
    return float(np.logaddexp.reduce(weights) - np.logaddexp.reduce(totals))


def assert_best_at_every_step(found: Any, log_m: Any, concentration: float) -> None:
    """No pair at any step has odds above those of the pair that was merged; these are the odds given."""
    prior = lambda cluster: math.log(concentration) + math.lgamma(len(cluster))  # noqa: E731
    n = found.hierarchy.n_leaves
    weights = {i: prior({i}) + log_m(frozenset({i})) for i in range(n)}
    clusters = found.hierarchy.clusters()

    def odds(i: int, j: int) -> float:
        union = clusters[i] | clusters[j]
        return float(prior(union) + log_m(union) - weights[i] - weights[j])

    for step, (i, j) in enumerate(found.hierarchy.children.tolist()):
        best = max(odds(*pair) for pair in itertools.combinations(weights, 2))
        assert odds(i, j) >= best - 1e-8 * (1 + abs(best))
        assert found.log_odds[step] == pytest.approx(odds(i, j), rel=1e-8, abs=1e-8)
        joined = prior(clusters[n + step]) + log_m(clusters[n + step])
        weights[n + step] = np.logaddexp(joined, weights.pop(i) + weights.pop(j))


NUMBERS = st.sampled_from([0.0, 1.0, 1.0, -2.0]) | st.floats(-5.0, 5.0)
MISSING = st.just(math.nan)
CASES = {
    NormalGamma(0.3, 0.2, 1.5, 0.5): NUMBERS | MISSING,
    NormalInverseWishart(0.3, 0.2, None, 0.5): NUMBERS,
    BetaBernoulli(0.5, 1.5): st.sampled_from([0.0, 1.0, math.nan]),
    DirichletCategorical(0.7, 3): st.sampled_from([0.0, 1.0, 2.0, math.nan]),
}


@st.composite
def cases(draw: Any, kinds: Any = Likelihood) -> tuple[np.ndarray, Likelihood, float]:
    likelihood, entries = draw(st.sampled_from([case for case in CASES.items() if isinstance(case[0], kinds)]))
    n, d = draw(st.integers(1, 7)), draw(st.integers(1, 3))
    row = st.lists(entries, min_size=d, max_size=d)
    points = np.array(draw(st.lists(row, min_size=n, max_size=n)))
    return points, likelihood, draw(st.sampled_from([0.01, 1.0, 7.0, 1e4]))


@given(cases())
def test_the_evidence_is_a_sum_over_partitions_and_every_merge_is_the_best(case: Any) -> None:
    points, likelihood, concentration = case
    known: dict[frozenset[int], float] = {}

    def log_m(cluster: frozenset[int]) -> float:
        if cluster not in known:
            known[cluster] = likelihood.log_marginal_likelihood(points[sorted(cluster)])
        return known[cluster]

    found = bayesian(points, likelihood, concentration)
    log_r, log_p = paper_recursion(found.hierarchy, log_m, concentration)
    assert found.log_evidence == pytest.approx(log_p, rel=1e-9, abs=1e-9)
    assert found.log_evidence == pytest.approx(
        listed_evidence(found.hierarchy, log_m, concentration), rel=1e-9, abs=1e-9
    )
    assert found.probabilities == pytest.approx(np.exp(log_r), abs=1e-9)
    assert_best_at_every_step(found, log_m, concentration)
    assert found.n_evaluations == (len(points) - 1) ** 2


@given(cases((NormalGamma, BetaBernoulli)))
def test_the_bound_is_the_evidence_on_the_trellis_of_the_hierarchy(case: Any) -> None:
    points, likelihood, concentration = case
    found = bayesian(points, likelihood, concentration)
    model = pal.models.DirichletProcess(points, concentration, likelihood)
    trellis = pal.PartitionTrellis.from_hierarchy(found.hierarchy)
    on_trellis = pal.PartitionPosterior(model, trellis=trellis).log_evidence
    assert found.log_evidence_bound == pytest.approx(on_trellis, rel=1e-9, abs=1e-9)
    assert found.log_evidence_bound <= pal.PartitionPosterior(model).log_evidence + 1e-9


_VALUES = ["0.0", "-inf", "inf", "nan"]


class Scrambled(Likelihood):
    """Values out of a few, scrambled by the mask of the cluster: many exact ties, some clusters impossible.

    From the size `least` on, it is `value`. One search is compiled for all of this.
    """

    def __init__(self, multiplier: int = 1, impossible: bool = False, least: int = 2**20, value: float = 0.0) -> None:
        self.theta = [float(multiplier), float(impossible), float(least), _VALUES.index(str(value))]

    def statistics(self, points: np.ndarray) -> Any:
        return self.theta, 2.0 ** np.arange(len(points))[:, None]

    @staticmethod
    def log_marginal(theta, size, sums):
        if size >= theta[2]:
            return np.nan if theta[3] == 3.0 else np.inf if theta[3] == 2.0 else -np.inf
        value = (sums[0] * theta[0]) // 64.0 % 5.0
        return -np.inf if value == 4.0 and theta[1] > 0.0 else -value

    def of(self, cluster: tuple[int, ...]) -> float:
        value = sum(2.0**i for i in cluster) * self.theta[0] // 64.0 % 5.0
        return -math.inf if value == 4.0 and self.theta[1] else -value


def slow_bayesian(n: int, likelihood: Scrambled) -> tuple[Any, list[float], float]:
    """All pairs weighed from scratch at every step; clusters sorted by lowest leaf, so the first of equals wins."""
    weights = {(i,): likelihood.of((i,)) for i in range(n)}
    nested: dict[tuple[int, ...], Any] = {(i,): i for i in range(n)}
    log_odds = []

    def odds(pair: Any) -> float:
        joined = math.lgamma(len(pair[0] + pair[1])) + likelihood.of(pair[0] + pair[1])
        return joined - (weights[pair[0]] + weights[pair[1]]) if joined > -math.inf else -math.inf

    while len(weights) > 1:
        left, right = max(itertools.combinations(sorted(weights), 2), key=odds)
        log_odds.append(odds((left, right)))
        union = tuple(sorted(left + right))
        joined = math.lgamma(len(union)) + likelihood.of(union)
        nested[union] = nested[left], nested[right]
        weights[union] = float(np.logaddexp(joined, weights.pop(left) + weights.pop(right)))
    (whole,) = weights
    return nested[whole], log_odds, weights[whole]


@given(st.integers(1, 9), st.integers(1, 2**20), st.booleans())
def test_the_first_of_equal_pairs_is_merged_and_what_is_impossible_last(n: int, multiplier: int, forbid: bool) -> None:
    likelihood = Scrambled(multiplier, forbid)
    found = bayesian(np.zeros((n, 1)), likelihood)
    nested, log_odds, log_weight = slow_bayesian(n, likelihood)
    assert found.hierarchy == Hierarchy.from_nested(nested)
    assert found.log_odds.tolist() == pytest.approx(log_odds, abs=1e-12)
    assert found.log_evidence_bound == pytest.approx(log_weight - math.lgamma(n + 1), abs=1e-12)
    assert not np.isnan(found.log_odds).any()
    assert not np.isnan(found.probabilities).any()


def test_where_nothing_is_possible_the_evidence_is_zero() -> None:
    found = bayesian(np.zeros((4, 1)), Scrambled(least=1, value=-np.inf))
    assert found.log_evidence == found.log_evidence_bound == -np.inf
    assert found.hierarchy == Hierarchy.from_nested((((0, 1), 2), 3))
    assert found.partition.n_clusters == 4


def test_thousands_of_rows_keep_their_digits() -> None:
    rng = np.random.default_rng(4)
    frequencies = np.where(np.arange(12) // 4 == np.arange(3)[:, None], 0.95, 0.05)
    truth = rng.integers(0, 3, 1500)
    points = (rng.random((1500, 12)) < frequencies[truth]).astype(float)
    found = bayesian(points, BetaBernoulli())
    assert found.partition == pal.Partition(truth)
    model = pal.models.DirichletProcess(points, 1.0, BetaBernoulli())
    trellis = pal.PartitionTrellis.from_hierarchy(found.hierarchy)
    on_trellis = pal.PartitionPosterior(model, trellis=trellis).log_evidence
    assert found.log_evidence_bound == pytest.approx(on_trellis, rel=1e-11)
    assert np.isfinite(found.log_odds).all()
    assert found.n_evaluations == 1499**2


def test_duplicates_merge_from_the_lowest_leaf_on() -> None:
    found = bayesian(np.ones((6, 2)), BetaBernoulli())
    assert sorted(found.hierarchy.children[0].tolist()) == [0, 1]
    assert found.partition.n_clusters == 1


@pytest.mark.parametrize("concentration", [1e-300, 1e300])
def test_the_concentration_decides_where_the_data_do_not(concentration: float) -> None:
    found = bayesian([[1.0], [0.0], [1.0], [0.0]], BetaBernoulli(), concentration)
    assert found.partition.n_clusters == (1 if concentration < 1 else 4)
    assert np.isfinite([found.log_evidence, found.log_evidence_bound, *found.log_odds]).all()


@pytest.mark.parametrize("likelihood", CASES, ids=lambda likelihood: type(likelihood).__name__)
def test_one_leaf_and_two_leaves(likelihood: Likelihood) -> None:
    one = bayesian([[1.0]], likelihood, labels=["a"])
    assert one.hierarchy.labels == one.partition.labels == ("a",)
    assert one.log_evidence == one.log_evidence_bound == likelihood.log_marginal_likelihood([[1.0]])
    assert (len(one.log_odds), one.n_evaluations) == (0, 0)
    two = bayesian([[1.0], [0.0]], likelihood)
    apart = sum(likelihood.log_marginal_likelihood([[x]]) for x in (1.0, 0.0))
    evidence = np.logaddexp(apart, likelihood.log_marginal_likelihood([[1.0], [0.0]])) - math.log(2)
    assert two.log_evidence == two.log_evidence_bound == pytest.approx(evidence, abs=1e-12)
    assert two.hierarchy.heights.tolist() == [0.0, 0.0, 1.0]


def test_a_confident_cluster_is_kept_whole_though_a_part_of_it_is_doubtful() -> None:
    h = Hierarchy.from_newick("(((a,b),c),(d,e));")
    flags = {frozenset("abc"): True}
    is_cluster = np.array([flags.get(frozenset(h.labels[i] for i in c), False) for c in h.clusters()[5:]])
    assert h.first_clusters(is_cluster) == pal.Partition([0, 0, 0, 1, 2], labels=["a", "b", "c", "d", "e"])
    with pytest.raises(ValueError, match=r"is_cluster has shape \(2,\); give 4 flags, one per inner node"):
        h.first_clusters([True, False])


def test_the_progress_bar_goes_to_stderr_and_the_answer_stays(capsys: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr("palmette.progress._PATIENCE", 0.0)
    monkeypatch.setattr("palmette.progress._INTERVAL", 0.0)
    x = np.random.default_rng(1).normal(size=(40, 2))
    found = bayesian(x, NormalGamma(), progress=True)
    shown = capsys.readouterr()
    assert "merging, n = 40" in shown.err
    assert shown.out == ""
    monkeypatch.undo()
    assert bayesian(x, NormalGamma(), progress=False).log_odds.tolist() == found.log_odds.tolist()


@pytest.mark.parametrize("least", [1, 2, 4])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_likelihood_that_returns_no_logarithm_is_refused(least: int, value: float) -> None:
    with pytest.raises(ValueError, match=r"Scrambled\.log_marginal returned NaN or inf"):
        bayesian(np.zeros((5, 1)), Scrambled(least=least, value=value))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([[0.0]], BetaBernoulli), TypeError, "likelihood must be an instance of a Likelihood"),
        (([[0.0]], BetaBernoulli(), 0.0), ValueError, "concentration is 0.0; it must be positive"),
        (([[0.0]], BetaBernoulli(), "many"), TypeError, "concentration must be a number"),
        (([0.0, 1.0], BetaBernoulli()), ValueError, "expected \\(n, d\\)"),
        ((np.empty((0, 2)), BetaBernoulli()), ValueError, "at least one leaf"),
        ((np.empty((2, 0)), BetaBernoulli()), ValueError, "no columns"),
        (([[0.5]], BetaBernoulli()), ValueError, "0.5 at row 0, column 0"),
        (([[np.nan]], NormalInverseWishart()), ValueError, "NaN at row 0, column 0"),
        (([[np.inf]], NormalGamma()), ValueError, "inf at row 0, column 0"),
        (([[0.0]], BetaBernoulli(), 1.0, ["a", "b"]), ValueError, "2 labels were given for 1 leaves"),
    ],
)
def test_bad_input_is_refused_with_a_reason(arguments: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        bayesian(*arguments)
