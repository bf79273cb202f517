"""Bars say what the work is for, and only where they are drawn."""

from __future__ import annotations

import types

from palmette.progress import Progress, phases, purpose


def drawn(capsys, bar):
    bar._begin -= 10.0  # as if it had taken a while
    bar._last -= 10.0
    bar.advance(1.0)
    return capsys.readouterr()


def test_a_bar_says_what_the_work_is_for(capsys):
    with purpose("looking for β"):
        inner = Progress("summing", 4, True)
    assert "looking for β: summing   25 %" in drawn(capsys, inner).err
    inner.retitle("adding")
    assert "looking for β: adding" in drawn(capsys, inner).err
    outer = Progress("summing", 4, True)
    found = drawn(capsys, outer)
    assert "looking" not in found.err
    assert "summing   25 %" in found.err
    assert found.out == ""


def test_nothing_is_drawn_where_nobody_looks(capsys):
    assert drawn(capsys, Progress("summing", 4, False)).err == ""
    assert drawn(capsys, Progress("summing", 4)).err == ""  # no terminal


def test_phases_are_named_however_short_they_are(monkeypatch, capsys):
    times = iter([10.0, 11.5, 11.7])  # the phases begin, a bar is made, a fifth of a second of work is done
    monkeypatch.setattr("palmette.progress.time", types.SimpleNamespace(monotonic=lambda: next(times)))
    with phases():
        Progress("annealing", 10, True).advance(1.0)
    assert "annealing   10 %" in capsys.readouterr().err
    times = iter([20.0, 20.2])
    Progress("summing", 10, True).advance(1.0)
    assert capsys.readouterr().err == ""
