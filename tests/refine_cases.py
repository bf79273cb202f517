"""Models and hierarchies to refine."""

from __future__ import annotations

import numpy as np
from random_hierarchies import random_merges

from palmette import Hierarchy
from palmette.models import SplitFunction
from palmette.search import refine


def points(n, seed=0):
    return np.random.default_rng(seed).normal(size=(n, 2))


def function(n, seed, forbidden=0.0):
    """Any number for any split, by a hash of its two masks; a share of them forbidden."""
    odd = np.uint64(2 * seed + 0x9E3779B97F4A7C15)

    def log_psi(left, right):
        mixed = (left.astype(np.uint64) * odd) ^ (right.astype(np.uint64) * np.uint64(0xD1B54A32D192ED03))
        mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
        value = (mixed >> np.uint64(11)).astype(float) / 2.0**53
        return np.where(value < forbidden, -np.inf, -value)

    return SplitFunction(n, log_psi)


def random_hierarchy(n, seed, labels=None):
    return Hierarchy.from_merges(random_merges(n, np.random.default_rng(seed)), labels)


def refined(model, start, rounds, seed=0):
    return refine(model, start, rounds=rounds, seconds=None, rng=seed)
