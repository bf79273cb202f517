"""The bytes of a file or of standard input, unpacked by gzip; and what is no table, by its first bytes."""

import gzip
import sys
import zlib
from io import BytesIO
from pathlib import Path

__all__ = ["MOST_BYTES", "bare_name", "check_size", "read_bytes", "unpacked"]

MOST_BYTES = 2**30  #: that a compressed file may unpack to: a bomb of a few kilobytes has more

_GZIP = b"\x1f\x8b"
_STRANGERS = {
    b"BZh": "is packed by bzip2; unpack it, or pack it by gzip",
    b"\xfd7zXZ": "is packed by xz; unpack it, or pack it by gzip",
    b"\x28\xb5\x2f\xfd": "is packed by zstd; unpack it, or pack it by gzip",
    b"7z\xbc\xaf": "is a 7z archive; unpack it",
    b"\xd0\xcf\x11\xe0": "is an old Excel file; save it as .xlsx or CSV",
    b"\x89HDF": "is an HDF5 file; write its table as CSV or Parquet",
    b"%PDF": "is a PDF file; give a table",
}


def read_bytes(source: str) -> bytes:
    """The contents of a file; of standard input for ``-``."""
    if source == "-":
        return sys.stdin.buffer.read()
    path = Path(source)
    if not path.exists():
        raise ValueError(f"{source} does not exist")
    if path.is_dir():
        raise ValueError(f"{source} is a folder; give a file, or - for standard input")
    return path.read_bytes()


def unpacked(raw: bytes, name: str) -> bytes:
    """The same bytes, or what gzip has made them of; a file of another kind than tables are is refused by name."""
    if raw.startswith(_GZIP):
        try:
            with gzip.GzipFile(fileobj=BytesIO(raw)) as file:
                raw = file.read(MOST_BYTES + 1)
        except (OSError, EOFError, zlib.error) as problem:
            raise ValueError(f"{name} is not a gzip file that can be read: {problem}") from None
        check_size(len(raw), name)
    for opening, words in _STRANGERS.items():
        if raw.startswith(opening):
            raise ValueError(f"{name} {words}")
    return raw


def check_size(n_bytes: int, name: str) -> None:
    """Refuse what unpacks to more than `MOST_BYTES`."""
    if n_bytes > MOST_BYTES:
        raise ValueError(f"{name} unpacks to more than {MOST_BYTES / 2**30:g} GB; unpack it yourself if it should")


def bare_name(source: str) -> str:
    """The name of a file without the ending of gzip.

    >>> bare_name("table.TSV.gz")
    'table.TSV'
    """
    return source[:-3] if source.lower().endswith(".gz") else source
