"""The scale of Brownian motion from a history whose durations are not to be trusted.

Multiply Λ by k and all ages by 1/k: the likelihood stays, and the prior rises. So a best history and the best rate for
it chase each other for ever. Here the durations are averaged over.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from palmette._jit import specialise
from palmette.array_types import Floats
from palmette.checks import check_integer, check_points
from palmette.coalescent.brownian import Brownian
from palmette.coalescent.contrasts import check_brownian
from palmette.coalescent.joint import ages_of, evaluate_events
from palmette.hierarchy import Hierarchy

__all__ = ["estimate_scale"]

meet: Any = None  # a process's, put in by `specialise`, as is this
log_integral: Any = None

_STEP = 1e-4  # in log scale, of a central difference


def estimate_scale(x: npt.ArrayLike, hierarchy: Hierarchy, process: Brownian, rounds: int = 1) -> Brownian:
    """The process with k Λ for Λ: the duration of each event is averaged over, given those before it, at rate C(m, 2).

    One step is k = Σ E⟨1/(v_l + v_r + s)⟩ / N, with E the squared distance of the two lineages in units of Λ, and ⟨·⟩
    under e^(−cδ) Z(s0 + 2δ). So a history whose durations are the best ones for a wrong scale can still tell that it is
    wrong. Events of identical lineages are left out where they have no variance; so is the root.

    >>> history = Hierarchy.from_merges([[0, 1], [3, 2]], heights=[0.5, 1.0])
    >>> estimate_scale([[0.0], [1.0], [2.0]], history, Brownian(), rounds=20).rate.round(3)
    np.float64(1.812)
    """
    check_brownian(process)
    points = check_points(x, "x", missing=True)
    for _ in range(check_integer("rounds", rounds, 0)):
        near = [process.with_rate(process.rate * np.exp(h)) for h in (-_STEP, _STEP)]
        (low, shared), (high, _) = (_log_events(points, hierarchy, each) for each in near)
        used = np.isfinite(low) & np.isfinite(high) & (shared > 0)
        if not used.any():
            return process
        slope = (high[used] - low[used]).sum() / (2 * _STEP)  # of Σ log ∫ e^(−cδ) e^(−E/2kS) … dδ in log k: Σ E⟨1/S⟩/2
        process = process.with_rate(process.rate * max(2 * slope / shared[used].sum(), 1e-300))
    return process


def _log_events(points: Floats, hierarchy: Hierarchy, process: Brownian) -> tuple[Floats, Floats]:
    # log ∫ e^(−cδ) Z(s0 + 2δ) dδ of every event, and how many entries the two lineages share.
    prepared, n = process.prepare(points), hierarchy.n_leaves
    messages, ages = evaluate_events(prepared, hierarchy).messages, ages_of(hierarchy)
    order = np.argsort(ages[n:], kind="stable")
    before, rates = np.zeros(n - 1), np.empty(n - 1)
    before[order[1:]] = ages[n:][order[:-1]]
    rates[order] = np.arange(n, 1, -1) * np.arange(n - 1, 0, -1) / 2
    s0 = np.maximum(2 * before - ages[hierarchy.children].sum(axis=1), 0.0)
    logs, shared = np.empty(n - 1), np.empty(n - 1)
    run = specialise(_integrals, meet=prepared.kind.meet, log_integral=prepared.kind.log_integral)
    children = np.ascontiguousarray(hierarchy.children)
    run(prepared.theta, children, messages, s0, rates, np.empty(prepared.n_meeting), logs, shared)
    return logs, shared


def _integrals(theta, children, messages, s0, rates, meeting, logs, shared):
    for i in range(logs.size):
        shared[i] = meet(theta, messages[children[i, 0]], messages[children[i, 1]], meeting)
        logs[i] = log_integral(theta, meeting, s0[i], rates[i])
