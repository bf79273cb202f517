"""Refining ends in time, and says what it does not take."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest
from other_processes import answer_to_an_interrupt, needs_signals
from random_hierarchies import caterpillar
from refine_cases import function, points, random_hierarchy, refined

from palmette import Hierarchy
from palmette.models import CorrelationClusters, SplitFunction, SumOfSquares, Uniform
from palmette.search import Found, refine


@pytest.mark.parametrize("model", [SumOfSquares(points(300)), function(40, 0)], ids=["compiled", "function"])
def test_the_time_limit_is_kept(model):
    start = caterpillar(model.n_leaves)
    refine(model, start, seconds=0.0)  # compiles
    begin = time.monotonic()
    found = refine(model, start, seconds=0.2, rng=0)
    assert time.monotonic() - begin < 60.0  # what it would take to the end is more, and a busy machine less
    assert found.log_potential > model.log_potential(start)


def test_no_time_at_all_gives_back_what_was_given():
    start = random_hierarchy(20, 0)
    assert refine(SumOfSquares(points(20)), start, seconds=0).hierarchy is start


def test_rounds_end_it_before_the_time_does():
    model, start = SumOfSquares(points(20)), random_hierarchy(20, 0)
    assert refine(model, start, seconds=1e6, rounds=3, rng=1) == refined(model, start, 3, 1)


INTERRUPTED = """
    import numpy as np
    from palmette.models import Dasgupta
    from palmette.search import refine
    from palmette import Hierarchy, progress

    progress._PATIENCE = 0.2
    n = 300
    w = np.random.default_rng(0).random((n, n))
    merges = np.column_stack((np.concatenate(([0], np.arange(n, 2 * n - 2))), np.arange(1, n)))
    try:
        refine(Dasgupta(w + w.T), Hierarchy.from_merges(merges), seconds=600, progress=True)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""


@needs_signals
def test_an_interrupt_ends_the_work():
    assert answer_to_an_interrupt(INTERRUPTED, "refining") == "interrupted\n"


def test_what_is_no_model_of_hierarchies_is_refused():
    with pytest.raises(TypeError, match=r"expected a model.*Dasgupta"):
        refine(CorrelationClusters(np.zeros((3, 3))), random_hierarchy(3, 0))


def test_what_is_no_hierarchy_is_refused():
    with pytest.raises(TypeError, match=r"expected the hierarchy to start from.*greedy"):
        refine(Uniform(3), Found(random_hierarchy(3, 0), 0.0))


def test_a_hierarchy_that_is_not_binary_is_refused():
    with pytest.raises(ValueError, match="binary"):
        refine(Uniform(3), Hierarchy.from_nested((0, 1, 2)))


def test_a_hierarchy_of_other_leaves_is_refused():
    with pytest.raises(ValueError, match="label"):
        refine(Uniform(3), Hierarchy.from_newick("((a,b),c);"))


def test_a_split_function_of_too_many_leaves_is_refused():
    with pytest.raises(ValueError, match="at most 63 leaves, not 64"):
        refine(SplitFunction(64, lambda left, right: np.zeros(len(left))), caterpillar(64))


@pytest.mark.parametrize("seconds", [-1, math.nan, "1", True])
def test_a_wrong_time_limit_is_refused(seconds):
    with pytest.raises(ValueError, match=r"seconds is .*at least 0, or None"):
        refine(Uniform(3), random_hierarchy(3, 0), seconds=seconds)


@pytest.mark.parametrize("rounds", [-1, 1.5, True, "1"])
def test_a_wrong_number_of_rounds_is_refused(rounds):
    with pytest.raises(ValueError, match=r"rounds is .*at least 0, or None"):
        refine(Uniform(3), random_hierarchy(3, 0), rounds=rounds)


def test_a_search_without_an_end_is_refused():
    with pytest.raises(ValueError, match="give seconds, rounds, or both"):
        refine(Uniform(3), random_hierarchy(3, 0), seconds=None)
