"""What histories say of gaps in a table, and of rows that are not in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import palmette as pal
from palmette.array_types import Floats
from palmette.cli.reading.cells import is_missing
from palmette.cli.reading.columns import Leaves, labels_in, number_in
from palmette.cli.reading.tables import TextTable, read_table

if TYPE_CHECKING:  # the compiler comes with them, and --help should not wait for it
    from palmette.coalescent import CoalescentDraws, Process

__all__ = ["IMPUTED", "CellUnits", "filled", "placed"]

IMPUTED = ("label", "column", "value", "spread")  #: of the table that --impute writes
_HISTORIES = 200  # that are asked: of more, so many drawn by weight


class CellUnits:
    """Between the numbers of a model and the cells of a file: standardised columns, or codes of categories."""

    def __init__(self, leaves: Leaves, points: Floats, categories: bool) -> None:
        self.leaves, self.categories = leaves, categories
        with np.errstate(invalid="ignore", divide="ignore"):
            self.scale = np.nan_to_num(np.ptp(_known(leaves.values), axis=0) / np.ptp(_known(points), axis=0), nan=1.0)
        self.shift = np.nanmean(leaves.values - points * self.scale, axis=0)

    def to_file(self, value: float, column: int) -> Any:
        """A number of the model as it would stand in the file."""
        return (
            self.leaves.states[column][int(value)]
            if self.categories
            else float(value * self.scale[column] + self.shift[column])
        )

    def from_file(self, table: TextTable, row: int, at: int, column: int) -> float:
        """The number that column `at` of another table stands for, as column `column`; NaN if it is missing."""
        cell = table.rows[row][at].strip()
        if not self.categories:
            return float((number_in(table, row, at) - self.shift[column]) / self.scale[column])
        if is_missing(cell):
            return np.nan
        states = self.leaves.states[column]
        if cell not in states:
            raise ValueError(
                f"{table.source}, {table.places[row]}: {cell!r} does not occur in the column of the first table; leave "
                "it empty"
            )
        return float(states.index(cell))


def filled(
    points: Floats, draws: CoalescentDraws, process: Process, units: CellUnits, seed: int
) -> list[tuple[str, str, Any, float]]:
    """One row for each gap: label, column, the mean or the likeliest state, and its standard deviation, or doubt."""
    found = pal.coalescent.impute(points, _few(draws, seed), process)
    rows = []
    for i, j in np.argwhere(np.isnan(points)).tolist():
        spread = float(found.spread[i, j]) * (1.0 if units.categories else float(units.scale[j]))
        value = units.to_file(found.values[i, j], j)
        rows.append((units.leaves.labels[i], units.leaves.variables[j], value, spread))
    return rows


def placed(
    file: str, points: Floats, draws: CoalescentDraws, process: Process, units: CellUnits, seed: int
) -> list[dict[str, Any]]:
    """Where each row of another table joins: the likeliest branch, by the cluster below it, and its probability."""
    table = read_table(file)
    label_at, columns = _same_columns(table, units.leaves)
    labels = labels_in(table, label_at)
    rows = np.array(
        [[units.from_file(table, i, at, j) for j, at in enumerate(columns)] for i in range(len(table.rows))]
    )
    found = pal.coalescent.place(points, _few(draws, seed), process, rows)
    best = found.probabilities.argmax(axis=1)
    return [
        {
            "label": label,
            "joins": list(found.named_clusters[b]),
            "probability": float(found.probabilities[i, b]),
            "age": float(found.ages[i, b]),
            "log_density": float(found.log_density[i]),
        }
        for i, (label, b) in enumerate(zip(labels, best.tolist(), strict=True))
    ]


def _same_columns(table: TextTable, leaves: Leaves) -> tuple[int | None, list[int]]:
    # The column of labels, and those of the variables: of several with one name, the first is the first.
    if table.columns is None:
        raise ValueError(f"{table.source} has no names of columns; they must be those of the first table")
    left = list(range(table.n_columns))
    columns = []
    for name in leaves.variables:
        at = next((c for c in left if table.columns[c] == name), None)
        if at is None:
            raise ValueError(f"{table.source} has no column {name!r}; it must have those of the first table")
        left.remove(at)
        columns.append(at)
    known = leaves.table.columns
    named = None if known is None or leaves.label_at is None else known[leaves.label_at]
    return next((c for c in left if table.columns[c] == named), left[0] if left else None), columns


def _few(draws: CoalescentDraws, seed: int) -> CoalescentDraws:
    return draws if len(draws) <= _HISTORIES else draws.resampled(_HISTORIES, rng=seed)


def _known(values: Floats) -> Floats:
    # Gaps are put in the middle, where they change no range.
    return np.where(np.isnan(values), np.nanmean(values, axis=0), values)
