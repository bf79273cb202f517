"""What a cell of a table says: nothing, a number, a word; and numbers with a decimal comma."""

import re
from typing import Any

__all__ = ["as_text", "class_in", "is_missing", "is_number", "kind", "with_decimal_points"]

_MISSING = {"", "na", "n/a", "#n/a", "nan", "null", "?"}
_WITH_COMMA = re.compile(r"[+-]?\d*,\d+(?:[eE][+-]?\d+)?")
_IN_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(?:,\d{3})+")


def as_text(value: Any) -> str:
    """A cell of a file that has types as it would stand in one that has none; bools are 0 and 1."""
    if value is None:
        return ""
    return str(int(value)) if isinstance(value, bool) else str(value)


def is_missing(cell: str) -> bool:
    """Whether a cell says that there is no value: empty, NA, N/A, #N/A, NaN, null or ?, in any case."""
    return cell.strip().lower() in _MISSING


def class_in(cell: str) -> str | None:
    """The class that a cell names, None if it is missing."""
    return None if is_missing(cell) else cell.strip()


def is_number(cell: str) -> bool:
    """Whether a cell is a number as Python writes it, infinite ones included."""
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell and not is_missing(cell)


def kind(cell: str) -> str:
    """One of "missing", "number" and "text"."""
    if is_missing(cell):
        return "missing"
    return "number" if is_number(cell) else "text"


def with_decimal_points(rows: list[list[str]]) -> list[list[str]]:
    """The same rows with 1.5 for 1,5, in columns that hold nothing but numbers (below the first row) then.

    If a number of the table has a point, or all with a comma could be thousands (1,234), nothing is changed: who wants
    numbers will say which cell is none.

    >>> with_decimal_points([["name", "x"], ["a,b", "1,5"], ["c", "2"]])
    [['name', 'x'], ['a,b', '1.5'], ['c', '2']]
    """
    if not any("," in cell for row in rows for cell in row):
        return rows
    chosen = [column for column in range(len(rows[0])) if _has_commas([row[column] for row in rows[1:] or rows])]
    cells = [row[column].strip() for row in rows for column in chosen]
    with_comma = [cell for cell in cells if _WITH_COMMA.fullmatch(cell)]
    pointed = any("." in cell and is_number(cell) for row in rows for cell in row)
    if pointed or all(map(_IN_THOUSANDS.fullmatch, with_comma)):
        return rows
    changed = set(chosen)
    return [[_pointed(cell) if column in changed else cell for column, cell in enumerate(row)] for row in rows]


def _has_commas(cells: list[str]) -> bool:
    # Whether some are numbers with a comma, and all others are numbers or missing.
    commas = [cell for cell in cells if not is_number(cell) and not is_missing(cell)]
    return bool(commas) and all(_WITH_COMMA.fullmatch(cell.strip()) for cell in commas)


def _pointed(cell: str) -> str:
    return cell.replace(",", ".") if _WITH_COMMA.fullmatch(cell.strip()) else cell
