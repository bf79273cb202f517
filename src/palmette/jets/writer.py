"""Jets to a file, batch by batch."""

from __future__ import annotations

import csv
import os
from pathlib import Path
from typing import Any, Self

from palmette._extras import require
from palmette.jets._jet_rows import CHILDREN, lists_from_jets
from palmette.jets._kinematics import FIELDS
from palmette.jets._particle_rows import rows_from_jets
from palmette.jets._unique_ids import SeenIds
from palmette.jets.jet import Jets

__all__ = ["DELIMITERS", "Writer", "suffix_of"]

DELIMITERS = {".csv": ",", ".tsv": "\t"}

_TAKEN = {"energy", CHILDREN, *(field.lower() for field in FIELDS)}


def suffix_of(path: Path) -> str:
    """How the file's name ends, which says what is in it."""
    suffix = path.suffix.lower()
    if suffix != ".parquet" and suffix not in DELIMITERS:
        raise ValueError(f"{path} has the suffix {suffix!r}; expected .parquet, .csv or .tsv")
    return suffix


class Writer:
    """A file that jets are added to, one batch after another; a batch is a row group of a Parquet file.

    The kind of file is that of `palmette.jets.write`. All batches have the same ids, and all or none the truth. While
    it is open the file is called <path>.part; it gets its name when everything has been written, and is removed if
    something goes wrong.

    >>> import tempfile
    >>> from palmette.jets import read
    >>> from palmette.simulate import ginkgo
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "jets.parquet"
    ...     with Writer(path) as writer:
    ...         for seed in range(3):
    ...             writer.write(ginkgo(100, rng=seed))
    ...     jets = read(path)
    >>> len(jets), jets.law
    (300, {'rate': 1.5, 'root_rate': 1.5, 't_cut': 16.0})
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._is_parquet = suffix_of(self.path) == ".parquet"
        self._partial = self.path.with_name(self.path.name + ".part")
        self._sink: Any = None  # Arrow's writer; made by the first batch, which says what the columns are
        self._file: Any = None
        self._schema: Any = None
        self._is_closed = False
        self._seen = SeenIds()
        require("pyarrow", "parquet")
        if not self.path.parent.is_dir():
            raise FileNotFoundError(f"there is no folder {self.path.parent} to write {self.path.name} to")

    def write(self, jets: Jets) -> None:
        """Add these jets."""
        if self._is_closed:
            raise ValueError(f"{self.path} is closed; open another Writer, or write before this one is closed")
        table = lists_from_jets(jets) if self._is_parquet else rows_from_jets(jets)
        if self._sink is None:
            _check_ids(jets)
            self._schema = table.schema
            self._sink = self._open()
        table = self._checked(table)
        if not self._is_parquet:
            self._seen.add(dict(jets.ids), str(self.path))
        self._sink.write_table(table)

    def close(self) -> None:
        """Finish the file, and give it its name."""
        if not self._is_closed:
            if self._sink is None:
                self.write(Jets.from_list([]))
            self._release()
            os.replace(self._partial, self.path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.close()
            return
        self._release()
        self._partial.unlink(missing_ok=True)

    def _open(self) -> Any:
        if self._is_parquet:
            return require("pyarrow.parquet", "parquet").ParquetWriter(self._partial, self._schema)
        text, delimiter = require("pyarrow.csv", "parquet"), DELIMITERS[suffix_of(self.path)]
        self._file = self._partial.open("w", encoding="utf-8", newline="")
        csv.writer(self._file, delimiter=delimiter, lineterminator="\n").writerow(self._schema.names)
        self._file.flush()
        options = text.WriteOptions(include_header=False, delimiter=delimiter)
        return text.CSVWriter(self._file.buffer, self._schema, write_options=options)

    def _release(self) -> None:
        self._is_closed = True
        for opened in (self._sink, self._file):
            if opened is not None:
                opened.close()

    def _checked(self, table: Any) -> Any:
        if table.schema.names != self._schema.names or table.schema.metadata != self._schema.metadata:
            raise ValueError(
                f"these jets have the columns {', '.join(table.schema.names)} and the law {table.schema.metadata}; "
                f"those before had {', '.join(self._schema.names)} and {self._schema.metadata}: write another file"
            )
        return table.cast(self._schema)


def _check_ids(jets: Jets) -> None:
    taken = [name for name in jets.ids if name.strip().lower() in _TAKEN]
    if taken or not jets.ids:
        raise ValueError(
            f"the ids of these jets are called {', '.join(map(repr, jets.ids)) or 'nothing'}; at least one is needed, "
            f"and E, energy, px, py, pz and children mean something else in a table"
        )
