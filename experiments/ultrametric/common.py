"""What the scripts of this folder share: settings, losses by name, trees and their cuts, tables, pictures."""

from __future__ import annotations

import argparse
import sys
import tomllib
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from palmette.ultrametric import Closest, ClusterSize, Dasgupta, Fit, Graph, Loss, Triplet, fit

sys.path.append(str(Path(__file__).parents[1]))

import shared
from shared import BLUE, INK, ORANGE, Floats, Ints, frame  # noqa: F401

columns, save, tell = shared.columns, shared.save, shared.tell

GREY = "#b5b5b5"
# Okabe and Ito, and more.
COLOURS = ("#d55e00", "#0072b2", "#009e73", "#e69f00", "#cc79a7", "#56b4e9", "#7b4fa3", "#888888")


# Settings.


def settings(path: Path | None = None) -> dict[str, Any]:
    """All tables of settings.toml, or of the file given with --settings."""
    return tomllib.loads((path or Path(__file__).with_name("settings.toml")).read_text(encoding="utf-8"))


def parser(description: str, data: str | None = None) -> argparse.ArgumentParser:
    """A command line that knows --out, --settings and, where `data` says what it is, --data."""
    return shared.parser(description, "ultrametric", data)


# Fits.


def loss_of(name: str, chosen: dict[str, Any], known: npt.ArrayLike | None = None) -> Loss:
    """The loss of this name; `known` has the class of each vertex, −1 where it is not known."""
    size = ClusterSize(top=chosen["size_top"])
    match name:
        case "Closest":
            return Closest()
        case "Closest + size":
            return Closest() + chosen["size_weight"] * size
        case "Closest + size over all edges":
            return Closest() + chosen["size_weight"] * ClusterSize(top=chosen["size_top"], over="all")
        case "Closest + triplet" if known is not None:
            return Closest() + chosen["triplet_weight"] * Triplet(known, margin=chosen["triplet_margin"])
        case "Dasgupta":
            return Dasgupta(slope=chosen["dasgupta_slope"])
        case "Dasgupta + size":
            return Dasgupta(slope=chosen["dasgupta_slope"]) + chosen["dasgupta_size_weight"] * size
    raise ValueError(f"no loss is called {name!r}")


def fit_named(
    name: str, graph: Graph, chosen: dict[str, Any], known: npt.ArrayLike | None = None, how: str = "fit"
) -> Fit:
    """A fit with the settings of this name; Dasgupta sees weights up to 1."""
    seen = scaled(graph) if name.startswith("Dasgupta") else graph
    return fit_as(chosen[how], seen, loss_of(name, chosen["losses"], known))


def fit_as(how: dict[str, Any], graph: Graph, loss: Loss) -> Fit:
    """A fit with these settings, a tolerance of 0 being no early stop; that one has not settled is no news here."""
    given = how | ({"tolerance": how["tolerance"] or None} if "tolerance" in how else {})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fit(graph, loss, progress=False, **given)


def scaled(graph: Graph) -> Graph:
    """Weights divided by the largest; those that are 0 become the smallest positive one."""
    positive = graph.weights[graph.weights > 0]
    return graph.with_weights(np.maximum(graph.weights, positive.min()) / positive.max())


def cut(children: npt.ArrayLike, k: int) -> Ints:
    """The cluster of each leaf when the last merges are undone until k clusters are left, shape (N,).

    `children` are in SciPy's numbering: merge i makes node N + i.
    """
    merges = np.asarray(children, dtype=np.int64)
    n = len(merges) + 1
    top = np.arange(2 * n - k)
    for merge in range(n - k - 1, -1, -1):
        top[merges[merge]] = top[n + merge]
    return np.unique(top[:n], return_inverse=True)[1].reshape(n)


# Words.


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """A table of Markdown, the first row above the line."""
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]])


def plain(value: float) -> str:
    """Two digits, as the paper has them: .94."""
    return f"{value:.2f}".replace("0.", ".", 1) if 0 <= value < 0.995 else f"{value:.2f}"


# Pictures.


def new_figure(width: float, height: float, columns: int = 1, rows: int = 1, **more: Any) -> tuple[Any, Any]:
    """A figure of so many inches, and its Axes, shape (rows, columns)."""
    import matplotlib.pyplot as plt

    return plt.subplots(rows, columns, figsize=(width, height), layout="constrained", squeeze=False, **more)
