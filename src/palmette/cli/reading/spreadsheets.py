"""Spreadsheets, .xlsx, as rows of text: the first sheet that is not hidden."""

import warnings
import zipfile
from collections.abc import Iterator
from io import BytesIO
from typing import Any

from palmette._extras import require
from palmette.cli.reading.cells import as_text
from palmette.cli.reading.unpacking import check_size

__all__ = ["is_zip", "spreadsheet_rows"]

_MOST_ROWS = 2**20  # as many as a sheet can have
_MOST_CELLS = 50_000_000  # one cell far to the right makes a row of thousands


def is_zip(raw: bytes) -> bool:
    """Whether these bytes are a zip archive, which a spreadsheet is."""
    return raw.startswith(b"PK\x03\x04")


def spreadsheet_rows(raw: bytes, name: str) -> tuple[list[list[str]], list[str], list[str]]:
    """Rows of as many cells each, what messages call them, and what is to be said; blank rows are left out."""
    _check_archive(raw, name)
    openpyxl = require("openpyxl", "excel")
    try:
        with warnings.catch_warnings():  # on styles and the like, which are not read
            warnings.simplefilter("ignore")
            book = openpyxl.load_workbook(BytesIO(raw), read_only=True, data_only=True)
            sheets = [sheet for sheet in book.worksheets if sheet.sheet_state == "visible"] or book.worksheets
            rows = dict(_filled_rows(sheets[0], name))
    except ValueError as problem:
        raise ValueError(str(problem) if name in str(problem) else _unreadable(name, problem)) from None
    except Exception as problem:  # whatever a broken archive makes of a reader
        raise ValueError(_unreadable(name, problem)) from None
    if not rows:
        raise ValueError(f"the sheet {sheets[0].title!r} of {name} is empty; a table with one row per leaf is needed")
    width = max(map(len, rows.values()))
    found = [row + [""] * (width - len(row)) for row in rows.values()]
    notes = [f"{name} has {len(sheets)} sheets; the first, {sheets[0].title!r}, is read."] if len(sheets) > 1 else []
    return found, [f"row {number}" for number in rows], notes


def _filled_rows(sheet: Any, name: str) -> Iterator[tuple[int, list[str]]]:
    sheet.reset_dimensions()  # what a file says of its size may be wrong, and then rows are made up
    n_cells = 0
    for number, row in enumerate(sheet.iter_rows(values_only=True), start=1):
        n_cells += len(row)
        if number > _MOST_ROWS or n_cells > _MOST_CELLS:
            raise ValueError(f"{name} has more than {_MOST_ROWS:,} rows or {_MOST_CELLS:,} cells; save it as CSV")
        cells = [as_text(value) for value in row]
        while cells and not cells[-1].strip():
            cells.pop()
        if cells:
            yield number, cells


def _check_archive(raw: bytes, name: str) -> None:
    try:
        with zipfile.ZipFile(BytesIO(raw)) as archive:
            parts = archive.infolist()
    except (zipfile.BadZipFile, OSError, ValueError) as problem:
        raise ValueError(_unreadable(name, problem)) from None
    if not any(part.filename.startswith("xl/") for part in parts):
        raise ValueError(f"{name} is a zip archive and no .xlsx file; unpack it, and give CSV, TSV, .xlsx or Parquet")
    check_size(sum(part.file_size for part in parts), name)  # zipfile reads no more than a part says that it has


def _unreadable(name: str, problem: Exception) -> str:
    words = " ".join(str(problem).split())
    return f"{name} is not an .xlsx file that can be read: {words or type(problem).__name__}"
