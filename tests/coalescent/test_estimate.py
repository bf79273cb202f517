import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from palmette.coalescent.brownian import Brownian, Gaussian
from palmette.coalescent.draws import CoalescentDraws
from palmette.coalescent.estimate_brownian import estimate_rate, estimate_scale, sample_covariance
from palmette.coalescent.estimate_sites import estimate_sites
from palmette.coalescent.fit import fit
from palmette.coalescent.greedy import greedy
from palmette.coalescent.joint import ages_of, evaluate_events, log_likelihood
from palmette.coalescent.priors import Gamma, InverseGamma, InverseWishart
from palmette.coalescent.sites import IndependentSites
from palmette.hierarchy import Hierarchy
from palmette.simulate.coalescent import coalescent

MERGES = [[3, 1], [4, 0], [7, 6], [5, 2], [9, 8]]
HISTORY = Hierarchy.from_merges(MERGES, heights=[0.0478, 0.0787, 0.1669, 0.3818, 0.5195])
POINTS = [[-0.941, -0.746], [1.317, -1.424], [-0.418, -0.321], [-1.413, 0.486], [-0.916, 1.219], [1.418, -1.315]]
STATES = np.array([[0], [0], [1], [2], [-1], [1]])
ROOTS = ["flat", Gaussian(0.2, 0.7)]


def random_points(seed, n, n_columns=2, missing=0.0):
    rng = np.random.default_rng(seed)
    draw = coalescent(n, Brownian(np.linspace(0.5, 2.0, n_columns)), rng=rng)
    x = draw.x.copy()
    x[rng.random(x.shape) < missing] = np.nan
    return draw.hierarchy, x


def random_states(seed, n, n_sites=3, missing=0.2):
    rng = np.random.default_rng(seed)
    process = IndependentSites(np.linspace(0.4, 1.5, n_sites), [[0.2, 0.5, 0.3]] * n_sites)
    draw = coalescent(n, process, rng=rng)
    return draw.hierarchy, np.where(rng.random(draw.x.shape) < missing, -1, draw.x)


def test_the_rate_has_its_known_value():
    process = Brownian(np.eye(2) + 0.1)
    found = estimate_rate(POINTS, HISTORY, process)
    known = [[17.323007359736295, -11.978802259867159], [-11.978802259867159, 13.304214570777319]]
    np.testing.assert_allclose(found.rate, known, rtol=1e-10)
    found = estimate_rate(POINTS, HISTORY, process, prior=InverseWishart([[0.5, 0.1], [0.1, 0.4]], 5.0))
    known = [[6.701156676821652, -4.599539330718138], [-4.599539330718138, 5.147774834914354]]
    np.testing.assert_allclose(found.rate, known, rtol=1e-10)
    np.testing.assert_allclose(estimate_rate(POINTS, HISTORY, process, shape="scalar").rate, 15.313610965256807)


def test_one_step_of_sites_has_its_known_value():
    process = IndependentSites(0.8, [[0.5, 0.3, 0.2]])
    np.testing.assert_allclose(log_likelihood(STATES, HISTORY, process), -8.232628894879578, rtol=1e-10)
    found = estimate_sites(STATES, HISTORY, process, rounds=1, pseudo_count=0)
    np.testing.assert_allclose(found.rate, 1.6761311721150223, rtol=1e-10)
    np.testing.assert_allclose(
        found.equilibrium[0], [0.3625664259169753, 0.3549398497390298, 0.28249372434399495], rtol=1e-10
    )
    np.testing.assert_allclose(log_likelihood(STATES, HISTORY, found), -7.106599039516181, rtol=1e-10)


@pytest.mark.parametrize("root", ROOTS, ids=repr)
@pytest.mark.parametrize("rate", [1.0, [1.0, 1.0], [[1.0, 0.2], [0.2, 1.0]]], ids=repr)
def test_no_rate_nearby_is_likelier(rate, root):
    history, x = random_points(1, 12)
    found = estimate_rate(x, history, Brownian(rate, root, 0.1))
    best, rng = log_likelihood(x, history, found), np.random.default_rng(0)
    for _ in range(20):
        step = 0.05 * rng.normal(size=found.rate.shape)
        other = found.rate * np.exp(step + step.T)
        assert log_likelihood(x, history, Brownian(other, root, 0.1)) < best


