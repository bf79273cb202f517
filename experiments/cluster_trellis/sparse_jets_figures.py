"""Figures 7, 11, 12 and 13: the pictures of sparse_jets.py."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import common
import numpy as np
from common import BLUE, INK, ORANGE, frame
from sparse_jets_runs import ORDERS, SOURCES, TARGET, Grown, Point, Reference, all_splits

STYLES = {"momentum": (BLUE, "o"), "random": (ORANGE, "s"), "traversal": ("#009e73", "^")}
WORDS = {"momentum": "by |p|", "random": "at random", "traversal": "as in the jet's own hierarchy"}
LINES: dict[str, Any] = {"simulator": "-", "beam search": (0, (3, 2))}
TITLES = {"simulator": "trellises of true hierarchies", "beam search": "trellises of beam-search hierarchies"}
PURPLE, FAINT = "#7b4fa3", "#666666"
SPARSITY = "sparsity: share of all hierarchies in the trellis"


def draw_all(points: Sequence[Point], exact: Reference, grown: Grown, leaves: int, out: Path) -> None:
    """All four files."""
    likelihood = draw_curves(points, exact, grown, "best", "MAP log likelihood minus exact")
    common.save(likelihood, out / "figures_7_and_11.png")
    common.save(draw_curves(points, exact, grown, "log_partition", "log Z minus exact"), out / "log_partition.png")
    common.save(draw_sizes(points, leaves), out / "figure12.png")
    common.save(draw_times(points, exact), out / "figure13.png")


def draw_curves(points: Sequence[Point], exact: Reference, grown: Grown, value: str, label: str) -> Any:
    """Means over the test jets against sparsity, quartiles as bands; one panel for each source."""
    figure, axes = common.new_figure(10.5, 4.4, (1, 1))
    for ax, source in zip(axes, SOURCES, strict=True):
        for kind, own in kinds(points):
            if kind[0] == source:
                _draw_curve(ax, own, value, kind[1])
        ax.plot(grown.sparsity.mean(), getattr(grown, value).mean(), "*", color=PURPLE, markersize=13, zorder=4)
        ax.axhline(0.0, color=INK, linewidth=0.8)
        ax.set_xscale("log")
        ax.set_xlim(3e-6, 1.3)
        ax.set_title(TITLES[source], fontsize=10, color=INK)
        ax.set_xlabel(SPARSITY)
        frame(ax)
        if value == "best":
            _draw_levels(ax, exact)
    lowest = min(float(getattr(p, value).mean()) for p in points if p.n_impossible == 0)
    for ax in axes:
        ax.set_ylim(max(lowest, -8.0 if value == "best" else -12.0) - 0.3, 0.35)
    axes[0].set_ylabel(label)
    _legend(axes[1], [_grown_handle()])
    return figure


def kinds(points: Sequence[Point]) -> Iterator[tuple[tuple[str, str], list[Point]]]:
    """The points of each source and order."""
    for source in SOURCES:
        for order in ORDERS:
            yield (source, order), [p for p in points if (p.source, p.order) == (source, order)]


def _draw_curve(ax: Any, own: Sequence[Point], value: str, order: str) -> None:
    colour, marker = STYLES[order]
    x = np.array([p.sparsity for p in own])
    values = np.array([getattr(p, value) for p in own])
    low, high = np.quantile(values, [0.25, 0.75], axis=1, method="lower")
    ax.plot(x, values.mean(axis=1), color=colour, marker=marker, markersize=5, linewidth=1.6, zorder=3)
    ax.fill_between(x, np.maximum(low, -99.0), np.maximum(high, -99.0), color=colour, alpha=0.13, linewidth=0)


def _draw_levels(ax: Any, exact: Reference) -> None:
    # Where there is no curve: few hierarchies never come near.
    ax.axvline(TARGET, color=FAINT, linewidth=0.7, linestyle=(0, (1, 3)), zorder=0)
    ax.text(1.1 * TARGET, 0.4, f"{100 * TARGET:g} %", transform=ax.get_xaxis_transform(), **_small())
    for name, style in (("beam search", (0, (5, 2))), ("greedy", (0, (1, 2)))):
        level = exact.others[name].mean()
        ax.axhline(level, color=FAINT, linewidth=1.1, linestyle=style, zorder=1)
        place = {"xytext": (0, 2), "va": "bottom"} if level < -0.5 else {"xytext": (0, -2), "va": "top"}
        ax.annotate(name, (3.5e-6, level), textcoords="offset points", **place, **_small())


def _small() -> dict[str, Any]:
    return {"fontsize": 8.5, "color": FAINT}


def _grown_handle() -> Any:
    from matplotlib.lines import Line2D

    return Line2D([], [], color=PURPLE, marker="*", markersize=11, linestyle="", label="any (grown for each jet)")


def _legend(ax: Any, more: Sequence[Any] = (), **options: Any) -> None:
    from matplotlib.lines import Line2D

    lines = [Line2D([], [], color=c, marker=m, markersize=5, label=WORDS[o]) for o, (c, m) in STYLES.items()]
    style = {"facecolor": "white", "edgecolor": "none", "framealpha": 1.0, "fontsize": 8.5, "title_fontsize": 8.5}
    ax.legend(handles=[*lines, *more], alignment="left", title="leaves", **({"loc": "lower right"} | style | options))


def draw_sizes(points: Sequence[Point], leaves: int) -> Any:
    """Figure 12: how many clusters a trellis of some sparsity has, and how many splits."""
    figure, axes = common.new_figure(10.5, 4.0, (1, 1))
    totals = {"n_clusters": 2**leaves - 1, "n_splits": all_splits(leaves)}
    for ax, (what, total) in zip(axes, totals.items(), strict=True):
        for (source, order), own in kinds(points):
            colour, marker = STYLES[order]
            pen = {"color": colour, "marker": marker, "markersize": 4, "linestyle": LINES[source]}
            ax.plot([p.sparsity for p in own], [getattr(p.trellis, what) for p in own], **pen)
        ax.axhline(total, color=INK, linewidth=0.8)
        ax.set_xscale("log")
        ax.set_ylim(0, 1.09 * total)
        ax.annotate("full trellis", (0.01, total), (0, 3), ("axes fraction", "data"), "offset points", **_small())
        ax.set_title(f"{what[2:]} (solid: true hierarchies; dashed: beam search)", fontsize=9, color=INK)
        ax.set_xlabel(SPARSITY)
        ax.set_ylabel(f"number of {what[2:]}")
        frame(ax)
    _legend(axes[1], loc="upper left", bbox_to_anchor=(0.0, 0.9))
    return figure


def draw_times(points: Sequence[Point], exact: Reference) -> Any:
    """Figure 13: quality against the time of one MAP."""
    from matplotlib.ticker import LogLocator, NullFormatter

    figure, (ax,) = common.new_figure(6.8, 4.6)
    for (source, order), own in kinds(points):
        colour, marker = STYLES[order]
        pen = {"color": colour, "marker": marker, "markersize": 5.5, "linestyle": ""}
        pen["markerfacecolor"] = colour if source == "simulator" else "white"
        possible = [p for p in own if p.n_impossible == 0]
        ax.plot([1e3 * p.seconds for p in possible], [p.best.mean() for p in possible], **pen)
    for name, seconds in exact.seconds.items():
        level = exact.others[name].mean() if name in exact.others else 0.0
        ax.plot(1e3 * seconds, level, "D", color=INK, markersize=6, zorder=4)
        beside = {"xytext": (0, 8), "textcoords": "offset points", "fontsize": 9, "ha": "center"}
        ax.annotate(name, (1e3 * seconds, level), color=INK, **beside)
    ax.set_xscale("log")
    ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.xaxis.set_major_formatter("{x:g}")
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.set_ylim(top=1.0)
    ax.set_xlabel("milliseconds for the MAP of one jet, median")
    ax.set_ylabel("MAP log likelihood minus exact, mean")
    ax.set_title("filled: trellises of true hierarchies; hollow: of beam search", fontsize=9, color=INK)
    frame(ax)
    _legend(ax)
    return figure
