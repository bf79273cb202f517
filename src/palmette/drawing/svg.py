"""A rooted tree as a picture: hand-written SVG, with the root on the left and one row per leaf."""

import numpy as np

from palmette.array_types import Floats
from palmette.drawing.places import Outline, drawn_rows, places_across, places_down, row_name
from palmette.drawing.text import xml_text
from palmette.links import Links

__all__ = ["outline_svg"]

_ROW = 18  # pixels per row
_MARGIN = 12
_CHARACTER = 6.6  # width of one character at 12 pixels, about
_SMALL = 5.5  # the same at 10 pixels
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


def outline_svg(outline: Outline, support: Floats | None, width: int, max_rows: int) -> str:
    """An SVG picture, `width` pixels wide, with heights, labels and `support`, one number per node, NaN for none.

    Of a tree with more than `max_rows` leaves the highest merges are drawn; the clusters below them become triangles
    that say how many leaves they hold. Labels are escaped.
    """
    if width < 160 or max_rows < 1:
        raise ValueError(f"width must be at least 160 and max_rows at least 1; given were {width} and {max_rows}")
    rows = drawn_rows(outline, max_rows)
    names = [row_name(outline, node) for node in rows]
    right = width - _MARGIN - _CHARACTER * max(map(len, names)) - 8
    left = _MARGIN + 8 + (0 if support is None else _SMALL * len(_mark(support[-1])))  # what stands before the root
    x = places_across(outline.heights, left, max(right, width / 3))
    y = places_down(outline.links.parents, rows, _MARGIN, _ROW)
    drawn = sorted(y.keys() - set(rows))
    body = [_inner_node(outline.links, node, x, y) for node in drawn]
    body += [_row(outline, node, name, x, y) for node, name in zip(rows, names, strict=True)]
    body += _support_marks(support, drawn, x, y)
    height = len(rows) * _ROW + 2 * _MARGIN
    title = f"A hierarchy of {len(outline.labels)} leaves"
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" class="palmette-hierarchy" '
        f'width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img" aria-label="{title}"><style>{_STYLE}</style>'
        f'<rect width="{width}" height="{height}" fill="#fff"/>' + "".join(body) + "</svg>"
    )


def _inner_node(links: Links, node: int, x: list[float], y: dict[int, float]) -> str:
    children = links.children_of(node)
    branches = "".join(f"M{x[node]:.1f} {y[child]:.1f}H{x[child]:.1f}" for child in children)
    trunk = f"M{x[node]:.1f} {y[children[0]]:.1f}V{y[children[-1]]:.1f}"
    stem = f"M{x[node] - 8:.1f} {y[node]:.1f}h8" if links.parents[node] < 0 else ""
    return f'<path d="{trunk}{branches}{stem}"/>'


def _row(outline: Outline, node: int, name: str, x: list[float], y: dict[int, float]) -> str:
    at = y[node]
    if node < len(outline.labels):
        full = f"<title>{xml_text(outline.labels[node])}</title>"
        return f'<text x="{x[node] + 6:.1f}" y="{at + 4:.1f}">{full}{xml_text(name)}</text>'
    end = max(x)
    shape = f'<path class="more" d="M{x[node]:.1f} {at:.1f}L{end:.1f} {at - 6:.1f}V{at + 6:.1f}Z"/>'
    return f'{shape}<text x="{end + 6:.1f}" y="{at + 4:.1f}" class="more">{xml_text(name)}</text>'


def _support_marks(support: Floats | None, drawn: list[int], x: list[float], y: dict[int, float]) -> list[str]:
    if support is None:
        return []
    mark = '<text class="support" text-anchor="end" x="{:.1f}" y="{:.1f}">{}</text>'
    return [mark.format(x[node] - 3, y[node] - 3, text) for node in drawn if (text := _mark(support[node]))]


def _mark(support: float) -> str:
    return "" if np.isnan(support) else f"{support:.3g}"
