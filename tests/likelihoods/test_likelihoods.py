"""Marginal likelihoods against textbook formulas: products of predictives, SciPy's distributions, exact fractions."""

from __future__ import annotations

import itertools
import math
import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.integrate import quad
from scipy.special import multigammaln

from palmette._plain import IS_PLAIN
from palmette.likelihoods import BetaBernoulli, DirichletCategorical, Likelihood, NormalGamma, NormalInverseWishart
from palmette.likelihoods.base import checked_statistics, log_rising
from palmette.likelihoods.marginals import fill_marginals, marginals_of
from palmette.likelihoods.normal_gamma import log_half_rising

BUILT_IN = [NormalGamma, NormalInverseWishart, BetaBernoulli, DirichletCategorical]
every_likelihood = pytest.mark.parametrize("kind", BUILT_IN)


# Plain formulas, one column (or one array of complete rows) at a time.


def normal_gamma(x: Any, mean: Any, weight: Any, shape: Any, rate: Any) -> float:
    """Π of Student t predictives, each followed by Bayes' rule for one number."""
    total = 0.0
    for value in x:
        if not math.isnan(value):
            width = math.sqrt(rate * (weight + 1) / (shape * weight))
            total += stats.t.logpdf(value, 2 * shape, mean, width)
            rate = rate + weight * (value - mean) ** 2 / (2 * (weight + 1))
            mean, weight, shape = (weight * mean + value) / (weight + 1), weight + 1, shape + 0.5
    return total


def exact_normal_gamma(x: Any, mean: float, weight: float, shape: float, rate: float) -> float:
    """The formula with its sums of squares in fractions."""
    values, mean, weight_, rate_ = [Fraction(v) for v in x], Fraction(mean), Fraction(weight), Fraction(rate)
    n = len(values)
    average = sum(values) / n
    within = sum((v - average) ** 2 for v in values)
    b = rate_ + within / 2 + weight_ * n * (average - mean) ** 2 / (2 * (weight_ + n))
    gammas = math.lgamma(shape + n / 2) - math.lgamma(shape)
    powers = shape * math.log(rate) - (shape + n / 2) * math.log(b)
    return gammas + powers + 0.5 * math.log(weight_ / (weight_ + n)) - n / 2 * math.log(2 * math.pi)


def normal_inverse_wishart(x: np.ndarray, mean: Any, weight: float, freedom: float, scale: np.ndarray) -> float:
    """Π of multivariate t predictives, each followed by Bayes' rule for one row."""
    d = x.shape[1]
    total = 0.0
    for row in x:
        df = freedom - d + 1
        total += float(stats.multivariate_t.logpdf(row, mean, scale * (weight + 1) / (weight * df), df))
        scale = scale + weight / (weight + 1) * np.outer(row - mean, row - mean)
        mean, weight, freedom = (weight * mean + row) / (weight + 1), weight + 1, freedom + 1
    return total


def determinant_formula(x: np.ndarray, mean: Any, weight: float, freedom: float, scale: np.ndarray) -> float:
    n, d = x.shape
    gap = x.mean(axis=0) - mean
    centred = x - x.mean(axis=0)
    after = scale + centred.T @ centred + weight * n / (weight + n) * np.outer(gap, gap)
    gammas = multigammaln((freedom + n) / 2, d) - multigammaln(freedom / 2, d)
    powers = freedom / 2 * np.linalg.slogdet(scale)[1] - (freedom + n) / 2 * np.linalg.slogdet(after)[1]
    return float(gammas + powers + d / 2 * math.log(weight / (weight + n)) - n * d / 2 * math.log(math.pi))


def exact_normal_inverse_wishart(x: np.ndarray, mean: Any, weight: float, freedom: float) -> float:
    """The formula for scale 1, with its matrices in fractions."""
    n, d = x.shape
    rows, prior = [[Fraction(v) for v in row] for row in x.tolist()], [Fraction(m) for m in mean]
    average = [sum(column) / n for column in zip(*rows, strict=True)]
    pull = Fraction(weight) * n / (Fraction(weight) + n)
    gap = [a - m for a, m in zip(average, prior, strict=True)]
    after = [[Fraction(i == j) + pull * gap[i] * gap[j] for j in range(d)] for i in range(d)]
    for row in rows:
        for i, j in itertools.product(range(d), repeat=2):
            after[i][j] += (row[i] - average[i]) * (row[j] - average[j])
    gammas = multigammaln((freedom + n) / 2, d) - multigammaln(freedom / 2, d)
    constant = gammas + d / 2 * math.log(weight / (weight + n)) - n * d / 2 * math.log(math.pi)
    return float(constant) - (freedom + n) / 2 * math.log(exact_determinant(after))


