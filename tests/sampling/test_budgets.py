"""Seconds of chains and of annealing: what they are spent on, and what is left out when they are spent."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from budget_cases import Clock
from sampling_cases import MODEL, POINTS

import palmette as pal
from palmette.budget import Budget
from palmette.sampling import anneal_hierarchies, at_perplexity, sample_hierarchies
from palmette.sampling.annealed import anneal_within
from palmette.sampling.hierarchies.chain import HierarchyChains
from palmette.sampling.hierarchies.moves import HierarchyMoves
from palmette.sampling.ladder import pilot
from palmette.sampling.sampled import Sampled

PACE, JUDGING = 1.0, 0.5  # of a sweep of one chain, and of a verdict for each state that is kept


def spend(clock, monkeypatch):
    """Let sweeps and verdicts take the seconds of the clock, which is looked at after every sweep."""
    judge = Sampled.verdict.fget

    def judged(post):
        if not post._known("_judged"):
            clock.time += JUDGING * post.n_kept
        return judge(post)

    monkeypatch.setattr("palmette.sampling.chains._SLICE", 0.0)
    monkeypatch.setattr(HierarchyChains, "sweep", clock.after(HierarchyChains.sweep, PACE))
    monkeypatch.setattr(Sampled, "verdict", property(judged))


def test_chains_leave_time_for_a_verdict(monkeypatch):
    clock = Clock(monkeypatch)
    spend(clock, monkeypatch)
    options = {"precision": 1e-9, "n_chains": 2, "threads": 1, "progress": False}
    post = sample_hierarchies(MODEL, seconds=1000.0, **options)
    assert clock.time <= 1100.0
    _ = post.verdict
    assert 1090.0 <= clock.time <= 1105.0
    assert post.n_kept == 360  # 2 · 360 of sweeps, 100 of a verdict after 200, and 180 of the last one
    again = post.resume(seconds=500.0, precision=1e-9)
    _ = again.verdict
    assert 1590.0 <= clock.time <= 1605.0


def test_a_verdict_that_was_given_is_the_last_one_if_there_is_no_time_for_another(monkeypatch):
    clock = Clock(monkeypatch)
    spend(clock, monkeypatch)
    post = sample_hierarchies(MODEL, seconds=550.0, precision=1e-9, n_chains=2, threads=1, progress=False)
    assert post.n_kept == 200
    assert post._known("_judged")


def test_starts_to_choose_from_are_made_as_long_as_there_is_time(monkeypatch):
    clock, made = Clock(monkeypatch), []
    begin = HierarchyChains.begin

    def noted(self, chain):
        clock.time += 1.0
        made.append(chain)
        return begin(self, chain)

    monkeypatch.setattr(HierarchyChains, "begin", noted)
    options = {"sweeps": 8, "n_chains": 2, "threads": 1, "progress": False}
    counts = {}
    for seconds in (0.0, 20.0, 1e6, None):
        made.clear()
        sample_hierarchies(MODEL, seconds=seconds, **options)
        counts[seconds] = len(made)
        assert sorted(made) == list(range(len(made)))
    assert counts == {0.0: 2, 20.0: 5, 1e6: 16, None: 16}  # a quarter of the time


def test_without_time_nothing_is_annealed_and_nothing_is_known(monkeypatch):
    post = sample_hierarchies(MODEL, seconds=None, sweeps=8, progress=False)
    with monkeypatch.context() as patch:
        patch.setattr(HierarchyMoves, "run", None)
        assert post.anneal(seconds=0.0) is None
    assert not post._known("log_partition")
    with pytest.raises(ValueError, match="seconds is -1"):
        post.anneal(seconds=-1)


def test_too_little_time_for_fifty_steps_is_no_estimate(monkeypatch):
    clock = Clock(monkeypatch)
    moves = HierarchyMoves(MODEL)
    monkeypatch.setattr(HierarchyMoves, "run", clock.after(HierarchyMoves.run, 1.0))
    assert anneal_within(moves, Budget(1000.0), threads=1, progress=False) is None
    assert clock.time < 200.0  # seen in time
    found = anneal_within(moves, Budget(20000.0), threads=1, n_runs=16, progress=False)
    assert 50 <= len(found.tempers) - 1 < 20000 / 16
    assert 10000 < clock.time < 20200  # the most of it is used, and no more


def test_what_was_annealed_in_time_is_log_z_from_then_on():
    exact = pal.HierarchyPosterior(MODEL, progress=False)
    post = sample_hierarchies(MODEL, seconds=None, sweeps=8, progress=False)
    found = post.anneal(seconds=None)
    assert found is post.log_partition is post.anneal(seconds=0.0)
    assert abs(found.value - exact.log_partition) < 4 * found.standard_error


def test_runs_that_would_begin_too_late_are_left_out_but_for_eight(monkeypatch):
    clock = Clock(monkeypatch)
    found = anneal_hierarchies(MODEL, steps=12, n_runs=32, threads=1)
    assert len(found.log_weights) == 32  # by steps, whatever the clock says
    monkeypatch.setattr("palmette.sampling.annealed._one", clock.after(_no_run, 10.0))
    for seconds, runs in ((0.0, 8), (115.0, 12), (1e4, 32)):
        made = anneal_hierarchies(MODEL, seconds=seconds, n_runs=32, threads=1)
        assert len(made.log_weights) == runs


def _no_run(moves, tempers, seed, run):
    return np.zeros(len(tempers)), np.zeros(len(tempers))


def test_with_little_time_a_pilot_looks_at_fewer_temperatures(monkeypatch):
    moves = HierarchyMoves(MODEL)
    thorough, same = pilot(moves, 3), pilot(moves, 3, budget=Budget(None))
    assert (thorough.lengths == same.lengths).all()
    assert thorough.sweeps == 32 * (len(thorough.tempers) - 1)
    count = itertools.count()
    monkeypatch.setattr("palmette.sampling.ladder.now", lambda: float(next(count)))  # a look takes a second
    looks = {seconds: len(pilot(moves, 3, budget=Budget(seconds)).tempers) - 6 for seconds in (1e6, 30.0, 0.0)}
    every = len(thorough.tempers) - 6
    assert looks[1e6] == every
    assert 10 < looks[30.0] <= 31
    assert looks[0.0] == -(-every // 8)
    short = pilot(moves, 3, budget=Budget(0.0))
    assert short.tempers[-1] == 1.0
    assert short.length() == pytest.approx(thorough.length(), rel=0.5)


def test_a_rough_temperature_is_said_to_be_one():
    model = pal.models.SumOfSquares(POINTS, beta=1.0)
    with pytest.warns(UserWarning, match="β is a rough guess"):
        found = at_perplexity(model, 1000.0, seconds=0.0)
    exact = pal.HierarchyPosterior(found, progress=False)
    assert abs(exact.entropy - np.log(1000.0)) < 2.0
