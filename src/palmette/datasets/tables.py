"""The tables that ship, and what is computed from them."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from importlib import resources

import numpy as np

from palmette._immutable import read_only
from palmette.array_types import Floats
from palmette.datasets.words import word_similarity

__all__ = ["Dataset", "PointData", "SimilarityData", "WordData", "load_numerals", "load_tumours", "load_worlds"]


@dataclass(frozen=True, eq=False)
class Dataset:
    """Labelled leaves with classes that are known from elsewhere, and where the data come from."""

    labels: tuple[str, ...]
    classes: tuple[str, ...]  #: one per leaf; no model sees them
    origin: str

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.labels)} leaves: {', '.join(self.labels)})"


@dataclass(frozen=True, eq=False, repr=False)
class SimilarityData(Dataset):
    """How alike any two leaves are."""

    similarity: Floats  #: (n, n), symmetric, 1 on the diagonal


@dataclass(frozen=True, eq=False, repr=False)
class PointData(Dataset):
    """Leaves as points, one row each."""

    points: Floats  #: (n, d)
    variables: tuple[str, ...]  #: what each column is


@dataclass(frozen=True, eq=False, repr=False)
class WordData(SimilarityData):
    """Leaves with words, and how alike these are."""

    words: tuple[tuple[str, ...], ...]  #: one row of words for each leaf


def load_numerals() -> WordData:
    """The words for one to ten in twelve European languages: how alike they look, averaged over the ten words.

    Similarity of two words: 1 − edit distance / length of the longer one, accents dropped. Classes are the families.

    >>> data = load_numerals()
    >>> round(float(data.similarity[data.labels.index("Danish"), data.labels.index("Swedish")]), 3)
    0.65
    """
    rows = _read("numerals.csv")[1:]
    return WordData(
        labels=tuple(row[0] for row in rows),
        classes=tuple(row[1] for row in rows),
        origin="common words of twelve languages in their usual spelling, written down for this package",
        similarity=read_only(word_similarity([row[2:] for row in rows])),
        words=tuple(tuple(row[2:]) for row in rows),
    )


def load_tumours() -> PointData:
    """Twelve breast tumours by the expression of the fifty genes of PAM50; three each of four subtypes.

    The first without gaps of each subtype in test data of the Hoadley lab's `pam50` (MIT licence), which are possibly
    synthetic: for trying things out, and for nothing that is said of tumours.

    >>> load_tumours().points.shape, load_tumours().classes[::3]
    ((12, 50), ('basal', 'HER2', 'luminal A', 'normal'))
    """
    head, *rows = _read("tumours.csv")
    return PointData(
        labels=tuple(row[0] for row in rows),
        classes=tuple(row[1] for row in rows),
        origin="test data of hoadley-lab/pam50, MIT licence, Copyright (c) 2024 pam50 authors; possibly synthetic",
        points=read_only(np.array([row[2:] for row in rows], dtype=np.float64)),
        variables=tuple(head[2:]),
    )


def load_worlds() -> PointData:
    """Twelve bodies of the solar system: log10 of mass and radius relative to the Earth, and density in g/cm³.

    Classes say what they are mostly made of: rock, ice, gas (the ice giants count as gas).

    >>> data = load_worlds()
    >>> data.points[data.labels.index("Earth")].round(2)
    array([0.  , 0.  , 5.51])
    """
    rows = _read("worlds.csv")[1:]
    labels = tuple(row[0] for row in rows)
    mass, radius = np.array([row[2:] for row in rows], dtype=np.float64).T  # 10^24 kg and km
    earth = labels.index("Earth")
    density = mass * 1e27 / (4 / 3 * np.pi * (radius * 1e5) ** 3)
    points = np.column_stack([np.log10(mass / mass[earth]), np.log10(radius / radius[earth]), density])
    return PointData(
        labels=labels,
        classes=tuple(row[1] for row in rows),
        origin="measured masses and mean radii, rounded to three or four digits; density computed from them",
        points=read_only(points),
        variables=("log10 mass", "log10 radius", "density"),
    )


def _read(name: str) -> list[list[str]]:
    text = resources.files("palmette.datasets").joinpath(name).read_text(encoding="utf-8")
    return list(csv.reader(text.splitlines()))