@pytest.mark.parametrize("root", ROOTS, ids=repr)
@pytest.mark.parametrize("shape", ["scalar", "diagonal"])
def test_no_rate_nearby_is_likelier_with_missing_entries(shape, root):
    history, x = random_points(2, 12, missing=0.3)
    prior = InverseGamma(2.0, 0.5)
    for given_prior in (None, prior):
        found = estimate_rate(x, history, Brownian(1.0, root), shape=shape, prior=given_prior)

        def log_posterior(rate, given_prior=given_prior):
            value = log_likelihood(x, history, Brownian(rate, root))
            return value - (np.sum((prior.shape + 1) * np.log(rate) + prior.scale / rate) if given_prior else 0.0)

        best = log_posterior(found.rate)
        for factor in (0.9, 0.99, 1.01, 1.1):
            assert log_posterior(found.rate * factor) < best
            if shape == "diagonal":
                assert log_posterior(found.rate * [factor, 1.0]) < best


def test_the_true_history_tells_the_rate():
    rate = np.array([[1.0, 0.5], [0.5, 2.0]])
    draw = coalescent(400, Brownian(rate), rng=3)
    assert np.abs(estimate_rate(draw.x, draw.hierarchy, Brownian(np.eye(2))).rate - rate).max() < 0.3


def test_draws_average_the_scatter():
    history, x = random_points(3, 6)
    other = coalescent(6, rng=30).hierarchy
    shares = np.array([0.25, 0.75])
    ages = np.array([ages_of(each)[6:] for each in (history, other)])
    merges = np.array([history.children, other.children])
    draws = CoalescentDraws(merges, ages, np.log(shares), 0.0, np.ones(5), tuple("012345"))
    process = Brownian([1.0, 1.0])
    parts = [estimate_rate(x, each, process).rate for each in (history, other)]
    np.testing.assert_allclose(estimate_rate(x, draws, process).rate, shares @ parts)
    codes = (x > 0).astype(int)
    sites = IndependentSites(1.0, [[0.5, 0.5]] * 2)
    with np.errstate(divide="ignore"):
        alone = CoalescentDraws(merges, ages, np.log([1.0, 0.0]), 0.0, np.ones(5), tuple("012345"))
    mixed, only, single = (estimate_sites(codes, each, sites, rounds=1).rate for each in (draws, alone, history))
    assert only == single != mixed


def test_the_sample_covariance_is_unbiased():
    rate = np.array([0.5, 2.0])
    draws = coalescent(8, Brownian(rate, "flat", 0.5), rng=4, size=1500)
    found = np.array([sample_covariance(draw.x, "diagonal", 0.5) for draw in draws])
    assert (np.abs(found.mean(axis=0) - rate) < 4 * found.std(axis=0) / math.sqrt(1500)).all()


def test_the_sample_covariance_has_three_shapes():
    _, x = random_points(5, 9, 3)
    full = sample_covariance(x, "full")
    np.testing.assert_allclose(full, np.cov(x.T))
    np.testing.assert_allclose(sample_covariance(x), np.diag(full))
    np.testing.assert_allclose(sample_covariance(x, "scalar"), np.diag(full).mean())


def mean_inverse(squared, n_columns, rate, lowest):
    """⟨1/S⟩ under e^(−cδ) N(d; 0, S I), S = lowest + 2δ, by quadrature in log δ."""
    log_weight = lambda d: -rate * d - n_columns / 2 * math.log(lowest + 2 * d) - squared / 2 / (lowest + 2 * d)  # noqa: E731
    top = max(log_weight(math.exp(y)) for y in np.linspace(-20, 5, 500))
    moment = lambda y, k: math.exp(y + log_weight(math.exp(y)) - top) / (lowest + 2 * math.exp(y)) ** k  # noqa: E731
    return quad(moment, -35, 6, (1,), limit=400)[0] / quad(moment, -35, 6, (0,), limit=400)[0]


