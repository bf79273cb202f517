"""Whether chains agree, cluster by cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from palmette.array_types import Floats
from palmette.plot._axes import cluster_name, frame, own_axes
from palmette.plot._chains import chain_colours, legend_and_verdict, require_chains
from palmette.plot._point_names import name_points

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["convergence"]

_GREY = "#999999"
_DOT: dict[str, Any] = {"s": 14, "linewidths": 0}
_DOT_WIDTH = 0.012
_STEP, _WIDEST = 0.008, 0.04  # between the dots of two chains, and of all


def convergence(post: Any, *, ax: Axes | None = None, annotate: int = 3) -> Axes:
    """Every cluster that is judged: its frequency in all draws (across) and in each chain (up), with the diagonal.

    Where chains agree their dots are on the diagonal, as near as draws are many. A cluster with R̂ up to 1.02 has grey
    dots. One with more has dots in the colours of the chains, those of `traces`, and a line from the lowest to the
    highest; the `annotate` worst of these are named. Colour without distance from the diagonal means that chains differ
    from themselves, their first halves from their last, and so it is with one chain. The verdict is the title.

    `post` is what `sample_hierarchies` gives, or has `cluster_diagnostics()`, `cluster_frequencies()` and `verdict`.

    >>> import matplotlib; matplotlib.use("agg")
    >>> import numpy as np, palmette as pal
    >>> model = pal.models.SumOfSquares(np.arange(12.0)[:, None] ** 1.5)
    >>> ax = convergence(pal.sampling.sample_hierarchies(model, seconds=None, sweeps=100))
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('frequency of the cluster in all chains', 'frequency in each chain')
    """
    require_chains(post, "cluster_diagnostics", "cluster_frequencies", "verdict")
    rows, limit = post.cluster_diagnostics(), post.verdict.largest_r_hat
    frequencies = np.asarray(post.cluster_frequencies())
    pooled = frequencies.mean(axis=0)
    apart = np.array([row.r_hat > limit for row in rows], dtype=bool)
    ax = own_axes(ax, 5.8, 5.9)
    ax.plot([0, 1], [0, 1], color=_GREY, linewidth=0.8, zorder=1)
    ax.set(xlabel="frequency of the cluster in all chains", ylabel="frequency in each chain")
    ax.set(aspect="equal", xlim=(-0.03, 1.03), ylim=(-0.03, 1.03))
    frame(ax)
    handles = _coloured(ax, pooled[apart], frequencies[:, apart]) if apart.any() else []
    across, up = np.broadcast_to(pooled, frequencies.shape)[:, ~apart], frequencies[:, ~apart]
    handles.append(ax.scatter(across, up, color=_GREY, alpha=0.6, label=f"R̂ up to {limit}", zorder=2, **_DOT))
    count = f"{apart.sum():,} of {len(rows):,} clusters" if apart.any() else f"none of {len(rows):,} clusters"
    legend_and_verdict(ax, handles, post.verdict, f"chains disagree on {count}")
    worst = rows[: min(annotate, int(apart.sum()))]
    _name_worst(ax, [cluster_name(row.members, 20) for row in worst], pooled, frequencies)
    return ax


def _side_by_side(pooled: Floats, n_chains: int) -> Floats:
    # (chains, k): across, so little apart that it does no harm; chains that say the same, often 0 or 1, are all seen.
    steps = np.arange(n_chains) - (n_chains - 1) / 2
    return pooled + min(_STEP, _WIDEST / n_chains) * steps[:, None]


def _coloured(ax: Axes, pooled: Floats, frequencies: Floats) -> list[Any]:
    ax.vlines(pooled, frequencies.min(axis=0), frequencies.max(axis=0), color=_GREY, linewidth=0.6, zorder=1)
    across = _side_by_side(pooled, len(frequencies))
    style = {"alpha": 0.85, "zorder": 3, **_DOT}
    return [
        ax.scatter(across[chain], frequencies[chain], color=colour, label=f"chain {chain + 1}", **style)
        for chain, colour in enumerate(chain_colours(len(frequencies)))
    ]


def _name_worst(ax: Axes, names: list[str], pooled: Floats, frequencies: Floats) -> None:
    # The first clusters have names; each is at the dot that is furthest from the diagonal.
    worst = np.arange(len(names))
    across = _side_by_side(pooled, len(frequencies))
    chains = np.abs(frequencies - pooled)[:, worst].argmax(axis=0)
    drawn = [np.linspace([0.0, 0.0], [1.0, 1.0], 100), np.column_stack([across.ravel(), frequencies.ravel()])]
    seen = np.unique((np.vstack(drawn) / _DOT_WIDTH).round(), axis=0) * _DOT_WIDTH  # thousands of dots are few places
    name_points(ax, np.column_stack([across[chains, worst], frequencies[chains, worst]]), worst.tolist(), names, seen)
