"""Perturb-and-MAP: approximate draws by maximising perturbed affinities. A baseline; exact draws are `sample`."""

from __future__ import annotations

from typing import Literal

import numpy as np

from palmette.checks import check_choice, is_whole
from palmette.models.correlation_clusters import CorrelationClusters
from palmette.posterior import PartitionDraws, PartitionPosterior
from palmette.progress import Progress

__all__ = ["perturb_and_map"]


def perturb_and_map(
    model: CorrelationClusters,
    size: int,
    *,
    noise: Literal["gumbel", "logistic"] = "gumbel",
    rng: np.random.Generator | int | None = None,
    progress: bool | None = None,
) -> PartitionDraws:
    """argmax_π Σ_{i<j together} (β w_ij + ε_ij), `size` times with fresh noise ε.

    With independent Gumbel noise on every *partition* the maxima would be exact draws. Noise on pairs is what can be
    afforded, and what comes out is another distribution, of unknown distance. ``"gumbel"`` adds standard Gumbel noise
    to each pair's log potential, which pulls pairs together (its mean is 0.577); ``"logistic"`` is the difference of
    two Gumbels, one for together and one for apart, and leans neither way. Each maximum is exact, on the full trellis.

    `log_probs` are those under the model, exactly. The same seed gives the same draws.

    >>> import numpy as np, palmette as pal
    >>> model = pal.models.CorrelationClusters([[0, 2, -1], [2, 0, -1], [-1, -1, 0]])
    >>> len(pal.search.perturb_and_map(model, 100, rng=0))
    100
    """
    if not isinstance(model, CorrelationClusters):
        raise TypeError(f"perturb_and_map perturbs the affinities of a CorrelationClusters model, not {model!r}")
    if not is_whole(size) or size < 0:
        raise ValueError(f"size is {size!r}; expected the number of draws, a whole number of at least 0")
    check_choice("noise", noise, ("gumbel", "logistic"))
    generator = np.random.default_rng(rng)
    draw = generator.gumbel if noise == "gumbel" else generator.logistic
    rows, columns = np.triu_indices(model.n_leaves, 1)
    found = []
    bar = Progress(f"perturbing, n = {model.n_leaves}", float(size), progress)
    for _ in range(size):
        perturbed = model.beta * model.affinity
        perturbed[rows, columns] += draw(size=len(rows))
        perturbed[columns, rows] = perturbed[rows, columns]
        found.append(PartitionPosterior(CorrelationClusters(perturbed, labels=model.labels)).map())
        bar.advance(1.0)
    bar.close()
    memberships = np.array([partition.membership for partition in found], dtype=np.uint8)
    log_potentials = np.array([model.log_potential(partition) for partition in found])
    log_probs = np.minimum(log_potentials - PartitionPosterior(model).log_partition, 0.0)
    return PartitionDraws(memberships.reshape(size, model.n_leaves), log_probs, model.labels)
