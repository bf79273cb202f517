"""Long runs: chunks of work, each of which becomes one Parquet file; what is there already is not done again.

A run is a folder: ``part-000000.parquet``, ``part-000001.parquet``, … and ``_manifest.json``, which says what the run
is and, at the end, that it is complete. Parts appear whole or not at all. Each carries a digest of its chunk.
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from palmette._extras import require
from palmette._version import __version__
from palmette.batch.engines import Engine, unordered
from palmette.progress import Progress
from palmette.whole_files import whole_file, write_whole

__all__ = ["MANIFEST", "Results", "run"]

Chunk = TypeVar("Chunk")

MANIFEST = "_manifest.json"  # those who read a folder as one table pass over names that begin so
_KEY = b"palmette.chunk"


class Results:
    """The table of a run: its parts, in order, read when asked for.

    ``Results(folder)`` opens what `run` left there; a run that is not complete has a table as well, with gaps.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self.manifest = _read_manifest(self.folder)
        if self.manifest is None:
            raise FileNotFoundError(f"{self.folder} has no {MANIFEST}; expected the folder of a run")

    @property
    def is_complete(self) -> bool:
        """Whether every chunk has been done."""
        return bool(self.manifest and self.manifest["complete"])

    @property
    def parts(self) -> list[Path]:
        """The Parquet files, in order."""
        return sorted(self.folder.glob("part-*.parquet"))

    def __len__(self) -> int:
        metadata = require("pyarrow.parquet", "parquet").read_metadata
        return sum(metadata(part).num_rows for part in self.parts)

    def __iter__(self) -> Iterator[Any]:
        """One `pyarrow.Table` after another, for tables that are larger than memory."""
        read = require("pyarrow.parquet", "parquet").read_table
        return (read(part).replace_schema_metadata(None) for part in self.parts)

    def table(self) -> Any:
        """All rows, as a `pyarrow.Table`."""
        return require("pyarrow", "parquet").concat_tables(list(self))

    def __repr__(self) -> str:
        state = "complete" if self.is_complete else "not complete"
        return f"Results({str(self.folder)!r}, {len(self.parts)} parts, {state})"


def _pickled(chunk: object) -> bytes:
    return pickle.dumps(chunk, protocol=5)


def run(
    work: Callable[[Chunk], Any],
    chunks: Iterable[Chunk],
    folder: str | os.PathLike[str],
    *,
    settings: Mapping[str, Any] | None = None,
    engine: Engine = None,
    overwrite: bool = False,
    sizes: Callable[[Chunk], int] = len,  # type: ignore[assignment]
    content: Callable[[Chunk], bytes] = _pickled,
    total: int | None = None,
    unit: str = "rows",
    progress: bool | None = None,
) -> Results:
    """The tables work(chunk) of all chunks, one Parquet part each, in `folder`.

    `work` is a function of one chunk that depends on nothing else, and returns a `pyarrow.Table` or a dict of columns.
    It is done by `engine`: None is this process; a number is so many processes of our own; an `Executor` of
    `concurrent.futures`, a `dask.distributed.Client`, or the address of a Dask scheduler are used as they are. In all
    but the first, `work` and the chunks are pickled. The table is the same whichever is used, also if a worker dies.

    A run that was stopped goes on where it stopped, if it is called again: parts whose chunk is the same are kept. The
    `settings`, which JSON must be able to hold, say what run this is. A folder with other settings is refused unless
    `overwrite`. `chunks` may be a generator: only a few are held at a time.

    `content(chunk)` is all that work(chunk) depends on, by which a chunk is known to be the same: unless given, what
    pickle makes of it, which can depend on more than that.

    `sizes(chunk)` rows of `total` are counted for the progress bar on stderr.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> results = run(lambda chunk: {"square": [x * x for x in chunk]}, [[1, 2], [3]], folder)
    >>> results.table()["square"].to_pylist()
    [1, 4, 9]
    """
    pyarrow = require("pyarrow", "parquet")
    path = _prepare(Path(folder), _manifest(settings), overwrite)
    bar = Progress(path.name, total, progress, unit=unit)
    parts: dict[int, dict[str, Any]] = {}
    pending: dict[int, tuple[str, int]] = {}

    def missing() -> Iterator[tuple[int, Chunk]]:
        for number, chunk in enumerate(chunks):
            digest = hashlib.blake2b(content(chunk), digest_size=16).hexdigest()
            rows = _rows_of(path / _name(number), digest)
            if rows is None:
                pending[number] = digest, sizes(chunk)
                yield number, chunk
            else:
                parts[number] = {"file": _name(number), "rows": rows}
                bar.skip(sizes(chunk))

    try:
        for number, columns in unordered(work, missing(), engine):
            digest, size = pending.pop(number)
            table = columns if isinstance(columns, pyarrow.Table) else pyarrow.table(columns)
            _write_part(table, path / _name(number), digest)
            parts[number] = {"file": _name(number), "rows": table.num_rows}
            bar.advance(size)
    finally:
        bar.close()
    written = [parts[number] for number in sorted(parts)]
    _remove(path, [part["file"] for part in written])
    _write_json(path / MANIFEST, {**_manifest(settings), "complete": True, "parts": written})
    return Results(path)