def exact_determinant(matrix: list[list[Fraction]]) -> Fraction:
    if not matrix:
        return Fraction(1)
    minors = ([row[:j] + row[j + 1 :] for row in matrix[1:]] for j in range(len(matrix)))
    return sum(((-1) ** j * matrix[0][j] * exact_determinant(m) for j, m in enumerate(minors)), Fraction(0))


def beta_bernoulli(x: Any, a: float, b: float) -> float:
    present = [v for v in x if not math.isnan(v)]
    n, ones = len(present), int(sum(present))
    return float(stats.betabinom.logpmf(ones, n, a, b)) - math.log(math.comb(n, ones)) if n else 0.0


def dirichlet_categorical(x: Any, alpha: Any) -> float:
    counts = [sum(v == k for v in x) for k in range(len(alpha))]
    orders = math.lgamma(sum(counts) + 1) - sum(math.lgamma(c + 1) for c in counts)
    return float(stats.dirichlet_multinomial(alpha, sum(counts)).logpmf(counts)) - orders


# Likelihoods with data that they take.

SIZES = st.sampled_from([0.1, 0.5, 1.0, 2.5, 30.0])
NUMBERS = st.sampled_from([0.0, 0.0, 1.0, -2.0]) | st.floats(-5.0, 5.0)


def array(draw: Any, n: int, d: int, entries: st.SearchStrategy[float]) -> np.ndarray:
    row = st.lists(entries, min_size=d, max_size=d)
    return np.array(draw(st.lists(row, min_size=n, max_size=n)), dtype=float).reshape(n, d)


def parameters(draw: Any, d: int, entries: st.SearchStrategy[float]) -> Any:
    return draw(entries if draw(st.booleans()) else st.lists(entries, min_size=d, max_size=d))


def a_scale(draw: Any, d: int) -> np.ndarray:
    return draw(SIZES) * (np.eye(d) + (factor := array(draw, d, d, st.floats(-1, 1))) @ factor.T)


@st.composite
def cases(draw: Any, kinds: list[type[Likelihood]] = BUILT_IN) -> tuple[Likelihood, np.ndarray]:
    kind = draw(st.sampled_from(kinds))
    n, d = draw(st.integers(1, 7)), draw(st.integers(1, 4))
    missing = st.just(np.nan)
    if kind is NormalGamma:
        sizes = [parameters(draw, d, SIZES) for _ in range(3)]
        return NormalGamma(parameters(draw, d, NUMBERS), *sizes), array(draw, n, d, NUMBERS | missing)
    if kind is NormalInverseWishart:
        freedom = draw(st.none() | SIZES.map(lambda extra: d - 1 + extra))
        scale = draw(st.none() | SIZES) if draw(st.booleans()) else a_scale(draw, d)
        return kind(parameters(draw, d, NUMBERS), draw(SIZES), freedom, scale), array(draw, n, d, NUMBERS)
    if kind is BetaBernoulli:
        ab = [parameters(draw, d, SIZES) for _ in range(2)]
        return BetaBernoulli(*ab), array(draw, n, d, st.sampled_from([0.0, 1.0]) | missing)
    likelihood = DirichletCategorical(parameters(draw, d, SIZES), parameters(draw, d, st.integers(3, 5)))
    return likelihood, array(draw, n, d, st.sampled_from([0.0, 1.0, 2.0]) | missing)


def spread(value: Any, d: int) -> np.ndarray:
    return np.broadcast_to(np.asarray(value, dtype=float), d)


def close(value: float, expected: float, tolerance: float = 1e-9) -> bool:
    return value == pytest.approx(expected, rel=tolerance, abs=tolerance)


