"""Particles: unbiased evidence by every proposal, the right shares of histories, the same on any number of threads."""

from __future__ import annotations

import functools
import math
import sys

import numpy as np
import pytest
from coalescent_cases import Functions, data_of, meeting_of
from coalescent_oracle import SlowBrownian, dirichlet_multinomial, slow_evidence_of_three

import palmette as pal
from palmette import coalescent
from palmette.coalescent import proposals
from palmette.coalescent.proposals import PROPOSALS
from palmette.coalescent.smc import RESAMPLINGS, _resampled

pytestmark = pytest.mark.filterwarnings("ignore:of .* particles .* are independent")  # many tests need only a few

# Log evidence by quadrature over all histories, or in closed form.
TWO = (np.array([[0.0], [1.0]]), coalescent.Brownian(), math.log(0.5) - 1.0)
SITE = [[0], [0], [1], [0], [2], [1]]
SITE_RATE, SITE_LAW = 1.7, [0.5, 0.3, 0.2]


THREE_POINTS = np.array([[0.0, 0.2], [0.5, -0.1], [1.1, 0.9]])


@functools.cache
def evidence_of_three_points():
    return slow_evidence_of_three(THREE_POINTS, SlowBrownian(np.ones(2)), np.zeros(3))[0]


def evidence_ratios(x, process, exact, proposal, runs, particles=40, **options):
    found = [
        coalescent.smc(x, process, particles, proposal=proposal, rng=k, threads=1, **options).log_evidence
        for k in range(runs)
    ]
    return np.exp(np.array(found) - exact)


def assert_unbiased(ratios, exact=1e-9):
    error = ratios.std(ddof=1) / math.sqrt(len(ratios))
    assert abs(ratios.mean() - 1.0) < 4.0 * error + exact


@pytest.mark.parametrize("proposal", PROPOSALS)
def test_two_leaves_have_the_evidence_of_a_laplace_law(proposal):
    x, process, exact = TWO
    ratios = evidence_ratios(x, process, exact, proposal, 40)
    assert_unbiased(ratios)
    if proposal in ("post-post", "race"):
        np.testing.assert_allclose(ratios, 1.0, rtol=1e-9)


@pytest.mark.parametrize("resampling", RESAMPLINGS)
@pytest.mark.parametrize("proposal", PROPOSALS)
def test_three_leaves_have_the_evidence_of_all_histories(proposal, resampling):
    exact = evidence_of_three_points()
    ratios = evidence_ratios(THREE_POINTS, coalescent.Brownian(), exact, proposal, 100, resampling=resampling)
    assert_unbiased(ratios, exact=1e-4)


@pytest.mark.parametrize("proposal", PROPOSALS)
def test_one_site_of_six_leaves_is_dirichlet_multinomial(proposal):
    process = coalescent.IndependentSites(SITE_RATE, [SITE_LAW])
    exact = dirichlet_multinomial(np.ravel(SITE), SITE_RATE, SITE_LAW)
    assert_unbiased(evidence_ratios(SITE, process, exact, proposal, 30, particles=30))


@pytest.mark.parametrize("proposal", PROPOSALS)
def test_missing_entries_and_columns_that_nobody_has(proposal):
    x = np.full((len(SITE), 2), -1)
    x[:, 0] = np.ravel(SITE)
    process = coalescent.IndependentSites(SITE_RATE, [SITE_LAW, [0.5, 0.5]])
    exact = dirichlet_multinomial(np.ravel(SITE), SITE_RATE, SITE_LAW)
    assert_unbiased(evidence_ratios(x, process, exact, proposal, 20, particles=30))


def test_a_gaussian_root_counts():
    x = np.array([[0.3], [1.0]])
    root = coalescent.Gaussian(0.5, 2.0)
    delta = np.exp(np.arange(-20.0, 4.0, 0.001))
    v, mean = delta / 2.0, 0.65
    log = -delta - 0.5 * (np.log(2 * np.pi * 2 * delta) + 0.49 / (2 * delta))
    log -= 0.5 * (np.log(2 * np.pi * (v + 2.0)) + (mean - 0.5) ** 2 / (v + 2.0))
    exact = math.log((np.exp(log) * delta).sum() * 0.001)
    for proposal in PROPOSALS:
        assert_unbiased(evidence_ratios(x, coalescent.Brownian(root=root), exact, proposal, 60, particles=60), 1e-5)


def test_better_proposals_find_more_evidence():
    # An estimate of log p(x) is too low by about half its variance, so the better one is higher on average.
    means = {}
    data = [data_of(15, 6, seed) for seed in range(8)]
    for proposal in ("prior-prior", "prior-post", "post-post"):
        found = [coalescent.smc(x, coalescent.Brownian(), 30, proposal=proposal, rng=3).log_evidence for x in data]
        means[proposal] = np.mean(found)
    assert means["post-post"] >= means["prior-post"] >= means["prior-prior"]


