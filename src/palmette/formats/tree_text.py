"""Text of trees as it comes and goes: from a path, a file or a string, plain or gzipped; and where in it a fault is."""

import gzip
import os
import zlib
from typing import IO, Any, NamedTuple, TypeAlias

from palmette.whole_files import write_whole

TextSource: TypeAlias = str | os.PathLike[str] | IO[Any]

_MARK = b"\xef\xbb\xbf"  # a byte order mark


class TreeText(NamedTuple):
    """The bytes of a text in UTF-8, and what messages call it."""

    name: str
    data: bytes

    def part(self, start: int, stop: int) -> str:
        """The characters of `data[start:stop]`."""
        return self.data[start:stop].decode("utf-8", "surrogatepass")

    def line(self, start: int, position: int = 0) -> int:
        """The line, counted from 1, of the character `position` after byte `start`."""
        return self._before(start, position).count("\n") + 1

    def error(self, problem: str, start: int, position: int = 0) -> ValueError:
        r"""What to raise about the character `position` after byte `start`.

        >>> TreeText("trees.nwk", b"(a,b);\n(a,b;").error("expected ')'", 7, 4)
        ValueError("trees.nwk, line 2, column 5: expected ')'")
        """
        before = self._before(start, position)
        column = len(before) - before.rfind("\n")
        return ValueError(f"{self.name}, line {self.line(start, position)}, column {column}: {problem}")

    def _before(self, start: int, position: int) -> str:
        text = self.part(0, start) + self.part(start, len(self.data))[:position]
        return text.replace("\r\n", "\n").replace("\r", "\n")


def load_text(source: TextSource) -> TreeText:
    """The text itself if it is a string with a semicolon or a line break; else what the path or file holds.

    >>> load_text("(a,b);")
    TreeText(name='the text', data=b'(a,b);')
    """
    if isinstance(source, str) and (not source.strip() or any(mark in source for mark in ";\n\r")):
        return TreeText("the text", source.encode("utf-8", "surrogatepass").removeprefix(_MARK))
    if isinstance(source, str | os.PathLike):
        return _checked(os.fspath(source), _read_path(os.fspath(source)))
    if not hasattr(source, "read"):
        raise TypeError(f"trees are read from a path, a file or a text, not from a {type(source).__name__}")
    name = getattr(source, "name", None)
    content = source.read()
    data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else bytes(content)
    return _checked(name if isinstance(name, str) else "the file", data)


def _read_path(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            data = file.read()
    except FileNotFoundError:
        raise FileNotFoundError(
            f"no file is called {path!r}; a string is taken for text if it has a semicolon or a line break"
        ) from None
    if not path.lower().endswith(".gz"):
        return data
    try:
        return gzip.decompress(data)
    except (gzip.BadGzipFile, EOFError, zlib.error) as problem:
        raise ValueError(f"{path} is not a complete gzip file ({problem}); make it again, or rename it") from None


def _checked(name: str, data: bytes) -> TreeText:
    try:
        data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as problem:
        found = TreeText(name, data[: problem.start].removeprefix(_MARK))
        raise found.error("this is not UTF-8 text; convert the file", len(found.data)) from None
    return TreeText(name, data.removeprefix(_MARK))


def deliver_text(text: str, target: TextSource | None) -> str | None:
    """The text itself, unless there is a path (gzipped if it ends in .gz) or a file to write it to."""
    if target is None:
        return text
    if not isinstance(target, str | os.PathLike):
        target.write(text)
        return None
    data = text.encode()
    write_whole(target, gzip.compress(data, mtime=0) if os.fspath(target).endswith(".gz") else data)
    return None
