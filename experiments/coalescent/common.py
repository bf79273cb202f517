"""What the scripts of this folder share: settings, files, distances with missing entries, scores, pictures, words."""

from __future__ import annotations

import argparse
import csv
import gzip
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import squareform

import palmette as pal

sys.path.append(str(Path(__file__).parents[1]))

import shared
from shared import INK, PLAIN, Floats, Ints, frame, rows_of

columns, save, tell = shared.columns, shared.save, shared.tell

LINE = "#3a5a78"
# Okabe and Ito, and more.
COLOURS = ("#d55e00", "#0072b2", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7b4fa3", "#a0522d", "#5f7f00", "#888888")
MEASURES = ("purity", "subtree", "leave one out")


# Settings and files.


def settings(section: str, path: Path | None = None) -> dict[str, Any]:
    """One table of settings.toml, or of the file given with --settings."""
    text = (path or Path(__file__).with_name("settings.toml")).read_text(encoding="utf-8")
    return dict(tomllib.loads(text)[section])


def read_csv(path: Path) -> tuple[list[str], list[list[str]]]:
    """Header and rows; .gz is unpacked."""
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    return header, rows


def numbers(rows: Sequence[Sequence[str]]) -> Floats:
    """NaN for empty cells."""
    return np.array([[float(cell) if cell else np.nan for cell in row] for row in rows])


def codes(rows: Sequence[Sequence[str]]) -> Floats:
    """The values 1, 2, … of a file as codes 0, 1, …; NaN where nothing is known."""
    return numbers(rows) - 1


def draw_subset(classes: Sequence[Any], per_class: int, rng: np.random.Generator) -> Ints:
    """So many rows of each class, drawn without repetition, in the order of the rows."""
    given = np.asarray(classes)
    chosen = [rng.choice(np.flatnonzero(given == each), per_class, replace=False) for each in np.unique(given)]
    return np.sort(np.concatenate(chosen))


# Baselines.


def shared_distances(x: Floats) -> Floats:
    """(n, n): the share of different values among the features that both rows know; the mean one if there are none."""
    known = ~np.isnan(x)
    n_shared = known.astype(np.float64) @ known.T
    n_same = np.zeros_like(n_shared)
    for value in np.unique(x[known]):
        has = (x == value).astype(np.float64)
        n_same += has @ has.T
    distances = 1 - n_same / np.maximum(n_shared, 1)
    told = n_shared > 0
    off = told & ~np.eye(len(x), dtype=bool)
    distances[~told] = distances[off].mean() if off.any() else 1.0
    np.fill_diagonal(distances, 0.0)
    return distances


def average_linkage(distances: Floats, labels: Sequence[str] | None = None) -> pal.Hierarchy:
    """Of a square matrix."""
    return pal.Hierarchy.from_linkage(linkage(squareform(distances, checks=False), "average"), labels)


# Scores.


def scores(hierarchy: pal.Hierarchy, classes: Sequence[Any], how: Mapping[str, Any]) -> Floats:
    """(3,): purity, subtree score and leave-one-out accuracy."""
    named = [str(each) for each in classes]
    return np.array(
        [
            pal.evaluate.dendrogram_purity(hierarchy, named, how["purity"]),
            pal.evaluate.subtree_score(hierarchy, named),
            pal.evaluate.leave_one_out_accuracy(hierarchy, named, how["leave_one_out"]),
        ]
    )


def plain(value: float) -> str:
    """Three digits, as the paper has them: .363."""
    return f"{value:.3f}".replace("0.", ".", 1) if 0 <= value < 1 else f"{value:.3f}"


def with_error(values: Floats) -> list[str]:
    """Mean ± standard error of each column; (repeats, k)."""
    error = values.std(axis=0, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.zeros(values.shape[1])
    return [f"{plain(m)}±{plain(e)}" for m, e in zip(values.mean(axis=0), error, strict=True)]


# Words.


def parser(description: str, data: str | None = None) -> argparse.ArgumentParser:
    """A command line that knows --out, --settings and, where `data` says what it is, --data."""
    return shared.parser(description, "coalescent", data)


# Pictures.


def draw_history(
    ax: Any,
    hierarchy: pal.Hierarchy,
    *,
    colours: Sequence[str] | None = None,
    names: Sequence[str] | None = None,
    place: Callable[[int], float] = float,
    notes: Mapping[int, str] | None = None,
    fontsize: float = 8.0,
) -> None:
    """The past on the left, one row per leaf; nodes at their ages, children by the mean of their leaves' `place`.

    `colours` and `names` are one per leaf; a cluster of leaves of one colour has that colour. `notes` stand at nodes.
    """
    n, ages = hierarchy.n_leaves, hierarchy.heights
    inks = [INK] * n if colours is None else list(colours)
    families, row = rows_of(hierarchy, np.array([place(leaf) for leaf in range(n)]))
    shade = inks + [""] * (hierarchy.n_nodes - n)
    for node, family in families.items():
        own = {shade[child] for child in family}
        shade[node] = own.pop() if len(own) == 1 else LINE
    for node, family in families.items():
        ax.plot([-ages[node]] * 2, [row[family[0]], row[family[-1]]], color=shade[node], linewidth=1.2)
        for child in family:
            ax.plot([-ages[node], -ages[child]], [row[child]] * 2, color=shade[child], linewidth=1.2)
    beside = {"xytext": (4, -0.5), "textcoords": "offset points", "va": "center", "fontsize": fontsize, **PLAIN}
    for leaf in range(n):
        ax.annotate(
            (names or hierarchy.labels)[leaf], (0, row[leaf]), color=inks[leaf], annotation_clip=False, **beside
        )
    above = {
        "xytext": (-2, 1.5),
        "textcoords": "offset points",
        "ha": "right",
        "va": "bottom",
        "fontsize": fontsize - 1.5,
    }
    for node, text in (notes or {}).items():  # over the branch that leads to the cluster
        ax.annotate(text, (-ages[node], row[node]), color=INK, **above)
    ax.set_ylim(n - 0.4, -0.8)
    ax.set_xlim(-1.04 * ages.max(), 0)
    ax.set_yticks([])
    frame(ax, sides=("bottom",))


def new_figure(width: float, height: float, columns: int = 1, rows: int = 1) -> tuple[Any, list[Any]]:
    """A figure of so many inches, and its Axes row by row."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(rows, columns, figsize=(width, height), layout="constrained", squeeze=False)
    return figure, list(axes.reshape(-1))