@pytest.mark.parametrize("proposal", PROPOSALS)
def test_nothing_depends_on_threads_and_seeds_repeat(proposal, monkeypatch):
    monkeypatch.setattr("palmette.threads._SHORTEST", 1.0)
    x = data_of(9, 3, 0)
    one, two, again = (
        coalescent.smc(x, coalescent.Brownian(), 33, proposal=proposal, rng=5, threads=threads) for threads in (1, 2, 3)
    )
    for other in (two, again):
        assert other.log_evidence == one.log_evidence
        np.testing.assert_array_equal(other.ages, one.ages)
        np.testing.assert_array_equal(other.children, one.children)
        np.testing.assert_array_equal(other.weights, one.weights)
    assert coalescent.smc(x, coalescent.Brownian(), 33, proposal=proposal, rng=6).log_evidence != one.log_evidence


@pytest.mark.parametrize("proposal", PROPOSALS)
def test_particles_are_histories(proposal):
    found = coalescent.smc(
        data_of(7, 2, 1), coalescent.Brownian(), 25, proposal=proposal, rng=0, labels=list("abcdefg")
    )
    assert len(found) == 25
    assert found.weights.sum() == pytest.approx(1.0)
    assert found.n_effective.shape == (6,)
    assert ((found.n_effective >= 1.0 - 1e-9) & (found.n_effective <= 25.0 + 1e-9)).all()
    for i in range(25):
        history = found[i]
        assert history.labels == tuple("abcdefg")
        assert (np.diff(found.ages[i]) >= 0.0).all()
        np.testing.assert_array_equal(np.sort(history.heights[7:]), found.ages[i])
        assert math.isfinite(coalescent.log_joint(data_of(7, 2, 1), history, coalescent.Brownian()))


def test_weights_are_the_joint_density_over_the_proposal():
    # Without resampling, Σ gains is log p(x, π) − log q(π); for prior-prior log q is the prior itself.
    x = data_of(6, 2, 3)
    found = coalescent.smc(x, coalescent.Brownian(), 12, proposal="prior-prior", rng=2, resample_below=0.0)
    joint = [coalescent.log_likelihood(x, found[i], coalescent.Brownian()) for i in range(12)]
    logs = np.log(found.weights)
    np.testing.assert_allclose(logs - logs[0], np.array(joint) - joint[0], rtol=1e-9, atol=1e-9)


def test_verbs_of_weighted_histories():
    x = np.array([[0.0, 0.0], [0.2, 0.1], [4.0, 4.0], [4.1, 4.3], [9.0, 0.0]])
    found = coalescent.smc(x, coalescent.Brownian(4.0), 300, rng=0, labels=["a", "b", "c", "d", "e"])
    assert float(found.cluster_probability(["a", "b"])) > 0.8
    assert float(found.cluster_probability(["a", "c"])) < 0.1
    for always in (["a"], list("abcde")):
        assert found.cluster_probability(always) == pal.Estimate(1.0, "exact")
    table = found.cluster_probabilities(min_probability=0.0)
    for row in table:
        manual = sum(weight for i, weight in enumerate(found.weights) if set(row.members) in map(set, named(found[i])))
        assert row.probability == pytest.approx(manual)
    consensus = found.consensus()
    assert {"a", "b"} in map(set, named(consensus))
    assert found.map() in [found[i] for i in range(len(found))]
    assert sum(count for _, count in found.counts()) == 300
    shares = [sum(weight for h, weight in zip(found, found.weights, strict=True) if h == found[i]) for i in (0, 7)]
    np.testing.assert_allclose(np.exp(found.log_probs[[0, 7]]), shares)
    some = found[5:9]
    assert (len(some), some[0]) == (4, found[5])
    np.testing.assert_allclose(some.weights, found.weights[5:9] / found.weights[5:9].sum())
    share = {row.members: row.probability for row in table}
    credibility = [np.prod([share.get(tuple(cluster), 1.0) for cluster in named(found[i])]) for i in range(len(found))]
    assert found.most_credible() == found[int(np.argmax(credibility))]
    draws = found.sample(50, rng=1)
    assert len(draws) == 50
    heights = found.expectation(found.ages[:, -1])
    assert heights == pytest.approx((found.weights * found.ages[:, -1]).sum())
    with pytest.raises(ValueError, match="one entry for each of 300"):
        found.expectation([1.0])
    assert "300 histories over 5 leaves" in repr(found)


def named(hierarchy):
    return [[hierarchy.labels[leaf] for leaf in cluster] for cluster in hierarchy.clusters()]


@pytest.mark.parametrize("proposal", PROPOSALS)
@pytest.mark.parametrize("n", [1, 2])
def test_one_and_two_leaves(proposal, n):
    found = coalescent.smc(np.arange(3.0 * n).reshape(n, 3), coalescent.Brownian(), 5, proposal=proposal, rng=0)
    assert len(found) == 5
    assert found[0].n_leaves == n
    assert math.isfinite(found.log_evidence)
    if n == 1:
        assert found.log_evidence == 0.0


