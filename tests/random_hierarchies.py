"""Random hierarchies for the tests, and slow readings of them that follow the definition by recursion."""

import numpy as np
from hypothesis import strategies as st

from palmette.hierarchy import Hierarchy

any_text = st.text(st.characters(exclude_categories=()), max_size=6)


@st.composite
def families(draw, max_leaves=12, binary=False):
    """Inner nodes as lists of children, children first."""
    n = draw(st.integers(1, max_leaves))
    free = list(range(n))
    made = []
    while len(free) > 1:
        size = 2 if binary else draw(st.integers(2, len(free)))
        made.append([free.pop(draw(st.integers(0, len(free) - 1))) for _ in range(size)])
        free.append(n + len(made) - 1)
    return n, made


@st.composite
def hierarchies(draw, max_leaves=12, binary=False, labels=None, heights=False):
    n, made = draw(families(max_leaves, binary))
    names = None if labels is None else draw(st.lists(labels, min_size=n, max_size=n, unique=True))
    nested = list(range(n))
    for children in made:
        nested.append(tuple(nested[child] for child in children))
    h = Hierarchy.from_nested(nested[-1], names or [str(i) for i in range(n)])
    if not heights:
        return h
    numbers = st.floats(-100, 100, allow_subnormal=False)
    values = draw(st.lists(numbers, min_size=len(made), max_size=len(made)))
    return Hierarchy.from_parents(h.parents, h.labels, values)


def random_merges(n, rng):
    """A uniformly random sequence of merges."""
    free = list(range(n))
    rows = []
    while len(free) > 1:
        one, two = sorted(rng.choice(len(free), 2, replace=False), reverse=True)
        rows.append((free.pop(one), free.pop(two)))
        free.append(n + len(rows) - 1)
    return np.array(rows, dtype=int).reshape(-1, 2)


def caterpillar(n, labels=None):
    """((((0, 1), 2), 3), …): as deep as n leaves allow."""
    first = np.concatenate(([0], np.arange(n, 2 * n - 2)))
    return Hierarchy.from_merges(np.column_stack((first, np.arange(1, n))), labels)


def slow_clusters(nested):
    """The clusters of nested tuples, as a set of sets of leaves."""
    if not isinstance(nested, tuple):
        return {frozenset([nested])}
    below = set().union(*(slow_clusters(child) for child in nested))
    return below | {frozenset().union(*below)}


def slow_heights(nested):
    """Cluster → 0 at a leaf, one above the highest child elsewhere."""
    if not isinstance(nested, tuple):
        return {frozenset([nested]): 0}
    below = [slow_heights(child) for child in nested]
    merged = {cluster: height for part in below for cluster, height in part.items()}
    return merged | {frozenset().union(*merged): 1 + max(max(part.values()) for part in below)}


def slow_order(nested):
    """The leaves of nested tuples from left to right."""
    return [leaf for child in nested for leaf in slow_order(child)] if isinstance(nested, tuple) else [nested]


def labelled_clusters(h):
    """The clusters of a hierarchy as sets of labels."""
    return {frozenset(h.labels[leaf] for leaf in cluster) for cluster in h.clusters()}
