"""Classes of the leaves, known from elsewhere: a colour and a shape for each, and a legend."""

from collections.abc import Sequence
from dataclasses import dataclass

from palmette.drawing.classes import class_of_leaves
from palmette.report.markup import Html, element, joined, name

__all__ = ["Classes", "read_classes"]

_COLOURS = 8  # after them the shape changes
_SHAPES = (
    "M-4 -4h8v8h-8Z",  # square
    "M0 -4.6a4.6 4.6 0 1 0 .01 0Z",  # circle
    "M0 -5.2L5 3.6H-5Z",  # triangle
    "M0 -5.4L5.4 0L0 5.4L-5.4 0Z",  # diamond
)


@dataclass(frozen=True)
class Classes:
    """`of_leaf[i]` is the number of leaf i's class in `names`, None where it has none."""

    names: tuple[str, ...]
    of_leaf: tuple[int | None, ...]

    def mark(self, leaf: int, x: float, y: float) -> Html | None:
        """The mark of a leaf's class, as a piece of SVG at (x, y)."""
        number = self.of_leaf[leaf]
        return None if number is None else _mark(number, x, y)

    def legend(self) -> Html | None:
        """The name of each class beside its mark."""
        items = [
            element("li", element("svg", _mark(i, 7, 7), viewBox="0 0 14 14", aria_hidden="true"), name(own))
            for i, own in enumerate(self.names)
        ]
        return element("ul", joined(items), class_="legend", aria_label="Classes") if items else None


def read_classes(classes: Sequence[object] | None, labels: tuple[str, ...]) -> Classes:
    """One class per leaf, in the order of the labels; None, NaN and blank text are leaves without one.

    >>> read_classes(["x", None, "x", "y"], ("a", "b", "c", "d"))
    Classes(names=('x', 'y'), of_leaf=(0, None, 0, 1))
    """
    given = class_of_leaves(classes, labels)
    names = tuple(dict.fromkeys(own for own in given if own is not None))
    number = {own: i for i, own in enumerate(names)}
    return Classes(names, tuple(None if own is None else number[own] for own in given))


def _mark(number: int, x: float, y: float) -> Html:
    shape = _SHAPES[number // _COLOURS % len(_SHAPES)]
    kind = f"class class-{number % _COLOURS}"
    return element("path", class_=kind, d=shape, transform=f"translate({x:.1f} {y:.1f})")
