"""The probability of every pair to be together, as a picture of cells."""

from itertools import accumulate

import numpy as np

from palmette.array_types import Floats
from palmette.report.classes import Classes
from palmette.report.markup import Html, element, joined, shown_label, text_width

__all__ = ["MOST_LEAVES", "heat_map"]

MOST_LEAVES = 80
_SHADES = 20
_BLANK = 0.005  # pairs that are rarer have no colour: a pair in one draw of thousands would look like one of 5 %
_LONGEST = 22
_NAMED_BELOW = 46  # leaves up to which columns are named too


def heat_map(together: Floats, labels: tuple[str, ...], order: list[int], sizes: list[int], classes: Classes) -> Html:
    """Cells in `order`, darker for more probable, with a frame around each group of the given `sizes`.

    Cells of one shade are one path, so that the picture stays small; the script finds the cell under the pointer.
    """
    n = len(order)
    cell = 24 if n <= 24 else max(9, round(600 / n))
    letter = min(13.0, 0.85 * cell)
    names = [shown_label(labels[leaf], _LONGEST) for leaf in order]
    margin = 14 + (16 if classes.names else 0) + 0.62 * letter * max(map(text_width, names))
    top = margin if n <= _NAMED_BELOW else 8
    body = _shades(together[np.ix_(order, order)], cell)
    starts = [0, *accumulate(sizes)]
    body += [_square("frame", start * cell, size * cell) for start, size in zip(starts, sizes, strict=False)]
    body.append(element("rect", class_="cursor", width=cell, height=cell, visibility="hidden"))
    body += [_row_name(names[i], labels[leaf], leaf, (i + 0.5) * cell, letter, classes) for i, leaf in enumerate(order)]
    if n <= _NAMED_BELOW:
        body += [_column_name(name, (i + 0.5) * cell, letter) for i, name in enumerate(names)]
    return element(
        "svg",
        joined(body),
        id="map",
        class_="map",
        width=f"{1.25 * (margin + n * cell + 4):.0f}",
        viewBox=f"{-margin:.0f} {-top:.0f} {margin + n * cell + 4:.0f} {top + n * cell + 4:.0f}",
        role="img",
        tabindex="0",
        data_cell=str(cell),
        aria_label=f"Probability of every pair of {n} leaves to share a cluster; arrows move from pair to pair",
    )


def _shades(values: Floats, cell: int) -> list[Html]:
    shade = np.where(values < _BLANK, 0, np.ceil(values * _SHADES)).astype(np.int64)
    body = [_square("ground", 0, cell * len(values))]
    for number in np.unique(shade[shade > 0]).tolist():
        cells = np.argwhere(shade == number).tolist()
        path = "".join(f"M{j * cell} {i * cell}h{cell}v{cell}h-{cell}z" for i, j in cells)
        body.append(element("path", class_="cells", d=path, fill_opacity=f"{number / _SHADES:g}"))
    return body


def _square(kind: str, at: int, side: int) -> Html:
    return element("rect", class_=kind, x=at, y=at, width=side, height=side)


def _row_name(text: str, label: str, leaf: int, y: float, letter: float, classes: Classes) -> Html:
    x = "-22" if classes.names else "-8"
    place = {"x": x, "y": f"{y + 0.35 * letter:.1f}", "font_size": f"{letter:.1f}"}
    words = element("text", element("title", label), text, **place)
    return element("g", classes.mark(leaf, -11, y), words, class_="leaf", data_leaf=str(leaf))


def _column_name(text: str, x: float, letter: float) -> Html:
    place = f"translate({x + 0.35 * letter:.1f} -8) rotate(-90)"
    return element("text", text, class_="column", transform=place, font_size=f"{letter:.1f}")