@given(cases([NormalGamma]))
def test_normal_gamma_is_a_product_of_student_t_densities(case: Any) -> None:
    likelihood, x = case
    d = x.shape[1]
    settings = [spread(getattr(likelihood, name), d) for name in ("mean", "pseudo_count", "shape", "rate")]
    expected = sum(normal_gamma(x[:, j], *(s[j] for s in settings)) for j in range(d))
    assert close(likelihood.log_marginal_likelihood(x), expected)


def wishart_settings(likelihood: Any, d: int) -> tuple[Any, float, float, np.ndarray]:
    freedom = d + 2 if likelihood.degrees_of_freedom is None else likelihood.degrees_of_freedom
    scale = np.asarray(1.0 if likelihood.scale is None else likelihood.scale)
    return spread(likelihood.mean, d), likelihood.pseudo_count, freedom, scale if scale.ndim else scale * np.eye(d)


@given(cases([NormalInverseWishart]))
def test_normal_inverse_wishart_is_a_product_of_multivariate_t_densities(case: Any) -> None:
    likelihood, x = case
    settings = wishart_settings(likelihood, x.shape[1])
    assert close(likelihood.log_marginal_likelihood(x), normal_inverse_wishart(x, *settings))
    assert close(likelihood.log_marginal_likelihood(x), determinant_formula(x, *settings))


@given(cases([BetaBernoulli]))
def test_beta_bernoulli_is_a_beta_binomial_in_one_order(case: Any) -> None:
    likelihood, x = case
    a, b = spread(likelihood.a, x.shape[1]), spread(likelihood.b, x.shape[1])
    expected = sum(beta_bernoulli(x[:, j], a[j], b[j]) for j in range(x.shape[1]))
    assert close(likelihood.log_marginal_likelihood(x), expected)


@given(cases([DirichletCategorical]))
def test_dirichlet_categorical_is_a_dirichlet_multinomial_in_one_order(case: Any) -> None:
    likelihood, x = case
    d = x.shape[1]
    alpha, k = spread(likelihood.concentration, d), spread(likelihood.n_categories, d).astype(int)
    expected = sum(dirichlet_categorical(x[:, j], [alpha[j]] * k[j]) for j in range(d))
    assert close(likelihood.log_marginal_likelihood(x), expected)


@given(cases([DirichletCategorical]), st.randoms(use_true_random=False))
def test_a_base_measure_gives_every_category_its_own_concentration(case: Any, random: Any) -> None:
    likelihood, x = case
    d = x.shape[1]
    weights = [[random.random() + 0.01 for _ in range(random.randint(3, 5))] for _ in range(d)]
    base = [[w / sum(row) for w in row] for row in weights]
    total = spread(likelihood.concentration, d)
    own = DirichletCategorical(likelihood.concentration, base=base)
    expected = sum(dirichlet_categorical(x[:, j], total[j] * np.array(base[j])) for j in range(d))
    assert close(own.log_marginal_likelihood(x), expected)
    # A flat base is the symmetric prior with its concentration shared out.
    flat = DirichletCategorical([3 * total[j] for j in range(d)], base=[[1 / 3] * 3] * d)
    assert close(flat.log_marginal_likelihood(x), DirichletCategorical(list(total), 3).log_marginal_likelihood(x))


@given(cases(), st.randoms(use_true_random=False))
def test_the_marginal_is_the_product_of_predictives_in_any_order(case: Any, random: Any) -> None:
    likelihood, x = case
    whole = likelihood.log_marginal_likelihood(x)
    order = list(range(len(x)))
    random.shuffle(order)
    rows = x[order]
    assert close(sum(likelihood.log_predictive(rows[i], rows[:i]) for i in range(len(rows))), whole)
    assert close(likelihood.log_marginal_likelihood(rows), whole)


@given(cases([NormalGamma, BetaBernoulli, DirichletCategorical]))
def test_missing_entries_are_the_same_as_leaving_them_out_column_by_column(case: Any) -> None:
    likelihood, x = case
    d = x.shape[1]
    total = 0.0
    for j in range(d):
        names = likelihood.__dataclass_fields__
        dtype = {name: int if name == "n_categories" else float for name in names}
        kept = [name for name in names if getattr(likelihood, name) is not None]
        own = type(likelihood)(**{name: dtype[name](spread(getattr(likelihood, name), d)[j]) for name in kept})
        column = x[~np.isnan(x[:, j]), j]
        total += own.log_marginal_likelihood(column[:, None])
    assert close(likelihood.log_marginal_likelihood(x), total)


