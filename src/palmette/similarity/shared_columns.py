"""Rows with gaps, compared over the columns that both have, all pairs at once.

With k the mask of known entries and 0 in place of the others, sums over shared columns are products of matrices:
Σ x_i x_j is x xᵀ, Σ x_i² is x² kᵀ, the number of shared columns k kᵀ. A difference of such sums can lose its digits,
though rows and columns are centred first: so pairs for which it is small beside the sums are computed anew, one row
against all of its doubtful partners, by differences of entries.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from palmette.array_types import Floats, Ints
from palmette.checks import check_points

__all__ = ["overlaps", "shared_cosines", "shared_distances", "unit_of"]

_LOST = 1e-3  # a difference of sums that is smaller, beside the sums, is computed anew
_SMALL = 1e-20  # the same for squares of rows whose largest entry is 1
_FLAT = 1e-12  # lengths of rows that have none


def overlaps(points: npt.ArrayLike) -> Ints:
    """(n, n): how many columns of (n, d) points two rows share, in which neither is NaN.

    >>> overlaps([[1.0, 2.0, np.nan], [3.0, np.nan, 4.0]]).tolist()
    [[2, 1], [1, 2]]
    """
    known = (~np.isnan(check_points(points, missing=True))).astype(np.float64)
    return (known @ known.T).astype(np.int64)


def shared_distances(rows: Floats, labels: Sequence[str] | None = None) -> Floats:
    """√(Σ (x_ic − x_jc)² · d / |S|) over the columns c in S that rows i and j of (n, d) share; they must share one.

    >>> shared_distances(np.array([[0.0, 1.0], [3.0, np.nan]])).round(4).tolist()
    [[0.0, 4.2426], [4.2426, 0.0]]
    """
    known = ~np.isnan(rows)
    shared = _check_overlaps(rows, 1, labels, "distance")
    unit = unit_of(rows)
    plain = np.where(known, rows / unit, 0.0)
    moved = np.where(known, plain - plain.sum(axis=0) / np.maximum(known.sum(axis=0), 1), 0.0)
    squares = np.square(moved) @ known.T
    squares += squares.T
    apart = squares - 2.0 * (moved @ moved.T)
    for i, others in _rows_of(apart < _LOST * squares):
        both = known[i] & known[others]
        apart[i, others] = np.square(np.where(both, plain[i] - plain[others], 0.0)).sum(axis=1)
    return _mirrored(np.sqrt(np.maximum(apart, 0.0) * (rows.shape[1] / np.maximum(shared, 1))) * unit, 0.0)


def shared_cosines(rows: Floats, *, centred: bool, labels: Sequence[str] | None = None) -> Floats:
    """x·y / (‖x‖ ‖y‖) over the columns that two rows share; `centred`: around their means over these, a correlation.

    A cosine of one column and a correlation of two are 1 or −1 whatever is in them, so rows must share one more.

    >>> shared_cosines(np.array([[1.0, 2.0, 3.0, 9.0], [2.0, 4.0, 5.0, np.nan]]), centred=True).round(4).tolist()
    [[1.0, 0.982], [0.982, 1.0]]
    """
    kind = "correlation" if centred else "cosine"
    known = ~np.isnan(rows)
    shared = np.maximum(_check_overlaps(rows, 3 if centred else 2, labels, kind), 1)
    largest = np.abs(rows).max(axis=1, initial=0.0, where=known)
    plain = np.where(known, rows / np.where(largest > 0.0, largest, 1.0)[:, None], 0.0)
    moved = plain
    if centred:
        means = plain.sum(axis=1, keepdims=True) / np.maximum(known.sum(axis=1, keepdims=True), 1)
        moved = np.where(known, plain - means, 0.0)
    squares = np.square(moved) @ known.T
    spread, products = squares, moved @ moved.T
    if centred:
        sums = moved @ known.T
        spread, products = squares - np.square(sums) / shared, products - sums * sums.T / shared
    doubtful = (spread < _LOST * squares) | (squares < _SMALL)
    with np.errstate(divide="ignore", invalid="ignore"):  # pairs that are computed anew
        cosines = products / (np.sqrt(np.maximum(spread, 0.0)) * np.sqrt(np.maximum(spread.T, 0.0)))
    for i, others in _rows_of(doubtful | doubtful.T):
        both = known[i] & known[others]
        left, right = (_directions(plain[each], both, centred) for each in ([i], others))
        flat = np.flatnonzero(~(left.any(axis=1) & right.any(axis=1)))
        if len(flat):
            j = int(others[flat[0]])
            which = i if not left[flat[0]].any() else j
            raise ValueError(_without_direction(i, j, which, int(shared[i, j]), centred, labels))
        cosines[i, others] = (left * right).sum(axis=1)
    return _mirrored(np.clip(cosines, -1.0, 1.0), 1.0)


def unit_of(rows: Floats) -> float:
    """A power of two near the largest entry: dividing by it rounds nothing, and no square overflows or underflows.

    >>> unit_of(np.array([[-5.0, np.nan]]))
    4.0
    """
    largest = np.abs(rows).max(initial=0.0, where=~np.isnan(rows))
    return float(np.ldexp(1.0, int(np.frexp(largest)[1]) - 1))


def _directions(rows: Floats, both: npt.NDArray[np.bool_], centred: bool) -> Floats:
    # Rows of length 1 over the columns of each row of `both`; all 0 where there is no direction.
    values = np.where(both, rows, 0.0)
    largest = np.abs(values).max(axis=1, keepdims=True)
    values = values / np.where(largest > 0.0, largest, 1.0)
    if centred:
        values = np.where(both, values - values.sum(axis=1, keepdims=True) / both.sum(axis=1, keepdims=True), 0.0)
    lengths = np.linalg.norm(values, axis=1, keepdims=True)
    return np.where(lengths > _FLAT, values / np.where(lengths > _FLAT, lengths, 1.0), 0.0)


def _rows_of(chosen: npt.NDArray[np.bool_]) -> Iterator[tuple[int, Ints]]:
    # Each row i with the chosen j > i.
    upper = np.triu(chosen, 1)
    for i in np.flatnonzero(upper.any(axis=1)).tolist():
        yield i, np.flatnonzero(upper[i])


def _mirrored(matrix: Floats, diagonal: float) -> Floats:
    upper = np.triu(matrix, 1)
    found = upper + upper.T
    np.fill_diagonal(found, diagonal)
    return np.asarray(found)


def _check_overlaps(rows: Floats, least: int, labels: Sequence[str] | None, kind: str) -> Ints:
    shared = overlaps(rows)
    i, j = np.triu_indices(len(shared), 1)
    few = np.flatnonzero(shared[i, j] < least)
    if len(few):
        one, other = int(i[few[0]]), int(j[few[0]])
        n = int(shared[one, other])
        more = f" (and {len(few) - 1} more pairs do)" if len(few) > 1 else ""
        raise ValueError(
            f"rows {_name(one, labels)} and {_name(other, labels)} share {n or 'no'} column{'s' if n != 1 else ''} "
            f"in which neither is missing{more}, and a {kind} needs {least}; "
            "leave rows with many gaps out, or fill them in"
        )
    return shared


def _without_direction(i: int, j: int, flat: int, n: int, centred: bool, labels: Sequence[str] | None) -> str:
    what = "the same value" if centred else "nothing but 0"
    kind = "correlation" if centred else "cosine"
    return (
        f"rows {_name(i, labels)} and {_name(j, labels)} share {n} columns, and row {_name(flat, labels)} has {what} "
        f"in all of these: they have no {kind}; try similarity rbf"
    )


def _name(row: int, labels: Sequence[str] | None) -> str:
    return str(row) if labels is None else repr(labels[row])
