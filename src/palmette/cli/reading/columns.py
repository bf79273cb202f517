"""What the columns of a table are: labels, classes, numbers; and matrices between leaves."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from palmette.array_types import Floats
from palmette.cli.reading.cells import class_in, is_missing, is_number
from palmette.cli.reading.gene_names import are_genes
from palmette.cli.reading.tables import TextTable

__all__ = ["Leaves", "as_matrix", "choose_columns", "labels_in", "number_in"]

_FEWEST_GENES = 100  # rows from which on a table may have been meant the other way round


@dataclass(frozen=True, eq=False)
class Leaves:
    """One leaf per row: its name, its class if there is one, and its numbers, NaN where one is missing."""

    labels: tuple[str, ...]
    classes: tuple[str | None, ...] | None  #: None where a leaf has none
    values: Floats  #: (n, d)
    variables: tuple[str, ...]  #: names of the d columns
    label_at: int | None  #: the column of the table that the labels come from
    table: TextTable
    columns: tuple[int, ...] = ()  #: the d columns of the table, unless it is a matrix
    states: tuple[tuple[str, ...], ...] = ()  #: what numbers of each stand for, if they do
    ages: Floats | None = None  #: (n,): of the leaves, if a column has them
    notes: tuple[str, ...] = ()  #: what was left out, or looks odd, for stderr

    @property
    def has_names(self) -> bool:
        """Whether the labels come from a column."""
        return self.label_at is not None

    def of_columns(self, kept: Sequence[int]) -> Self:
        """The same with these of the d columns."""
        parts = {name: getattr(self, name) for name in ("variables", "columns", "states")}
        told: dict[str, Any] = {name: tuple(part[c] for c in kept) for name, part in parts.items() if part}
        return replace(self, values=self.values[:, kept], **told)

    def first_gap(self, model: str) -> str:
        """Which value is missing, and how many more, for whoever needs all of them."""
        missing = np.argwhere(np.isnan(self.values))
        row, column = missing[0]
        more = f" (and {len(missing) - 1:,} more)" if len(missing) > 1 else ""
        return (
            f"{self.table.source}, {self.table.places[row]} ({self.labels[row]!r}), column "
            f"{self.variables[column]!r}: the value is missing{more}, and {model} needs all of them"
        )


def choose_columns(
    table: TextTable,
    label: str | None = None,
    class_column: str | None = None,
    ignored: Sequence[str] = (),
    *,
    ages: str | None = None,
    categories: bool = False,
) -> Leaves:
    """Labels, classes and numbers of a table; the first column is the labels if it is text and no other is named.

    With `categories`, a cell is any text, and its number that of the text among the sorted ones of its column.
    """
    class_at = None if class_column is None else _find(table, class_column, "--class")
    ages_at = None if ages is None else _find(table, ages, "--ages")
    dropped = {_find(table, name, "--ignore") for name in ignored}
    if label is not None:
        label_at: int | None = _find(table, label, "--label")
    else:
        is_text = any(not is_number(row[0]) and not is_missing(row[0]) for row in table.rows)
        label_at = 0 if 0 not in {class_at, ages_at, *dropped} and is_text else None
    if label_at is not None and label_at == class_at:
        raise ValueError(f"{table.name(label_at)} of {table.source} is given as --label and as --class; name two")
    if ages_at is not None and ages_at in (label_at, class_at):
        other = "--label" if ages_at == label_at else "--class"
        raise ValueError(f"{table.name(ages_at)} of {table.source} is given as --ages and as {other}; name two")
    numbers = [c for c in range(table.n_columns) if c not in {label_at, class_at, ages_at, *dropped}]
    notes: list[str] = []
    if categories:
        numbers, notes = _characters(table, numbers)
    if not numbers:
        wanted = "categories" if categories else "numbers"
        raise ValueError(f"{table.source} has no column of {wanted} left, beside labels and classes")
    states = tuple(_states(table, column) for column in numbers) if categories else ()
    return Leaves(
        labels=labels_in(table, label_at),
        classes=None if class_at is None else tuple(class_in(row[class_at]) for row in table.rows),
        values=_codes(table, numbers, states) if categories else _values(table, numbers),
        variables=tuple(str(c + 1) if table.columns is None else table.columns[c] for c in numbers),
        label_at=label_at,
        table=table,
        columns=tuple(numbers),
        states=states,
        ages=None if ages_at is None else _ages(table, ages_at),
        notes=(*table.notes, *notes, *_turned(table, label_at, len(numbers))),
    )


def _characters(table: TextTable, columns: list[int]) -> tuple[list[int], list[str]]:
    # Without columns that name rows; and what is to be said of them, and of words among numbers.
    cells = {c: [row[c].strip() for row in table.rows if not is_missing(row[c])] for c in columns}
    words = [c for c in columns if cells[c] and not any(map(is_number, cells[c]))]
    names = [c for c in words if len(cells[c]) == len(table.rows) > 2 and len(set(cells[c])) == len(table.rows)]
    notes = [
        f"{table.name(c)} has another word in every row, so it is taken for a name and left out "
        f"(--label {_called(table, c)} makes it the label)."
        for c in names
    ]
    odd = [c for c in words if c not in names]
    if odd and len(odd) < 0.2 * len(columns):
        shown = ", ".join(table.name(c) for c in odd[:3])
        notes.append(
            f"{shown} holds words, and nearly all other columns numbers; it counts as a character. If it is a class "
            f"say --class {_called(table, odd[0])}, or leave it out with --ignore {_called(table, odd[0])}."
        )
    return [c for c in columns if c not in names], notes


def _turned(table: TextTable, label_at: int | None, n_numbers: int) -> list[str]:
    # What is to be said if samples seem to be the columns.
    n = len(table.rows)
    if label_at is None or n < max(_FEWEST_GENES, 4 * n_numbers):
        return []
    found = f"{n:,} rows are named like genes, and {n_numbers:,} columns have numbers; rows are what is clustered"
    words = f"{found}. If samples are the columns, add --transpose."
    return [words] if are_genes([row[label_at] for row in table.rows]) else []


def _called(table: TextTable, column: int) -> str:
    return str(column + 1) if table.columns is None else repr(table.columns[column])


def _find(table: TextTable, wanted: str, option: str) -> int:
    names = table.columns or ()
    if names.count(wanted) > 1:
        raise ValueError(f"{option} {wanted}: {names.count(wanted)} columns of {table.source} have this name")
    if wanted in names:
        return names.index(wanted)
    if wanted.isdecimal() and 1 <= int(wanted) <= table.n_columns:
        return int(wanted) - 1
    shown = ", ".join(map(repr, names[:8])) + (", …" if len(names) > 8 else "")
    there = f"its columns are {shown}" if names else "it has no names of columns"
    raise ValueError(f"{option} {wanted}: {table.source} has no such column; {there}, or 1 to {table.n_columns}")


def labels_in(table: TextTable, column: int | None) -> tuple[str, ...]:
    """The names of the rows, all different: their numbers if no column has them."""
    if column is None:
        return tuple(str(number) for number in range(1, len(table.rows) + 1))
    seen: dict[str, str] = {}
    for row, place in zip(table.rows, table.places, strict=True):
        name = row[column].strip()
        if not name:
            raise ValueError(f"{table.source}, {place}: the label is empty ({table.name(column)})")
        if name in seen:
            raise ValueError(
                f"{table.source}: the label {name!r} is on {seen[name]} and on {place}; labels must differ "
                "(--label names another column)"
            )
        seen[name] = place
    return tuple(seen)


def _values(table: TextTable, columns: list[int]) -> Floats:
    values = np.empty((len(table.rows), len(columns)))
    for i in range(len(table.rows)):
        for j, column in enumerate(columns):
            values[i, j] = number_in(table, i, column)
    return values


def _ages(table: TextTable, column: int) -> Floats:
    ages = np.zeros(len(table.rows))
    for i, row in enumerate(table.rows):
        cell = row[column].strip()
        if is_missing(cell) or not is_number(cell) or not 0.0 <= float(cell) < np.inf:
            found = "the age is missing" if is_missing(cell) else f"{cell!r} is no age"
            raise ValueError(
                f"{table.source}, {table.places[i]}, {table.name(column)}: {found}; ages are at least 0 and rise into "
                "the past: give 0 to leaves of today, and take dates off the latest one"
            )
        ages[i] = float(cell)
    return ages


def _states(table: TextTable, column: int) -> tuple[str, ...]:
    return tuple(sorted({row[column].strip() for row in table.rows if not is_missing(row[column])}))


def _codes(table: TextTable, columns: list[int], states: tuple[tuple[str, ...], ...]) -> Floats:
    codes = np.empty((len(table.rows), len(columns)))
    for j, column in enumerate(columns):
        number = {text: code for code, text in enumerate(states[j])}
        codes[:, j] = [number.get(row[column].strip(), np.nan) for row in table.rows]
    return codes


def number_in(table: TextTable, row: int, column: int) -> float:
    """The number in a cell, NaN if it is missing; an error says where anything else stands."""
    cell = table.rows[row][column]
    if is_missing(cell):
        return np.nan
    where = f"{table.source}, {table.places[row]}, {table.name(column)}"
    if not is_number(cell):
        name = repr(table.columns[column] if table.columns else str(column + 1))
        hint = f"a column of words can be named as --label {name} or --class {name}, or left out with --ignore {name}"
        if is_number(cell.replace(",", "")) or is_number(cell.replace(".", "").replace(",", ".")):
            hint = "write numbers with a decimal point, and thousands without a comma: 1234.5"
        shown = cell if len(cell) <= 40 else cell[:39] + "…"
        raise ValueError(f"{where}: {shown!r} is not a number; {hint}")
    value = float(cell)
    if not np.isfinite(value):
        raise ValueError(f"{where}: {cell.strip()} is not finite; give a finite number, or leave the cell empty")
    return value


def as_matrix(leaves: Leaves, kind: str) -> Leaves:
    """The values as a symmetric (n, n) matrix of similarities or distances, columns in the order of rows."""
    source, n = leaves.table.source, len(leaves.labels)
    if leaves.values.shape[1] != n:
        raise ValueError(
            f"{source} has {n} rows and {leaves.values.shape[1]} columns of numbers; a {kind} matrix has as many of "
            "one as of the other (is it a table of points? then leave out --precomputed)"
        )
    matrix, labels = _ordered(leaves)
    found = replace(leaves, values=matrix, labels=labels, variables=labels, columns=())
    _check_entries(found, kind)
    return found


def _ordered(leaves: Leaves) -> tuple[Floats, tuple[str, ...]]:
    if leaves.table.columns is None:
        return leaves.values.copy(), leaves.labels
    if not leaves.has_names:
        if len(set(leaves.variables)) < len(leaves.variables):
            raise ValueError(f"two columns of {leaves.table.source} have the same name; labels must differ")
        return leaves.values.copy(), leaves.variables
    names = list(leaves.variables)
    if set(names) != set(leaves.labels):
        odd = next(name for name in [*leaves.labels, *names] if (name in names) != (name in leaves.labels))
        raise ValueError(f"{leaves.table.source}: rows and columns have other names; {odd!r} is in one of them only")
    return leaves.values[:, [names.index(label) for label in leaves.labels]], leaves.labels


def _check_entries(leaves: Leaves, kind: str) -> None:
    matrix, names, source = leaves.values, leaves.labels, leaves.table.source
    if kind == "distance":
        _check_distances(leaves)
    np.fill_diagonal(matrix, 0.0)
    if np.isnan(matrix).any():
        raise ValueError(f"{leaves.first_gap(f'a {kind} matrix')}; fill it in, or leave the row and the column out")
    gap = np.abs(matrix - matrix.T)
    if gap.max(initial=0.0) > 1e-6 * np.abs(matrix).max(initial=0.0):
        i, j = np.unravel_index(int(gap.argmax()), gap.shape)
        raise ValueError(
            f"{source} is not symmetric: {names[i]!r} to {names[j]!r} is {matrix[i, j]:g} and back {matrix[j, i]:g}"
        )
    matrix[...] = (matrix + matrix.T) / 2


def _check_distances(leaves: Leaves) -> None:
    matrix, names, source = leaves.values, leaves.labels, leaves.table.source
    negative = np.argwhere(matrix < 0)
    if len(negative):
        i, j = negative[0]
        raise ValueError(
            f"{source}: the distance of {names[i]!r} and {names[j]!r} is {matrix[i, j]:g}; none is below 0"
        )
    own = np.flatnonzero(np.nan_to_num(np.diag(matrix)))
    if len(own):
        i = own[0]
        raise ValueError(
            f"{source}: the distance of {names[i]!r} to itself is {matrix[i, i]:g}, not 0; are these similarities? "
            "then say --precomputed similarity"
        )
