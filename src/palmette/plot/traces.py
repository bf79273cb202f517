"""How chains went."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from palmette.array_types import Floats, Ints
from palmette.plot._axes import frame, own_axes
from palmette.plot._chains import chain_colours, legend_and_verdict, require_chains

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["traces"]

_MOST_BLOCKS = 40  # means that the strong line of a chain goes through
_LEAST_DRAWS = 5  # in each of them


def traces(post: Any, *, ax: Axes | None = None) -> Axes:
    """log φ of every draw against sweeps: a faint line for each chain, and over it a strong one, its mean over blocks.

    Chains that have converged go up and down about one level; the strong lines cross each other. One that stays above
    or below the others, or climbs, has not. The verdict is the title. The beginning, which no answer uses, is left out.

    `post` is what `sample_hierarchies` gives, or has `log_potentials` (chains, draws), `verdict`, `sweeps_per_draw`.

    >>> import matplotlib; matplotlib.use("agg")
    >>> import numpy as np, palmette as pal
    >>> model = pal.models.SumOfSquares(np.arange(12.0)[:, None] ** 1.5)
    >>> ax = traces(pal.sampling.sample_hierarchies(model, seconds=None, sweeps=400))
    >>> ax.get_xlabel(), ax.get_title(loc="left").split(":")[0]
    ('sweeps', 'converged')
    """
    require_chains(post, "log_potentials", "verdict", "sweeps_per_draw")
    values = np.asarray(post.log_potentials, dtype=np.float64)
    n_draws = values.shape[1]
    before = getattr(post, "n_kept", n_draws) - n_draws
    sweeps = (before + 1 + np.arange(n_draws)) * post.sweeps_per_draw
    ax = own_axes(ax, 7.2, 3.8)
    colours = chain_colours(len(values))
    for chain, colour in zip(values, colours, strict=True):
        ax.plot(sweeps, chain, color=colour, linewidth=0.5, alpha=0.35, zorder=1)
    strong = []
    for number, (chain, colour) in enumerate(zip(values, colours, strict=True), 1):
        middles, means = _means(sweeps, chain)
        strong += ax.plot(middles, means, color=colour, linewidth=1.8, zorder=2, label=f"chain {number}")
    ax.margins(x=0.0)
    ax.set(xlabel="sweeps", ylabel="log potential")
    frame(ax)
    legend_and_verdict(ax, strong, post.verdict)
    return ax


def _means(sweeps: Ints, chain: Floats) -> tuple[Floats, Floats]:
    # Of blocks of draws, as even as they can be: where each stands, and its mean.
    edges = np.linspace(0, len(chain), min(_MOST_BLOCKS, -(-len(chain) // _LEAST_DRAWS)) + 1).astype(int)[:-1]
    counts = np.diff(np.append(edges, len(chain)))
    return np.add.reduceat(sweeps, edges) / counts, np.add.reduceat(chain, edges) / counts