def _manifest(settings: Mapping[str, Any] | None) -> dict[str, Any]:
    given = json.loads(json.dumps({"palmette": __version__, **(settings or {})}))
    return {"settings": given, "complete": False, "parts": []}


def _read_manifest(folder: Path) -> dict[str, Any] | None:
    try:
        found = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except json.JSONDecodeError as error:
        raise ValueError(f"{folder / MANIFEST} is not JSON ({error}); choose another folder") from None
    if not isinstance(found, dict) or not {"settings", "complete", "parts"} <= found.keys():
        raise ValueError(f"{folder / MANIFEST} was not written by a run of palmette; choose another folder")
    return found


def _prepare(folder: Path, manifest: dict[str, Any], overwrite: bool) -> Path:
    if folder.exists() and not folder.is_dir():
        raise FileExistsError(f"{folder} is a file; give a folder for the parts of the run")
    folder.mkdir(parents=True, exist_ok=True)
    found = None if overwrite else _read_manifest(folder)
    if found is not None and found["settings"] != manifest["settings"]:
        then, now = found["settings"], manifest["settings"]
        other = [name for name in sorted({*then, *now}) if then.get(name) != now.get(name)]
        differ = "; ".join(f"{name} was {then.get(name)!r} and is {now.get(name)!r}" for name in other)
        raise ValueError(f"{folder} holds another run ({differ}); choose another folder, or overwrite it")
    if found is None:
        _remove(folder, [])
    _write_json(folder / MANIFEST, manifest)
    return folder


def _remove(folder: Path, kept: list[str]) -> None:
    # Parts that do not belong to the run, and what a killed process left half written.
    for part in [*folder.glob("part-*.parquet"), *folder.glob(".part-*.parquet")]:
        if part.name not in kept:
            part.unlink()


def _name(number: int) -> str:
    return f"part-{number:06d}.parquet"


def _rows_of(path: Path, digest: str) -> int | None:
    # Of a part that came of this very chunk.
    if not path.exists():
        return None
    metadata = require("pyarrow.parquet", "parquet").read_metadata(path)
    return metadata.num_rows if (metadata.metadata or {}).get(_KEY) == digest.encode() else None


def _write_part(table: Any, path: Path, digest: str) -> None:
    tagged = table.replace_schema_metadata({**(table.schema.metadata or {}), _KEY: digest.encode()})
    with whole_file(path) as place:
        require("pyarrow.parquet", "parquet").write_table(tagged, place)


def _write_json(path: Path, content: dict[str, Any]) -> None:
    write_whole(path, json.dumps(content, indent=1, sort_keys=True) + "\n")
