"""Files that are whole or not there: written beside the old one, and given its name at the end."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["whole_file", "write_whole"]


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A place to write to, which becomes `path` if all goes well; if not, the file that was there stays as it was.

    What is wrong is raised as an OSError that names `path`. A device or a pipe is written to as it is.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with whole_file(Path(folder) / "a.txt") as place:
    ...         _ = place.write_text("whole")
    ...     [found.name for found in Path(folder).iterdir()]
    ['a.txt']
    """
    target = Path(path)
    with _named(target):
        final = target.resolve()
        if final.exists() and not final.is_file():
            yield target
            return
        # The ending is kept: some writers go by it.
        handle, name = tempfile.mkstemp(prefix=f".{final.stem}-", suffix=final.suffix, dir=final.parent)
        os.close(handle)
        place = Path(name)
        try:
            yield place
            _take_over_mode(final, place)
            os.replace(place, final)
        finally:
            place.unlink(missing_ok=True)


def write_whole(path: str | os.PathLike[str], content: str | bytes) -> None:
    """The content, text as UTF-8 and as it is, as a whole file."""
    with whole_file(path) as place:
        place.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)


@contextmanager
def _named(target: Path) -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        if problem.errno is None:
            raise
        raise type(problem)(problem.errno, problem.strerror or str(problem), str(target)) from problem


def _take_over_mode(old: Path, new: Path) -> None:
    if old.exists():
        shutil.copymode(old, new)
    else:
        mask = os.umask(0)
        os.umask(mask)
        new.chmod(0o666 & ~mask)
