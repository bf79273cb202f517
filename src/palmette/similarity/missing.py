"""Points without gaps: filled by the means of columns, or without the columns that have some."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from palmette.array_types import Floats
from palmette.checks import check_choice, check_points

__all__ = ["WAYS", "completed", "with_gaps"]

WAYS = ("pairwise", "mean", "drop-columns", "refuse")  #: what can be done about missing entries


def completed(points: npt.ArrayLike, missing: str) -> Floats:
    """(n, d) points without gaps (NaN): the mean of its column in place of each, or fewer columns.

    `missing` is "mean", "drop-columns" or "refuse". A row or a column that is missing as a whole has nothing to be
    filled by: that raises.

    >>> completed([[1.0, 2.0], [3.0, np.nan], [5.0, 4.0]], "mean").tolist()
    [[1.0, 2.0], [3.0, 3.0], [5.0, 4.0]]
    >>> completed([[1.0, 2.0], [3.0, np.nan], [5.0, 4.0]], "drop-columns").tolist()
    [[1.0], [3.0], [5.0]]
    """
    check_choice("missing", missing, WAYS[1:])
    rows = check_points(points, missing=True)
    unknown = np.isnan(rows)
    if not unknown.any():
        return rows
    if missing == "mean":
        return _filled(rows, unknown)
    if missing == "refuse":
        raise ValueError(_refused(unknown))
    kept = ~unknown.any(axis=0)
    if not kept.any():
        raise ValueError('every column has missing entries, so none is left; try missing="mean"')
    return rows[:, kept]


def with_gaps(points: npt.ArrayLike, missing: str) -> Floats:
    """The points as `missing` makes them; with gaps, NaN, only if it is "pairwise".

    >>> with_gaps([[1.0, np.nan]], "pairwise").tolist()
    [[1.0, nan]]
    """
    check_choice("missing", missing, WAYS)
    return check_points(points, missing=True) if missing == "pairwise" else completed(points, missing)


def _filled(rows: Floats, unknown: npt.NDArray[np.bool_]) -> Floats:
    for axis, name in ((0, "column"), (1, "row")):
        empty = np.flatnonzero(unknown.all(axis=axis))
        if len(empty):
            raise ValueError(f"{name} {empty[0]} has no entry at all, and no mean tells anything of it; leave it out")
    scale = np.max(np.abs(rows), axis=0, initial=0.0, where=~unknown)
    scale[scale == 0.0] = 1.0
    # In units of the largest, so that no sum overflows.
    means = np.sum(rows / scale, axis=0, where=~unknown) / (~unknown).sum(axis=0) * scale
    return np.where(unknown, means, rows)


def _refused(unknown: npt.NDArray[np.bool_]) -> str:
    gaps = np.argwhere(unknown)
    more = f" (and {len(gaps) - 1} more)" if len(gaps) > 1 else ""
    return (
        f"points holds nan at row {gaps[0][0]}, column {gaps[0][1]}{more}; entries must be finite, or missing must say "
        f"what to do about gaps: {', '.join(map(repr, WAYS[:3]))}"
    )
