"""Moves over hierarchies: patches and regrafts, mixed at random, and what is kept of the states.

Both kinds of move happen below a cluster P, found from a random leaf and a random scale (see `patches`). A *regraft*
takes a part below P, four times in five one of its |P| leaves, else any of all 2|P| − 2, each alike, and puts it beside
another of the clusters that are left there, by its conditional law, which `palmette.regrafts` knows for all of them: no
other choice depends on where it was, so this is Gibbs sampling, but for places being left as often as that can be
(`choose_another`). Patches rearrange a few things thoroughly, regrafts carry one thing far.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from palmette._jit import inline, step
from palmette.array_types import Ints
from palmette.hierarchy import Hierarchy
from palmette.models.evaluate import no_log_potential
from palmette.models.split_model import SplitModel
from palmette.regrafts.compiled import CompiledRegrafts, refresh, survey
from palmette.regrafts.tree_state import PLACE, POSITIONS, Tree, Walk, empty_walk, leaf_of_rank, regraft
from palmette.sampling.anywhere import any_hierarchy
from palmette.sampling.chance import chance, choose_another, new_stream
from palmette.sampling.hierarchies.patches import N_STOPS, Patch, empty_patch, redraw
from palmette.sampling.hierarchies.state import list_nodes, restate
from palmette.trellis.counting import log_hierarchies

__all__ = ["HierarchyMoves", "HierarchyState"]

_MOST_PATCHES, _FEWEST_PATCHES = 0.25, 0.04  # of all moves: a patch is a large part of a small hierarchy
_LEAVES = 0.8  # of all regrafts: what is slowest is mostly a leaf that belongs to two places far apart
_SMALLEST = 3.0  # leaves of the cluster that a move happens in
_BEYOND = 5.0  # times all leaves: scales go so far, since the slowest clusters are those that things come to from afar


class HierarchyState(NamedTuple):
    """A hierarchy on its way, and room for its moves; `tree.parent`, `tree.child` and `stream` say all."""

    tree: Tree
    walk: Walk
    patch: Patch
    stream: Ints


@inline
def _choose_top(parent, size, stream):
    # The largest cluster around a random leaf with at most so many leaves, all scales alike.
    n = (parent.size + 1) // 2
    v = int(chance(stream) * n)
    most = _SMALLEST * (_BEYOND * n / _SMALLEST) ** chance(stream)
    while parent[v] >= 0 and size[parent[v]] <= most:
        v = parent[v]
    return v


@inline
def _choose_part(child, size, top, stream):
    # One of the 2|P| − 2 nodes below P, each alike.
    v, rank = top, int(chance(stream) * (2 * size[top] - 2))
    while True:
        first = 2 * size[child[v, 0]] - 1
        if rank < first:
            v = child[v, 0]
        else:
            v, rank = child[v, 1], rank - first
        if rank == 0:
            return v
        rank -= 1


@inline
def _choose_position(walk, temper, penalty, stream, values):
    # The next place of the surveyed part; −1 if a score is no number.
    count = walk.counts[POSITIONS]
    fewest = walk.impossible[0]
    for i in range(count):
        fewest = min(fewest, walk.impossible[i])
    for i in range(count):
        more = walk.impossible[i] - fewest
        if not walk.gain[i] < np.inf:
            return -1
        values[i] = temper * walk.gain[i] - (penalty * more if more else 0.0)
    return choose_another(values, count, walk.counts[PLACE], stream)


@step
def _advance(data, tree, walk, patch, stream, temper, penalty, patches, n_moves, values):
    # So many moves; how many regrafts and patches changed something, or −1 for a score that is no number.
    changed = 0
    for _ in range(n_moves):
        top = _choose_top(tree.parent, tree.size, stream)
        if tree.size[top] < _SMALLEST:
            continue
        if chance(stream) < patches:
            kept = redraw(data, tree, patch, top, temper, penalty, stream)
            if kept < 0:
                return -1
            changed += kept
            continue
        if chance(stream) < _LEAVES:
            moved = leaf_of_rank(tree.child, tree.size, top, int(chance(stream) * tree.size[top]))
        else:
            moved = _choose_part(tree.child, tree.size, top, stream)
        survey(data, tree, walk, moved, top)
        target = _choose_position(walk, temper, penalty, stream, values)
        if target < 0:
            return -1
        if target != walk.counts[PLACE]:
            regraft(tree.parent, tree.child, moved, target, walk)
            refresh(data, tree, walk, moved)
            changed += 1
    return changed


@step
def _record(child, nodes, numbers, out):
    # The parent of every node, inner nodes numbered children first, the root last.
    n = (child.shape[0] + 1) // 2
    m = n
    for i in range(nodes.size):
        v = nodes[nodes.size - 1 - i]
        if v < n:
            numbers[v] = v
        else:
            out[numbers[child[v, 0]]] = out[numbers[child[v, 1]]] = m
            numbers[v] = m
            m += 1
    out[m - 1] = -1


class HierarchyMoves:
    """The moves of a model."""

    def __init__(self, model: SplitModel, *, patches: float | None = None, n_stops: int = N_STOPS) -> None:
        self.model = model
        share = max(_FEWEST_PATCHES, min(_MOST_PATCHES, 4.0 / model.n_leaves))  # about four in a sweep
        self._patches, self._n_stops = share if patches is None else patches, n_stops
        self._regrafts = CompiledRegrafts(model)

    @property
    def n_moves(self) -> int:
        """Moves of a sweep: as many as there are leaves."""
        return self.model.n_leaves

    @property
    def log_count(self) -> float:
        """log (2n − 3)!!."""
        return float(log_hierarchies(self.model.n_leaves))

    def anywhere(self, rng: np.random.Generator, seed: int, chain: int) -> HierarchyState:
        """A chain at a hierarchy drawn alike from all."""
        return self.start(any_hierarchy(self.model.n_leaves, self.model.labels, rng), seed, chain)

    def start(self, hierarchy: Hierarchy, seed: int, chain: int) -> HierarchyState:
        """A chain at a binary hierarchy of the model's leaves in the model's order."""
        tree = self._regrafts.empty_tree(hierarchy)
        state = HierarchyState(tree, empty_walk(tree), empty_patch(tree, self._n_stops), new_stream(seed, chain))
        self.restate(state)
        return state

    def run(
        self, state: HierarchyState, n_moves: int, temper: float = 1.0, penalty: float = np.inf
    ) -> tuple[float, int]:
        """So many moves under Π ψ^t, an impossible split costing exp(−penalty); Σ log ψ then, and how many are −inf."""
        tree, m = state.tree, len(state.tree.size)
        values = np.empty(m)
        what = (self._regrafts.data, tree, state.walk, state.patch, state.stream)
        if _advance(*what, temper, penalty, self._patches, n_moves, values) < 0:
            raise no_log_potential(self.model)
        return self.restate(state)

    def restate(self, state: HierarchyState) -> tuple[float, int]:
        """All statistics anew; Σ log ψ over the possible splits, and the number of impossible ones."""
        tree, patch = state.tree, state.patch
        list_nodes(tree.child, int(np.argmin(tree.parent)), patch.nodes, patch.stack)
        total, impossible = restate(self._regrafts.data, tree, state.walk, patch.nodes, patch.leaves)
        return float(total), int(impossible)

    def record(self, state: HierarchyState, out: npt.NDArray[np.int32]) -> None:
        """(2n − 1,): the parents after `run`, nodes numbered as `Hierarchy` does."""
        _record(state.tree.child, state.patch.nodes, state.patch.wanted, out)

    def read(self, row: Ints) -> Hierarchy:
        """The hierarchy that `record` wrote down."""
        return Hierarchy.from_parents(row, self.model.labels)
