import math

import numpy as np
import pytest
from coalescent_cases import EQUILIBRIA, FULL, NAN, random_case, random_states
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import multivariate_normal

from palmette.coalescent.brownian import Brownian, Gaussian
from palmette.coalescent.draws import CoalescentDraws
from palmette.coalescent.joint import ages_of, log_likelihood
from palmette.coalescent.place import place
from palmette.coalescent.predict import impute, log_predictive_entry, predict
from palmette.coalescent.process import Process
from palmette.coalescent.sites import IndependentSites
from palmette.hierarchy import Hierarchy
from palmette.simulate.coalescent import coalescent

POINTS = [[-0.026, 0.482], [0.309, 0.055], [-1.705, 0.919], [0.613, 1.373], [0.94, 0.374]]
HISTORY = Hierarchy.from_merges([[3, 2], [1, 0], [5, 6], [4, 7]], heights=[0.0045, 0.0225, 0.0475, 1.944])


def brownian_cases():
    for rate in (0.7, [0.5, 1.0, 2.0], FULL):
        for root in ("flat", Gaussian([0.3, -0.2, 0.1], 1.5)):
            for leaf_variance in (0.0, 0.3):
                yield Brownian(rate, root, leaf_variance)


def conditional(x, history, process):
    """Mean and covariance of the missing entries, given the others, by the textbook; a flat root by least squares."""
    n, n_columns = x.shape
    ages = ages_of(history)
    shared = np.array([[ages[-1] - (ages[history.lca(i, j)] if i != j else 0) for j in range(n)] for i in range(n)])
    is_flat = process.root == "flat"
    variance, mean = (1.0, 0.0) if is_flat else (process.root.variance, process.root.mean)
    rate = process.rate if process.rate.ndim == 2 else np.diag(np.broadcast_to(process.rate, n_columns))
    covariance = np.kron(shared + variance + process.leaf_variance * np.eye(n), rate)
    flat = x.reshape(-1) - np.tile(np.broadcast_to(mean, n_columns), n)
    missing, seen = np.isnan(flat), ~np.isnan(flat)
    inverse = np.linalg.inv(covariance[np.ix_(seen, seen)])
    gain = covariance[np.ix_(missing, seen)] @ inverse
    spread = covariance[np.ix_(missing, missing)] - gain @ covariance[np.ix_(seen, missing)]
    if is_flat:
        location = np.tile(np.eye(n_columns), (n, 1))
        uncertain = np.linalg.inv(location[seen].T @ inverse @ location[seen])
        rest = location[missing] - gain @ location[seen]
        gain = gain + rest @ uncertain @ location[seen].T @ inverse
        spread = spread + rest @ uncertain @ rest.T
    return np.tile(np.broadcast_to(mean, n_columns), n)[missing] + gain @ flat[seen], spread


def test_a_held_out_entry_has_its_known_distribution():
    x = np.array(POINTS)
    x[2, 1] = np.nan
    found = predict(x, HISTORY, Brownian([1.0, 1.0]))
    assert found.entries.tolist() == [[2, 1]]
    np.testing.assert_allclose(found.mean, 1.3134657850485716, rtol=1e-10)
    np.testing.assert_allclose(found.variance, 0.008757226382054265, rtol=1e-10)
    found = log_predictive_entry(x, HISTORY, Brownian([1.0, 1.0]), POINTS)
    np.testing.assert_allclose(found, -7.434277835851323, rtol=1e-10)


@pytest.mark.parametrize("process", list(brownian_cases()), ids=repr)
def test_predictions_are_normal_conditionals(process):
    for seed in range(3):
        history, x, _ = random_case(seed, 6)
        x[0], x[1] = np.nan, [0.1, 0.2, 0.3]
        found = predict(x, history, process)
        mean, covariance = conditional(x, history, process)
        np.testing.assert_allclose(found.mean, mean, atol=1e-9)
        np.testing.assert_allclose(found.variance, np.diag(covariance), atol=1e-9)


