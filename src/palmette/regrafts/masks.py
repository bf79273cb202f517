"""Regrafts under any model: it is asked for log ψ of splits given as bit masks, once for each survey, from Python."""

from __future__ import annotations

import numpy as np

from palmette.clusters import lowest_first
from palmette.hierarchy import Hierarchy
from palmette.models.split_model import HierarchyModel
from palmette.regrafts.protocol import Regrafts, weigh
from palmette.regrafts.tree_state import CHANGES, POSITIONS, Tree, Walk, lay_out, tree_with

__all__ = ["MaskRegrafts"]


class MaskRegrafts(Regrafts):
    """Those of any model of hierarchies of at most 63 leaves; the table of a tree holds bit masks."""

    effort = 1 << 9

    def __init__(self, model: HierarchyModel) -> None:
        self.data = model
        self.survey, self.refresh = _survey, _refresh

    def empty_tree(self, hierarchy: Hierarchy) -> Tree:
        """With the bit masks of all clusters."""
        no_sums = np.zeros((hierarchy.n_nodes, 0))
        return tree_with(hierarchy, no_sums, no_sums, hierarchy.cluster_masks().astype(np.int64)[:, None])


def _survey(model: HierarchyModel, tree: Tree, walk: Walk, moved: int, top: int) -> None:
    lay_out(tree.parent, tree.child, moved, top, walk)
    r = walk.counts[POSITIONS]
    part = tree.table[moved, 0]
    rest = tree.table[walk.node[:r], 0] & ~part
    inner = np.flatnonzero(walk.second[:r])
    lost = inner[walk.loses[inner]]
    first, second = rest[inner + 1], rest[walk.second[inner]]
    left = [rest, first | part, first, rest[lost + 1]]
    right = [np.full(r, part), second, second | part, rest[walk.second[lost]]]
    values = model.log_potentials(*lowest_first(np.concatenate(left), np.concatenate(right)))
    ends = np.cumsum([len(part) for part in left])
    walk.beside[:r], walk.inside[inner + 1], walk.inside[walk.second[inner]], own = np.split(values, ends[:-1])
    walk.log_psi[inner] = tree.log_psi[walk.node[inner]]
    walk.log_psi[lost] = own
    weigh(walk)


def _refresh(model: HierarchyModel, tree: Tree, walk: Walk, moved: int) -> None:
    nodes = walk.changed[: walk.counts[CHANGES], 0]
    nodes = nodes[tree.child[nodes, 0] != tree.child[nodes, 1]]  # both are 0 for a leaf
    for v in nodes:
        tree.size[v] = tree.size[tree.child[v]].sum()
        tree.table[v, 0] = np.bitwise_or.reduce(tree.table[tree.child[v], 0])
    tree.log_psi[nodes] = model.log_potentials(*lowest_first(*tree.table[tree.child[nodes], 0].T))
