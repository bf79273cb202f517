"""A hierarchy as a picture: hand-written SVG, with the root on the left and one row per leaf."""

import re
from html import escape

import numpy as np
from numpy.typing import NDArray

from palmette.hierarchy import Hierarchy
from palmette.interop._support import Support, support_by_node

__all__ = ["hierarchy_to_svg"]

_ROW = 18  # pixels per row
_MARGIN = 12
_CHARACTER = 6.6  # width of one character at 12 pixels, about
_LONGEST = 32  # characters of a label that are shown; hovering shows all
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# Every selector starts with the class of the picture: a page shares the styles of all pictures on it.
_STYLE = "".join(
    f".palmette-hierarchy {rule}"
    for rule in (
        "text{font:12px system-ui,sans-serif;fill:#222}",
        "text.support{font-size:10px;fill:#9a4a12}",
        "text.more{fill:#666}",
        "path{stroke:#3a5a78;stroke-width:1.4;fill:none;stroke-linecap:round}",
        "path.more{fill:#c9d6e2;stroke-linejoin:round}",
    )
)


def hierarchy_to_svg(
    hierarchy: Hierarchy, support: Support | None = None, *, width: int = 640, max_rows: int = 200
) -> str:
    """An SVG picture, `width` pixels wide, of the hierarchy with its heights, labels and support.

    Of a hierarchy with more than `max_rows` leaves the highest merges are drawn; the clusters below them
    become triangles that say how many leaves they hold. Labels are escaped.

    >>> hierarchy_to_svg(Hierarchy.from_newick("((a,b),c);")).startswith("<svg ")
    True
    """
    if width < 160 or max_rows < 1:
        raise ValueError(f"width must be at least 160 and max_rows at least 1; given were {width} and {max_rows}")
    rows = _rows(hierarchy, max_rows)
    names = [_name(hierarchy, node) for node in rows]
    right = width - _MARGIN - _CHARACTER * max(map(len, names)) - 8
    x = _across(hierarchy, _MARGIN + 8, max(right, width / 3))
    y = _down(hierarchy, rows)
    drawn = sorted(y.keys() - set(rows))
    body = [_inner_node(hierarchy, node, x, y) for node in drawn]
    body += [_row(hierarchy, node, name, x, y) for node, name in zip(rows, names, strict=True)]
    body += _support_marks(support_by_node(hierarchy, support), drawn, x, y)
    height = len(rows) * _ROW + 2 * _MARGIN
    title = f"A hierarchy of {hierarchy.n_leaves} leaves"
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" class="palmette-hierarchy" '
        f'width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img" aria-label="{title}"><style>{_STYLE}</style>'
        f'<rect width="{width}" height="{height}" fill="#fff"/>' + "".join(body) + "</svg>"
    )


def _rows(hierarchy: Hierarchy, max_rows: int) -> list[int]:
    """The nodes that get a row each: the leaves, or the clusters left below the highest merges."""
    counts = np.diff(hierarchy.child_offsets).tolist()
    parents = hierarchy.parents.tolist()
    opened = {-1}
    n_rows = 1
    for node in hierarchy._rising[::-1].tolist():
        if parents[node] in opened and n_rows + counts[node] - 1 <= max_rows:
            opened.add(node)
            n_rows += counts[node] - 1
        elif n_rows >= max_rows:
            break
    rows = [node for node, parent in enumerate(parents) if parent in opened and node not in opened]
    return sorted(rows, key=hierarchy.intervals[:, 0].__getitem__)


def _across(hierarchy: Hierarchy, left: float, right: float) -> list[float]:
    heights = hierarchy.heights
    span = float(heights.max() - heights.min()) or 1.0
    place: list[float] = (right - (heights - heights.min()) / span * (right - left)).tolist()
    return place


def _down(hierarchy: Hierarchy, rows: list[int]) -> dict[int, float]:
    """The vertical place of every drawn node: rows in turn, an inner node midway between its children."""
    y = {node: _MARGIN + _ROW * (number + 0.5) for number, node in enumerate(rows)}
    offsets, nodes = hierarchy.child_offsets.tolist(), hierarchy.child_nodes.tolist()
    for node in range(hierarchy.n_leaves, hierarchy.n_nodes):
        first, last = offsets[node], offsets[node + 1] - 1
        if node not in y and nodes[first] in y:
            y[node] = (y[nodes[first]] + y[nodes[last]]) / 2
    return y


def _inner_node(hierarchy: Hierarchy, node: int, x: list[float], y: dict[int, float]) -> str:
    start, stop = hierarchy.child_offsets[node : node + 2].tolist()
    children = hierarchy.child_nodes[start:stop].tolist()
    branches = "".join(f"M{x[node]:.1f} {y[child]:.1f}H{x[child]:.1f}" for child in children)
    trunk = f"M{x[node]:.1f} {y[children[0]]:.1f}V{y[children[-1]]:.1f}"
    stem = f"M{x[node] - 8:.1f} {y[node]:.1f}h8" if hierarchy.parents[node] < 0 else ""
    return f'<path d="{trunk}{branches}{stem}"/>'


def _row(hierarchy: Hierarchy, node: int, name: str, x: list[float], y: dict[int, float]) -> str:
    at, text_x, kind = y[node], x[node], ""
    shape = ""
    if node >= hierarchy.n_leaves:
        end = max(x)
        shape = f'<path class="more" d="M{x[node]:.1f} {at:.1f}L{end:.1f} {at - 6:.1f}V{at + 6:.1f}Z"/>'
        text_x, kind = end, ' class="more"'
    full = "" if node >= hierarchy.n_leaves else f"<title>{_text(hierarchy.labels[node])}</title>"
    return f'{shape}<text x="{text_x + 6:.1f}" y="{at + 4:.1f}"{kind}>{full}{_text(name)}</text>'


def _support_marks(
    support: NDArray[np.float64] | None, drawn: list[int], x: list[float], y: dict[int, float]
) -> list[str]:
    if support is None:
        return []
    marks = [(x[node] - 3, y[node] - 3, support[node]) for node in drawn if not np.isnan(support[node])]
    return [
        f'<text class="support" text-anchor="end" x="{left:.1f}" y="{base:.1f}">{value:.3g}</text>'
        for left, base, value in marks
    ]


def _name(hierarchy: Hierarchy, node: int) -> str:
    start = int(hierarchy.intervals[node, 0])
    label = " ".join(hierarchy.labels[hierarchy.leaf_order[start]].split())
    short = label if len(label) <= _LONGEST else label[: _LONGEST - 1] + "…"
    return short if node < hierarchy.n_leaves else f"{short} and {hierarchy.sizes[node] - 1} more"


def _text(label: str) -> str:
    """Text that any XML reader takes: escaped, and without the characters that XML forbids."""
    return escape(_NOT_XML.sub("\ufffd", label))
