"""Slices cover the work in order, whoever takes them; what is worth sharing out follows from what units really take."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from palmette.progress import Progress
from palmette.threads import Workers


def workers(threads):
    return Workers(threads, Progress("", None, False))


@given(
    threads=st.integers(1, 4),
    levels=st.lists(st.lists(st.floats(0.0, 1e9), max_size=40), max_size=4),
)
def test_slices_cover_the_work_in_order(threads, levels):
    with workers(threads) as pool:
        for level in levels:
            found = pool.run(lambda a, b: range(a, b), np.array(level))
            assert [i for part in found for i in part] == list(range(len(level)))


@pytest.mark.parametrize(("nanoseconds", "is_shared"), [(20_000, False), (200_000, True)])
def test_a_level_is_shared_out_if_units_have_turned_out_to_be_long(nanoseconds, is_shared, monkeypatch):
    clock = itertools.count(0, nanoseconds)  # every call takes so long
    monkeypatch.setattr("palmette.threads.time.perf_counter_ns", lambda: next(clock))
    with workers(2) as pool:
        pool.run(lambda a, b: None, np.full(10, 2e3))  # too little to be shared out
        assert (len(pool.run(lambda a, b: None, np.full(10, 2e4))) > 1) is is_shared