@pytest.mark.parametrize("process", list(brownian_cases()), ids=repr)
def test_entries_have_the_ratio_of_likelihoods(process):
    history, x, rng = random_case(4, 7, missing=0.5)
    values = np.where(np.isnan(x), rng.normal(size=x.shape), x)
    check_ratio(x, history, process, values)


@given(seed=st.integers(0, 10**6), n=st.integers(1, 7), rate=st.sampled_from([0.5, (0.3, 1.0, 4.0)]))
def test_states_have_the_ratio_of_likelihoods(seed, n, rate):
    history, x, rng = random_states(seed, n, missing=0.5)
    process = IndependentSites(rate, EQUILIBRIA)
    values = np.column_stack([rng.integers(0, len(q), n) for q in EQUILIBRIA])
    check_ratio(x, history, process, np.where(x < 0, values, x))
    np.testing.assert_allclose(predict(x, history, process).probabilities.sum(axis=1), 1.0)


def check_ratio(x, history, process, values):
    x = np.asarray(x, dtype=np.float64)
    entries = predict(x, history, process).entries
    found = log_predictive_entry(x, history, process, values)
    base = log_likelihood(x, history, process)
    for k, (i, d) in enumerate(entries):
        more = x.copy()
        more[i, d] = values[i, d]
        np.testing.assert_allclose(found[k], log_likelihood(more, history, process) - base, rtol=1e-9, atol=1e-9)


def test_what_is_still_missing_has_log_density_0():
    history, x, _ = random_case(3, 5, missing=0.4)
    assert (log_predictive_entry(x, history, Brownian(), x) == 0.0).all()
    assert log_predictive_entry(np.ones((5, 2)), history, Brownian(), np.ones((5, 2))).shape == (0,)


def test_columns_and_rows_without_entries():
    history, x, _ = random_case(5, 5, missing=0.0)
    x[:, 1] = np.nan
    x[2] = np.nan
    for rate in (1.0, FULL):
        found = predict(x, history, Brownian(rate))
        is_empty = found.entries[:, 1] == 1
        assert np.isinf(found.variance[is_empty]).all()
        assert (found.mean[is_empty] == 0).all()
        assert np.isfinite(found.variance[~is_empty]).all()
        with pytest.raises(ValueError, match="nothing is known of x at row 0, column 1"):
            impute(x, history, Brownian(rate))
        assert np.isfinite(impute(x, history, Brownian(rate, Gaussian()), size=2).draws).all()
        assert (log_predictive_entry(x, history, Brownian(rate), np.ones((5, 3)))[is_empty] == 0.0).all()


def test_one_leaf_has_only_the_root():
    single = Hierarchy.from_merges(np.empty((0, 2), dtype=int), labels=["a"])
    found = predict([[NAN, 1.0]], single, Brownian(2.0, Gaussian(3.0, 0.5), 0.25))
    np.testing.assert_allclose([found.mean, found.variance], [[3.0], [1.5]])
    assert np.isinf(predict([[NAN, 1.0]], single, Brownian()).variance).all()
    np.testing.assert_allclose(predict([[-1]], single, IndependentSites(1.0, [[0.2, 0.8]])).probabilities, [[0.2, 0.8]])
    found = place([[0.5]], single, Brownian(), [[1.5]])
    np.testing.assert_allclose(found.log_density, -1.0 - math.log(2))  # Laplace's density
    assert found.probabilities.tolist() == [[1.0]]
    assert found.clusters == ((0,),)


