"""What the scripts of this folder share: pictures of hierarchies, tables in plain text, best hierarchies that tie."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import palmette as pal

sys.path.append(str(Path(__file__).parents[1]))

import shared
from shared import BLUE, INK, ORANGE, PLAIN, Floats, frame, rows_of, shown_names  # noqa: F401

columns, save, tell = shared.columns, shared.save, shared.tell

NOTE, LINE = "#9a4a12", "#3a5a78"
# Okabe and Ito, and two more.
COLOURS = ("#d55e00", "#cc79a7", "#0072b2", "#56b4e9", "#009e73", "#e69f00", "#7b4fa3", "#a0522d")
GREY = "#888888"
TIED = 1e-9  # log potentials that are closer than this are the same number, summed in another order


# Ties.


def n_tied(posterior: pal.HierarchyPosterior, limit: int = 1000) -> int:
    """How many of the `limit` best hierarchies have the log potential of the best one."""
    log_probs = [log_prob for _, log_prob in posterior.best(limit)]
    return sum(log_probs[0] - log_prob <= TIED * max(1.0, abs(log_probs[0])) for log_prob in log_probs)


# Words.


def facts(pairs: Sequence[tuple[str, str]]) -> str:
    """A name and what there is to say of it, one per line."""
    widest = max(len(name) for name, _ in pairs) + 2
    return "\n".join(f"{name:<{widest}}{text}".rstrip() for name, text in pairs)


# Pictures.


def draw_hierarchy(
    ax: Any,
    hierarchy: pal.Hierarchy,
    *,
    places: Sequence[float] | None = None,
    colours: Sequence[str] | None = None,
    notes: Mapping[int, str] | None = None,
    sure: Mapping[int, float] | None = None,
    names: Sequence[str] | None = None,
    fontsize: float = 9.0,
) -> None:
    """The root on the left and one row per leaf; children by the mean of the `places` of their leaves, low ones on top.

    `colours` and `names` are one per leaf, `notes` are written at inner nodes, and branches to `sure` ones (0 to 1) are
    thicker. Heights count the levels below: only the clusters mean something.
    """
    n = hierarchy.n_leaves
    tree = pal.Hierarchy.from_parents(hierarchy.parents, hierarchy.labels)  # without heights of its own
    place = np.arange(n) if places is None else np.asarray(places)
    families, row = rows_of(tree, place)
    x = -tree.heights
    thick = {node: 0.7 + 2.3 * p for node, p in (sure or {}).items()}
    pen = {"color": LINE, "solid_capstyle": "round"}
    for node, family in families.items():
        upright = min(thick.get(node, 1.3), 1.3)
        ax.plot([x[node]] * 2, [row[family[0]], row[family[-1]]], linewidth=upright, **pen)
        for child in family:
            wide = thick.get(child, upright)
            ax.plot([x[node], x[child]], [row[child]] * 2, linewidth=wide, **pen)
    shown = shown_names(tree.labels if names is None else names, 22)
    inks = [INK] * n if colours is None else list(colours)
    ax.scatter(x[:n], row[:n], s=28, c=inks, zorder=3, clip_on=False)
    beside = {"xytext": (7, -0.5), "textcoords": "offset points", "va": "center", "fontsize": fontsize, **PLAIN}
    for leaf in range(n):
        ax.annotate(shown[leaf], (x[leaf], row[leaf]), color=inks[leaf], **beside)
    above = {"xytext": (-3, 2), "textcoords": "offset points", "ha": "right", "fontsize": fontsize - 1.5}
    for node, text in (notes or {}).items():
        ax.annotate(text, (x[node], row[node]), color=NOTE, **above)
    ax.set_ylim(n - 0.4, -0.8)
    ax.set_xlim(x[-1] * 1.06, 0)
    ax.set_axis_off()


def support(posterior: pal.HierarchyPosterior, hierarchy: pal.Hierarchy) -> dict[int, float]:
    """The probability of each cluster but leaves and root; leaves numbered as in the posterior."""
    inner = list(enumerate(hierarchy.clusters()))[hierarchy.n_leaves : -1]
    return {node: posterior.cluster_probability(cluster) for node, cluster in inner}


def share(p: float) -> str:
    """Two digits, and no 0.00 for what can be."""
    return f"{p:.2f}" if p >= 0.005 else "0" if p == 0.0 else "<.01"


def new_figure(width: float, height: float, widths: Sequence[float] = (1,), rows: int = 1) -> tuple[Any, Any]:
    """A figure of so many inches, and its Axes side by side."""
    import matplotlib.pyplot as plt

    ratios = {"width_ratios": list(widths)}
    figure, axes = plt.subplots(
        rows, len(widths), figsize=(width, height), layout="constrained", gridspec_kw=ratios, squeeze=False
    )
    figure.get_layout_engine().set(wspace=0.03)
    return figure, axes if rows > 1 else axes[0]


def parser(description: str) -> argparse.ArgumentParser:
    """A command line that knows --out."""
    return shared.parser(description, "cluster_trellis", settings=False)
