"""The diagrams of how_it_works.md and sampling.md: a trellis, the recursion on it, a sparse trellis, and a patch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import Any

import matplotlib.pyplot as plt

__all__ = ["draw_patch", "draw_recursion", "draw_sparse", "draw_trellis"]

INK, FAINT, ONE, TWO, BOTH = "#23303d", "#c9d2d2", "#2f7f86", "#a04a12", "#23303d"
Places = dict[str, tuple[float, float]]


def canvas(width: float, height: float) -> tuple[Any, Any]:
    """Axes without axes, one unit to the inch or so."""
    figure, axes = plt.subplots(figsize=(width, height), layout="constrained")
    axes.set_axis_off()
    axes.set_aspect("equal")
    return figure, axes


def box(axes: Any, at: tuple[float, float], text: str, colour: str = INK, size: float = 10, fill: bool = False) -> None:
    """A cluster: its leaves in a rounded frame."""
    frame = {"boxstyle": "round,pad=0.32", "fc": colour if fill else "white", "ec": colour, "lw": 1.3}
    ink = "white" if fill else colour
    axes.text(*at, text, ha="center", va="center", fontsize=size, color=ink, bbox=frame, zorder=3)


def line(axes: Any, one: tuple[float, float], two: tuple[float, float], colour: str, width: float) -> None:
    """From a cluster to a part of it."""
    axes.plot(*zip(one, two, strict=True), color=colour, lw=width, zorder=1 + width / 10, solid_capstyle="round")


def levels(clusters: Iterable[str], leaves: str, wide: float, high: float) -> Places:
    """Clusters of one size side by side, the larger ones above."""
    places: Places = {}
    by_size: dict[int, list[str]] = {}
    for cluster in sorted(clusters, key=lambda c: [leaves.index(leaf) for leaf in c]):
        by_size.setdefault(len(cluster), []).append(cluster)
    for row, size in enumerate(sorted(by_size)):
        group = by_size[size]
        places |= {cluster: (wide * (i - (len(group) - 1) / 2), high * row) for i, cluster in enumerate(group)}
    return places


def draw_trellis() -> Any:
    """All clusters of four leaves; one hierarchy in colour."""
    leaves = "abcd"
    clusters = ["".join(some) for size in range(1, 5) for some in combinations(leaves, size)]
    places = levels(clusters, leaves, 1.25, 1.15)
    figure, axes = canvas(7.4, 3.9)
    for parent in clusters:
        for part in clusters:
            if len(part) == len(parent) - 1 and set(part) < set(parent):
                line(axes, places[parent], places[part], FAINT, 1.0)
    chosen = {"abcd": ("ab", "cd"), "ab": ("a", "b"), "cd": ("c", "d")}
    for parent, parts in chosen.items():
        for part in parts:
            line(axes, places[parent], places[part], ONE, 2.6)
    used = {*chosen, *(part for parts in chosen.values() for part in parts)}
    for cluster, at in places.items():
        box(axes, at, cluster, ONE if cluster in used else INK, fill=cluster in used)
    return figure


def draw_recursion() -> Any:
    """Z of a cluster of three as the sum over its three splits."""
    figure, axes = canvas(8.2, 2.1)
    box(axes, (0.0, 0.5), "abc", ONE, 12, fill=True)
    axes.text(0.0, -0.42, "Z(abc)", ha="center", fontsize=10, color=INK)
    for i, (left, right) in enumerate((("a", "bc"), ("b", "ac"), ("c", "ab"))):
        x = 1.9 + 2.35 * i
        axes.text(x - 1.12, 0.42, "=" if i == 0 else "+", ha="center", va="center", fontsize=15, color=INK)
        for part, shift in ((left, -0.5), (right, 0.5)):
            line(axes, (x, 1.0), (x + shift, 0.2), FAINT, 1.6)
            box(axes, (x + shift, 0.2), part, ONE if len(part) > 1 else INK)
        box(axes, (x, 1.0), "abc", INK)
        axes.text(x, -0.42, f"ψ({left}, {right}) · Z({left}) · Z({right})", ha="center", fontsize=10, color=INK)
    axes.set(xlim=(-0.6, 7.7), ylim=(-0.65, 1.3))
    return figure


def draw_sparse() -> Any:
    """Two hierarchies of six leaves, and the trellis that holds both, and what can be mixed of them."""
    one = {"abcdef": ("abc", "def"), "abc": ("ab", "c"), "def": ("d", "ef"), "ab": ("a", "b"), "ef": ("e", "f")}
    two = {"abcdef": ("abc", "def"), "abc": ("a", "bc"), "def": ("de", "f"), "bc": ("b", "c"), "de": ("d", "e")}
    places: Places = {leaf: (1.1 * i, 0.0) for i, leaf in enumerate("abcdef")}
    places |= {"ab": (0.1, 1.1), "bc": (2.1, 1.1), "de": (3.4, 1.1), "ef": (5.4, 1.1)}
    places |= {"abc": (1.1, 2.2), "def": (4.4, 2.2), "abcdef": (2.75, 3.2)}
    figure, axes = canvas(6.6, 4.0)
    for parent, parts, colour, shift in splits_of(one, ONE, -0.04) + splits_of(two, TWO, 0.04):
        for part in parts:
            (x, y), (to_x, to_y) = places[parent], places[part]
            line(axes, (x + shift, y), (to_x + shift, to_y), colour, 1.9)
    for cluster, at in places.items():
        mine = len(cluster) == 1 or (cluster in one and cluster in two)
        box(axes, at, cluster, BOTH if mine else ONE if cluster in one else TWO)
    return figure


def draw_patch() -> Any:
    """A hierarchy before and after a patch of four stops below P was drawn anew."""
    figure, axes = canvas(8.6, 3.5)
    stops = {"A": 0.0, "B": 1.15, "C": 2.3, "D": 3.45}
    shapes = {
        0.0: [("v", 0.58, 1.5, "A", "B"), ("w", 1.45, 2.15, "v", "C"), ("P", 2.45, 2.8, "w", "D")],
        5.6: [("v", 0.58, 1.5, "A", "B"), ("w", 2.88, 1.5, "C", "D"), ("P", 1.73, 2.8, "v", "w")],
    }
    for x, joins in shapes.items():
        places = {name: (x + at, 0.75) for name, at in stops.items()}
        for name, (left, _) in list(places.items()):
            axes.fill([left, left - 0.42, left + 0.42], [0.6, -0.15, -0.15], color=FAINT, zorder=1)
            box(axes, (left, 0.75), name)
        for name, at, height, *parts in joins:
            places[name] = (x + at, height)
            for part in parts:
                line(axes, places[name], places[part], ONE, 2.2)
        top = places["P"]
        line(axes, top, (top[0] + 0.55, 3.35), FAINT, 2.2)
        for name, *_ in joins:
            box(axes, places[name], name if name == "P" else " ", ONE, 9, fill=True)
    axes.annotate("", (5.2, 1.6), (4.2, 1.6), arrowprops={"arrowstyle": "-|>", "color": INK, "lw": 1.4})
    axes.text(4.7, 1.75, "one of 15", ha="center", fontsize=10, color=INK)
    axes.set(xlim=(-0.6, 9.7), ylim=(-0.3, 3.45))
    return figure


def splits_of(
    hierarchy: Mapping[str, tuple[str, str]], colour: str, shift: float
) -> list[tuple[str, tuple[str, str], str, float]]:
    """The splits of a hierarchy with how they are drawn."""
    return [(parent, parts, colour, shift) for parent, parts in hierarchy.items()]
