"""Rates and equilibria of sites from data given a history: expected numbers of redraws on its branches, by EM."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from palmette.array_types import Floats
from palmette.checks import check_integer, check_non_negative, check_points
from palmette.coalescent.draws import CoalescentDraws, weighted_histories
from palmette.coalescent.joint import both_sides, branch_lengths
from palmette.coalescent.priors import Gamma, Prior
from palmette.coalescent.site_entries import site_tables
from palmette.coalescent.sites import IndependentSites
from palmette.hierarchy import Hierarchy

__all__ = ["estimate_sites"]

Part = Literal["rate", "equilibrium"]

BOTH: tuple[Part, ...] = ("rate", "equilibrium")

_LEAST, _MOST = 1e-12, 1e12  # of a rate of change: the likelihood can rise for ever towards 0 or inf


def estimate_sites(
    x: npt.ArrayLike,
    history: Hierarchy | CoalescentDraws,
    process: IndependentSites,
    *,
    rounds: int = 10,
    pseudo_count: float = 0.5,
    prior: Prior | None = None,
    update: Collection[Part] = BOTH,
) -> IndependentSites:
    """The process after `rounds` of EM given the history: each raises the likelihood, with priors the posterior.

    With Z_b = Z of the two sides of branch b, of length l_b, the expected number of redraws to state k on it is
    (1 − e^(−λ l_b)) q_k M_b(k)/Z_b, and

        q_k ← (Σ_b redraws to k + q_k M_root(k) + pseudo_count) / their sum,
        λ ← (Σ_b λ l_b/Z_b + a − 1) / (Σ_b l_b + b).

    A process with one rate gets one, pooled over the sites; one with a rate per site, one each. `pseudo_count` is for
    each state that is possible. Sites without entries stay as they are, but for priors. Draws count by weight.

    >>> history = Hierarchy.from_merges([[0, 1], [3, 2]], heights=[0.1, 0.9])
    >>> found = estimate_sites([[0], [0], [1]], history, IndependentSites(1.0, [[0.5, 0.5]]), rounds=1, pseudo_count=0)
    >>> found.rate.round(6), found.equilibrium[0].round(6)
    (np.float64(1.152551), array([0.520093, 0.479907]))
    """
    if not isinstance(process, IndependentSites):
        raise TypeError(f"expected IndependentSites, not {process!r}")
    if not isinstance(prior, Gamma | None):
        raise TypeError(f"the prior of rates of change is Gamma, not {prior!r}")
    if unknown := set(update) - {"rate", "equilibrium"}:
        raise ValueError(f'update holds {sorted(unknown)}; give "rate", "equilibrium" or both')
    check_non_negative("pseudo_count", pseudo_count)
    points = check_points(x, "x", missing=True)
    process = process.given(points)
    weights, histories = weighted_histories(history)
    for _ in range(check_integer("rounds", rounds, 0)):
        parts = [_expected_redraws(points, each, process) for each in histories]
        redraws, ratios, length = (np.tensordot(weights, [part[k] for part in parts], axes=1) for k in range(3))
        equilibrium: Any = process.equilibrium
        if "equilibrium" in update:
            tables = [table[: len(q)] + pseudo_count * (q > 0) for table, q in zip(redraws, equilibrium, strict=True)]
            equilibrium = [table / table.sum() for table in tables]
        rate = _update_rate(process.rate, ratios, float(length), prior) if "rate" in update else process.rate
        process = IndependentSites(rate, equilibrium)
    return process


def _update_rate(rate: Floats, ratios: Floats, length: float, prior: Gamma | None) -> Floats:
    # ratios (D,): Σ_b λ l_b/Z_b.
    total, below = (ratios, length) if rate.ndim else (ratios.sum(), length * len(ratios))
    if prior is not None:
        total, below = total + prior.shape - 1, below + prior.rate
    return np.clip(total / below, _LEAST, _MOST) if below > 0 else rate


def _expected_redraws(points: Floats, hierarchy: Hierarchy, process: IndependentSites) -> tuple[Floats, Floats, float]:
    # Expected draws of each state (D, K), the root's among them; Σ_b λ l_b/Z_b (D,); and Σ_b l_b.
    seen = both_sides(process.prepare(points), hierarchy)
    rates = np.broadcast_to(process.rate, points.shape[1])
    (q, below), (_, above) = (site_tables(process, messages) for messages in (seen.messages, seen.outside))
    length, reach = branch_lengths(hierarchy)[:-1, None], seen.reach[:-1, None]
    agreement = (q * below[:-1] * above[:-1]).sum(axis=-1)
    z = -np.expm1(-rates * reach) + np.exp(-rates * reach) * agreement
    if not (z > 0.0).all():
        raise ValueError("states that differ meet at distance 0, so the data are impossible given the history")
    redrawn = -np.expm1(-rates * length) / z
    redraws = q * (np.einsum("bd,bdk->dk", redrawn, below[:-1]) + below[-1])
    return redraws, (rates * length / z).sum(axis=0), float(length.sum())
