"""Fits of a shower: the maximum of what single posteriors add up to, with intervals that mean what they say."""

from __future__ import annotations

import math

import numpy as np
import pytest

import palmette as pal
from palmette.jets._cut import upper_end
from palmette.jets._sizes import size_probabilities

TRUTH = {"rate": 1.5, "root_rate": 1.5, "t_cut": 16.0}


@pytest.fixture(scope="module")
def simulated():
    return pal.simulate.ginkgo(150, max_leaves=8, rng=1)


@pytest.fixture(scope="module")
def fit(simulated):
    return pal.jets.fit_shower(simulated)


def slow_log_likelihood(jets, rate, root_rate, t_cut, leaves):
    """By one posterior for each jet."""
    law = {"rate": rate, "root_rate": root_rate, "t_cut": t_cut}
    wholes = np.array([jet.momenta.sum(axis=0) for jet in jets])
    odds = size_probabilities(wholes[:, 0] ** 2 - (wholes[:, 1:] ** 2).sum(axis=1), leaves[1], **law)
    total = -np.log(odds[:, leaves[0] - 1 :].sum(axis=1)).sum()
    for jet in jets:
        model = pal.models.Ginkgo(jet.momenta, **law, likelihood="density")
        total += pal.HierarchyPosterior(model).log_partition
    return total


def test_the_truth_lies_within(simulated, fit):
    assert set(fit.intervals) == {"rate", "t_cut"}
    for name, (low, high) in fit.intervals.items():
        assert low <= TRUTH[name] <= high
        assert low <= fit.law[name] <= high
    assert fit.law["root_rate"] == fit.law["rate"]
    assert fit.n_jets == 150
    assert fit.leaves == (1, 8)
    assert fit.left_out == {}
    assert fit.at_boundary == ()
    assert fit.n_sums <= 40
    assert repr(fit).startswith(f"ShowerFit(rate={fit.law['rate']:.4g} (")


def test_it_is_the_maximum_of_what_single_posteriors_add_up_to():
    jets = pal.simulate.ginkgo(30, min_leaves=3, max_leaves=6, rng=4)
    fit = pal.jets.fit_shower(jets, t_cut=16.0, root_rate="fit")
    rates = np.array([fit.law["rate"], fit.law["root_rate"]])

    def slow(x):
        return slow_log_likelihood(jets, *(rates * np.exp(x)), 16.0, (3, 6))

    assert fit.log_likelihood == pytest.approx(slow(np.zeros(2)), abs=1e-6)
    h = min(fit.errors.values())
    around = np.array([slow(h * np.array(step)) for step in ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, -1))])
    assert (around < fit.log_likelihood + 0.02).all()
    falls = (2 * fit.log_likelihood - around[::2] - around[1::2]) / h**2
    assert np.diag(fit.curvature) == pytest.approx(falls[:2], rel=0.25)
    assert fit.curvature.sum() == pytest.approx(falls[2], rel=0.25)
    for name, error in fit.errors.items():
        low, high = fit.intervals[name]
        assert math.log(high / low) == pytest.approx(2 * 1.959964 * error)


def test_the_cut_is_the_heaviest_particle_and_lies_above_it(simulated, fit):
    momenta = simulated.momenta
    heaviest = (momenta[:, 0] ** 2 - (momenta[:, 1:] ** 2).sum(axis=1)).max()
    assert fit.law["t_cut"] == pytest.approx(heaviest, rel=1e-6)
    low, high = fit.intervals["t_cut"]
    assert low == fit.law["t_cut"]
    assert 16.0 < high < 16.5
    narrow = pal.jets.fit_shower(simulated[:40], level=0.5)
    wide = pal.jets.fit_shower(simulated[:40], level=0.99)
    assert narrow.intervals["t_cut"][1] < wide.intervals["t_cut"][1]
    assert narrow.intervals["rate"][0] > wide.intervals["rate"][0]


