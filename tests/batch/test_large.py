"""Problems beyond the kernel of a batch: on threads they are the same, and sampled ones are so within their errors."""

from __future__ import annotations

import numpy as np
import pytest

from palmette import batch
from palmette.batch import inference, large
from palmette.errors import ImpossibleData
from palmette.models import Dasgupta, Ginkgo, SumOfSquares

SIZES = [1, 2, 4, 8, 3, 9, 2, 7]


@pytest.fixture(scope="module")
def models():
    rng = np.random.default_rng(4)
    return [SumOfSquares(rng.normal(size=(n, 2)), beta=2.0) for n in SIZES]


@pytest.fixture(scope="module")
def exact(models):
    return batch.infer(models, n_draws=3, seed=9)


@pytest.fixture(scope="module")
def mixed(models):
    return batch.infer(models, n_draws=3, seed=9, exact_leaves=4, sweeps=80)


def test_problems_beyond_the_kernel_have_the_same_answers(models, exact, monkeypatch):
    monkeypatch.setattr(inference, "KERNEL_LEAVES", 4)
    found = batch.infer(models, n_draws=3, seed=9)
    assert found.kinds.tolist() == exact.kinds.tolist() == ["exact"] * len(SIZES)
    assert found.log_partition == pytest.approx(exact.log_partition, abs=1e-11)
    assert found.map_log_potential == pytest.approx(exact.map_log_potential, abs=1e-11)
    for i, model in enumerate(models):
        assert found.map(i) == exact.map(i)
        log_probs = [model.log_potential(draw) - found.log_partition[i] for draw in found.draws(i)]
        assert found.drawn_log_probs[i] == pytest.approx(log_probs, abs=1e-10)


def test_pair_sums_and_parameters_of_their_own_find_their_problem(monkeypatch):
    rng = np.random.default_rng(0)
    weights = [(w + w.T) / 2 for w in (rng.random((n, n)) for n in SIZES)]
    models = [Dasgupta(w, beta=1.0 + i, labels=[f"x{j}" for j in range(len(w))]) for i, w in enumerate(weights)]
    problems = batch.Problems.of(models)
    for i, model in enumerate(models):
        alone = problems.alone(i)
        assert alone.labels == model.labels
        assert (alone.pairwise == model.pairwise).all()
        assert (alone.theta == model.theta).all()
        assert repr(alone).startswith("Dasgupta")
    wanted = batch.infer(models).log_partition
    monkeypatch.setattr(inference, "KERNEL_LEAVES", 3)
    assert batch.infer(problems).log_partition == pytest.approx(wanted, rel=1e-12)


def test_sampled_problems_are_right_within_their_errors(models, exact, mixed):
    is_large = np.array(SIZES) > 4
    assert mixed.kinds.tolist() == ["sampled" if large else "exact" for large in is_large]
    assert (mixed.log_partition[~is_large] == exact.log_partition[~is_large]).all()
    assert (mixed.log_partition_errors[~is_large] == 0.0).all()
    assert (mixed.r_hat[~is_large] == 1.0).all()
    errors = mixed.log_partition_errors[is_large]
    assert ((errors > 0.0) & (errors < 0.5)).all()
    assert (np.abs(mixed.log_partition - exact.log_partition)[is_large] < 5 * errors).all()
    assert (mixed.r_hat[is_large] < 1.2).all()
    assert mixed.map_log_potential == pytest.approx(exact.map_log_potential, abs=1e-9)  # few leaves: found for sure
    for i, model in enumerate(models):
        assert model.log_potential(mixed.map(i)) == pytest.approx(mixed.map_log_potential[i], abs=1e-9)
        for draw, log_prob in zip(mixed.draws(i), mixed.drawn_log_probs[i], strict=True):
            wanted = min(0.0, model.log_potential(draw) - mixed.log_partition[i])
            assert log_prob == pytest.approx(wanted, abs=1e-9)


def test_sparse_problems_find_the_map_and_have_a_lower_bound(models, exact):
    found = batch.infer(models, n_draws=3, seed=9, exact_leaves=4, beyond="sparse")
    is_large = np.array(SIZES) > 4
    assert found.kinds.tolist() == ["sparse" if large else "exact" for large in is_large]
    assert (found.log_partition_errors == np.where(is_large, np.inf, 0.0)).all()
    assert (found.log_partition <= exact.log_partition + 1e-9).all()
    assert found.map_log_potential == pytest.approx(exact.map_log_potential, abs=1e-9)  # few leaves: grown to find it
    for i, model in enumerate(models):
        for draw, log_prob in zip(found.draws(i), found.drawn_log_probs[i], strict=True):
            assert log_prob == pytest.approx(model.log_potential(draw) - found.log_partition[i], abs=1e-9)
    with pytest.raises(ValueError, match="give one of 'sampled', 'sparse'"):
        batch.infer(models, beyond="chains")


def same(one, two, which=slice(None)):
    for name in ("log_partition", "log_partition_errors", "map_log_potential", "drawn_log_probs", "r_hat", "kinds"):
        assert (getattr(one, name)[which] == getattr(two, name)).all(), name


def test_neither_threads_nor_company_change_anything(models, mixed):
    options = {"n_draws": 3, "seed": 9, "exact_leaves": 4, "sweeps": 80}
    some = np.array([6, 7])
    same(mixed, batch.infer([models[i] for i in some], **options, streams=some, threads=1), some)
    some = np.array([5, 2, 3])
    part = batch.infer([models[i] for i in some], **options, streams=some, threads=3)
    same(mixed, part, some)
    assert part.map(0) == mixed.map(5)
    assert part.draws(2) == mixed.draws(3)
    other = batch.infer(models[3:4], **{**options, "seed": 8})
    assert other.log_partition[0] != mixed.log_partition[3]


def test_where_chains_find_nothing_it_is_said_without_nan():
    # All particles together are below t_cut.
    momenta = np.tile([1.0, 0.0, 0.0, 0.999], (5, 1))
    found = batch.infer([Ginkgo(momenta, 1.5, 1e4)], n_draws=2, exact_leaves=4, sweeps=8)
    assert found.log_partition.tolist() == [-np.inf]
    assert found.log_partition_errors.tolist() == [np.inf]
    assert (found.drawn_log_probs == -np.inf).all()
    with pytest.raises(ImpossibleData, match="problem 0"):
        found.map(0)


def test_if_only_chains_find_something_log_z_is_a_lower_bound(models, monkeypatch):
    def fail(*_, **__):
        raise ImpossibleData("nothing")

    monkeypatch.setattr(large, "anneal_hierarchies", fail)
    found = batch.infer(models[3:4], exact_leaves=4, sweeps=50)
    assert found.log_partition.tolist() == found.map_log_potential.tolist()
    assert found.log_partition_errors.tolist() == [np.inf]


def test_ctrl_c_is_no_answer(models, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(large.HierarchyRun, "answer", stop)
    with pytest.raises(KeyboardInterrupt):
        batch.infer(models, exact_leaves=4, sweeps=20)


@pytest.mark.parametrize("options", [{"exact_leaves": 2}, {"sweeps": 7}, {"sweeps": 8.5}])
def test_wrong_limits_are_refused(models, options):
    with pytest.raises((ValueError, TypeError), match=next(iter(options))):
        batch.infer(models, **options)