def test_mixtures_weigh_histories():
    history, x, _ = random_case(8, 5, missing=0.3)
    other = coalescent(5, rng=80).hierarchy
    merges = np.array([history.children, other.children])
    ages = np.array([ages_of(history)[5:], ages_of(other)[5:]])
    shares = np.array([0.3, 0.7])
    draws = CoalescentDraws(merges, ages, np.log(shares), 0.0, np.ones(4), tuple("01234"))
    process = Brownian([0.5, 1.0, 2.0])
    parts = [predict(x, each, process) for each in (history, other)]
    found = predict(x, draws, process)
    mean = shares @ [part.mean for part in parts]
    square = shares @ [part.variance + part.mean**2 for part in parts]
    np.testing.assert_allclose(found.mean, mean)
    np.testing.assert_allclose(found.variance, square - mean**2)
    values = np.where(np.isnan(x), 0.5, x)
    logs = [log_predictive_entry(x, each, process, values) for each in (history, other)]
    np.testing.assert_allclose(log_predictive_entry(x, draws, process, values), np.log(shares @ np.exp(logs)))
    row = np.array([[0.1, 0.2, -0.4]])
    places = [place(x, each, process, row) for each in (history, other)]
    found = place(x, draws, process, row)
    total = shares @ np.exp([each.log_density for each in places])
    np.testing.assert_allclose(found.log_density, np.log(total))
    np.testing.assert_allclose(found.probabilities.sum(axis=1), 1.0)
    alone = sum(s * math.exp(p.log_density[0]) * p.probabilities[0, 0] for s, p in zip(shares, places, strict=True))
    np.testing.assert_allclose(found.probabilities[0, found.clusters.index((0,))], alone / total[0])


@pytest.mark.parametrize("process", [Brownian([0.5, 1, 2], "flat", 0.2), Brownian(FULL, Gaussian(0.3, 0.8))], ids=repr)
def test_imputed_numbers_are_joint_draws(process):
    history, x, _ = random_case(11, 5, missing=0.4)
    x[0] = 0.5
    found = impute(x, history, process, rng=1, size=900)
    is_missing = np.isnan(x)
    mean, covariance = conditional(x, history, process)
    draws = found.draws[:, is_missing]
    np.testing.assert_allclose(found.values[is_missing], mean, atol=1e-9)
    np.testing.assert_allclose(found.spread[is_missing], np.sqrt(np.diag(covariance)), atol=1e-9)
    assert (found.spread[~is_missing] == 0).all()
    assert (found.draws[:, ~is_missing] == x[~is_missing]).all()
    scale = np.sqrt(np.diag(covariance))
    assert np.abs((draws.mean(axis=0) - mean) / scale).max() < 5 / math.sqrt(900)
    assert np.abs((np.cov(draws.T) - covariance) / np.outer(scale, scale)).max() < 7 / math.sqrt(900)


def test_imputed_states_are_joint_draws():
    history, x, _ = random_states(5, 4, missing=0.0)
    x = x[:, :2].copy()
    x[0, 0] = x[1, 0] = x[2, 1] = -1
    process = IndependentSites([0.5, 1.0], EQUILIBRIA[:2])
    found = impute(x, history, process, rng=2, size=6000)
    assert (found.values[x >= 0] == x[x >= 0]).all()
    base = log_likelihood(x, history, process)
    for a in range(2):
        for b in range(2):
            more = x.copy()
            more[0, 0], more[1, 0] = a, b
            share = ((found.draws[:, 0, 0] == a) & (found.draws[:, 1, 0] == b)).mean()
            assert abs(share - math.exp(log_likelihood(more, history, process) - base)) < 5 * 0.5 / math.sqrt(6000)


def test_imputing_is_reproducible():
    history, x, _ = random_case(11, 5)
    one, two = (impute(x, history, Brownian(), rng=7, size=3).draws for _ in range(2))
    assert (one == two).all()


