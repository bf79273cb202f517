"""Classes of leaves, known from elsewhere: pictures mark them, and no model sees them."""

from collections.abc import Mapping, Sequence
from numbers import Number
from typing import Any

import numpy as np

__all__ = ["class_of_leaves", "is_class"]


def class_of_leaves(classes: Mapping[str, Any] | Sequence[Any] | None, labels: Sequence[str]) -> list[str | None]:
    """The class of each leaf, None where it has none: of a sequence, one per leaf, or of a mapping from labels.

    >>> class_of_leaves({"a": 1}, ["a", "b"]), class_of_leaves(["x", ""], ["a", "b"])
    (['1', None], ['x', None])
    """
    if classes is None:
        return [None] * len(labels)
    if isinstance(classes, str | bytes):
        raise TypeError('classes is one text; give one class per leaf, for example ["x", "x", "y"]')
    found = [classes.get(label) for label in labels] if isinstance(classes, Mapping) else list(classes)
    if len(found) != len(labels):
        raise ValueError(f"{len(found)} classes were given for {len(labels)} leaves; give one per leaf, None for none")
    return [str(given) if is_class(given) else None for given in found]


def is_class(given: Any) -> bool:
    """Whether that is a class: None, NaN, pandas' NA, what is masked and blank text are none."""
    if isinstance(given, str):
        return bool(given.strip())
    if given is None or type(given).__name__ in ("NAType", "NaTType", "MaskedConstant"):
        return False
    return not isinstance(given, Number | np.generic) or bool(given == given)
