"""What every regraft of a part would change, in one walk.

A part S is taken out of a cluster T, and put back beside a cluster C of what is left. The clusters from C up to T gain
S, so the splits on this path, and no others, change:

    gain(C) = log ψ(C, S) + Σ [log ψ with S in the child on the path − log ψ without S]

A cluster has two children, so all these terms, for all C, are three per cluster. `compiled` and
`masks` compute them, each for one kind of model, for `search.refine` and for sampling.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from palmette._jit import step
from palmette.hierarchy import Hierarchy
from palmette.regrafts.tree_state import CHANGES, IS_KNOWN, PLACE, POSITIONS, WORK, Tree, Walk, empty_walk

__all__ = ["Regrafts", "best_position", "weigh"]

_NOISE = 1e-12  # a gain below this share of the largest log ψ around is rounding


class Regrafts(Protocol):
    """The regrafts of one model, as functions of (data, tree, walk, …)."""

    data: Any
    effort: int
    """Positions that are surveyed between two looks at the clock: some hundredths of a second."""
    survey: Callable[..., None]
    """(data, tree, walk, moved, top): the gain of every regraft of `moved` below `top`, up to a constant."""
    refresh: Callable[..., None]
    """(data, tree, walk, moved): brings the statistics up to date after a `regraft` to a position of the survey."""

    def empty_tree(self, hierarchy: Hierarchy) -> Tree:
        """The links of a hierarchy, and what `refresh` takes for known."""
        ...

    def tree_of(self, hierarchy: Hierarchy) -> tuple[Tree, Walk]:
        """A hierarchy of the model's leaves as a tree with all statistics, and room for walks over it."""
        tree, m = self.empty_tree(hierarchy), hierarchy.n_nodes
        walk = empty_walk(tree)
        walk.changed[:, 0], walk.changed[:, 2], walk.counts[CHANGES] = np.arange(m), IS_KNOWN, m
        self.refresh(self.data, tree, walk, 0)
        return tree, walk


@step
def weigh(walk):
    """The gain of every position of a walk, and how many splits are impossible, from its scores."""
    # The parents of a position come first.
    walk.gain[0], walk.impossible[0] = 0.0, 0
    for i in range(walk.counts[POSITIONS]):
        gain, impossible = walk.gain[i], walk.impossible[i]
        walk.gain[i], walk.impossible[i] = _add(gain, impossible, walk.beside[i])
        j = walk.second[i]
        if j > 0:
            if walk.log_psi[i] > -np.inf:
                gain -= walk.log_psi[i]
            else:
                impossible -= 1
            walk.gain[i + 1], walk.impossible[i + 1] = _add(gain, impossible, walk.inside[i + 1])
            walk.gain[j], walk.impossible[j] = _add(gain, impossible, walk.inside[j])
    walk.counts[WORK] += walk.counts[POSITIONS]


@step
def _add(gain, impossible, term):
    if term > -np.inf:
        return gain + term, impossible
    return gain, impossible + 1


@step
def best_position(walk):
    """The first of the best positions of a survey: fewest impossible splits, then largest gain.

    The present one if none is better by more than rounding.
    """
    best = place = walk.counts[PLACE]
    largest = abs(walk.gain[place])
    for i in range(walk.counts[POSITIONS]):
        fewer = walk.impossible[best] - walk.impossible[i]
        if fewer > 0 or (fewer == 0 and walk.gain[i] > walk.gain[best]):
            best = i
        if walk.second[i] > 0 and -np.inf < walk.log_psi[i]:
            largest = max(largest, abs(walk.log_psi[i]))
    if walk.impossible[best] == walk.impossible[place] and walk.gain[best] <= walk.gain[place] + _NOISE * largest:
        return place
    return best
