"""log Z, entropies and temperatures by annealing, against the exact ones."""

import functools
import math

import numpy as np
import pytest

import palmette as pal
from palmette.errors import ImpossibleData
from palmette.sampling import Annealed, anneal_hierarchies, at_perplexity, sample_hierarchies
from palmette.sampling.annealed import anneal
from palmette.sampling.hierarchies.moves import HierarchyMoves
from palmette.sampling.ladder import pilot

RNG = np.random.default_rng(3)
POINTS = np.concatenate([RNG.normal(size=(4, 2)), RNG.normal(size=(4, 2)) + 3.0])
MODEL = pal.models.SumOfSquares(POINTS, beta=1.5)
EXACT = pal.HierarchyPosterior(MODEL, progress=False)


def test_weights_are_unbiased_and_errors_are_honest(monkeypatch):
    found = pilot(HierarchyMoves(MODEL), 0)  # as long as all that follows
    monkeypatch.setattr("palmette.sampling.annealed.pilot", lambda *_, **__: found)
    runs = [anneal_hierarchies(MODEL, steps=60, n_runs=16, rng=seed) for seed in range(14)]
    found = [run.log_partition for run in runs]
    z = np.array([(one.value - EXACT.log_partition) / one.standard_error for one in found])
    assert (np.abs(z) < 2.0).mean() >= 0.9
    ratios = np.exp([one.value - EXACT.log_partition for one in found])
    assert abs(ratios.mean() - 1.0) < 3.0 * ratios.std(ddof=1) / math.sqrt(len(ratios))


@pytest.fixture(scope="module")
def annealed():
    return anneal_hierarchies(MODEL, steps=240)


def test_log_z_and_entropy_at_every_temperature(annealed):
    for k in (80, 160, 240):
        exact = pal.HierarchyPosterior(MODEL.with_beta(1.5 * annealed.tempers[k]), progress=False)
        log_z, entropy = annealed.log_partition_at(k), annealed.entropy_at(k)
        assert abs(log_z.value - exact.log_partition) < 4 * log_z.standard_error
        assert abs(entropy.value - exact.entropy) < 4 * entropy.standard_error + 0.05
    assert annealed.log_partition_at(0).value == pytest.approx(math.log(135135))
    assert annealed.log_partition_at(0).standard_error == 0.0
    assert 16 < annealed.effective_runs <= 32


def test_of_one_run_that_ends_possible_the_error_is_not_known():
    logs = np.array([[0.0, 1.0, 2.0], [0.0, 0.5, -np.inf], [0.0, 0.5, -np.inf]])
    one = Annealed(np.array([0.0, 0.5, 1.0]), logs, logs, log_count=3.0)
    assert one.entropy.value == pytest.approx(3.0 - math.log(3))
    assert one.entropy.standard_error == np.inf
    assert np.isfinite(one.log_partition.standard_error)
    assert np.isfinite(one.entropy_at(1).standard_error)


@pytest.mark.slow
def test_conditions():
    conditions = {"require": [[0, 1, 5]], "forbid": [[0, 1]]}
    found = anneal_hierarchies(MODEL, steps=600, **conditions).log_partition
    assert abs(found.value - EXACT.condition(**conditions).log_partition) < 4 * found.standard_error
    nothing = {"forbid": [[0, 1], [0, 2], [1, 2]]}
    with pytest.raises(ImpossibleData, match="none of 32 runs"):
        anneal_hierarchies(pal.models.SumOfSquares(POINTS[:3]), steps=50, **nothing)


def test_the_number_of_threads_does_not_matter():
    one, two = (anneal_hierarchies(MODEL, steps=20, threads=threads) for threads in (1, 2))
    assert (one.log_weights == two.log_weights).all()


@pytest.mark.slow
def test_a_temperature_for_a_perplexity():
    for perplexity in (20.0, 2000.0):
        model = at_perplexity(MODEL, perplexity, seconds=20)
        got = pal.HierarchyPosterior(model, progress=False).entropy
        assert abs(got - math.log(perplexity)) < 0.4
    for wrong in (0.5, 1e9):
        with pytest.raises(ValueError, match="how many hierarchies there are"):
            at_perplexity(MODEL, wrong)
    with pytest.raises(ValueError, match="equally good"):
        at_perplexity(pal.models.SumOfSquares(np.zeros((5, 2))), 3.0, seconds=1)
    with pytest.raises(TypeError, match="no temperature"):
        at_perplexity(pal.models.Uniform(5), 3.0)


def test_a_sampled_posterior_has_log_z_entropy_and_divergence(monkeypatch):
    monkeypatch.setattr("palmette.sampling.sampled.anneal", functools.partial(anneal, steps=120))
    one = sample_hierarchies(MODEL, seconds=None, sweeps=400, precision=1e-9)
    other_model = MODEL.with_beta(0.8)
    other = sample_hierarchies(other_model, seconds=None, sweeps=100, precision=1e-9)
    assert abs(float(one.log_partition) - EXACT.log_partition) < 4 * one.log_partition.standard_error
    assert abs(float(one.entropy) - EXACT.entropy) < 4 * one.entropy.standard_error
    divergence = one.kl(other)
    exact = EXACT.kl(pal.HierarchyPosterior(other_model, progress=False))
    assert abs(float(divergence) - exact) < 4 * divergence.standard_error
    assert abs(float(one.kl(other, most=8)) - exact) < 4 * one.kl(other, most=8).standard_error
    with pytest.raises(TypeError, match="another SampledPosterior"):
        one.kl(EXACT)


def test_a_perplexity_and_a_number_of_sweeps_need_no_clock(monkeypatch):
    monkeypatch.setattr("palmette.budget.now", None)
    monkeypatch.setattr("palmette.sampling.annealed.now", None)
    monkeypatch.setattr("palmette.sampling.perplexity._QUICK", 40)
    monkeypatch.setattr("palmette.search.sampled_posteriors._STEPS", 40)
    few = pal.models.SumOfSquares(POINTS[:4], beta=1.5)
    found = pal.search.posterior(few, exact_leaves=0, perplexity=5.0, sweeps=8)
    assert abs(pal.HierarchyPosterior(found.model, progress=False).entropy - math.log(5.0)) < 0.5


def test_log_z_of_chains_takes_their_moves_threads_and_bar(monkeypatch):
    def noted(moves, **options):
        asked.append((moves, options))
        return anneal_hierarchies(MODEL, steps=1, n_runs=2)

    asked = []
    monkeypatch.setattr("palmette.sampling.sampled.anneal", noted)
    post = sample_hierarchies(MODEL, seconds=None, sweeps=8, threads=1, progress=False)
    assert post.log_partition is post.log_partition
    assert asked == [(post._run.moves, {"threads": 1, "progress": False})]


def test_steps_and_runs_are_checked():
    with pytest.raises(ValueError, match="n_runs is 1"):
        anneal_hierarchies(MODEL, n_runs=1)
    with pytest.raises(ValueError, match="steps is 0"):
        anneal_hierarchies(MODEL, steps=0)
    with pytest.raises(TypeError, match="SplitModel"):
        anneal_hierarchies(pal.models.SplitFunction(4, lambda left, right: 0.0))
