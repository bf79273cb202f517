"""What a history says of states that were not seen: their probabilities, and draws of them all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from palmette.array_types import Floats, Ints
from palmette.coalescent.joint import ages_of, both_sides, evaluate_events
from palmette.coalescent.prediction import Prediction
from palmette.hierarchy import Hierarchy

if TYPE_CHECKING:
    from palmette.coalescent.sites import IndependentSites

__all__ = ["draw_states", "predict_states", "site_tables"]


def site_tables(process: IndependentSites, messages: Floats) -> tuple[Floats, Floats]:
    """q (D, K) and M (…, D, K) of messages (…, n_message), 0 beyond the states of a site."""
    sizes = np.array([len(q) for q in process.equilibrium])
    is_state = np.arange(sizes.max()) < sizes[:, None]
    q, table = np.zeros(is_state.shape), np.zeros((len(messages), *is_state.shape))
    q[is_state] = np.concatenate([np.asarray(each) for each in process.equilibrium])
    table[:, is_state] = messages[:, len(sizes) :]
    return q, table


def predict_states(process: IndependentSites, points: Floats, hierarchy: Hierarchy) -> Prediction:
    """The probabilities of the states of each missing entry by itself, under `IndependentSites`."""
    seen = both_sides(process.prepare(points), hierarchy)
    entries = np.argwhere(np.isnan(points))
    rows, columns = entries.T
    q, outside = site_tables(process, seen.outside[rows])
    copied = np.exp(-np.broadcast_to(process.rate, points.shape[1])[columns] * seen.reach[rows])[:, None]
    found = q[columns] * (1.0 - copied + copied * outside[np.arange(len(rows)), columns])
    return Prediction(entries, probabilities=found / found.sum(axis=1, keepdims=True))


def draw_states(
    process: IndependentSites, points: Floats, hierarchy: Hierarchy, size: int, rng: np.random.Generator
) -> Floats:
    """(size, n, D): the points, with draws of all that is missing at once.

    From the root down, a state is copied with odds u M(parent's state) : 1 − u, else drawn from q M.
    """
    n, n_sites = points.shape
    q, table = site_tables(process, evaluate_events(process.prepare(points), hierarchy).messages)
    ages, rates, sites = ages_of(hierarchy), np.broadcast_to(process.rate, n_sites), np.arange(n_sites)
    states = np.empty((len(ages), size, n_sites), dtype=np.int64)

    def redrawn(node: int) -> Ints:
        edges = np.cumsum(q * table[node], axis=1)[None]
        return np.asarray((rng.random((size, n_sites, 1)) * edges[..., -1:] >= edges[..., :-1]).sum(axis=-1))

    states[-1] = redrawn(-1)
    for node in range(len(ages) - 1, n - 1, -1):
        for child in hierarchy.children[node - n]:
            copied = np.exp(-rates * (ages[node] - ages[child]))
            weight = copied * table[child][sites, states[node]]
            is_copied = rng.random((size, n_sites)) * (weight + 1.0 - copied) < weight
            states[child] = np.where(is_copied, states[node], redrawn(child))
    return np.where(np.isnan(points), states[:n].transpose(1, 0, 2), points)
