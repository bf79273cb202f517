"""Samples and their classes: from a table of gene expression, or the numerals that ship."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import common
import numpy as np
from common import Floats

import palmette as pal

NO_CLASS = "not annotated"


@dataclass(frozen=True)
class Samples:
    """Leaves, their classes, and how alike they are: (n, n), from −1 to 1, the diagonal not used."""

    names: list[str]
    classes: list[str]
    similarity: Floats
    story: str

    @property
    def affinity(self) -> Floats:
        """w′ = tan(π w / 2) minus its mean over pairs, 0 on the diagonal."""
        pairs = ~np.eye(len(self.names), dtype=bool)
        w = np.zeros_like(self.similarity)
        w[pairs] = np.tan(np.pi / 2 * self.similarity[pairs])
        w[pairs] -= w[pairs].mean()
        return w

    @property
    def colours(self) -> list[str]:
        """One per leaf; grey without a class."""
        known = sorted(set(self.classes) - {NO_CLASS})
        palette = {name: common.COLOURS[k % len(common.COLOURS)] for k, name in enumerate(known)}
        return [palette.get(name, common.GREY) for name in self.classes]


# What goes in.


def read_table(path: Path) -> tuple[list[str], list[str], Floats]:
    """Names, classes and values of a CSV file: sample, class (empty: none), one column per gene; empty cells are 0."""
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8-sig", newline="") as file:
        header, *rows = [row for row in csv.reader(file) if row]
    if len(header) < 4:
        raise ValueError(f"{path.name} has {len(header)} columns; expected sample, class, and two genes or more")
    for row in rows:
        if len(row) != len(header):
            raise ValueError(f"{path.name}: {row[0]!r} has {len(row)} cells, and there are {len(header)} columns")
    values = np.array([[float(cell) if cell.strip() else 0.0 for cell in row[2:]] for row in rows])
    return [row[0] for row in rows], [row[1].strip() or NO_CLASS for row in rows], values


def choose(classes: Sequence[str], each: int, seed: int) -> list[int]:
    """So many of each class by the seed, those without a class last; all of a class that has fewer."""
    rng = np.random.default_rng(seed)
    chosen: list[int] = []
    for name in sorted(set(classes), key=lambda name: (name == NO_CLASS, name)):
        own = [row for row, other in enumerate(classes) if other == name]
        chosen += sorted(rng.permutation(own)[:each].tolist())
    return chosen


def positive_seed(path: Path, each: int, seed: int, tries: int = 1000) -> int:
    """The first seed from this one on whose samples have positive correlations only; this one if there is none."""
    _, classes, values = read_table(path)
    if (np.ptp(values, axis=1) == 0).any():
        return seed
    own = np.corrcoef(values) > 0
    rows = ((other, choose(classes, each, other)) for other in range(seed, seed + tries))
    return next((other for other, chosen in rows if own[np.ix_(chosen, chosen)].all()), seed)


def samples_from(path: Path | None, each: int, seed: int) -> Samples:
    """From a table; without one, all twelve languages of the numerals that ship."""
    if path is None:
        data = pal.datasets.load_numerals()
        story = "the words for one to ten in twelve languages (palmette.datasets.load_numerals)"
        return Samples(list(data.labels), list(data.classes), data.similarity, story)
    names, classes, values = read_table(path)
    rows = choose(classes, each, seed)
    if (np.ptp(values[rows], axis=1) == 0).any():
        raise ValueError("a sample has the same value for all genes, so its correlations are not defined")
    groups = len(set(classes))
    story = f"{path.name}: {each} of each of {groups} groups, seed {seed}; Pearson correlation, missing values 0"
    return Samples([names[r] for r in rows], [classes[r] for r in rows], np.corrcoef(values[rows]), story)
