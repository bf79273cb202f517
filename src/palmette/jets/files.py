"""Jets from files, batch by batch, and to files.

Two kinds of table can be read. *One row per particle* (CSV, TSV or Parquet): columns E, px, py, pz, and columns that
name the jet, such as event and jet; the rows of a jet follow each other. *One row per jet* (Parquet): columns E, px,
py, pz with a list in each row, or one column with a list of records that have these fields, as awkward arrays are
written; columns with one value name the jet; a list column `children`, if there is one, holds the true splits, 2(n − 1)
numbers. In both, mass may stand for E, pt and phi for px and py, and eta or theta for pz.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from palmette._extras import require
from palmette.checks import is_whole
from palmette.jets._columns import find_ids, find_momenta, is_list, is_scalar, locate_momenta
from palmette.jets._jet_rows import CHILDREN, jets_from_lists, law_of
from palmette.jets._particle_rows import jets_from_rows
from palmette.jets._unique_ids import SeenIds
from palmette.jets.jet import Jets, joined
from palmette.jets.writer import DELIMITERS, Writer, suffix_of

__all__ = ["batches", "count", "read", "stream", "write"]

StrPath = str | os.PathLike[str]

_BLOCK = 1 << 20  # bytes of text at a time; Arrow reads some thirty blocks ahead
_ROWS = 1 << 16  # particles at a time
_AT_A_TIME = 4096  # jets


def stream(path: StrPath, batch_jets: int = 10_000, *, by: str | Sequence[str] | None = None) -> Iterator[Jets]:
    """The jets of a file, so many at a time (the last batch has what is left); only these are held in memory.

    `path` is a .csv, .tsv or .parquet file, or a folder of such files, which are read in the order of their names; a
    jet never goes on in the next file. See this module's text for what the columns are. `by` says which of them name
    the jet; unless given, these are event, jet, run and the like, and in a table with one row per jet all that hold
    one value. A number that is missing is NaN.
    """
    if not is_whole(batch_jets) or batch_jets < 1:
        raise ValueError(f"batch_jets is {batch_jets!r}; it must be a whole number of at least 1")
    require("pyarrow", "parquet")
    names = (by,) if isinstance(by, str) else by
    return _in_batches(_parts_of(_files(path), names), batch_jets)


def read(path: StrPath, *, by: str | Sequence[str] | None = None) -> Jets:
    r"""All jets of a file; see `stream`.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "jets.csv"
    ...     _ = path.write_text("event,px,py,pz,E\n7,3,0,0,5\n7,-3,0,0,5\n8,0,4,0,9\n")
    ...     jets = read(path)
    >>> jets, jets.ids["event"]
    (Jets(n_jets=2, n_particles=3), array([7, 8]))
    """
    return joined(list(stream(path, by=by)))


def batches(jets: Jets | StrPath | Iterable[Jets], by: str | Sequence[str] | None = None) -> Iterable[Jets]:
    """Jets as they are, those of a file, or those of an iterable, some at a time."""
    if isinstance(jets, Jets):
        return [jets]
    return stream(jets, _AT_A_TIME, by=by) if isinstance(jets, str | os.PathLike) else jets


def write(jets: Jets, path: StrPath) -> None:
    """Jets as a file: .parquet with one row per jet; .csv or .tsv with one row per particle.

    Parquet keeps everything: the truth if it is known, and the law of simulated jets. In text, numbers are written in
    full, but the truth is left out. For more jets than fit in memory use `Writer`.
    """
    with Writer(path) as writer:
        writer.write(jets)


def count(jets: Jets | StrPath | Iterable[Jets]) -> int | None:
    """The number of jets if it is known without reading them, as of `Jets` and of Parquet with one row per jet."""
    if isinstance(jets, Jets):
        return len(jets)
    if not isinstance(jets, str | os.PathLike):
        return None
    parquet = require("pyarrow.parquet", "parquet")
    total = 0
    for file in _files(jets):
        if suffix_of(file) != ".parquet":
            return None
        with _named(file):
            schema, n_rows = parquet.read_schema(file), parquet.read_metadata(file).num_rows
        if not locate_momenta(schema, str(file))[1]:
            return None
        total += n_rows
    return total


def _files(path: StrPath) -> list[Path]:
    given = Path(path)
    if not given.exists():
        raise FileNotFoundError(f"there is no file {given}")
    if not given.is_dir():
        suffix_of(given)
        return [given]
    known = (".parquet", *DELIMITERS)
    found = sorted(file for file in given.iterdir() if file.suffix.lower() in known and file.name[0] not in "._")
    if not found:
        raise ValueError(f"the folder {given} holds no {', '.join(known)} file")
    return found


def _parts_of(files: list[Path], by: Sequence[str] | None) -> Iterator[Jets]:
    seen, n_jets = SeenIds(), 0
    for file in files:
        parts = _from_parquet(file, by, seen, n_jets) if suffix_of(file) == ".parquet" else _from_text(file, by, seen)
        for part in parts:
            n_jets += len(part)
            yield part


def _in_batches(parts: Iterable[Jets], batch_jets: int) -> Iterator[Jets]:
    waiting: list[Jets] = []
    n_waiting = 0
    for part in parts:
        waiting.append(part)
        n_waiting += len(part)
        if n_waiting >= batch_jets:
            jets = joined(waiting)
            full = n_waiting - n_waiting % batch_jets
            yield from (jets[first : first + batch_jets] for first in range(0, full, batch_jets))
            waiting, n_waiting = [jets[full:]], n_waiting - full
    if n_waiting:
        yield joined(waiting)


def _from_text(file: Path, by: Sequence[str] | None, seen: SeenIds) -> Iterator[Jets]:
    pyarrow, text = require("pyarrow", "parquet"), require("pyarrow.csv", "parquet")
    delimiter, where = DELIMITERS[suffix_of(file)], str(file)
    names = _header(file, delimiter)
    momenta, ids = find_momenta(names, where), find_ids(names, by, where)
    types = dict.fromkeys(momenta.values(), pyarrow.float64())
    options = {
        "read_options": text.ReadOptions(block_size=_BLOCK),
        "parse_options": text.ParseOptions(delimiter=delimiter),
        "convert_options": text.ConvertOptions(include_columns=[*ids, *momenta.values()], column_types=types),
    }
    with _named(file), text.open_csv(file, **options) as reader:
        yield from jets_from_rows(reader, momenta, ids, seen, where)


def _header(file: Path, delimiter: str) -> list[str]:
    with file.open(encoding="utf-8-sig", newline="") as lines:
        names = next(csv.reader(lines, delimiter=delimiter), [])
    if not names:
        raise ValueError(f"{file} is empty; expected a line with the names of the columns")
    return names


def _from_parquet(file: Path, by: Sequence[str] | None, seen: SeenIds, first: int) -> Iterator[Jets]:
    parquet, where = require("pyarrow.parquet", "parquet"), str(file)
    with _named(file), parquet.ParquetFile(file, pre_buffer=False) as table:
        schema = table.schema_arrow
        momenta, has_lists = locate_momenta(schema, where)
        columns = list(dict.fromkeys(path[0] for path in momenta.values()))
        if not has_lists:
            ids = find_ids(schema.names, by, where)
            rows = table.iter_batches(batch_size=_ROWS, columns=[*ids, *columns])
            yield from jets_from_rows(rows, {field: path[0] for field, path in momenta.items()}, ids, seen, where)
            return
        scalars = [field.name for field in schema if is_scalar(field.type)]
        ids = scalars if by is None else find_ids(schema.names, by, where)
        children = [field.name for field in schema if field.name == CHILDREN and is_list(field.type)]
        for batch in table.iter_batches(batch_size=_ROWS // 8, columns=[*ids, *columns, *children]):
            yield jets_from_lists(batch, momenta, ids, law_of(schema), first, where)
            first += batch.num_rows


@contextmanager
def _named(file: Path) -> Iterator[None]:
    """Messages of Arrow, with the name of the file and what is expected."""
    pyarrow = require("pyarrow", "parquet")
    try:
        yield
    except (pyarrow.ArrowInvalid, pyarrow.ArrowKeyError) as error:
        raise ValueError(
            f"{file} cannot be read: {error}; expected a table with numbers, such as E, px, py, pz, and ids of one kind"
        ) from None
