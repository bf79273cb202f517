"""The tables of performance, sampling, scikit_learn and replication.md: `--write` replaces what is between two marks.

The marks are comments on lines of their own, <!-- benchmark: NAME --> and <!-- end -->.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

PAGE = Path(__file__).parent.parent / "docs" / "performance.md"


def add_option(parser: argparse.ArgumentParser, page: Path = PAGE) -> None:
    words = f"also put the tables into docs/{page.name}, or into this page"
    parser.add_argument("--write", nargs="?", type=Path, const=page, metavar="PAGE", help=words)


def lines_of(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A table as Markdown: the first column to the left, the others to the right."""
    lines = [f"| {' | '.join(cells)} |" for cells in (header, *rows)]
    return [lines[0], "|---" + "|---:" * (len(header) - 1) + "|", *lines[1:]]


def write(page: Path | None, name: str, lines: Iterable[str]) -> None:
    """Put a table between the marks of this name; without a page, do nothing."""
    if page is None:
        return
    text = page.read_text(encoding="utf-8")
    block = re.compile(rf"(<!-- benchmark: {re.escape(name)} -->\n).*?(<!-- end -->)", re.DOTALL)
    table = re.sub(r"(?<=[ *])-(?=\d)", "−", "\n".join(line for part in lines for line in part.splitlines()))
    text, found = block.subn(lambda marks: f"{marks[1]}\n{table}\n\n{marks[2]}", text)
    if found != 1:
        raise SystemExit(f"{page} has {found} blocks <!-- benchmark: {name} --> … <!-- end -->, and must have one")
    page.write_text(text, encoding="utf-8")
    print(f"written to {page}: {name}")
