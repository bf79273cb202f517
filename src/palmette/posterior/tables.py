"""Answers that are tables: rows on demand, a readable print, pandas if it is there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar, overload

import numpy as np

from palmette.array_types import Floats, Ints, Numbers
from palmette.checks import check_integer
from palmette.drawing.cards import html_table

if TYPE_CHECKING:
    import pandas

__all__ = ["ClusterRow", "JoinRow", "SplitRow", "Table", "largest", "likeliest", "member_table", "split_table"]

Row = TypeVar("Row", bound=tuple)  # type: ignore[type-arg]

_SHOWN = 20


class ClusterRow(NamedTuple):
    """A cluster, by the labels of its members, and the probability that it occurs."""

    members: tuple[str, ...]
    size: int
    probability: float


class SplitRow(NamedTuple):
    """One way to split a cluster in two, and its probability.

    In a hierarchy that is the probability given that the cluster occurs; in a partition, that both parts are clusters.
    """

    left: tuple[str, ...]
    right: tuple[str, ...]
    probability: float


class JoinRow(NamedTuple):
    """What a cluster could be joined with, and the probability that the two are one cluster."""

    others: tuple[str, ...]
    size: int
    probability: float


class Table(Sequence[Row], Generic[Row]):
    """A sequence of named rows, each made when it is asked for."""

    def __init__(self, row_type: type[Row], row: Callable[[int], Row], length: int) -> None:
        self._row_type = row_type
        self._row = row
        self._length = length

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self._row_type._fields)  # type: ignore[attr-defined]

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> list[Row]: ...
    def __getitem__(self, index: int | slice) -> Row | list[Row]:
        if isinstance(index, slice):
            return [self._row(i) for i in range(*index.indices(self._length))]
        return self._row(range(self._length)[index])

    def to_pandas(self) -> pandas.DataFrame:
        """The table as a pandas DataFrame."""
        try:
            import pandas
        except ImportError:
            raise ImportError("to_pandas needs pandas: pip install pandas") from None
        return pandas.DataFrame(list(self), columns=list(self.columns))

    def __repr__(self) -> str:
        cells = [self.columns, *(tuple(_text(cell) for cell in row) for row in self[:_SHOWN])]
        widths = [max(len(row[c]) for row in cells) for c in range(len(self.columns))]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells
        ]
        return "\n".join(lines + self._rest())

    def _repr_html_(self) -> str:
        rows = ([_text(cell) for cell in row] for row in self[:_SHOWN])
        return html_table(self.columns, rows, "".join(self._rest()))

    def _rest(self) -> list[str]:
        more = self._length - _SHOWN
        return [f"… and {more} more row{'s' if more > 1 else ''}"] if more > 0 else []


def _text(cell: object) -> str:
    if isinstance(cell, tuple):
        return "{" + ", ".join(repr(label)[1:-1] for label in cell) + "}"  # a newline in a label stays on its line
    return f"{cell:.4f}" if isinstance(cell, float) else str(cell)


def member_table(
    members: Callable[[int], Iterable[int]],
    sizes: Numbers,
    probabilities: Floats,
    labels: tuple[str, ...],
    row_type: type[Row] = ClusterRow,  # type: ignore[assignment]
) -> Table[Row]:
    """Clusters by falling probability; among equals the smaller one first, then the earlier; members(i) are leaves."""
    order = np.lexsort((sizes, -probabilities))

    def row(i: int) -> Row:
        j = int(order[i])
        named = tuple(labels[leaf] for leaf in members(j))
        return row_type(named, int(sizes[j]), float(probabilities[j]))  # type: ignore[call-arg]

    return Table(row_type, row, len(sizes))


def likeliest(probabilities: Floats, most: int | None) -> Ints:
    """Where the `most` largest of them stand (None: all), the first of equals first."""
    return largest(probabilities, None if most is None else check_integer("most", most, 1))[:most]


def largest(values: Floats, most: int | None) -> Ints:
    """Where the `most` largest above −inf stand (None: all), and all that equal the last; the first of equals first."""
    found = np.flatnonzero(values > -np.inf)
    if most is not None and most < len(found):  # so that millions need not be sorted
        found = found[values[found] >= np.partition(values[found], -most)[-most]]
    return found[np.argsort(-values[found], kind="stable")]


def split_table(
    left: Callable[[int], Iterable[int]],
    right: Callable[[int], Iterable[int]],
    probabilities: Floats,
    labels: tuple[str, ...],
) -> Table[SplitRow]:
    """The splits of one cluster by falling probability, then in their order; left(i) and right(i) are leaves."""
    order = np.argsort(-probabilities, kind="stable")

    def row(i: int) -> SplitRow:
        j = int(order[i])
        one, two = (tuple(labels[leaf] for leaf in side(j)) for side in (left, right))
        return SplitRow(one, two, float(probabilities[j]))

    return Table(SplitRow, row, len(probabilities))
