"""Checks of what people hand to a measure, and classes as numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from palmette.array_types import Ints
from palmette.drawing.classes import is_class
from palmette.hierarchy import Hierarchy
from palmette.labels import align_labels

Classes = Iterable[Any]


class Annotation(NamedTuple):
    """The class of every leaf as a number, −1 where it has none, and the number of leaves in each class."""

    numbers: Ints  # (n,)
    sizes: Ints  # (k,)


def require_hierarchy(hierarchy: object) -> Hierarchy:
    """`hierarchy` itself, unless it is something else."""
    if not isinstance(hierarchy, Hierarchy):
        raise TypeError(f"expected a Hierarchy, not {hierarchy!r}; a Hierarchy is made by Hierarchy.from_newick, …")
    return hierarchy


def leaf_of_row(hierarchy: Hierarchy, labels: Iterable[str] | None) -> Ints:
    """The leaf that each row of a table is about, (n,): row i is the leaf `labels[i]`, or leaf i without labels."""
    return np.arange(hierarchy.n_leaves) if labels is None else align_labels(hierarchy.labels, labels)


def read_classes(hierarchy: Hierarchy, classes: Classes, labels: Iterable[str] | None = None) -> Annotation:
    """Strings or integers, one per leaf, as numbers by first appearance; None, NaN and "" are no class.

    >>> read_classes(Hierarchy.from_newick("((a,b),c);"), ["x", None, "x"])
    Annotation(numbers=array([ 0, -1,  0]), sizes=array([2]))
    """
    values = _listed(classes, require_hierarchy(hierarchy).n_leaves)
    rows = np.argsort(leaf_of_row(hierarchy, labels)).tolist()
    found: dict[str | int, int] = {}
    given = [-1 if values[row] is None else found.setdefault(values[row], len(found)) for row in rows]
    if len({type(name) for name in found}) > 1:
        raise TypeError("classes holds strings and integers; write all of them as one or the other")
    numbers = np.array(given, dtype=np.int64)
    return Annotation(numbers, np.bincount(numbers[numbers >= 0], minlength=len(found)))


def require_pairs(annotation: Annotation) -> None:
    """Refuse classes of which none has two leaves: there is nothing that could be found together then."""
    if not (annotation.sizes >= 2).any():
        raise ValueError("no two leaves have the same class, so there is nothing to measure; give two leaves one class")


def _listed(classes: Classes, n: int) -> list[str | int | None]:
    if isinstance(classes, str | bytes | set | frozenset | Mapping) or not isinstance(classes, Iterable):
        raise TypeError(
            f"classes must be a sequence with one class per leaf, not a {type(classes).__name__}; "
            'write for example ["x", "x", "y"]'
        )
    values = [_as_class(value, position) for position, value in enumerate(classes)]
    if len(values) != n:
        raise ValueError(
            f"{len(values)} classes were given for {n} leaves; give one per leaf, None where there is none"
        )
    return values


def _as_class(value: Any, position: int) -> str | int | None:
    if not is_class(value):
        return None
    if isinstance(value, str):
        return str(value)
    if isinstance(value, float | np.floating) and value.is_integer():  # what integers become in a column with NaN
        return int(value)
    if isinstance(value, int | np.integer | np.bool_):
        return int(value)
    raise TypeError(
        f"a class is a string or an integer, or None where there is none, but class {position} is {value!r} "
        f"of type {type(value).__name__}; convert it with str()"
    )
