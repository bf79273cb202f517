"""Bootstrap support: how often the clusters of a hierarchy come back when columns are drawn again, with replacement.

BP is that share. It is too low for clusters whose region is curved, and AU, the approximately unbiased value of
Shimodaira (2004), takes the curvature from how the share changes with the number of columns that are drawn: for r times
as many as there are, Φ⁻¹(1 − BP_r) = v √r + c / √r, and AU = Φ(c − v).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.stats import norm

from palmette.array_types import Floats, Ints
from palmette.checks import check_integer, check_positive
from palmette.clusters import Cluster, cluster_leaves
from palmette.hierarchy import Hierarchy
from palmette.posterior.tables import Table
from palmette.progress import Progress
from palmette.threads import Workers, check_threads

__all__ = ["SCALES", "BootstrapRow", "approximately_unbiased", "bootstrap"]

SCALES = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4)  #: numbers of columns that are drawn, in terms of all
_WORK = 4e7  # nanoseconds that a draw is taken to last: each is handed out by itself
_USED = 1e-3  # shares nearer to 0 or 1 say nothing about a slope


class BootstrapRow(NamedTuple):
    """A cluster of the hierarchy of all columns, and its support; each number with a standard error."""

    members: tuple[str, ...]
    size: int
    au: float
    au_error: float
    bp: float
    bp_error: float


def bootstrap(
    points: npt.ArrayLike,
    cluster: Callable[[Floats], Hierarchy],
    *,
    clusters: Iterable[Cluster] | None = None,
    n_draws: int = 1000,
    scales: Sequence[float] = SCALES,
    rng: np.random.Generator | int | None = 0,
    threads: int | None = None,
    progress: bool | None = None,
) -> Table[BootstrapRow]:
    """AU and BP of the clusters of ``cluster(points)``, but for single leaves and all of them, the largest AU first.

    `points` is (n, d). For each r in `scales`, `n_draws` times, r·d of its d columns are drawn with replacement, and
    `cluster` makes a hierarchy of these, whatever way: a linkage, a search, a MAP. BP is the share of draws of d
    columns that have the cluster, and AU is by `approximately_unbiased`. Columns are taken to be independent: would the
    cluster be there with another sample of *genes*? That is another question than a posterior's, which takes the
    columns as they are.

    `clusters` are others to ask about, such as the probable ones of a posterior. `cluster` is called from several
    `threads` (None: one for each processor); the numbers do not depend on how many.

    >>> import numpy as np, palmette as pal
    >>> x = np.random.default_rng(0).normal(size=(6, 40)) + 3.0 * np.array([0, 0, 0, 1, 1, 1])[:, None]
    >>> ward = lambda x: pal.search.greedy(pal.models.SumOfSquares(x)).hierarchy
    >>> found = bootstrap(x, ward, n_draws=20, progress=False)
    >>> found[0].members, found[0].au, found[0].bp
    (('0', '1', '2'), 1.0, 1.0)
    """
    x = np.asarray(points, dtype=np.float64)
    if x.ndim != 2 or x.shape[1] < 2:
        raise ValueError(f"points have shape {x.shape}; expected (n, d) with two or more columns to draw from")
    times = check_integer("n_draws", n_draws, 2)
    widths = [max(1, round(check_positive("a scale", scale) * x.shape[1])) for scale in scales]
    if x.shape[1] not in widths:
        raise ValueError(f"scales are {tuple(scales)}; 1 has to be among them, which is where BP is taken")
    generator, count = np.random.default_rng(rng), check_threads(threads)
    first = _checked(cluster(x), len(x))
    wanted = _wanted(first, clusters)
    shares = np.empty((len(widths), len(wanted)))

    def occurrences(draws: npt.NDArray[np.int64]) -> Ints:
        found = np.zeros(len(wanted), dtype=np.int64)
        for columns in draws:
            seen = set(_checked(cluster(x[:, columns]), len(x)).aligned_to(first.labels).clusters())
            found += [leaves in seen for leaves in wanted]
        return found

    with Workers(count, Progress("bootstrap", len(widths) * times * _WORK, progress)) as workers:
        for row, width in zip(shares, widths, strict=True):
            draws = generator.integers(x.shape[1], size=(times, width))
            parts = workers.run(lambda a, b, draws=draws: occurrences(draws[a:b]), np.full(times, _WORK))  # type: ignore[misc]
            row[:] = np.sum(parts, axis=0) / times
    return _table(first, wanted, shares, np.array(widths) / x.shape[1], widths.index(x.shape[1]), times)


def _wanted(first: Hierarchy, clusters: Iterable[Cluster] | None) -> list[frozenset[int]]:
    if clusters is not None:
        return list(dict.fromkeys(cluster_leaves(given, first.labels) for given in clusters))
    return [found for found in first.clusters() if 1 < len(found) < first.n_leaves]


def _table(
    first: Hierarchy, wanted: list[frozenset[int]], shares: Floats, ratios: Floats, own: int, times: int
) -> Table[BootstrapRow]:
    bp = shares[own]
    found = [approximately_unbiased(column, ratios, times) for column in shares.T]
    order = sorted(range(len(wanted)), key=lambda i: (-found[i][0], -bp[i], len(wanted[i]), sorted(wanted[i])))

    def row_of(at: int) -> BootstrapRow:
        i = order[at]
        members = tuple(first.labels[leaf] for leaf in sorted(wanted[i]))
        error = float(np.sqrt(bp[i] * (1.0 - bp[i]) / times))
        return BootstrapRow(members, len(members), *found[i], float(bp[i]), error)

    return Table(BootstrapRow, row_of, len(order))


def approximately_unbiased(shares: npt.ArrayLike, scales: npt.ArrayLike, n_draws: int) -> tuple[float, float]:
    """AU and its standard error, from the shares BP_r of `n_draws` each at scales r.

    Of weighted least squares on the shares between 0.001 and 0.999. If fewer than two are, there is no slope, and it is
    the share that all of them are near: 0 or 1, with no error to speak of. If they are all at one scale, as with a few
    columns, nothing is known of the curvature, and it is BP there.

    >>> r = np.array([0.5, 1.0, 2.0])
    >>> value, _ = approximately_unbiased(norm.sf(-0.5 * np.sqrt(r) + 0.2 / np.sqrt(r)), r, 1000)
    >>> round(value, 6), round(float(norm.cdf(0.2 + 0.5)), 6)
    (0.758036, 0.758036)
    """
    bp, r = np.asarray(shares, dtype=np.float64), np.sqrt(np.asarray(scales, dtype=np.float64))
    used = (bp > _USED) & (bp < 1.0 - _USED)
    if used.sum() < 2:
        return float(np.round(bp.mean())), 0.0
    bp, r = bp[used], r[used]
    if np.ptp(r) < 1e-9:
        share = float(bp.mean())
        return share, float(np.sqrt(share * (1.0 - share) / (n_draws * len(bp))))
    z = norm.isf(bp)
    weights = norm.pdf(z) ** 2 * n_draws / (bp * (1.0 - bp))
    terms = np.column_stack([r, 1.0 / r])
    covariance = np.linalg.pinv(terms.T @ (weights[:, None] * terms))
    v, c = covariance @ (terms.T @ (weights * z))
    across = np.array([-1.0, 1.0])
    error = norm.pdf(c - v) * np.sqrt(max(0.0, float(across @ covariance @ across)))
    return float(norm.cdf(c - v)), float(error)


def _checked(hierarchy: Hierarchy, n: int) -> Hierarchy:
    if not isinstance(hierarchy, Hierarchy) or hierarchy.n_leaves != n:
        raise TypeError(f"cluster made {hierarchy!r} of {n} rows; expected a palmette.Hierarchy with a leaf for each")
    return hierarchy