@pytest.mark.parametrize("leaf_variance", [0.0, 0.3])
def test_a_step_of_the_scale_averages_over_durations(leaf_variance):
    history, x = random_points(6, 5)
    process = Brownian(0.8, "flat", leaf_variance)
    messages = evaluate_events(process.prepare(x), history).messages
    ages, total = ages_of(history), 0.0
    assert (np.diff(ages[5:]) >= 0).all()
    for i, (left, right) in enumerate(history.children):
        m = 5 - i
        squared = ((messages[left, 1:] - messages[right, 1:]) ** 2).sum()
        before = ages[4 + i] if i else 0.0
        lowest = messages[left, 0] + messages[right, 0] + 2 * before - ages[left] - ages[right]
        total += squared * mean_inverse(squared, 2, m * (m - 1) / 2, lowest)
    found = estimate_scale(x, history, process)
    np.testing.assert_allclose(found.rate, 0.8 * total / (4 * 2), rtol=1e-6)


@pytest.mark.parametrize("rate", [1.0, [0.6, 1.0], [[1.0, 0.2], [0.2, 1.0]]], ids=repr)
def test_the_scale_with_missing_entries_does_not_depend_on_units(rate):
    history, x = random_points(7, 8, missing=0.2)
    one = estimate_scale(x, history, Brownian(rate), rounds=3)
    two = estimate_scale(10 * x, history, Brownian(np.multiply(rate, 100.0)), rounds=3)
    np.testing.assert_allclose(two.rate, 100 * one.rate, rtol=1e-6)
    full, diagonal = Brownian(np.diag([0.6, 1.0]) + 1e-12), Brownian([0.6, 1.0])
    np.testing.assert_allclose(
        np.diag(estimate_scale(x, history, full).rate), estimate_scale(x, history, diagonal).rate, rtol=1e-5
    )


@pytest.mark.parametrize("truth", [0.25, 4.0])
def test_fits_find_the_scale(truth):
    ratios = {"moments": [], "em": []}
    for seed in range(4):
        draw = coalescent(50, Brownian(np.full(5, truth)), rng=seed)
        for scale, found in ratios.items():
            found.append(fit(draw.x, Brownian(), rounds=6, scale=scale)[0].rate / truth)
    assert 0.6 < np.mean(ratios["moments"]) < 1.6
    assert 0.7 < np.mean(ratios["em"]) < 1.5


def test_turns_without_a_scale_creep_upwards():
    _, x = random_points(8, 30, 3)
    process = Brownian(1.0)
    found = greedy(x, process)
    messages = evaluate_events(process.prepare(x), found.hierarchy).messages
    ages, (left, right) = ages_of(found.hierarchy), found.hierarchy.children.T
    totals = messages[left, 0] + messages[right, 0] + 2 * ages[30:] - ages[left] - ages[right]
    assert found.n_clamped == 0
    np.testing.assert_allclose(estimate_rate(x, found.hierarchy, process).rate, 1 + totals.mean() / 3)


@pytest.mark.parametrize("scale", ["moments", None])
def test_fits_keep_the_trace(scale):
    _, x = random_points(9, 40, 3)
    for rate in (np.ones(3), np.eye(3)):
        process, found = fit(x, Brownian(rate), scale=scale)
        wanted = 3.0 if scale is None else sample_covariance(x).sum()
        np.testing.assert_allclose(process.rate.sum() if rate.ndim == 1 else np.trace(process.rate), wanted)
        assert process.rate.shape == rate.shape
        again = greedy(x, process)
        assert again.hierarchy == found.hierarchy
        assert again.log_joint == found.log_joint


def test_fits_find_the_shape():
    draw = coalescent(150, Brownian([0.2, 1.0, 5.0]), rng=10)
    process, _ = fit(draw.x, Brownian(np.ones(3)), scale=None)
    assert process.rate[0] < process.rate[1] < process.rate[2]


def test_fits_of_sites_keep_the_mean_rate():
    _, x = random_states(11, 25, 4)
    for rate in (0.5, [0.2, 0.4, 0.6, 0.8]):
        process, found = fit(x, IndependentSites(rate))
        np.testing.assert_allclose(process.rate.mean(), 0.5)
        assert np.isfinite(found.log_joint)
        for q in process.equilibrium:
            np.testing.assert_allclose(q.sum(), 1.0)