@pytest.mark.parametrize("proposal", PROPOSALS)
def test_hard_data_are_no_trouble(proposal):
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(6, 500))
    constant = rng.normal(size=(6, 4))
    constant[:, 1] = 3.0
    holes = rng.normal(size=(6, 4))
    holes[:, 2], holes[3], holes[1, 1] = np.nan, np.nan, np.nan
    duplicates = np.repeat(rng.normal(size=(3, 4)), 2, axis=0)
    for x, variance in [(wide, 0.0), (constant, 0.0), (holes, 0.0), (duplicates, 0.01)]:
        found = coalescent.smc(x, coalescent.Brownian(leaf_variance=variance), 8, proposal=proposal, rng=1)
        assert math.isfinite(found.log_evidence)
        assert np.isfinite(found.ages).all()
        assert np.isfinite(found.weights).all()


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"proposal": "post"}, ValueError, "proposal is 'post'; give one of"),
        ({"resampling": "none"}, ValueError, "resampling is 'none'"),
        ({"n_particles": 0}, ValueError, "n_particles is 0"),
        ({"n_runs": 0}, ValueError, "n_runs is 0"),
        ({"n_particles": 2.5}, TypeError, "n_particles must be an integer"),
        ({"resample_below": 2.0}, ValueError, "resample_below is 2.0"),
        ({"labels": ["a"]}, ValueError, "1 labels were given for 2 leaves"),
        ({"process": "brownian"}, TypeError, "expected a process"),
    ],
)
def test_wrong_arguments_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        coalescent.smc(**{"x": [[0.0], [1.0]], "process": coalescent.Brownian(), **options})


def test_resampling_takes_particles_by_their_share():
    weight = np.array([0.0, 3.0, 0.0, 1.0, 0.0])
    rng = np.random.default_rng(0)
    for how in RESAMPLINGS:
        counts = sum(np.bincount(_resampled(weight, how, rng.random(5)), minlength=5) for _ in range(2000))
        np.testing.assert_allclose(counts / 10_000, weight / 4.0, atol=0.02)
        assert counts[[0, 2, 4]].sum() == 0


def test_pairs_are_numbered_row_by_row():
    pairs = [proposals._pair_number(k, 5) for k in range(10)]
    assert pairs == [(i, j) for i in range(5) for j in range(i + 1, 5)]


# How long a proposed duration is.


def some_meetings():
    """A meeting of each kind of message, and what its process is."""
    rng = np.random.default_rng(4)
    holes = rng.normal(size=(2, 5))
    holes[0, 1], holes[1, 2] = np.nan, np.nan
    sites = coalescent.IndependentSites([0.5, 2.0, 1.0], [[0.5, 0.5], [0.2, 0.3, 0.5], [0.9, 0.1]])
    for process, x in [
        (coalescent.Brownian(), rng.normal(size=(2, 3))),
        (coalescent.Brownian(), holes),
        (sites, [[0, 1, 0], [1, 1, 1]]),
    ]:
        data = process.prepare(x)
        yield data, meeting_of(data, 0, 1)[1]


@pytest.mark.parametrize("which", range(3))
@pytest.mark.parametrize(("s0", "rate"), [(0.0, 1.0), (0.7, 6.0)])
def test_survival_falls_by_the_density_of_the_proposal(which, s0, rate):
    data, meeting = list(some_meetings())[which]
    kind, theta = Functions(data.kind), data.theta
    draws = [kind.propose_length(theta, meeting, s0, rate, 1, item, 0) for item in range(1500)]
    deltas = np.array([(s - s0) / 2.0 for s, _ in draws])
    survival = lambda delta: kind.log_survival(theta, meeting, s0, rate, delta)  # noqa: E731
    assert survival(0.0) == 0.0
    for share in (0.1, 0.5, 0.9):
        at = np.quantile(deltas, share)
        assert math.exp(survival(at)) == pytest.approx(1.0 - share, abs=0.06)
    for s, log_density in draws[:40]:
        delta = (s - s0) / 2.0
        h = 1e-5 * delta
        slope = (math.exp(survival(delta - h)) - math.exp(survival(delta + h))) / (2.0 * h)
        assert slope == pytest.approx(math.exp(log_density), rel=2e-3, abs=1e-6)
    grid = np.exp(np.linspace(-12.0, 6.0, 60))
    values = np.array([survival(delta) for delta in grid])
    assert (np.diff(values) <= 1e-9).all()
    assert (values <= 1e-12).all()


def test_rows_that_are_the_same_are_named_before_any_work(monkeypatch):
    module = sys.modules["palmette.coalescent.smc"]  # the function has its name
    monkeypatch.setattr(module, "_Runs", lambda *_: pytest.fail("work has begun"))
    x = np.array([[1.0, 5.0, 1.0], [2.0, 7.0, 0.0], [1.0, 5.0, np.nan]])
    with pytest.raises(ValueError, match=r"the rows 'a' and 'c' are the same, .*; give the process a leaf_variance"):
        coalescent.smc(x, coalescent.Brownian(), 10, labels=["a", "b", "c"])
