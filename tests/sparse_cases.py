"""Models on sparse trellises beside the enumeration of what those hold."""

from __future__ import annotations

import functools
import itertools
from typing import NamedTuple

import numpy as np
from cases import Case, cases
from hypothesis import assume
from hypothesis import strategies as st
from oracle import Oracle, clusters_of, members
from random_hierarchies import random_merges

from palmette import Hierarchy, HierarchyPosterior, SparseTrellis

WORD_EDGES = [63, 64, 65, 130]


def mask_of(cluster) -> int:
    return sum(1 << int(leaf) for leaf in cluster)


def as_splits(hierarchy) -> frozenset[tuple[int, int]]:
    return frozenset((mask_of(left), mask_of(right)) for left, right in hierarchy.splits())


def as_hierarchy(splits, n) -> Hierarchy:
    return Hierarchy.from_splits([(members(left), members(right)) for left, right in splits], names(n))


def names(n):
    return tuple(str(i) for i in range(n))


def some_hierarchies(n, count, seed):
    """Random ones, most of them with the leaves in a row, so that they share clusters."""
    rng = np.random.default_rng(seed)

    def cut(a, b):
        c = int(rng.integers(a + 1, b)) if b - a > 1 else b
        return a if c == b else (cut(a, c), cut(c, b))

    in_a_row = lambda: Hierarchy.from_nested(cut(0, n), names(n))  # noqa: E731
    return [in_a_row() if rng.random() < 0.7 else Hierarchy.from_merges(random_merges(n, rng)) for _ in range(count)]


samples = st.builds(some_hierarchies, st.integers(2, 6), st.integers(1, 5), st.integers(0, 2**16))


def listed_splits(trellis):
    """(parent, left, right) of every split, as masks."""
    sides = (trellis.parent, trellis.left, trellis.right)
    return [tuple(trellis.masks[i] for i in row) for row in zip(*(side.tolist() for side in sides), strict=True)]


@functools.cache
def complete(n) -> SparseTrellis:
    return SparseTrellis.from_clusters([members(mask) for mask in range(1, 1 << n)], names(n))


class Problem(NamedTuple):
    """A model on a sparse trellis, and the enumeration of what that holds."""

    post: HierarchyPosterior
    oracle: Oracle
    sample: list[Hierarchy]
    tolerance: float
    case: Case

    def inside(self) -> list[int]:
        return np.flatnonzero(self.oracle.log_potentials > -np.inf).tolist()


@st.composite
def problems(draw, kinds="udcsgft", max_leaves=6, closed=None):
    """Hierarchies that the trellis does not hold have probability zero in the enumeration."""
    n = draw(st.integers(2, max_leaves))
    case = draw(cases(n=n, kinds=kinds))
    sample = some_hierarchies(n, draw(st.integers(1, 5)), draw(st.integers(0, 2**16)))
    closed = draw(st.booleans()) if closed is None else closed
    splits = frozenset().union(*map(as_splits, sample))
    family = frozenset().union(*(clusters_of(as_splits(h), n) for h in sample))
    allowed = (lambda split: family >= set(split)) if closed else splits.__contains__

    def log_psi(left, right):
        return case.oracle.log_psi(left, right) if allowed((mask_of(left), mask_of(right))) else -np.inf

    oracle = Oracle(n, log_psi)
    assume(oracle.log_z > -np.inf)
    trellis = SparseTrellis.from_hierarchies(sample, closed=closed)
    return Problem(HierarchyPosterior(case.model, trellis=trellis), oracle, sample, 10 * case.tolerance, case)


def all_probabilities(post):
    return [post.cluster_probability(members(mask)) for mask in range(1, 1 << post.n_leaves)]


def table(rows):
    return {tuple(row[:-1]): row.probability for row in rows}


@functools.cache
def subtrees(n):
    """All hierarchies over two or three of the leaves, and one over each leaf."""
    pairs = [(str(i), str(j)) for i, j in itertools.combinations(range(n), 2)]
    triples = [((a, b), c) for a, b, c in itertools.permutations(map(str, range(n)), 3) if a < b]
    return [Hierarchy.from_nested(nested) for nested in [*map(str, range(n)), *pairs, *triples]]
