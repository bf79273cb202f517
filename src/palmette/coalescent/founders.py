"""How far shares of particles are to be trusted: the spread between founders.

After resampling, particles are descendants of a few *founders*, and those of one founder have most of their past in
common: a hundred copies of one history are one history. With W_g the share of the weight of the descendants of founder
g, over all runs, and S_g that of those among them in which something is so,

    p = Σ S_g,   error² = G/(G−1) Σ (S_g − p W_g)² + 3/2 ((1−2p)/G)²,   G = 1 / Σ W_g²

G is the effective number of independent histories. The sum is the variance of Chan and Lai ("A general theory of
particle filters", 2013), which looks at one run; over several it holds the spread between them, and where each has come
down to one founder it is that spread and nothing else. The last term is that of `palmette.sampling.diagnostics`: what
all of G independent histories have could still be missing in the next one.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse

from palmette.array_types import Floats, Numbers
from palmette.sampling.diagnostics import MORE_SEEN

__all__ = ["error_of", "founder_errors", "n_independent"]


def n_independent(weights: Floats, founders: Numbers) -> float:
    """G = 1 / Σ W_g²."""
    return float(1.0 / (np.bincount(founders, weights) ** 2).sum())


def founder_errors(weights: Floats, founders: Numbers, events: Numbers, n_events: int) -> tuple[Floats, Floats]:
    """Shares p and their errors, (n_events,) each, of things that are so in particles: `events` (S, k) lists them."""
    shape = (int(founders.max()) + 1, n_events)
    where = (np.repeat(founders, events.shape[1]), events.reshape(-1))
    held = scipy.sparse.coo_array((np.repeat(weights, events.shape[1]), where), shape).tocsr()  # S_g of each event
    total = np.bincount(founders, weights, minlength=shape[0])  # W_g
    p = np.clip(np.asarray(held.sum(axis=0)).reshape(-1), 0.0, 1.0)
    squares = np.asarray(held.power(2).sum(axis=0)).reshape(-1)
    spread = (squares - 2 * p * (held.T @ total) + p**2 * (total**2).sum()).clip(min=0.0)
    return p, error_of(p, spread, float(1.0 / (total**2).sum()))


def error_of(p: Floats, spread: Floats | float, independent: float) -> Floats:
    """The error of shares p, of which Σ (S_g − p W_g)² is `spread`; no more than the whole range."""
    most = np.maximum(p, 1 - p)
    if independent < 1.0 + 1e-9:
        return most
    variance = spread * independent / (independent - 1.0)
    return np.minimum(np.sqrt(variance + MORE_SEEN * ((1 - 2 * p) / independent) ** 2), most)