def test_columns_without_entries_contribute_nothing() -> None:
    nothing = np.full((3, 1), np.nan)
    x = np.array([[0.0], [1.0], [1.0]])
    for likelihood in (NormalGamma(), BetaBernoulli(), DirichletCategorical(), DirichletCategorical(n_categories=3)):
        assert likelihood.log_marginal_likelihood(nothing) == 0.0
        both = likelihood.log_marginal_likelihood(np.hstack([nothing, x]))
        assert close(both, likelihood.log_marginal_likelihood(x))


@pytest.mark.parametrize("likelihood", [NormalGamma(0.3, 0.5, 2.0, 1.5), NormalInverseWishart(0.3, 0.5, 4.0, 3.0)])
@pytest.mark.parametrize("x", [np.empty((0, 1)), np.array([[0.5], [2.0], [2.5]])])
def test_predictive_densities_integrate_to_one(likelihood: Likelihood, x: np.ndarray) -> None:
    # By substitution of x = tan t, since the tails are heavy.
    density = lambda t: math.exp(likelihood.log_predictive([math.tan(t)], x)) / math.cos(t) ** 2  # noqa: E731
    assert close(quad(density, -1.5706, 1.5706, epsabs=1e-8)[0], 1.0, 1e-6)


def test_predictive_probabilities_add_up_to_one() -> None:
    x = [[0, 1], [1, 2], [0, 0]]
    likelihood = DirichletCategorical(0.7, n_categories=(2, 4))
    total = sum(math.exp(likelihood.log_predictive([i, j], x)) for i in range(2) for j in range(4))
    assert close(total, 1.0)
    assert close(sum(math.exp(BetaBernoulli(0.2, 3.0).log_predictive([v], np.empty((0, 1)))) for v in (0, 1)), 1.0)


@given(cases([NormalGamma]))
def test_in_one_dimension_inverse_wishart_is_inverse_gamma(case: Any) -> None:
    gamma, x = case
    x = np.nan_to_num(x[:, :1])
    settings = (gamma.mean, gamma.pseudo_count, gamma.shape, gamma.rate)
    mean, weight, shape, rate = (float(np.ravel(value)[0]) for value in settings)
    one = NormalGamma(mean, weight, shape, rate).log_marginal_likelihood(x)
    two = NormalInverseWishart(mean, weight, 2 * shape, [[2 * rate]]).log_marginal_likelihood(x)
    assert close(one, two)


def test_more_columns_than_rows() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(12, 50)) @ rng.normal(size=(50, 50)) / 7
    scale = np.cov(rng.normal(size=(50, 200)))
    likelihood = NormalInverseWishart(rng.normal(size=50), 0.3, 52.5, scale)
    settings = wishart_settings(likelihood, 50)
    assert close(likelihood.log_marginal_likelihood(x), normal_inverse_wishart(x, *settings))
    assert close(likelihood.log_marginal_likelihood(x), determinant_formula(x, *settings))
    assert likelihood.statistics(x)[0][0] <= 12
    assert close(likelihood.log_marginal_likelihood(x[:1]), normal_inverse_wishart(x[:1], *settings))


def test_repeated_rows_span_few_coordinates() -> None:
    x = np.repeat([[1.0, 2.0, 3.0], [0.0, 5.0, 1.0]], 4, axis=0)
    likelihood = NormalInverseWishart()
    assert likelihood.statistics(x)[0][0] == 1  # the line through the two
    assert close(likelihood.log_marginal_likelihood(x), normal_inverse_wishart(x, 0.0 * x[0], 1.0, 5.0, np.eye(3)))


# Digits.

OFFSETS = [0.0, 1e6, -1e6, 1e9]


@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("mean_too", [True, False])
@pytest.mark.parametrize(("weight", "shape", "rate"), [(1.0, 1.0, 1.0), (0.01, 3.0, 0.05), (100.0, 0.5, 40.0)])
def test_an_offset_costs_no_digits(offset: float, mean_too: bool, weight: float, shape: float, rate: float) -> None:
    x = np.random.default_rng(0).normal(size=20) + offset
    mean = offset if mean_too else 0.0
    expected = exact_normal_gamma(x, mean, weight, shape, rate)
    value = NormalGamma(mean, weight, shape, rate).log_marginal_likelihood(x[:, None])
    assert close(value, expected, 1e-11)
    value = NormalInverseWishart(mean, weight, 2 * shape, 2 * rate).log_marginal_likelihood(x[:, None])
    assert close(value, expected, 1e-11)