@given(seed=st.integers(0, 10**6), n=st.integers(2, 9), pooled=st.booleans())
def test_every_round_raises_the_likelihood(seed, n, pooled):
    history, x = random_states(seed, n)
    process = IndependentSites(0.7 if pooled else [0.3, 0.7, 2.0], [[0.3, 0.3, 0.4]] * 3)
    value = log_likelihood(x, history, process)
    for _ in range(5):
        process = estimate_sites(x, history, process, rounds=1, pseudo_count=0)
        assert process.rate.ndim == (0 if pooled else 1)
        before, value = value, log_likelihood(x, history, process)
        assert value >= before - 1e-9


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_every_round_raises_the_posterior(seed):
    history, x = random_states(seed, 7)
    process, prior = IndependentSites([0.3, 0.7, 2.0], [[0.3, 0.3, 0.4]] * 3), Gamma(2.0, 3.0)

    def log_posterior(process):
        value = log_likelihood(x, history, process) + sum(0.5 * np.log(q).sum() for q in process.equilibrium)
        return value + ((prior.shape - 1) * np.log(process.rate) - prior.rate * process.rate).sum()

    value = log_posterior(process)
    for _ in range(5):
        process = estimate_sites(x, history, process, rounds=1, pseudo_count=0.5, prior=prior)
        before, value = value, log_posterior(process)
        assert value >= before - 1e-9


@pytest.mark.parametrize("pooled", [True, False])
def test_many_rounds_lead_to_a_maximum(pooled):
    history, x = random_states(12, 12)
    start = IndependentSites(0.7 if pooled else [0.7] * 3, [[0.3, 0.3, 0.4]] * 3)
    prior = Gamma(2.0, 1.0)
    found = estimate_sites(x, history, start, rounds=400, prior=prior, update=["rate"])
    assert all((a == b).all() for a, b in zip(found.equilibrium, start.equilibrium, strict=True))

    def log_posterior(rate):
        value = log_likelihood(x, history, IndependentSites(rate, start.equilibrium))
        return value + ((prior.shape - 1) * np.log(rate) - prior.rate * rate).sum()

    for d in range(found.rate.size):
        step = 1e-4 * np.eye(found.rate.size)[d].reshape(found.rate.shape)
        slope = (log_posterior(found.rate + step) - log_posterior(found.rate - step)) / 2e-4
        assert abs(slope) < 1e-5


def test_sites_without_entries_stay():
    history, x = random_states(13, 6)
    x[:, 1] = -1
    process = IndependentSites([0.3, 0.7, 2.0], [[0.3, 0.3, 0.4]] * 3)
    found = estimate_sites(x, history, process, pseudo_count=0)
    np.testing.assert_allclose(found.rate[1], 0.7)
    np.testing.assert_allclose(found.equilibrium[1], [0.3, 0.3, 0.4])
    kept = estimate_sites(x, history, process, update=["equilibrium"])
    assert (kept.rate == process.rate).all()


def test_one_and_two_leaves():
    single = Hierarchy.from_merges(np.empty((0, 2), dtype=int), labels=["a"])
    process = IndependentSites(0.5, [[0.5, 0.5]])
    assert estimate_sites([[1]], single, process).rate == 0.5
    np.testing.assert_allclose(estimate_sites([[1]], single, process, rounds=1).equilibrium[0], [0.25, 0.75])
    assert estimate_scale([[1.0]], single, Brownian(2.0)).rate == 2.0
    with pytest.raises(ValueError, match="do not tell a rate"):
        estimate_rate([[1.0]], single, Brownian())
    np.testing.assert_allclose(estimate_rate([[1.0]], single, Brownian(), prior=InverseGamma(1.0, 3.0)).rate, 1.5)
    np.testing.assert_allclose(estimate_rate([[1.0]], single, Brownian(1.0, Gaussian(0.0, 2.0))).rate, 0.5)
    process, found = fit([[1.0, 2.0], [3.0, 1.0]], Brownian([1.0, 1.0]))
    np.testing.assert_allclose(process.rate, [2.0, 0.5])
    assert found.hierarchy.n_leaves == 2
    assert fit([[1.0]], Brownian(2.0))[0].rate == 2.0


