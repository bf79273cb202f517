"""Families of clusters, and the partitions made of them."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import strategies as st

from palmette import Hierarchy, Partition, PartitionTrellis
from palmette.models import UniformPartitions
from palmette.passes.partitions.sparse import SparsePartitionPasses
from palmette.passes.resources import Resources
from palmette.recursions.partitions.sparse import (
    draw,
    inside,
    maximum,
    outside,
)


@st.composite
def families(draw, max_leaves=7):
    """Some partitions taken apart, and some clusters of no account."""
    n = draw(st.integers(1, max_leaves))
    parts = draw(st.lists(st.lists(st.integers(0, n - 1), min_size=n, max_size=n), max_size=4))
    masks = draw(st.lists(st.integers(1, 2**n - 1), max_size=12))
    clusters = [cluster for part in parts for cluster in Partition(part).clusters()]
    clusters += [frozenset(i for i in range(n) if mask >> i & 1) for mask in masks]
    return n, draw(st.permutations(clusters))


def made(family):
    n, clusters = family
    return PartitionTrellis.from_clusters(clusters, n=n)


def potentials(trellis, seed, forbidden=0.0, scale=1.0):
    rng = np.random.default_rng(seed)
    values = scale * rng.normal(size=trellis.n_clusters)
    values[rng.random(len(values)) < forbidden] = -np.inf
    return values


def walk(paths):
    """The clusters of every path, by following all choices."""
    found, open_paths = [], [(0, ())]
    while open_paths:
        s, taken = open_paths.pop()
        if s == len(paths.offsets) - 2:
            found.append(taken)
        for i in range(paths.offsets[s], paths.offsets[s + 1]):
            open_paths.append((paths.choice_next[i], (*taken, paths.choice_cluster[i])))
    return found


def passes(paths, log_e):
    n_states = len(paths.offsets) - 1
    Z, M, reach, mu = np.empty(n_states), np.empty(n_states), np.empty(n_states), np.empty(len(log_e))
    inside(*paths, log_e, Z)
    maximum(*paths, log_e, M)
    outside(*paths, log_e, Z, reach, mu)
    return Z, M, reach, mu


def sums_by_number(trellis, log_e, max_memory=None):
    model = UniformPartitions(trellis.n_leaves, labels=trellis.labels)
    passes = SparsePartitionPasses(model, trellis, resources=Resources(max_memory))
    vars(passes)["log_psi"] = log_e
    return passes.log_partitions_by_number()


def drawn(trellis, log_e, size, seed=7, slices=None, paths=None):
    paths = trellis.paths if paths is None else paths
    Z = passes(paths, log_e)[0]
    membership, log_potential = np.full((size, trellis.n_leaves), -1, np.int32), np.empty(size)
    for first, last in itertools.pairwise(slices or [0, size]):
        family = (trellis.cluster_bounds, trellis.cluster_members)
        draw(*paths, log_e, Z, np.uint64(seed), *family, membership, log_potential, first, last)
    return membership, log_potential


def assert_well_formed(paths):
    n_states = len(paths.offsets) - 1
    state = np.repeat(np.arange(n_states), np.diff(paths.offsets))
    assert all(x.dtype == np.int64 and not x.flags.writeable for x in paths)
    assert paths.offsets[0] == 0
    assert paths.offsets[-1] == paths.offsets[-2] == len(paths.choice_cluster) == len(paths.choice_next)
    assert (paths.choice_next > state).all()
    if len(state) == 0:
        assert n_states == 2
    else:
        assert set(state) == set(range(n_states - 1))
        assert set(paths.choice_next) == set(range(1, n_states))


def balanced(n):
    """n is a power of two; node n + i joins the next two that are free."""
    return Hierarchy.from_merges(np.arange(2 * n - 2).reshape(-1, 2))
