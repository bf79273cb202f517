"""A table of leaves by columns, such as samples by genes, to be drawn beside a hierarchy of its rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import pdist, squareform

from palmette.array_types import Floats, Ints
from palmette.labels import align_labels

__all__ = ["Columns", "read_columns"]

_MOST_TO_ORDER = 2000  # columns up to which they are put into an order


class Columns(NamedTuple):
    """(n, d) numbers, NaN where one is missing, with a row for each leaf; and the names of the columns, if any."""

    values: Floats
    names: tuple[str, ...] | None

    def row_distances(self) -> Floats:
        """(n, n): Euclidean, a missing entry taken to be the mean of its column."""
        return np.asarray(squareform(pdist(_filled(self.values))))

    def order(self) -> Ints:
        """(d,): columns that rise and fall together beside each other, by average linkage; as they are if too many."""
        d = self.values.shape[1]
        if not 2 < d <= _MOST_TO_ORDER:
            return np.arange(d)
        columns = _filled(self.values).T
        centred = columns - columns.mean(axis=1, keepdims=True)
        length = np.linalg.norm(centred, axis=1, keepdims=True)
        unit = np.divide(centred, length, out=np.zeros_like(centred), where=length > 0)
        found: Ints = leaves_list(linkage(unit, "average")).astype(np.int64)
        return found

    def center(self) -> float | None:
        """0 if there are numbers of both signs, so that white lies between; None if they are one-sided."""
        return 0.0 if np.nanmin(self.values) < 0.0 < np.nanmax(self.values) else None

    def limits(self, center: float | None) -> tuple[float, float]:
        """What 98 of a hundred numbers lie between, so that a single one does not take all colours."""
        low, high = np.nanpercentile(self.values, [1.0, 99.0]).tolist()
        if center is None:
            return low, (high if high > low else low + 1.0)
        reach = max(abs(low - center), abs(high - center)) or 1.0
        return center - reach, center + reach


def read_columns(matrix: Any, columns: Sequence[str] | None, labels: Sequence[str]) -> Columns:
    """A table whose rows are the leaves in order; a DataFrame is put into that order by its index."""
    names = tuple(map(str, matrix.columns)) if columns is None and hasattr(matrix, "columns") else columns
    index = [str(label) for label in matrix.index] if hasattr(matrix, "index") and hasattr(matrix, "columns") else None
    values = np.array(matrix, dtype=np.float64)
    if values.ndim != 2 or len(values) != len(labels) or values.shape[1] == 0:
        raise ValueError(
            f"the matrix has shape {values.shape}; expected (n, d), one row for each of the {len(labels)} leaves "
            "and one column or more; is it to be transposed?"
        )
    if index is not None and set(index) == set(labels) and len(set(index)) == len(index):
        values = values[align_labels(tuple(index), labels)]
    values[~np.isfinite(values)] = np.nan
    if np.isnan(values).all():
        raise ValueError("the matrix holds no number that is finite")
    if names is not None and len(names) != values.shape[1]:
        raise ValueError(f"there are {len(names)} names for {values.shape[1]} columns; give one for each")
    return Columns(values, None if names is None else tuple(map(str, names)))


def _filled(values: Floats) -> Floats:
    known = ~np.isnan(values)
    counts = known.sum(axis=0)
    means = np.where(known, values, 0.0).sum(axis=0) / np.maximum(counts, 1)
    return np.where(known, values, means)
