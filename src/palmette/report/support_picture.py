"""Support against temperature, as a picture in a report."""

from typing import Any

import numpy as np

from palmette.array_types import Floats
from palmette.report.lines import COLOURS, line
from palmette.report.listing import Listing
from palmette.report.markup import Html, cluster_name, element, joined
from palmette.temperature import support_curve

__all__ = ["support_picture"]

_DRAWN = 8  # clusters
_STEPS = 4  # powers of two to each side of β
_WIDTH, _HEIGHT = 860, 220
_LEFT, _TOP, _BOTTOM = 44, 12, 30  # margins


def support_picture(posterior: Any, listing: Listing) -> Html | None:
    """The probabilities of clusters of the best clustering at nine β around the model's own; None if it has none."""
    n, labels, model = posterior.n_leaves, posterior.labels, posterior.model
    rows = [row for row in listing.clusters[: listing.n_rows] if 1 < len(row.leaves) < n and row.in_best]
    shown = sorted(rows, key=lambda row: (-row.probability, sorted(row.leaves)))[:_DRAWN]
    if not shown:
        return None
    betas = model.beta * 2.0 ** np.arange(-_STEPS, _STEPS + 1)
    clusters = [tuple(labels[leaf] for leaf in sorted(row.leaves)) for row in shown]
    curve = support_curve(model, betas, clusters=clusters, rivals=0, progress=False)
    x = _LEFT + (_WIDTH - 2 * _LEFT) * np.arange(len(betas)) / (len(betas) - 1)
    y = _TOP + (_HEIGHT - _TOP - _BOTTOM) * (1.0 - curve.probabilities)
    parts = [_axes(x, betas)]
    for column, colour in zip(y.T, COLOURS, strict=False):
        parts.append(line(x, column, colour, "1.8"))
    caption = "The probability of clusters of the best one against β, each step twice the last; the line is at this β."
    picture = element("svg", joined(parts), viewBox=f"0 0 {_WIDTH} {_HEIGHT}", role="img", aria_label=caption)
    legend = [
        element("li", _mark(colour), element("span", cluster_name(row.leaves, labels)))
        for row, colour in zip(shown, COLOURS, strict=False)
    ]
    return joined(
        (
            element("div", picture, class_="canvas"),
            element("ul", joined(legend), class_="legend"),
            element("p", caption, class_="fine"),
        )
    )


def _mark(colour: str) -> Html:
    line = element("path", d="M1 7L13 7", stroke=colour, stroke_width="3")
    return element("svg", line, viewBox="0 0 14 14", aria_hidden="true")


def _axes(x: Floats, betas: Floats) -> Html:
    grey, base = "#8a8f98", _HEIGHT - _BOTTOM
    here = element("path", d=f"M{x[_STEPS]:.1f} {_TOP}V{base}", stroke=grey, stroke_dasharray="3 3", fill="none")
    lines = [here, element("path", d=f"M{_LEFT} {_TOP}V{base}H{_WIDTH - _LEFT}", stroke=grey, fill="none")]
    text = {"font_size": "11", "fill": grey}
    lines += [
        element("text", f"{beta:.3g}", x=round(float(a), 1), y=base + 16, text_anchor="middle", **text)
        for a, beta in zip(x, betas, strict=True)
    ]
    lines += [
        element(
            "text", f"{share:.0%}", x=_LEFT - 6, y=_TOP + (base - _TOP) * (1 - share) + 4, text_anchor="end", **text
        )
        for share in (0.0, 0.5, 1.0)
    ]
    return joined(lines)
