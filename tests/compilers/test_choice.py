"""Numba compiles as it comes where our own dispatchers have not been tried."""

from __future__ import annotations

import pytest
from other_processes import run

from palmette.compilers.choice import is_tried

SCRIPT = """
import numpy as np
from palmette.ultrametric.kd_tree import pair_distances, squared_distance

own = {name for found in (pair_distances, squared_distance) for kind in type(found).__mro__ for name in [kind.__name__]}
assert not {"LeanDispatcher", "PartDispatcher"} & own, own
print(pair_distances(np.eye(3), np.array([0, 1]), np.array([1, 1])), squared_distance(np.eye(2), 0, 1))
print(pair_distances.stats.cache_path is not None)
"""


@pytest.mark.parametrize(("version", "tried"), [((0, 62), 0), ((0, 63), 1), ((0, 68), 1), ((0, 69), 0), ((1, 0), 0)])
def test_a_version_that_nobody_has_tried_is_left_alone(version, tried):
    assert is_tried(version) == tried


def test_kernels_and_parts_are_numbas_own_when_asked_for(monkeypatch):
    monkeypatch.setenv("PALMETTE_NUMBA", "stock")
    out, errors = run(SCRIPT).communicate()
    assert out == "[1.41421356 0.        ] 2.0\nTrue\n", errors
