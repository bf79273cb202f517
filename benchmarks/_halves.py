"""Tables of expression values, and draws from them: some rows, and their columns in two halves that share none."""

from __future__ import annotations

import csv
import gzip
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

import palmette as pal

FEWEST_JUDGING = 10  # columns


class Expression(NamedTuple):
    """A table without the columns that have gaps."""

    name: str
    x: np.ndarray  # (rows, columns)


class Halves(NamedTuple):
    """The same rows by the columns that rivals see, and by those that judges see, standardised each on its own."""

    seen: np.ndarray
    judging: np.ndarray


def read(path: Path) -> Expression:
    """A header; then a name, a class and numbers in each row. lung_73x916.csv.gz is the table "lung"."""
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
        rows = list(csv.reader(file))[1:]
    x = np.array([[float(cell) if cell else np.nan for cell in row[2:]] for row in rows])
    return Expression(re.split(r"_\d+x\d+|\.", path.name)[0], x[:, ~np.isnan(x).any(axis=0)])


def read_all(paths: Sequence[Path]) -> list[Expression]:
    """Tables of files, and of folders with files of tables."""
    files = [file for path in paths for file in (sorted(path.glob("*.csv*")) if path.is_dir() else [path])]
    return [read(file) for file in files]


def n_columns(table: Expression, columns: str) -> int | None:
    """How many columns rivals see, of a number or "half"; None if they leave too few for the judges."""
    every = table.x.shape[1]
    d = every // 2 if columns == "half" else int(columns)
    return d if d <= every - FEWEST_JUDGING else None


def draw(table: Expression, n: int, d: int, rng: np.random.Generator) -> Halves:
    """n rows, d columns to see, and all others to judge by."""
    rows, columns = rng.choice(len(table.x), n, replace=False), rng.permutation(table.x.shape[1])
    return Halves(*(_standardised(table.x[rows][:, part]) for part in (columns[:d], columns[d:])))


def _standardised(x: np.ndarray) -> np.ndarray:
    return pal.similarity.standardised(x[:, np.ptp(x, axis=0) > 0.0])
