"""Classes of leaves, known from elsewhere: pictures mark them, and no model sees them."""

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["class_of_leaves"]


def class_of_leaves(classes: Mapping[str, Any] | Sequence[Any] | None, labels: Sequence[str]) -> list[str | None]:
    """The class of each leaf, None where it has none: of a sequence, one per leaf, or of a mapping from labels.

    >>> class_of_leaves({"a": 1}, ["a", "b"]), class_of_leaves(["x", None], ["a", "b"])
    (['1', None], ['x', None])
    """
    if classes is None:
        return [None] * len(labels)
    found = [classes.get(label) for label in labels] if isinstance(classes, Mapping) else list(classes)
    if len(found) != len(labels):
        raise ValueError(f"{len(found)} classes were given for {len(labels)} leaves; give one per leaf, None for none")
    return [None if given is None or given != given else str(given) for given in found]
