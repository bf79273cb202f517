"""Posteriors along β, and the β at which one has a perplexity."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from palmette.checks import check_number
from palmette.models.tempered import Tempered
from palmette.posterior.tables import Table
from palmette.temperature.scan import TOLERANCE, Scan, TemperatureRow
from palmette.trellis import SomeTrellis

__all__ = ["at_perplexity", "curve"]

AnyTempered = TypeVar("AnyTempered", bound=Tempered)


def at_perplexity(
    model: AnyTempered,
    perplexity: float,
    *,
    tolerance: float = TOLERANCE,
    trellis: SomeTrellis | None = None,
    progress: bool | None = None,
) -> AnyTempered:
    """The same model at the β where exp(entropy of the posterior) = `perplexity`, to within a share of `tolerance`.

    `perplexity` is the effective number of hierarchies (or partitions): 1 is certainty, the number of all of them is
    β = 0. `trellis` is passed on to the posterior; on a sparse one the entropy is that over its hierarchies. It takes
    four to seven exact posteriors. ValueError says what is reachable if `perplexity` is not.

    >>> import math, palmette as pal
    >>> data = pal.datasets.load_numerals()
    >>> model = pal.temperature.at_perplexity(pal.models.Dasgupta(data.similarity, labels=data.labels), 100)
    >>> round(model.beta, 3), round(math.exp(pal.HierarchyPosterior(model).entropy), 2)
    (7.195, 100.0)
    """
    scan = Scan(model, trellis, progress)
    if not 0.0 < check_number("tolerance", tolerance) < 1.0:
        raise ValueError(f"tolerance is {tolerance!r}; expected a share of the perplexity between 0 and 1")
    return model.with_beta(scan.beta_at(scan.check(perplexity), tolerance))


def curve(
    model: Tempered,
    betas: Iterable[float] | None = None,
    *,
    perplexities: Iterable[float] | None = None,
    trellis: SomeTrellis | None = None,
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
    rows = [scan.row(beta) for beta in chosen]
    return Table(TemperatureRow, rows.__getitem__, len(rows))
