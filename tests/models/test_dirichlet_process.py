"""The Dirichlet process mixture: prior, log potentials, and the kernels behind them."""

from __future__ import annotations

import copy
import math
import pickle
from typing import Any

import numpy as np
import pytest
from scipy.special import gammaln

from palmette import Partition
from palmette.likelihoods import BetaBernoulli, DirichletCategorical, Likelihood, NormalGamma, NormalInverseWishart
from palmette.models import DirichletProcess
from palmette.models.c_functions import features_of
from palmette.models.features import tabulate_features, tabulate_scores
from palmette.progress import Progress
from palmette.threads import Workers

RNG = np.random.default_rng(5)
REAL = RNG.normal(size=(6, 3)) * [1.0, 2.0, 0.5] + [0.0, 100.0, -3.0]
CODES = RNG.integers(0, 3, (6, 3)).astype(float)


def with_holes(x: np.ndarray) -> np.ndarray:
    return np.where(np.random.default_rng(6).random(x.shape) < 0.3, np.nan, x)


#: Likelihoods whose answer for part of the rows does not hang on the others.
CASES: dict[str, tuple[Likelihood, np.ndarray]] = {
    "normal-gamma": (NormalGamma([0.0, 90.0, 0.0], 0.2, 2.0, 3.0), REAL),
    "normal-gamma, missing": (NormalGamma(1.0, 0.2), with_holes(REAL)),
    "normal-inverse-Wishart": (NormalInverseWishart(0.0, 0.1, 4.0, [[2, 1, 0], [1, 3, 0], [0, 0, 1]]), REAL),
    "beta-Bernoulli": (BetaBernoulli(0.5, 2.0), with_holes((CODES > 0) * 1.0)),
    "Dirichlet-categorical": (DirichletCategorical(0.3, (3, 4, 5)), with_holes(CODES)),
}
every_case = pytest.mark.parametrize(("likelihood", "x"), CASES.values(), ids=CASES)


class Constant(Likelihood):
    """m = 1: the data say nothing."""

    def statistics(self, points: np.ndarray) -> Any:
        return [0.0], np.empty((len(points), 0))

    @staticmethod
    def log_marginal(theta: Any, size: int, sums: Any) -> float:
        return theta[0]


def memberships(n: int) -> list[list[int]]:
    """All partitions of n leaves: each leaf joins a cluster of the leaves before it, or opens one."""
    found: list[list[int]] = [[]]
    for _ in range(n):
        found = [[*rest, k] for rest in found for k in range(max(rest, default=-1) + 2)]
    return found


def restaurant(membership: list[int], alpha: float) -> float:
    """Guests come in one by one: log Π of (guests at the table, or α) / (guests so far + α)."""
    total = 0.0
    for i, table in enumerate(membership):
        total += math.log((membership[:i].count(table) or alpha) / (i + alpha))
    return total


def log_psi(likelihood: Likelihood, x: np.ndarray, alpha: float, rows: list[int]) -> float:
    return math.log(alpha) + float(gammaln(len(rows))) + likelihood.log_marginal_likelihood(x[rows])


@pytest.mark.parametrize("alpha", [1e-3, 0.7, 1.0, 30.0, 1e12])
def test_the_prior_is_the_chinese_restaurant_process(alpha: float) -> None:
    for n in range(1, 8):
        model = DirichletProcess(np.zeros((n, 1)), alpha, Constant())
        found = memberships(n)
        log_priors = [model.log_prior(Partition(p)) for p in found]
        np.testing.assert_allclose(log_priors, [restaurant(p, alpha) for p in found], atol=1e-12 * n * 30)
        assert math.fsum(map(math.exp, log_priors)) == pytest.approx(1.0, abs=1e-12)
        assert max(log_priors) <= 0.0


def test_with_a_constant_likelihood_the_log_potential_is_the_prior() -> None:
    model = DirichletProcess(np.zeros((5, 2)), 0.4, Constant())
    for p in map(Partition, memberships(5)):
        assert model.log_potential(p) + model.log_evidence_offset == pytest.approx(model.log_prior(p), abs=1e-12)


@every_case
def test_the_log_potential_of_a_partition_is_the_sum_of_the_formulas(likelihood: Likelihood, x: np.ndarray) -> None:
    model = DirichletProcess(x, 0.7, likelihood)
    for p in map(Partition, memberships(6)[::7]):
        expected = sum(log_psi(likelihood, x, 0.7, sorted(cluster)) for cluster in p.clusters())
        assert model.log_potential(p) == pytest.approx(expected, abs=1e-9)


@every_case
def test_all_clusters_are_tabulated_as_they_are_scored_one_by_one(likelihood: Likelihood, x: np.ndarray) -> None:
    model = DirichletProcess(x, 2.5, likelihood)
    out, scores = np.zeros((1, 64)), np.zeros(64)
    with Workers(1, Progress("", None, False)) as workers:
        tabulate_features(model, workers, out)
        tabulate_scores(model, workers, scores)
    np.testing.assert_allclose(scores, out[0], atol=1e-12)
    expected = [log_psi(likelihood, x, 2.5, [i for i in range(6) if s >> i & 1]) for s in range(1, 64)]
    np.testing.assert_allclose(out[0, 1:], expected, atol=1e-9)


