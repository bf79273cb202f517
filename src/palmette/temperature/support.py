"""How probable clusters are at one inverse temperature after the other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from palmette.array_types import Floats
from palmette.clusters import Cluster
from palmette.labels import leaf_index, leaf_numbers
from palmette.models.tempered import Tempered
from palmette.temperature.scan import Scan
from palmette.trellis import SomeTrellis

__all__ = ["SupportCurve", "support_curve"]

Members = tuple[str, ...]  # a cluster by the labels of its leaves


@dataclass(frozen=True, eq=False)
class SupportCurve:
    """The probabilities of k clusters at m inverse temperatures."""

    betas: Floats  #: (m,), rising
    perplexities: Floats  #: (m,)
    clusters: tuple[tuple[str, ...], ...]  #: k clusters, by the labels of their members
    in_best: npt.NDArray[np.bool_]  #: (k,): whether the most probable clustering, the same at every β > 0, has it
    probabilities: Floats  #: (m, k)


def support_curve(
    model: Tempered,
    betas: Iterable[float] | None = None,
    *,
    clusters: Iterable[Cluster] | None = None,
    rivals: int = 3,
    trellis: SomeTrellis | None = None,
    progress: bool | None = None,
) -> SupportCurve:
    """The probability of every cluster of `clusters` at each of `betas`, which are chosen as by `curve` if None.

    Without `clusters`: those of the most probable hierarchy (which is the same at every β > 0) but singletons and the
    root, or those of the most probable partition; then the `rivals` other ones that come to the highest probabilities.

    >>> import palmette as pal
    >>> model = pal.models.SumOfSquares([[0.0], [1.0], [5.0]])
    >>> found = pal.temperature.support_curve(model, betas=[0.0, 1.0], rivals=1)
    >>> found.clusters, found.probabilities.round(2).tolist()
    ((('0', '1'), ('0', '2')), [[0.33, 0.33], [1.0, 0.0]])
    """
    scan = Scan(model, trellis, progress)
    chosen = np.array(scan.betas() if betas is None else sorted(map(float, betas)))
    best = _best_clusters(scan)
    named = best + _rivals(scan, chosen[::4], best, rivals) if clusters is None else _named(clusters, model.labels)
    perplexities, values = np.empty(len(chosen)), np.empty((len(chosen), len(named)))
    for i, posterior in enumerate(map(scan.posterior, chosen.tolist())):
        values[i] = [posterior.cluster_probability(cluster) for cluster in named]
        perplexities[i] = scan.row(float(chosen[i]), posterior).perplexity
    in_best = np.array([cluster in best for cluster in named], dtype=bool)
    return SupportCurve(chosen, perplexities, tuple(named), in_best, values)


def _best_clusters(scan: Scan) -> list[Members]:
    best = scan.best
    singles = (1, best.n_leaves) if scan.clusterings == "hierarchies" else ()
    return [cluster for cluster in best.named_clusters() if len(cluster) not in singles]


def _rivals(scan: Scan, betas: Floats, best: list[Members], most: int) -> list[Members]:
    # Up to `most` other clusters, those first that come to the highest probability at one of these β.
    highest: dict[Members, float] = {}
    for beta in betas.tolist() if most > 0 else ():
        for row in scan.posterior(beta).cluster_probabilities(0.05)[: len(best) + most]:
            highest[row.members] = max(row.probability, highest.get(row.members, 0.0))
    others = sorted((cluster for cluster in highest if cluster not in best), key=lambda c: (-highest[c], c))
    return others[: max(most, 0)]


def _named(clusters: Iterable[Cluster], labels: tuple[str, ...]) -> list[Members]:
    index = leaf_index(labels)
    return [tuple(labels[leaf] for leaf in sorted(leaf_numbers(cluster, index))) for cluster in clusters]