def test_empirical_equilibria_are_those_of_the_data():
    history, x, _ = random_states(6, 6)
    process = IndependentSites(0.5)
    for d in range(3):
        x[0, d] = -1
    spelled = [np.bincount(c[c >= 0]) for c in x.T]
    spelled = [np.where(c > 0, c + 0.5, 0) / np.where(c > 0, c + 0.5, 0).sum() for c in spelled]
    one, two = (predict(x, history, p).probabilities for p in (process, IndependentSites(0.5, spelled)))
    np.testing.assert_allclose(one, two)
    assert np.isfinite(place(x, history, process, x[1]).log_density).all()
    with pytest.raises(ValueError, match="codes go up to"):
        place(x, history, process, [[40, 0, 0]])


class Wrapped(Process):
    """A process of which nothing is known but its messages."""

    def prepare(self, x):
        return Brownian([0.5, 1.0, 2.0]).prepare(x)


def test_processes_of_ones_own_have_ratios_of_likelihoods():
    history, x, _ = random_case(4, 5, missing=0.4)
    values = np.where(np.isnan(x), 0.5, x)
    one, two = (log_predictive_entry(x, history, p, values) for p in (Wrapped(), Brownian([0.5, 1.0, 2.0])))
    np.testing.assert_allclose(one, two, rtol=1e-9, atol=1e-9)
    found = [place(x, history, p, [0.1, 0.2, 0.3]).log_density for p in (Wrapped(), Brownian([0.5, 1.0, 2.0]))]
    np.testing.assert_allclose(*found)
    with pytest.raises(TypeError, match="does not say what its messages mean"):
        predict(x, history, Wrapped())


class Coded(Wrapped):
    """One that writes gaps as −99, and says what its messages mean for a single entry."""

    missing_code = -99.0

    def predict_entries(self, points, hierarchy):
        return Brownian([0.5, 1.0, 2.0]).predict_entries(points, hierarchy)


def test_a_process_of_ones_own_can_predict():
    history, x, _ = random_case(4, 5, missing=0.4)
    coded, values, theirs = np.where(np.isnan(x), -99.0, x), np.where(np.isnan(x), 0.5, x), Brownian([0.5, 1.0, 2.0])
    one, two = predict(coded, history, Coded()), predict(x, history, theirs)
    assert (one.mean == two.mean).all()
    assert (one.variance == two.variance).all()
    one, two = (log_predictive_entry(*given, values) for given in ((coded, history, Coded()), (x, history, theirs)))
    assert (one == two).all()
    assert (impute(coded, history, Coded()).values == impute(x, history, theirs).values).all()
    with pytest.raises(TypeError, match="Coded has no draw_entries"):
        impute(coded, history, Coded(), size=1)


def test_two_leaves_against_the_normal_distribution():
    history = Hierarchy.from_merges([[0, 1]], heights=[0.5])
    x = np.array([[0.2], [NAN]])
    found = predict(x, history, Brownian(1.0, Gaussian(0.0, 2.0)))
    joint = multivariate_normal([0, 0], [[2.5, 2.0], [2.0, 2.5]])
    ratio = joint.logpdf([0.2, 1.0]) - multivariate_normal(0, 2.5).logpdf(0.2)
    value = -0.5 * (math.log(2 * math.pi * found.variance[0]) + (1.0 - found.mean[0]) ** 2 / found.variance[0])
    np.testing.assert_allclose(value, ratio)


def test_bad_input_is_refused():
    history, x, _ = random_case(1, 4)
    with pytest.raises(TypeError, match="expected a Hierarchy with heights"):
        predict(x, "history", Brownian())
    with pytest.raises(TypeError, match="expected a process"):
        predict(x, history, "Brownian")
    with pytest.raises(ValueError, match="new has 2 columns but x has 3"):
        place(x, history, Brownian(), [0.0, 1.0])
    with pytest.raises(ValueError, match="values has shape"):
        log_predictive_entry(x, history, Brownian(), x[:2])
    with pytest.raises(ValueError, match="has 4 leaves"):
        predict(x[:3], history, Brownian())
    with pytest.raises(ValueError, match="size is -1"):
        impute(x, history, Brownian(1.0, Gaussian()), size=-1)