def test_labels_are_followed_whatever_their_order() -> None:
    x = np.array([[0.0], [0.1], [9.0]])
    model = DirichletProcess(x, 1.0, NormalGamma(), labels=["a", "b", "c"])
    p = Partition([0, 1, 1], labels=["c", "a", "b"])
    assert model.log_potential(p) == model.log_potential(Partition([0, 0, 1], labels=["a", "b", "c"]))
    assert model.log_prior(p) == pytest.approx(math.log(1 / 6))
    with pytest.raises(ValueError, match="the labels do not match"):
        model.log_prior(Partition([0, 1, 1]))


def test_what_a_model_was_made_with_can_be_read() -> None:
    likelihood = NormalGamma(rate=2.0)
    model = DirichletProcess(REAL, 3, likelihood)
    assert model.likelihood is likelihood
    assert model.concentration == 3.0
    assert model.n_leaves == 6
    assert not model.may_forbid
    assert model.log_evidence_offset == pytest.approx(math.lgamma(3.0) - math.lgamma(9.0))


def test_one_leaf_is_ordinary() -> None:
    for likelihood in (NormalGamma(), NormalInverseWishart(), BetaBernoulli(), DirichletCategorical()):
        model = DirichletProcess([[1.0, 0.0]], 2.0, likelihood)
        assert model.log_prior(Partition([0])) == pytest.approx(0.0)
        whole = model.log_potential(Partition([0])) + model.log_evidence_offset
        assert whole == pytest.approx(likelihood.log_marginal_likelihood([[1.0, 0.0]]))


def test_a_users_likelihood_may_forbid_clusters() -> None:
    class AtMostTwo(Constant):
        @staticmethod
        def log_marginal(theta: Any, size: int, sums: Any) -> float:
            return 0.0 if size <= 2 else -np.inf

    model = DirichletProcess(np.zeros((3, 1)), 1.0, AtMostTwo())
    assert model.may_forbid
    assert model.log_potential(Partition([0, 0, 0])) == -np.inf
    assert model.log_potential(Partition([0, 0, 1])) == 0.0


# Kernels.


def test_models_of_one_likelihood_share_their_functions_and_others_have_their_own() -> None:
    one, two = (DirichletProcess(REAL, 1.0, NormalGamma(rate=rate)) for rate in (1.0, 2.0))
    assert one.features is two.features
    assert features_of(one) == features_of(two)
    models = [DirichletProcess(x, 1.0, likelihood) for likelihood, x in CASES.values()]
    kinds = {type(model.likelihood) for model in models}
    assert len({features_of(model) for model in models}) == len(kinds) == 4


@every_case
def test_a_model_can_be_pickled_and_copied_without_its_kernels(likelihood: Likelihood, x: np.ndarray) -> None:
    model = DirichletProcess(x, 0.3, likelihood, labels=list("abcdef"))
    p = Partition([0, 0, 1, 2, 1, 1], labels=list("abcdef"))
    stored = pickle.dumps(model)
    assert b"numba" not in stored
    for other in (pickle.loads(stored), copy.copy(model), copy.deepcopy(model)):
        assert other.log_potential(p) == model.log_potential(p)
        assert other.features is model.features
        assert (other.likelihood, other.concentration, other.labels) == (likelihood, 0.3, model.labels)


# What is refused.


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf])
def test_a_concentration_that_is_not_positive_is_refused(bad: float) -> None:
    with pytest.raises(ValueError, match=f"concentration is {bad}; it must be positive and finite"):
        DirichletProcess(REAL, bad, NormalGamma())


@pytest.mark.parametrize("bad", ["1", None, True, [1.0]])
def test_a_concentration_that_is_no_number_is_refused(bad: Any) -> None:
    with pytest.raises(TypeError, match="concentration must be a number"):
        DirichletProcess(REAL, bad, NormalGamma())


@pytest.mark.parametrize("bad", [NormalGamma, None, "normal"])
def test_what_is_no_likelihood_is_refused(bad: Any) -> None:
    with pytest.raises(TypeError, match=r"likelihood must be an instance of a Likelihood, such as .*NormalGamma\(\)"):
        DirichletProcess(REAL, 1.0, bad)


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (np.empty((0, 2)), "points is empty"),
        (np.empty((3, 0)), r"points has shape \(3, 0\): there are no columns; give at least one"),
        (np.zeros(3), r"points has shape \(3,\); expected \(n, d\)"),
        (
            [[0.0], [-np.inf]],
            "points holds -inf at row 1, column 0; entries must be finite, or NaN where one is missing",
        ),
    ],
)
def test_points_of_the_wrong_form_are_refused(x: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        DirichletProcess(x, 1.0, NormalGamma())


def test_missing_entries_are_refused_where_the_likelihood_does() -> None:
    with pytest.raises(ValueError, match=r"NaN at row 0, column 1; .* NormalGamma"):
        DirichletProcess([[0.0, np.nan]], 1.0, NormalInverseWishart())
    with pytest.raises(ValueError, match="2 labels were given for 1 leaves"):
        DirichletProcess([[0.0, np.nan]], 1.0, NormalGamma(), labels=["a", "b"])
