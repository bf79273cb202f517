"""What histories say of gaps in a table, and of rows that are not in it."""

from __future__ import annotations

from typing import Any

import numpy as np

import palmette as pal
from palmette.array_types import Floats
from palmette.cli.reading.cells import is_missing
from palmette.cli.reading.columns import Leaves, choose_columns
from palmette.cli.reading.tables import read_table

__all__ = ["IMPUTED", "Units", "filled", "placed"]

IMPUTED = ("label", "column", "value", "spread")  #: of the table that --impute writes
_HISTORIES = 200  # that are asked: of more, so many drawn by weight


class Units:
    """Between the numbers of a model and the cells of a file: standardised columns, or codes of categories."""

    def __init__(self, leaves: Leaves, points: Floats, categories: bool) -> None:
        self.leaves, self.categories = leaves, categories
        columns = leaves.table.columns or tuple(str(c + 1) for c in range(leaves.table.n_columns))
        self.at = [columns.index(name) for name in leaves.variables]
        self.states = [_states(leaves, c) for c in self.at] if categories else []
        with np.errstate(invalid="ignore", divide="ignore"):
            self.scale = np.nan_to_num(np.ptp(_known(leaves.values), axis=0) / np.ptp(_known(points), axis=0), nan=1.0)
        self.shift = np.nanmean(leaves.values - points * self.scale, axis=0)

    def to_file(self, value: float, column: int) -> Any:
        """A number of the model as it would stand in the file."""
        return (
            self.states[column][int(value)]
            if self.categories
            else float(value * self.scale[column] + self.shift[column])
        )

    def from_cell(self, cell: str, column: int, where: str) -> float:
        """The number that a cell of another table with the same columns stands for; NaN if it is missing."""
        if is_missing(cell):
            return np.nan
        if not self.categories:
            return float((float(cell) - self.shift[column]) / self.scale[column])
        if cell.strip() not in self.states[column]:
            raise ValueError(
                f"{where}: {cell.strip()!r} does not occur in the column of the first table; leave it empty"
            )
        return float(self.states[column].index(cell.strip()))


def filled(points: Floats, draws: Any, process: Any, units: Units, seed: int) -> list[tuple[str, str, Any, float]]:
    """One row for each gap: label, column, the mean or the likeliest state, and its standard deviation, or doubt."""
    found = pal.coalescent.impute(points, _few(draws, seed), process)
    rows = []
    for i, j in np.argwhere(np.isnan(points)).tolist():
        spread = float(found.spread[i, j]) * (1.0 if units.categories else float(units.scale[j]))
        value = units.to_file(found.values[i, j], j)
        rows.append((units.leaves.labels[i], units.leaves.variables[j], value, spread))
    return rows


def placed(file: str, points: Floats, draws: Any, process: Any, units: Units, seed: int) -> list[dict[str, Any]]:
    """Where each row of another table joins: the likeliest branch, by the cluster below it, and its probability."""
    table = read_table(file)
    if table.columns is None:
        raise ValueError(f"{file} has no names of columns; they must be those of the first table")
    missing = [name for name in units.leaves.variables if name not in table.columns]
    if missing:
        raise ValueError(f"{file} has no column {missing[0]!r}; it must have those of the first table")
    others = [name for name in table.columns if name not in units.leaves.variables]
    new = choose_columns(table, others[0] if others else None, None, others[1:], categories=units.categories)
    columns = [table.columns.index(name) for name in units.leaves.variables]
    rows = np.array(
        [
            [units.from_cell(row[c], j, f"{file}, {place}") for j, c in enumerate(columns)]
            for row, place in zip(table.rows, table.places, strict=True)
        ]
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
        for i, (label, b) in enumerate(zip(new.labels, best.tolist(), strict=True))
    ]


def _few(draws: Any, seed: int) -> Any:
    return draws if len(draws) <= _HISTORIES else draws.resampled(_HISTORIES, rng=seed)


def _known(values: Floats) -> Floats:
    # Gaps are put in the middle, where they change no range.
    return np.where(np.isnan(values), np.nanmean(values, axis=0), values)


def _states(leaves: Leaves, column: int) -> list[str]:
    cells = [row[column].strip() for row in leaves.table.rows]
    return sorted({cell for cell in cells if not is_missing(cell)})
