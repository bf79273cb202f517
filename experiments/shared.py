"""What the scripts of several folders share: words in columns, files, command lines, places in pictures."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import palmette as pal
from palmette.array_types import Floats, Ints
from palmette.plot._axes import BLUE, INK, ORANGE, PLAIN, frame, shown_names

__all__ = ["BLUE", "INK", "ORANGE", "PLAIN", "Floats", "Ints", "columns", "frame", "parser", "rows_of", "save"]
__all__ += ["shown_names", "tell"]


def columns(rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """Cells side by side; the first `left` columns flush left, the others flush right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    cells = [
        [c.ljust(w) if k < left else c.rjust(w) for k, (c, w) in enumerate(zip(r, widths, strict=True))] for r in rows
    ]
    return "\n".join("  " + "  ".join(row).rstrip() for row in cells)


def tell(text: str, path: Path) -> None:
    """Print, and write to a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + "\n", encoding="utf-8")
    print(text, flush=True)


def parser(description: str, out: str, data: str | None = None, settings: bool = True) -> argparse.ArgumentParser:
    """A command line that knows --out, with `settings` --settings and, where `data` says what it is, --data."""
    made = argparse.ArgumentParser(description=description)
    if data:
        made.add_argument("--data", type=Path, required=True, help=data)
    made.add_argument("--out", type=Path, default=Path(out), help="folder for what is written")
    if settings:
        made.add_argument("--settings", type=Path, help="another file than settings.toml beside the script")
    return made


def rows_of(tree: pal.Hierarchy, place: Floats) -> tuple[dict[int, list[int]], Floats]:
    """The children of each inner node from the top down, and the row of each node, by the `place` of leaves."""
    n, order = tree.n_leaves, tree.leaf_order
    means = np.array([place[order[start:stop]].mean() for start, stop in tree.intervals])
    families: dict[int, list[int]] = {node: [] for node in range(n, tree.n_nodes)}
    for child, parent in enumerate(tree.parents[:-1].tolist()):
        families[parent].append(child)
    for family in families.values():
        family.sort(key=lambda child: (means[child], child))
    row, stack, free = np.zeros(tree.n_nodes), [tree.n_nodes - 1], 0
    while stack:
        node = stack.pop()
        if node < n:
            row[node], free = free, free + 1
        else:
            stack += families[node][::-1]
    for node, family in families.items():  # children come before their parents
        row[node] = (row[family[0]] + row[family[-1]]) / 2
    return families, row


def save(figure: Any, path: Path) -> None:
    """As a PNG file."""
    import matplotlib.pyplot as plt

    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
    plt.close(figure)