@pytest.mark.parametrize("apart", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("level", [0.5, 0.95])
def test_the_upper_end_of_a_density_that_falls(apart, level):
    assert upper_end(lambda x: 3.0 * x, apart, level) == pytest.approx(-math.log(1 - level) / 3, rel=2e-3)
    staircase = lambda x: 0.1 * math.floor(30.0 * x)  # noqa: E731
    assert upper_end(staircase, apart, level) == pytest.approx(-math.log(1 - level) / 3, rel=0.2)
    wall = lambda x: 0.1 * x if x < 1.0 else math.inf  # noqa: E731
    assert upper_end(wall, apart, level) == pytest.approx(level, rel=0.1)


def test_selected_jets_are_fitted_as_such():
    jets = pal.simulate.ginkgo(200, min_leaves=4, max_leaves=7, rng=2)
    fit = pal.jets.fit_shower(jets, t_cut=16.0)
    assert fit.leaves == (4, 7)
    assert fit.intervals["rate"][0] < 1.5 < fit.intervals["rate"][1]
    with pytest.warns(UserWarning, match="jets of more than 7 particles, and there is none") as said:
        wrong = pal.jets.fit_shower(jets, t_cut=16.0, min_leaves=1, max_leaves=50)
    assert "give max_leaves=7; the rate is wrong otherwise" in str(said[0].message)
    assert wrong.intervals["rate"][0] > 1.5
    plain = pal.jets.Jets(jets.momenta, jets.offsets)  # they do not know
    told = pal.jets.fit_shower(plain, t_cut=16.0, min_leaves=4, max_leaves=7)
    assert told.law == fit.law
    with pytest.warns(UserWarning, match="there is none"):
        assert pal.jets.fit_shower(plain, t_cut=16.0).leaves == (1, None)


def test_leaving_out_large_jets_leaves_the_rate_where_it_is(simulated):
    with pytest.warns(UserWarning, match="jets were left out; .* × more than 6 particles"):
        fit = pal.jets.fit_shower(simulated, t_cut=16.0, max_leaves=6)
    assert fit.n_jets == (simulated.n_leaves <= 6).sum()
    assert fit.left_out == {"more than 6 particles": int((simulated.n_leaves > 6).sum())}
    assert fit.intervals["rate"][0] < 1.5 < fit.intervals["rate"][1]
    masked = simulated[simulated.n_leaves <= 6]  # whose bounds are those of the simulation still
    with pytest.warns(UserWarning, match="more than 6 particles, and there is none"):
        pal.jets.fit_shower(masked, t_cut=16.0)


def test_files_and_pieces_give_the_same_fit(simulated, fit, tmp_path):
    pytest.importorskip("pyarrow")
    pal.jets.write(simulated, tmp_path / "jets.parquet")
    assert pal.jets.read(tmp_path / "jets.parquet").leaf_bounds == (1, 8)
    assert pal.jets.fit_shower(tmp_path / "jets.parquet").law == fit.law
    pieces = (simulated[k : k + 40] for k in range(0, 150, 40))
    assert pal.jets.fit_shower(pieces).law == fit.law


@pytest.mark.parametrize("likelihood", ["ordered", "symmetric", "literal"])
def test_other_likelihoods_are_refused_because_their_maxima_are_elsewhere(simulated, likelihood):
    with pytest.raises(ValueError, match="no density of momenta"):
        pal.jets.fit_shower(simulated, likelihood=likelihood)


def test_jets_that_no_rate_allows_are_refused_or_dropped(simulated):
    with pytest.raises(pal.ImpossibleData, match=r"have a particle heavier than that.*heaviest particle has mass² 1"):
        pal.jets.fit_shower(simulated, t_cut=9.0)
    with pytest.raises(pal.ImpossibleData, match="are no heavier than that as a whole"):
        pal.jets.fit_shower(simulated, t_cut=901.0)
    some = pal.jets.Jets.concatenate([pal.jets.Jets(simulated.momenta, simulated.offsets), light_jets()])
    with pytest.raises(
        pal.ImpossibleData, match=r"2 of 152 jets are impossible with t_cut = 16, whatever the rate: 1 have"
    ):
        pal.jets.fit_shower(some, t_cut=16.0, max_leaves=8)
    with pytest.warns(UserWarning, match="2 × impossible under every rate"):
        fit = pal.jets.fit_shower(some, t_cut=16.0, max_leaves=8, impossible="drop")
    assert fit.law == pal.jets.fit_shower(simulated, t_cut=16.0).law


def light_jets():
    """Two light particles that cannot have split, and a single one that had to."""
    return pal.jets.Jets.from_list([[[1.0, 0, 0, 0.9], [1.0, 0, 0.1, 0.9]], [[50.0, 0, 0, 0]]])


def test_broken_jets_are_left_out_and_counted(simulated):
    nan = pal.jets.Jets.from_list([[[math.nan, 0, 0, 0]], [[1.0, 5.0, 0, 0]], np.empty((0, 4))])
    some = pal.jets.Jets.concatenate([pal.jets.Jets(simulated.momenta, simulated.offsets), nan])
    with pytest.warns(UserWarning, match="3 jets were left out; 1 × "):
        fit = pal.jets.fit_shower(some, t_cut=16.0, max_leaves=8)
    assert fit.n_jets == 150
    assert sum(fit.left_out.values()) == 3


def test_a_rate_at_an_end_says_so(simulated):
    with pytest.warns(UserWarning, match="still grows where rate cannot go further"):
        fit = pal.jets.fit_shower(simulated[:20], t_cut=16.0, within=(2.5, 4.0))
    assert fit.at_boundary == ("rate",)
    assert fit.law["rate"] == pytest.approx(2.5)
    assert fit.intervals["rate"] == (0.0, math.inf)
    assert fit.errors == {"rate": math.inf}
    assert "at the boundary: rate" in repr(fit)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"impossible": "x"}, "impossible is 'x'"),
        ({"level": 1.0}, "level is 1.0"),
        ({"within": (2.0, 1.0)}, "give the lower end first"),
        ({"t_cut": -1.0}, "t_cut is -1"),
        ({"root_rate": 0.0}, "root_rate is 0"),
        ({"min_leaves": 0}, "min_leaves"),
        ({"min_leaves": 9, "max_leaves": 10}, "no jet of two particles or more"),
    ],
)
def test_wrong_arguments_are_refused(simulated, options, message):
    with pytest.raises(ValueError, match=message):
        pal.jets.fit_shower(simulated, **options)


def test_large_jets_and_massless_particles_are_refused_with_what_to_do():
    crowd = pal.simulate.ginkgo(1, preset="w", min_leaves=24, max_leaves=30, rng=1)
    with pytest.raises(ValueError, match=r"1 of 1 jets have more than 20 particles.*leave them out with max_leaves"):
        pal.jets.fit_shower(crowd)
    massless = pal.jets.Jets.from_list([[[5.0, 3.0, 4.0, 0.0], [5.0, -3.0, 4.0, 0.0]]])
    with pytest.raises(ValueError, match="all particles are massless"):
        pal.jets.fit_shower(massless)
