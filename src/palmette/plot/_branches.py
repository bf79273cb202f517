"""The branches of a hierarchy, and the support of its clusters on them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from palmette.array_types import Floats
from palmette.checks import check_choice
from palmette.evaluate import BootstrapRow
from palmette.hierarchy import Hierarchy
from palmette.plot._axes import settle
from palmette.plot._leaves import row_points

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "SUPPORT",
    "Pen",
    "check_side",
    "draw_branches",
    "line_width",
    "support_text",
    "with_shown_support",
    "write_support",
]

_MOST_NUMBERS = 60  # clusters up to which support is written as a number; beyond, it is only shown by darkness
SUPPORT, _BOOTSTRAP = "#8a3b00", "#0a5c8f"
_FAINT, _DARK = 0.80, 0.20  # grey of a branch with support 0 and 1


def with_shown_support(hierarchy: Any, support: Any = None) -> Hierarchy:
    """The hierarchy to draw; its support, if it has any, is what is written at its clusters. A leaf is always there."""
    if not isinstance(hierarchy, Hierarchy):
        if not hasattr(hierarchy, "map") or not hasattr(hierarchy, "cluster_probability"):
            raise TypeError(f"expected a Hierarchy, or a posterior over hierarchies, not {hierarchy!r}")
        best = hierarchy.map()
        if not isinstance(best, Hierarchy):
            raise TypeError(f"{hierarchy!r} is over partitions; heatmap_with_dendrogram and alternatives show those")
        return with_shown_support(best, hierarchy if support is None else support)
    if callable(getattr(support, "support", None)):
        is_open = (hierarchy.sizes > 1) & (hierarchy.sizes < hierarchy.n_leaves)
        return hierarchy.with_support(np.where(is_open, support.support(hierarchy).support, np.nan))
    shown = hierarchy if support is None else hierarchy.with_support(support)
    return shown if shown.support is None else shown.with_support(np.where(shown.sizes > 1, shown.support, np.nan))


def check_side(orientation: str) -> None:
    """Refuse what is not a side that the root can be on."""
    check_choice("orientation", orientation, ("left", "right", "top", "bottom"), ", the side of the root")


def support_text(support: Floats, node: int) -> str:
    """The support of a node as it is written: a share of 1, or a number of its own kind, such as per cent."""
    return f"{support[node]:.2f}" if float(np.nanmax(support)) <= 1.0 else f"{support[node]:.3g}"


def line_width(ax: Axes, n: int, upright: bool = False) -> float:
    """Points of a line that leaves room between n rows."""
    return float(np.clip(0.25 * row_points(ax, n, upright), 0.4, 1.2))


def draw_branches(ax: Axes, lines: Floats, support: Floats | None, width: float) -> None:
    """Lines from every node but the root, the darker the higher the support of the node; full where there is none."""
    from matplotlib.collections import LineCollection

    values = np.full(len(lines), np.nan) if support is None else support[: len(lines)]
    largest = float(np.nanmax(values, initial=1.0))  # support may be in per cent
    share = np.clip(np.nan_to_num(values / largest, nan=1.0), 0.0, 1.0)
    colours = [_grey(s) for s in share.tolist()]
    order = np.argsort(share, kind="stable")  # dark lines over faint ones
    drawn = LineCollection(list(lines[order]), colors=[colours[at] for at in order], linewidths=width)
    drawn.set_capstyle("projecting")
    ax.add_collection(drawn)


def _grey(share: float) -> str:
    return str(round(_FAINT + (_DARK - _FAINT) * share, 3))


def write_support(
    ax: Axes,
    tree: Hierarchy,
    places: Floats,
    orientation: str,
    *,
    curved: bool = False,
    bootstrap: Iterable[BootstrapRow] | None = None,
) -> None:
    """Support as numbers on the branches, that of large clusters first; one that would hide another is left out.

    Beyond 60 clusters there are no numbers; a note says so, and a legend what the greys of the branches mean. `places`
    are (n_nodes, 2): height, row. On curves a number stands on the side from which no branch comes. AU and BP of a
    `bootstrap` stand on the other side of the branch, in per cent.
    """
    support = np.full(tree.n_nodes, np.nan) if tree.support is None else tree.support
    inner = range(tree.n_nodes - 2, tree.n_leaves - 1, -1)
    nodes = sorted((v for v in inner if not np.isnan(support[v])), key=lambda v: (-tree.sizes[v], v))
    resampled = {} if bootstrap is None else _resampled(tree, bootstrap)
    if len(nodes) > _MOST_NUMBERS:
        _explain_greys(ax, len(nodes), None if curved else max(float(np.nanmax(support)), 1.0))
        return
    if not nodes and not resampled:
        return
    size = float(np.clip(0.5 * row_points(ax, tree.n_leaves, orientation in ("top", "bottom")), 4.5, 7.5))
    settle(ax)
    pen = Pen(ax, places, orientation, size)
    for node in nodes:
        turned = curved and places[tree.parents[node], 1] < places[node, 1]
        offset = {"xytext": (-2, -2), "ha": "right", "va": "top"} if turned else None
        pen.write(node, support_text(support, node), SUPPORT, offset)
    for node in sorted(resampled, key=lambda v: (-tree.sizes[v], v)):
        pen.write(node, resampled[node], _BOOTSTRAP, _other_side(orientation))
    if resampled:
        one, other = ("above", "below") if orientation in ("left", "right") else ("right of", "left of")
        _explain(ax, [], [], f"{one} branches: support; {other}: AU / BP, per cent")


class Pen:
    """Writes numbers at nodes, none over another. `places` are (n_nodes, 2): height, and place along the leaves."""

    def __init__(self, ax: Axes, places: Floats, orientation: str, size: float) -> None:
        self._ax, self._orientation, self._size = ax, orientation, size
        self._places = places if orientation in ("left", "right") else places[:, ::-1]
        self._taken: list[Any] = []

    def write(self, node: int, text: str, colour: str, offset: dict[str, Any] | None = None) -> None:
        """One number, unless there is no room; `offset` is where it stands if not before the end of the branch."""
        from matplotlib.patheffects import withStroke

        where = _one_side(self._orientation) if offset is None else offset
        style: dict[str, Any] = {"fontsize": self._size, "color": colour, "zorder": 4, **where}
        note = self._ax.annotate(text, self._places[node], textcoords="offset points", **style)
        note.set_path_effects([withStroke(linewidth=1.8, foreground="white")])
        box = note.get_window_extent()
        if any(box.overlaps(other) for other in self._taken):
            note.remove()
        else:
            self._taken.append(box)


def _resampled(tree: Hierarchy, bootstrap: Iterable[BootstrapRow]) -> dict[int, str]:
    # What is written at the nodes of clusters that a bootstrap knows.
    known = {frozenset(row.members): row for row in bootstrap}
    found = ((v, known.get(frozenset(cluster))) for v, cluster in enumerate(tree.named_clusters()))
    return {v: f"{100 * row.au:.0f} / {100 * row.bp:.0f}" for v, row in found if row is not None}


def _explain_greys(ax: Axes, count: int, largest: float | None) -> None:
    # Under the figure if somebody lays it out, so that it hides nothing; None: branches have one colour.
    from matplotlib.lines import Line2D

    shares = [] if largest is None else [0.0, 0.25, 0.5, 0.75, 1.0]
    lines = [Line2D([], [], color=_grey(share), linewidth=2.5) for share in shares]
    names = [f"{share * largest:.3g}" for share in shares if largest is not None]
    _explain(ax, lines, names, f"support; {count} clusters are too many for numbers")


def _explain(ax: Axes, lines: list[Any], names: list[str], title: str) -> None:
    from matplotlib.legend import Legend

    small: dict[str, Any] = {"title_fontsize": 8, "fontsize": 8, "frameon": False, "ncols": 5, "handlelength": 1.2}
    if ax.figure.canvas.figure.get_layout_engine():
        ax.figure.canvas.figure.legend(lines, names, title=title, loc="outside lower right", **small)
    else:
        ax.add_artist(Legend(ax, lines, names, title=title, loc="lower right", bbox_to_anchor=(1.0, 1.0), **small))


def _other_side(orientation: str) -> dict[str, Any]:
    # The same on the other side of the line.
    return {
        "left": {"xytext": (-2, -1.5), "ha": "right", "va": "top"},
        "right": {"xytext": (2, -1.5), "ha": "left", "va": "top"},
        "top": {"xytext": (-1.5, 2), "ha": "right", "va": "bottom"},
        "bottom": {"xytext": (-1.5, -2), "ha": "right", "va": "top"},
    }[orientation]


def _one_side(orientation: str) -> dict[str, Any]:
    # On the branch above a node: before its end, and over the line.
    return {
        "left": {"xytext": (-2, 1.5), "ha": "right", "va": "bottom"},
        "right": {"xytext": (2, 1.5), "ha": "left", "va": "bottom"},
        "top": {"xytext": (1.5, 2), "ha": "left", "va": "bottom"},
        "bottom": {"xytext": (1.5, -2), "ha": "left", "va": "top"},
    }[orientation]
