"""Which jets there have been: no two share their ids."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["SeenIds", "describe"]

Array = npt.NDArray[Any]


class SeenIds:
    """The ids of all jets so far, in a few sorted arrays; one that comes back raises.

    An array is merged with the one before it unless it is much smaller, so there are about log N of them. Ids that rise
    are compared with nothing.

    >>> seen = SeenIds()
    >>> seen.add({"jet": np.array([3, 1])}, "table")
    >>> seen.add({"jet": np.array([2, 3])}, "table")
    Traceback (most recent call last):
    ValueError: the jet with jet = 3 comes back in table after other jets; the rows of a jet must follow each other \
and no two jets share their ids: sort by jet, or name more columns in `by`
    """

    def __init__(self) -> None:
        self._parts: list[Array] = []

    def add(self, ids: dict[str, Array], where: str) -> None:
        """Take note of the ids of more jets."""
        part = _records(ids)
        if len(part) == 0:
            return
        part.sort(kind="stable")
        twice = [part[1:][part[1:] == part[:-1]], *(_common(old, part) for old in self._parts if _overlap(old, part))]
        for found in twice:
            if len(found):
                raise ValueError(
                    f"{describe(dict(zip(ids, found[0], strict=True)))} comes back in {where} after other jets; the "
                    f"rows of a jet must follow each other and no two jets share their ids: sort by "
                    f"{', '.join(ids)}, or name more columns in `by`"
                )
        while self._parts and len(self._parts[-1]) < 2 * len(part):
            part = np.concatenate([self._parts.pop(), part])
            part.sort(kind="stable")  # two sorted runs: linear
        self._parts.append(part)


def describe(ids: dict[str, Any]) -> str:
    """What a jet is called, in a message.

    >>> describe({"event": 7, "jet": 2})
    'the jet with event = 7, jet = 2'
    """
    return "the jet with " + ", ".join(f"{name} = {value}" for name, value in ids.items())


def _records(ids: dict[str, Array]) -> Array:
    columns = list(ids.values())
    table = np.empty(len(columns[0]), dtype=[(f"f{i}", column.dtype) for i, column in enumerate(columns)])
    for i, column in enumerate(columns):
        table[f"f{i}"] = column
    return table


def _overlap(one: Array, two: Array) -> bool:
    return bool(one[0]["f0"] <= two[-1]["f0"] and two[0]["f0"] <= one[-1]["f0"])


def _common(old: Array, new: Array) -> Array:
    if old.dtype != new.dtype:  # texts of another length
        old = old.astype(np.promote_types(old.dtype, new.dtype))
        new = new.astype(old.dtype)
    places = np.minimum(np.searchsorted(old, new), len(old) - 1)
    return np.asarray(new[old[places] == new])
