"""What likelihoods refuse, and how they say it; likelihoods of one's own."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad

from palmette.likelihoods import BetaBernoulli, DirichletCategorical, Likelihood, NormalGamma, NormalInverseWishart

every_likelihood = pytest.mark.parametrize(
    "kind", [NormalGamma, NormalInverseWishart, BetaBernoulli, DirichletCategorical]
)


X = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])

REFUSED_PARAMETERS = [
    (lambda: NormalGamma(rate=0.0), ValueError, "rate is 0; it must be positive"),
    (lambda: NormalGamma(shape=[1.0, -2.0]), ValueError, "shape is -2; it must be positive"),
    (lambda: NormalGamma(pseudo_count=np.nan), ValueError, "pseudo_count is nan; it must be positive"),
    (lambda: NormalGamma(mean=np.inf), ValueError, r"mean is inf; it must be between -1e\+100 and 1e\+100"),
    (lambda: NormalGamma(mean="0"), TypeError, "mean must be a number, or a list of one per column, not '0'"),
    (lambda: NormalGamma(mean=[[0.0]]), TypeError, "mean must be a number, or a list"),
    (lambda: NormalGamma(rate=[1.0, [2.0]]), TypeError, "rate must be a number, or a list"),  # type: ignore[list-item]
    (lambda: NormalGamma(rate=True), TypeError, "rate must be a number"),
    (lambda: BetaBernoulli(a=0.0), ValueError, "a is 0; it must be positive, between 1e-100"),
    (lambda: BetaBernoulli(b=-1.0), ValueError, "b is -1; it must be positive"),
    (lambda: DirichletCategorical(-1.0), ValueError, "concentration is -1; it must be positive"),
    (lambda: DirichletCategorical(1.0, 0), ValueError, "n_categories is 0; a column has at least one category"),
    (lambda: DirichletCategorical(1.0, 2.0), TypeError, "n_categories must hold integers"),  # type: ignore[arg-type]
    (lambda: DirichletCategorical(1.0, [[2]]), ValueError, r"n_categories has shape \(1, 1\)"),  # type: ignore
    (lambda: DirichletCategorical(base=[[0.5, 0.6]]), ValueError, r"base of column 0 is \[0.5, 0.6\]; .* add up to 1"),
    (lambda: DirichletCategorical(base=[[0.5, 0.5], "q"]), TypeError, "base of column 1 must be a vector"),
    (lambda: DirichletCategorical(base=[0.5, 0.5]), ValueError, r"base of column 0 has shape \(\)"),  # type: ignore
    (lambda: DirichletCategorical(1.0, 2, [[0.5, 0.5]]), ValueError, "base and n_categories are both given"),
    (lambda: NormalInverseWishart(pseudo_count=[1.0, 2.0]), TypeError, "pseudo_count must be one number"),  # type: ignore
    (
        lambda: NormalInverseWishart(degrees_of_freedom=-3.0),
        ValueError,
        "degrees_of_freedom is -3; it must be positive",
    ),
    (lambda: NormalInverseWishart(scale=-1.0), ValueError, "scale is -1; it must be positive"),
    (lambda: NormalInverseWishart(scale=[1.0, 2.0]), ValueError, r"scale has shape \(2,\); expected one number, or"),
    (lambda: NormalInverseWishart(scale=[[1.0, 0.5], [0.4, 1.0]]), ValueError, "scale is not symmetric"),
    (lambda: NormalInverseWishart(scale=[[1.0, np.nan], [0.4, 1.0]]), ValueError, "scale holds nan at row 0, column 1"),
    (lambda: NormalInverseWishart(scale=[[1.0, 0.0], [0.0, 0.0]]), ValueError, "the diagonal of scale is 0"),
    (lambda: NormalInverseWishart(scale=[[1.0, 2.0], [2.0, 1.0]]), ValueError, "smallest eigenvalue is -1"),
]


@pytest.mark.parametrize(("make", "error", "message"), REFUSED_PARAMETERS)
def test_parameters_that_make_no_prior_are_refused(make: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()


REFUSED_DATA = [
    (NormalGamma(mean=[0.0, 1.0, 2.0]), X, "mean has 3 entries but points has 2 columns"),
    (NormalGamma(), X * 1e101, r"points holds 1e\+101 at row 0, column 1; entries beyond 1e\+100 overflow"),
    (NormalGamma(), X * [1, 1e5], r"column 1 of points reaches 6.67e\+04 widths of the prior from its mean"),
    (NormalGamma(rate=1e-9), X, "divide it by a constant, or multiply rate by 3.3e\\+02 or more"),
    (NormalGamma(shape=1e9), X, "column 0 of points reaches"),
    (NormalInverseWishart(), X * 1e90, "column 0 of points reaches"),
    (NormalInverseWishart(scale=np.diag([1.0, 1e-9])), X, "column 1 of points .* multiply scale by"),
    (NormalInverseWishart(), [[0.0, 1.0], [2.0, np.nan]], "NaN at row 1, column 1; .* or use NormalGamma"),
    (NormalInverseWishart(), [[np.nan, np.nan]], r"NaN at row 0, column 0 \(and 1 more\)"),
    (NormalInverseWishart(degrees_of_freedom=1.0), X, "degrees_of_freedom is 1; for 2 columns it must be above 1"),
    (NormalInverseWishart(scale=np.eye(3)), X, r"scale has shape \(3, 3\) but points has 2 columns"),
    (NormalInverseWishart(mean=[1.0]), X, "mean has 1 entries but points has 2 columns"),
    (BetaBernoulli(), [[0, 1], [1, 2]], "points holds 2 at row 1, column 1; BetaBernoulli takes 0, 1, and NaN"),
    (BetaBernoulli(), [[0.5]], "points holds 0.5 at row 0, column 0"),
    (BetaBernoulli(a=[1.0]), X, "a has 1 entries"),
    (DirichletCategorical(), [[0, 1], [-1, 0]], "points holds -1 at row 1, column 0; DirichletCategorical takes codes"),
    (DirichletCategorical(), [[0.5]], "points holds 0.5 at row 0, column 0"),
    (DirichletCategorical(1.0, (2, 3)), [[0, 1], [1, 3]], "category 3 at row 1, column 1, but n_categories is 3 there"),
    (DirichletCategorical(base=[[0.5, 0.5]]), [[0], [2]], "category 2 at row 1, column 0, but base has 2 categories"),
    (DirichletCategorical(base=[[1.0, 0.0]]), [[0], [1]], "category 1 at row 1, .* base gives it probability 0"),
    (DirichletCategorical(base=[[1.0]]), X, "base has 1 vectors but points has 2 columns"),
    (DirichletCategorical(1.0, (2, 3)), [[0], [1]], "n_categories has 2 entries but points has 1 columns"),
]


@pytest.mark.parametrize(("likelihood", "x", "message"), REFUSED_DATA)
def test_data_that_do_not_fit_are_refused(likelihood: Likelihood, x: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        likelihood.log_marginal_likelihood(x)


def test_the_advice_on_wide_columns_helps() -> None:
    for scale, likelihood in ((1e-9, NormalGamma), (1e-9, NormalInverseWishart)):
        name = "rate" if likelihood is NormalGamma else "scale"
        with pytest.raises(ValueError, match=f"multiply {name} by") as caught:
            likelihood(**{name: scale}).log_marginal_likelihood(X)
        factor = float(str(caught.value).split("multiply ")[1].split()[2])
        assert np.isfinite(likelihood(**{name: factor * scale}).log_marginal_likelihood(X))


@every_likelihood
def test_arrays_of_the_wrong_form_are_refused(kind: Any) -> None:
    likelihood = kind()
    with pytest.raises(ValueError, match=r"points has shape \(2,\); expected \(n, d\)"):
        likelihood.log_marginal_likelihood([0.0, 1.0])
    with pytest.raises(ValueError, match=r"holds inf at row 1, column 0; entries must be finite, or NaN where one is"):
        likelihood.log_marginal_likelihood([[0.0], [np.inf]])
    with pytest.raises(ValueError, match="there are no columns"):
        likelihood.log_marginal_likelihood(np.empty((3, 0)))
    with pytest.raises(TypeError, match="must be an array of real numbers"):
        likelihood.log_marginal_likelihood([["a"]])
    with pytest.raises(ValueError, match=r"new has shape \(3,\); expected one row of the 2 columns"):
        likelihood.log_predictive([1.0, 0.0, 1.0], X)
    with pytest.raises(ValueError, match="new holds inf at row 0, column 1"):
        likelihood.log_predictive([1.0, np.inf], X)


@every_likelihood
def test_no_rows_have_marginal_likelihood_one(kind: Any) -> None:
    assert kind().log_marginal_likelihood(np.empty((0, 2))) == 0.0
    first = kind().log_predictive([1.0, 0.0], np.empty((0, 2)))
    assert (
        first == kind().log_marginal_likelihood([[1.0, 0.0]]) == kind().log_predictive([[1.0, 0.0]], np.empty((0, 2)))
    )


# A likelihood of one's own.


class Exponential(Likelihood):
    """x | λ ~ Exponential(λ), λ ~ Gamma(shape, 1); negative numbers are impossible."""

    def __init__(self, shape: float) -> None:
        self.shape = shape

    def statistics(self, points: np.ndarray) -> Any:
        return [self.shape], np.column_stack([points[:, 0], points[:, 0] < 0])

    @staticmethod
    def log_marginal(theta: Any, size: int, sums: Any) -> float:
        if sums[1] > 0:
            return -np.inf
        a = theta[0]
        return math.lgamma(a + size) - math.lgamma(a) - (a + size) * math.log1p(sums[0])


def test_a_users_likelihood_has_marginals_and_predictives() -> None:
    likelihood = Exponential(2.0)
    x = [[0.5], [1.0]]
    assert likelihood.log_marginal_likelihood(x) == pytest.approx(math.log(2 * 3) - 4 * math.log(2.5))
    density = lambda v: math.exp(likelihood.log_predictive([v], x))  # noqa: E731
    assert quad(density, 0, np.inf)[0] == pytest.approx(1.0, abs=1e-6)
    assert likelihood.log_predictive([-1.0], x) == -np.inf
    assert likelihood.log_predictive([1.0], [[-1.0]]) == -np.inf


def test_a_likelihood_may_be_compiled_by_its_author_and_inherited() -> None:
    class Tempered(NormalGamma):
        def statistics(self, points: np.ndarray) -> Any:
            theta, additive = super().statistics(points)
            return theta, 0.5 * additive

    assert Tempered.log_marginal is NormalGamma.log_marginal
    assert np.isfinite(Tempered().log_marginal_likelihood([[1.0], [2.0]]))


def test_a_likelihood_that_is_not_whole_says_what_it_lacks() -> None:
    class Nothing(Likelihood):
        pass

    class Half(Likelihood):
        @staticmethod
        def log_marginal(theta: Any, size: int, sums: Any) -> float:
            return 0.0

    for kind in (Nothing, Half):
        with pytest.raises(TypeError, match=f"{kind.__name__} must define statistics and log_marginal; see Likelihood"):
            kind().log_marginal_likelihood(X)


def test_a_log_marginal_with_other_parameters_is_refused_when_the_class_is_made() -> None:
    with pytest.raises(TypeError, match=r"Wrong.log_marginal takes \(self, theta, size, sums\); write it as a static"):

        class Wrong(Likelihood):
            def log_marginal(self, theta: Any, size: int, sums: Any) -> float:  # type: ignore[misc, override]
                return 0.0


class Given(Likelihood):
    """Returns what it is made with."""

    def __init__(self, theta: Any, additive: Any) -> None:
        self.given = theta, additive

    def statistics(self, points: np.ndarray) -> Any:
        return self.given

    @staticmethod
    def log_marginal(theta: Any, size: int, sums: Any) -> float:
        return theta[0]


@pytest.mark.parametrize(
    ("theta", "additive", "message"),
    [
        ([[0.0]], np.zeros((3, 1)), r"returned arrays of shape \(1, 1\) and \(3, 1\); expected a vector theta"),
        ([0.0], np.zeros((2, 1)), r"shape \(1,\) and \(2, 1\); .* additive of shape \(3, D\)"),
        ([0.0], np.full((3, 1), np.nan), "returned NaN or infinite values; a missing entry must not enter the sums"),
        ([np.inf], np.zeros((3, 1)), "returned NaN or infinite values"),
    ],
)
def test_statistics_of_the_wrong_form_are_refused(theta: Any, additive: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"Given.statistics {message}" if "returned" in message else message):
        Given(theta, additive).log_marginal_likelihood(X)


def test_a_log_marginal_that_is_not_a_number_is_refused() -> None:
    class Broken(Given):
        @staticmethod
        def log_marginal(theta: Any, size: int, sums: Any) -> float:
            return theta[0] * np.inf

    for value in (0.0, 1.0):  # NaN and inf
        with pytest.raises(ValueError, match=r"Broken\.log_marginal returned NaN or inf; it must be finite or -inf"):
            Broken([value], np.zeros((3, 0))).log_marginal_likelihood(X)
    assert Broken([-1.0], np.zeros((3, 0))).log_marginal_likelihood(X) == -np.inf


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_what_a_log_marginal_raises_is_not_taken_for_a_number() -> None:
    class Raising(Given):
        @staticmethod
        def log_marginal(theta: Any, size: int, sums: Any) -> float:
            if size > 1:
                raise ValueError("too many rows")
            return theta[0]

    raising = Raising([-1.0], np.zeros((len(X), 0)))
    with pytest.raises(ValueError, match=r"Raising\.log_marginal returned NaN or inf|too many rows"):
        raising.log_marginal_likelihood(X)
