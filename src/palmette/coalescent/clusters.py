"""Flat clusters of a history: where the data of two lineages are better explained together than apart.

    log ratio of an event = log Z + h(new) − h(left) − h(right)

where h(b) is the log density of a lineage's data if its own state came from the root's distribution. So it is the
log of p(all data below | the two met here) over p(left) p(right), a number without units: h takes out those of Z, also
where the two know different entries. In equilibrium (independent sites) h is 0, and the ratio is log Z itself. A flat
root has no density to compare with; there h is Gaussian, with the mean and the variance of the data. The states of
lineages that wander come from it at their own events, so that these ratios add up to that of the whole history.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from palmette.array_types import Floats
from palmette.checks import check_number
from palmette.coalescent.joint import evaluate_events, log_roots, total_logs
from palmette.coalescent.process import Process, check_process
from palmette.hierarchy import Hierarchy
from palmette.partition import Partition

__all__ = ["flat_clusters", "log_ratios"]


def flat_clusters(x: npt.ArrayLike, hierarchy: Hierarchy, process: Process, threshold: float = 0.0) -> Partition:
    """From the root down, the first clusters whose event has a log ratio above `threshold`; leaves where there is none.

    Row i of x belongs to leaf i, and heights are ages. The higher the threshold, the more clusters: each partition
    refines those of lower thresholds.

    >>> from palmette.coalescent import IndependentSites
    >>> x = [[0, 0, 1, 0], [0, 0, 1, 0], [1, 1, 0, 1]]
    >>> history = Hierarchy.from_merges([[0, 1], [3, 2]], heights=[0.1, 0.9])
    >>> flat_clusters(x, history, IndependentSites(1.0, [[0.5, 0.5]] * 4))
    Partition([0, 0, 1])
    """
    if np.isnan(check_number("threshold", threshold)):
        raise ValueError("threshold is NaN; give a number, 0 for as likely together as apart")
    return hierarchy.first_clusters(log_ratios(x, hierarchy, process) > threshold)


def log_ratios(x: npt.ArrayLike, hierarchy: Hierarchy, process: Process) -> Floats:
    """(n − 1,): log p(data below | the two lineages met here) − log p(left) − log p(right), for each inner node.

    For `Brownian` motion with a flat root, or one without variance, the states of lineages on their own come from
    N(μ, κΛ) with κ the variance of the data in units of Λ, and μ the mean of the data (or of the root). inf where
    identical lineages meet at distance 0, −inf where different ones do.

    >>> from palmette.coalescent import Brownian
    >>> history = Hierarchy.from_merges([[0, 1], [3, 2]], heights=[0.1, 0.9])
    >>> log_ratios([[0.0], [0.1], [2.0]], history, Brownian()).round(3)
    array([ 0.934, -0.43 ])
    """
    check_process(process)
    prepared = process.with_density(x).prepare(x)
    events = evaluate_events(prepared, hierarchy)
    h = log_roots(prepared, events.messages)
    together = total_logs([events.log_z, h[prepared.n_leaves :]], axis=0)
    apart = total_logs(h[hierarchy.children], axis=1)
    with np.errstate(invalid="ignore"):
        return np.where(together > -np.inf, np.where(together == apart, 0.0, together - apart), -np.inf)