def test_identical_rows_say_nothing_or_what_their_variance_says():
    twice = Hierarchy.from_merges([[0, 1], [3, 2]], heights=[0.0, 0.5])
    x = [[0.0, 1.0], [0.0, 1.0], [1.0, 0.0]]
    np.testing.assert_allclose(estimate_rate(x, twice, Brownian([1.0, 1.0])).rate, [1.0, 1.0])
    noisy = estimate_rate(x, twice, Brownian([1.0, 1.0], "flat", 0.1)).rate
    np.testing.assert_allclose(noisy, 1 / (1 + 0.15) / 2)
    assert np.isfinite(estimate_scale(x, twice, Brownian()).rate)
    assert np.isfinite(fit(x, Brownian([1.0, 1.0]), scale="em")[0].rate).all()
    with pytest.raises(ValueError, match="meet at distance 0"):
        estimate_rate([[0.0], [1.0], [2.0]], twice, Brownian())
    with pytest.raises(ValueError, match="meet at distance 0"):
        estimate_sites([[0], [1], [1]], twice, IndependentSites(1.0, [[0.5, 0.5]]))


def test_constant_and_missing_columns_need_a_prior():
    history, x = random_points(14, 6)
    for value in (1.0, np.nan):
        x[:, 1] = value
        with pytest.raises(ValueError, match="give a prior"):
            estimate_rate(x, history, Brownian([1.0, 1.0]))
        found = estimate_rate(x, history, Brownian([1.0, 1.0]), prior=InverseGamma(2.0, 1.0))
        assert (found.rate > 0).all()
        assert np.isfinite(fit(x, Brownian([1.0, 1.0]), prior=InverseGamma(2.0, 1.0))[0].rate).all()
    few = np.random.default_rng(0).normal(size=(3, 4))
    with pytest.raises(ValueError, match="too few"):
        estimate_rate(few, coalescent(3, rng=1).hierarchy, Brownian(np.eye(4)))


def test_bad_input_is_refused():
    history, x = random_points(15, 5, missing=0.4)
    with pytest.raises(ValueError, match="a full rate needs complete data"):
        estimate_rate(x, history, Brownian(), shape="full")
    with pytest.raises(ValueError, match="shape is 'round'"):
        estimate_rate(x, history, Brownian(), shape="round")
    with pytest.raises(TypeError, match="prior of a scalar rate is InverseGamma"):
        estimate_rate(x, history, Brownian(), prior=InverseWishart(1.0, 3.0))
    with pytest.raises(TypeError, match="expected Brownian motion"):
        estimate_rate(x, history, IndependentSites())
    with pytest.raises(TypeError, match="expected IndependentSites"):
        estimate_sites(x, history, Brownian())
    with pytest.raises(ValueError, match="update holds"):
        estimate_sites(np.zeros((5, 1)), history, IndependentSites(), update=["rates"])
    with pytest.raises(ValueError, match="rounds is -1"):
        fit(x, Brownian(), rounds=-1)
    with pytest.raises(ValueError, match="scale is 'best'"):
        fit(x, Brownian(), scale="best")
    with pytest.raises(ValueError, match="is for Brownian motion"):
        fit(np.zeros((5, 1)), IndependentSites(), scale="em")
    with pytest.raises(ValueError, match="must be positive"):
        InverseGamma(0.0, 1.0)
    with pytest.raises(ValueError, match="at least 1"):
        Gamma(0.5, 1.0)
    for scale, why in ((-1.0, "-1.0; give"), ([[1, 2], [2, 1]], "not positive"), ([[1, 1], [0, 1]], "not symmetric")):
        with pytest.raises(ValueError, match=f"scale is {why}"):
            InverseWishart(scale, 3.0)
    with pytest.raises(ValueError, match="the scale of the prior has shape"):
        estimate_rate(np.ones((5, 2)), history, Brownian(np.eye(2)), prior=InverseWishart(np.eye(3), 3.0))
    with pytest.raises(ValueError, match="column 0 of x has fewer than 2 entries"):
        sample_covariance([[1.0]])
