"""Smoothed estimates of the probabilities of clusters: means over draws of what tilings tell, with their errors."""

from __future__ import annotations

import numpy as np

from palmette.array_types import Floats, Indices, Words
from palmette.models.split_model import SplitModel
from palmette.sampling.diagnostics import effective_size, is_open, smoothed_error
from palmette.sampling.estimates import Estimates
from palmette.sampling.hierarchies.tilings import smooth
from palmette.threads import check_threads

__all__ = ["smoothed"]

_BINS, _FEWEST = 512, 16  # of each chain, whose draws are averaged; what is between bins tells the error
_MOST_NUMBERS = 2e7  # in all bins of all clusters
_ROUNDING = 1e-12
_SELDOM = 10  # draws: what happens less often may be seen by no tiling


def smoothed(
    model: SplitModel,
    rows: Indices,
    wanted: Words,
    n_without: Floats,
    threads: int | None,
    progress: bool | None,
) -> Estimates:
    """(k,): the probabilities of clusters, given as bit sets, from (chains, draws, 2n − 1) parents of draws.

    `n_without` is the number of draws that each is missing from. Tilings may see next to nothing that could become of a
    cluster that few draws are without, as what could happen takes a move farther than a patch; so its error is no less
    than that of one draw and a half more without it.
    """
    n_chains, n_draws, _ = rows.shape
    most = int(max(_FEWEST, min(_BINS, _MOST_NUMBERS // max(1, n_chains * len(wanted)))))
    edges = np.linspace(0, n_draws, min(n_draws, most) + 1).astype(np.int64)
    values = smooth(model, rows, wanted, edges, check_threads(threads), progress=progress)
    values[values > 1.0 - _ROUNDING] = 1.0
    sizes = np.asarray(effective_size(values))
    shares = np.average(values.mean(axis=0), axis=0, weights=np.diff(edges))
    some = is_open(shares)
    least = float(np.median(sizes[some])) if some.any() else float(values[:, :, 0].size)
    one_draw = (n_without < _SELDOM) * (len(edges) - 1) / n_draws  # in a bin
    return Estimates(shares, smoothed_error(values, sizes, least, one_draw))