@pytest.mark.parametrize("offset", OFFSETS)
def test_an_offset_of_rows_moves_nothing_if_the_prior_mean_moves_too(offset: float) -> None:
    rng = np.random.default_rng(2)
    x = rng.integers(-40, 40, (9, 4)) / 8  # offsets are added without rounding
    scale = np.cov(rng.normal(size=(4, 30)))
    expected = NormalInverseWishart(0.25, scale=scale).log_marginal_likelihood(x)
    value = NormalInverseWishart(0.25 + offset, scale=scale).log_marginal_likelihood(x + offset)
    assert close(value, expected, 1e-11)


@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("mean_too", [True, False])
def test_an_offset_costs_determinants_no_digits(offset: float, mean_too: bool) -> None:
    x = np.random.default_rng(3).normal(size=(6, 3)) * [1.0, 10.0, 0.1] + offset
    mean = [offset if mean_too else 0.0] * 3
    expected = exact_normal_inverse_wishart(x, mean, 0.3, 4.5)
    assert close(NormalInverseWishart(mean, 0.3, 4.5).log_marginal_likelihood(x), expected, 1e-11)


def test_a_distant_prior_mean_is_seen_from_all_directions_of_space() -> None:
    """The part of the mean that lies beyond the span of the rows counts as well."""
    x = np.array([[1.0, 0.0, 0.0], [2.0, 0.0, 0.0], [4.0, 0.0, 0.0]])
    for mean in ([2.0, 0.0, 0.0], [2.0, 3.0, -1.0], [1e5, 1e5, 0.0]):
        expected = exact_normal_inverse_wishart(x, mean, 0.5, 5.0)
        assert close(NormalInverseWishart(mean, 0.5).log_marginal_likelihood(x), expected, 1e-12)


@pytest.mark.parametrize("shape", [1e4, 1e8, 1e12])
def test_a_prior_that_is_sure_of_the_variance_gives_the_normal_law(shape: float) -> None:
    x = np.array([0.3, -1.0, 2.0])
    covariance = 4.0 * (np.eye(3) + 1 / 0.5)
    expected = stats.multivariate_normal.logpdf(x, np.zeros(3), covariance)
    value = NormalGamma(0.0, 0.5, shape, 4.0 * shape).log_marginal_likelihood(x[:, None])
    assert close(value, expected, 10 / shape + 1e-12)


def test_ratios_of_gamma_functions_keep_their_digits() -> None:
    starts = np.array([0.01, 0.5, 1.0, 7.3, 49.9, 50.1, 1e3, 1e8, 1e15])
    whole, half, next_half = log_rising(starts, 6), log_half_rising(starts, 6), log_half_rising(starts + 0.5, 1)
    np.testing.assert_allclose(half[:, ::2], whole[:, :4], rtol=1e-14)
    # Γ(a + ½)/Γ(a) · Γ(a + 1)/Γ(a + ½) = a
    np.testing.assert_allclose(half[:, 1] + next_half[:, 1], np.log(starts), rtol=1e-13, atol=2e-13)
    small = starts[:4, None]
    exact = [[math.lgamma(a + k / 2) - math.lgamma(a) for k in range(7)] for a in small[:, 0]]
    np.testing.assert_allclose(half[:4], exact, rtol=1e-12, atol=1e-13)


def test_columns_with_the_same_parameters_share_their_tables() -> None:
    x = np.zeros((100, 50))
    assert NormalGamma().statistics(x)[0].size < 400
    assert BetaBernoulli(2.0, 2.0).statistics(x)[0].size < 400
    assert DirichletCategorical(2.0, 5).statistics(x)[0].size < 400


# Parameters are kept, compared and pickled.


