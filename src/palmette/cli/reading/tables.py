"""Tables as people keep them: CSV, TSV, .xlsx and Parquet files, or standard input, as cells of text."""

import csv
import re
from dataclasses import dataclass
from io import BytesIO, StringIO
from pathlib import Path

from palmette._extras import require
from palmette.cli.reading.cells import as_text, is_number, kind, with_decimal_points
from palmette.cli.reading.spreadsheets import is_zip, spreadsheet_rows
from palmette.cli.reading.unpacking import bare_name, read_bytes, unpacked

__all__ = ["TextTable", "read_table"]

_DELIMITERS = {"tab": "\t", "space": " ", "comma": ",", "semicolon": ";"}
_BY_NAME = {".tsv": "\t", ".tab": "\t"}
_CANDIDATES = ",;\t|"
_DECIMAL_COMMA = re.compile(r"(?<=\d),(?=\d)")


@dataclass(frozen=True)
class TextTable:
    """Rows of as many cells as there are columns."""

    source: str  #: what messages call it
    columns: tuple[str, ...] | None  #: names, None if the first row is data
    rows: list[list[str]]
    places: list[str]  #: what messages call each row: "line 3"
    raw: bytes  #: as it was read
    notes: tuple[str, ...] = ()  #: what is to be said of it, for stderr

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.rows[0]) if self.columns is None else len(self.columns)

    def name(self, column: int) -> str:
        """What messages call a column."""
        return f"column {column + 1}" if self.columns is None else f"column {self.columns[column]!r}"


def read_table(
    source: str,
    delimiter: str | None = None,
    header: bool | None = None,
    square: bool = False,
    transpose: bool = False,
) -> TextTable:
    """The table in a file (``-``: standard input). `header` None: the first row is one if it looks like one.

    `square`: the table is a matrix, with or without names; then its shape says whether there is a header. With
    `transpose`, rows and columns change places before anything else is made of them.
    """
    raw = read_bytes(source)
    name = "standard input" if source == "-" else source
    columns, rows, places, notes = _cells(unpacked(raw, name), name, delimiter, bare_name(source))
    if transpose:
        rows = [list(column) for column in zip(*(rows if columns is None else [list(columns), *rows]), strict=True)]
        columns, name = None, f"{name} (transposed)"
        places = [f"row {number}" for number in range(1, len(rows) + 1)]
    if columns is None:
        rows = with_decimal_points(rows)
        if _has_header(rows, header, square, name):
            columns, rows, places = tuple(cell.strip() for cell in rows[0]), rows[1:], places[1:]
    if not rows:
        raise ValueError(f"{name} has names of columns and no rows below them; one row per leaf is needed")
    return TextTable(name, columns, rows, places, raw, tuple(notes))


def _cells(
    raw: bytes, name: str, delimiter: str | None, source: str
) -> tuple[tuple[str, ...] | None, list[list[str]], list[str], list[str]]:
    # Names of columns if the format has them, rows, what messages call these, and notes.
    if raw[:4] == b"PAR1" or source.lower().endswith((".parquet", ".pq")):
        columns, rows = _parquet(raw, name)
        return columns, rows, [f"row {number}" for number in range(1, len(rows) + 1)], []
    if is_zip(raw):
        return None, *spreadsheet_rows(raw, name)
    return None, *_text_rows(_decoded(raw, name), name, _delimiter(delimiter, source)), []


def _parquet(raw: bytes, name: str) -> tuple[tuple[str, ...], list[list[str]]]:
    pyarrow = require("pyarrow", "parquet")
    parquet = require("pyarrow.parquet", "parquet")
    try:
        table = parquet.read_table(BytesIO(raw))
    except (pyarrow.ArrowException, OSError) as problem:
        raise ValueError(f"{name} is not a Parquet file that can be read: {problem}") from None
    columns = [[as_text(value) for value in column.to_pylist()] for column in table.columns]
    return tuple(map(str, table.column_names)), [list(row) for row in zip(*columns, strict=True)]


def _decoded(raw: bytes, name: str) -> str:
    encoding = "utf-16" if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError as problem:
        where = f"byte {problem.start + 1} is {raw[problem.start]:#04x}"
        raise ValueError(f"{name} is not text in UTF-8 ({where}); save it as CSV with that encoding") from None
    if "\0" in text:
        raise ValueError(f"{name} is not a text file: it holds zero bytes; give CSV, TSV, .xlsx or Parquet")
    if not text.strip():
        raise ValueError(f"{name} is empty; a table with one row per leaf is needed")
    return text


def _delimiter(given: str | None, source: str) -> str | None:
    if given is None:
        return _BY_NAME.get(Path(source).suffix.lower())
    chosen = _DELIMITERS.get(given.lower(), "\t" if given == "\\t" else given)
    if len(chosen) != 1 or chosen in "\r\n\"'":
        raise ValueError(f"--delimiter is {given!r}; give one character, or tab, space, comma or semicolon")
    return chosen


def _text_rows(text: str, name: str, delimiter: str | None) -> tuple[list[list[str]], list[str]]:
    # Rows, and the lines that they begin on; blank lines are left out.
    chosen = _sniffed(text) if delimiter is None else delimiter
    if chosen == " ":
        text = "\n".join(line.strip() for line in text.splitlines())
    reader = csv.reader(StringIO(text, newline=""), delimiter=chosen, skipinitialspace=True, strict=True)
    rows, places, before = [], [], 0
    try:
        for row in reader:
            if any(cell.strip() for cell in row):
                rows.append(row)
                places.append(f"line {before + 1}")
            before = reader.line_num
    except csv.Error as problem:
        raise ValueError(f"{name}, line {before + 1}: {problem}; is a quotation mark missing?") from None
    for row, place in zip(rows, places, strict=True):
        if len(row) != len(rows[0]):
            shown = {"\t": "tab", " ": "space"}.get(chosen, chosen)
            cells = "1 cell" if len(row) == 1 else f"{len(row)} cells"
            raise ValueError(
                f"{name}, {place} has {cells} and {places[0]} has {len(rows[0])} "
                f"(cells are divided by {shown!r}; --delimiter changes that)"
            )
    return rows, places


def _sniffed(text: str) -> str:
    first = next(line for line in text.splitlines() if line.strip())
    outside = "".join(first.split('"')[::2])  # what is not in quotation marks
    counts = {delimiter: outside.count(delimiter) for delimiter in _CANDIDATES}
    if any(counts[delimiter] for delimiter in _CANDIDATES[1:]):
        counts[","] -= len(_DECIMAL_COMMA.findall(outside))
    best = max(counts, key=lambda delimiter: counts[delimiter])
    if counts[best]:
        return best
    words = first.split()
    return " " if len(words) > 1 and is_number(words[-1]) else ","


def _has_header(rows: list[list[str]], given: bool | None, square: bool, name: str) -> bool:
    if given is not None:
        return given
    first = [kind(cell) for cell in rows[0]]
    if "number" not in first:
        return True
    if square:
        return _is_extra(rows)
    if "text" not in first:
        return False
    if len(rows) > 1 and any({a, kind(b)} == {"text", "number"} for a, b in zip(first, rows[1], strict=True)):
        return True
    raise ValueError(
        f"the first row of {name} holds words and numbers; say whether it is a row of names (--header) or of data "
        "(--no-header)"
    )


def _is_extra(rows: list[list[str]]) -> bool:
    # Whether a matrix has one row more than it has columns of numbers.
    last = [kind(cell) for cell in rows[-1]]
    return len(rows) == last.count("number") + last.count("missing") + 1
