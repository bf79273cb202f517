"""The inverse temperature at which a posterior has a perplexity, and the perplexities along β."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

from palmette.posterior.tables import Table
from palmette.temperature.scan import AnyTempered, Scan, TemperedModel, TemperedPosterior

__all__ = ["TemperatureRow", "at_perplexity", "curve"]


class TemperatureRow(NamedTuple):
    """The posterior at one inverse temperature, in four numbers; perplexity = exp(entropy)."""

    beta: float
    perplexity: float
    entropy: float
    log_partition: float


def at_perplexity(
    model: AnyTempered, perplexity: float, *, trellis: Any = None, progress: bool | None = None
) -> AnyTempered:
    """The same model at the β where exp(entropy of the posterior) = `perplexity`, to one part in a million.

    `perplexity` is the effective number of hierarchies (or partitions): 1 is certainty, the number of all of them is
    β = 0. `trellis` is passed on to the posterior; on a sparse one the entropy is that over its hierarchies. It takes a
    dozen exact posteriors. ValueError says what is reachable if `perplexity` is not.

    >>> import palmette as pal
    >>> data = pal.datasets.load_numerals()
    >>> model = pal.temperature.at_perplexity(pal.models.Dasgupta(data.similarity, labels=data.labels), 100)
    >>> round(model.beta, 3), round(np.exp(pal.HierarchyPosterior(model).entropy), 2)
    (7.195, 100.0)
    """
    scan = Scan(model, trellis, progress)
    beta = scan.beta_at(scan.check(perplexity))
    return model.with_beta(beta)


def curve(
    model: TemperedModel,
    betas: Iterable[float] | None = None,
    *,
    perplexities: Iterable[float] | None = None,
    trellis: Any = None,
    progress: bool | None = None,
) -> Table[TemperatureRow]:
    """β, perplexity, entropy and log Z, one row for each of `betas`, or for the β of each of `perplexities`.

    With neither: 33 inverse temperatures from where nearly all hierarchies count to where nearly only the best do.

    >>> import palmette as pal
    >>> pal.temperature.curve(pal.models.SumOfSquares([[0.0], [1.0], [5.0]]), betas=[0.0, 1.0])
    beta    perplexity  entropy  log_partition
    0.0000  3.0000      1.0986   1.0986
    1.0000  1.0048      0.0048   -0.4994
    """
    if betas is not None and perplexities is not None:
        raise ValueError("both betas and perplexities were given; give one of them, or neither")
    scan = Scan(model, trellis, progress)
    if perplexities is not None:
        chosen = [scan.beta_at(target) for target in [scan.check(perplexity) for perplexity in perplexities]]
    else:
        chosen = scan.betas() if betas is None else [float(beta) for beta in betas]
    rows = [_row(scan.posterior(beta), beta) for beta in chosen]
    return Table(TemperatureRow, rows.__getitem__, len(rows))


def _row(posterior: TemperedPosterior, beta: float) -> TemperatureRow:
    return TemperatureRow(beta, math.exp(posterior.entropy), posterior.entropy, posterior.log_partition)
