"""Lines in the pictures of a report."""

from palmette.array_types import Floats
from palmette.report.markup import Html, element

__all__ = ["COLOURS", "line"]

COLOURS = ("#2f78b7", "#d1701f", "#2f7f5f", "#8a4fa3", "#a04e0c", "#5a6b7a", "#b23a48", "#3b3b98")


def line(x: Floats, y: Floats, colour: str, width: str, **attributes: str) -> Html:
    """From point to point, in units of the picture."""
    path = "M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in zip(x, y, strict=True))
    return element("path", d=path, fill="none", stroke=colour, stroke_width=width, **attributes)
