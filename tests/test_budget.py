"""Budgets: shares of what is left, and a clock that stands still during compilations."""

from __future__ import annotations

import math
import types

import pytest
from budget_cases import Clock

from palmette.budget import Budget, _Compilations


@pytest.fixture
def clock(monkeypatch):
    return Clock(monkeypatch)


def test_a_share_is_one_of_what_is_left(clock):
    budget = Budget(60.0)
    clock.time += 20.0
    share = budget.share(0.25)
    assert (budget.left, share.left, share.seconds) == (40.0, 10.0, 10.0)
    clock.time += 10.0
    assert (share.is_spent, budget.is_spent) == (True, False)
    clock.time += 100.0
    assert (budget.left, budget.share(0.5).left, budget.is_spent) == (0.0, 0.0, True)


@pytest.mark.parametrize("seconds", [None, math.inf])
def test_without_an_end_nobody_looks_at_the_clock(seconds, monkeypatch):
    monkeypatch.setattr("palmette.budget.now", None)
    budget = Budget(seconds).share(0.2)
    assert (budget.left, budget.seconds, budget.is_spent) == (math.inf, None, False)


def test_the_clock_stands_still_until_the_last_of_several_compilations_is_done(monkeypatch):
    times = Clock(monkeypatch)
    monkeypatch.setattr("palmette.budget.time", types.SimpleNamespace(monotonic=times))
    found = _Compilations()

    def after(seconds):
        times.time += seconds
        return found.clock()

    assert after(1.0) == 101.0
    found.on_start(None)
    assert after(5.0) == 101.0
    found.on_start(None)  # of a function that the first one calls
    after(5.0)
    found.on_end(None)
    assert after(5.0) == 101.0
    found.on_end(None)
    assert after(2.0) == 103.0


def test_compilations_are_heard_of(monkeypatch):
    import numba

    from palmette.budget import _compilations

    heard = []
    monkeypatch.setattr(_compilations, "on_start", lambda event: heard.append("start"))
    monkeypatch.setattr(_compilations, "on_end", lambda event: heard.append("end"))
    assert numba.njit(lambda x: x + 1)(1) == 2
    assert heard[0] == "start"
    assert heard[-1] == "end"