def test_parameters_are_plain_numbers_and_never_change() -> None:
    likelihood = NormalGamma(mean=np.array([0, 1]), rate=np.float32(2.0))
    assert repr(likelihood) == "NormalGamma(mean=(0.0, 1.0), pseudo_count=1.0, shape=1.0, rate=2.0)"
    assert likelihood == NormalGamma(mean=[0, 1], rate=2)
    assert hash(likelihood) == hash(NormalGamma(mean=[0, 1], rate=2))
    with pytest.raises(AttributeError):
        likelihood.rate = 3.0  # type: ignore[misc]
    assert NormalInverseWishart(scale=np.eye(2)) == NormalInverseWishart(scale=[[1, 0], [0, 1]])


@every_likelihood
def test_a_likelihood_can_be_pickled(kind: Any) -> None:
    assert pickle.loads(pickle.dumps(kind())) == kind()


def test_masked_entries_are_missing() -> None:
    masked = np.ma.masked_equal([[0.0, 9.0], [1.0, 2.0]], 9.0)
    missing = [[0.0, np.nan], [1.0, 2.0]]
    assert NormalGamma().log_marginal_likelihood(masked) == NormalGamma().log_marginal_likelihood(missing)
    assert NormalGamma().log_predictive(masked[0], missing) == NormalGamma().log_predictive(missing[0], missing)


def test_categories_that_are_not_counted_are_those_of_the_data() -> None:
    x = [[0, 2], [1, np.nan]]
    expected = DirichletCategorical(0.5, (2, 3)).log_marginal_likelihood(x)
    assert DirichletCategorical(0.5).log_marginal_likelihood(x) == expected
    # Both marginals of a predictive count the same categories, that of the new row among them.
    wanted = DirichletCategorical(0.5, (4, 3)).log_predictive([3, 0], x)
    assert close(DirichletCategorical(0.5).log_predictive([3, 0], x), wanted)


def test_far_codes_cost_no_memory() -> None:
    likelihood = DirichletCategorical()
    theta, additive = likelihood.statistics(np.array([[1e12], [0.0]]))
    assert additive.shape == (2, 2)
    assert theta.size < 20


@pytest.mark.parametrize("shape", [1.0, 3.0])
@pytest.mark.parametrize("variance", [1.0, (1.0, 4.0)])
def test_another_pseudo_count_expects_as_much_of_all_rows(shape, variance):
    likelihood = NormalGamma.expecting(0.2, variance=variance, shape=shape)
    assert likelihood.free_parameters == {"pseudo_count": pytest.approx(0.25)}
    for pseudo_count in (0.001, 0.25, 50.0):
        other = likelihood.with_parameters(pseudo_count=pseudo_count)
        in_all = np.asarray(other.rate) / shape * (1 + 1 / pseudo_count)
        np.testing.assert_allclose(in_all, variance)
    assert likelihood.with_parameters() is likelihood


def test_what_a_likelihood_cannot_choose_is_refused():
    per_column = NormalGamma(pseudo_count=[0.1, 0.2])
    assert per_column.parameter_ranges(np.zeros((3, 2))) == per_column.free_parameters == {}
    with pytest.raises(TypeError, match="differs from column to column"):
        per_column.with_parameters(pseudo_count=1.0)
    with pytest.raises(TypeError, match="BetaBernoulli has no parameters to set, but 'a' came"):
        BetaBernoulli().with_parameters(a=1.0)
    with pytest.raises(ValueError, match=r"within is 1\.0; it is a share"):
        NormalGamma.expecting(1.0)


# Many clusters at once.


def test_many_clusters_at_once_are_what_they_are_one_by_one() -> None:
    """By one compiled kernel, whatever the likelihood."""
    rng = np.random.default_rng(7)
    x = rng.integers(0, 2, size=(9, 3)).astype(float)
    sizes = np.array([1, 9, 4, 2])
    for likelihood in (NormalGamma(), NormalInverseWishart(), BetaBernoulli(), DirichletCategorical(n_categories=2)):
        theta, additive = checked_statistics(likelihood, x)
        sums, out = np.array([additive[:size].sum(axis=0) for size in sizes]), np.full(4, 77.0)
        fill_marginals(marginals_of(likelihood.log_marginal), theta, sizes, sums, 3, out)
        expected = [likelihood.log_marginal_likelihood(x[:size]) for size in sizes[:3]]
        np.testing.assert_allclose(out, [*expected, 77.0], rtol=1e-9)
    assert IS_PLAIN or len(fill_marginals.signatures) == 1
