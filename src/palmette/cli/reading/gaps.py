"""Missing values of a table, and what is done about them: ``--missing``.

A model of similarities or distances compares two rows over the columns that both have, and a Dirichlet process sums
over gaps. All others need the points themselves, and the mean of a column in place of a value makes rows with many gaps
look alike: so that is done on request only.
"""

from dataclasses import dataclass
from typing import Any

import click
import numpy as np

from palmette.cli.reading.columns import Leaves
from palmette.similarity import overlaps

__all__ = ["Gaps", "settle"]


@dataclass(frozen=True)
class Gaps:
    """How much of a table is missing, and what was done about it."""

    way: str  #: "pairwise", "mean", "drop-columns", or "model": these know gaps themselves
    n_missing: int
    n_values: int
    n_left_out: int  #: columns
    n_columns: int  #: that are left
    overlap: int | None = None  #: pairwise: the fewest columns that two rows share
    fewest: str = ""  #: who has the fewest values, and how many

    @property
    def words(self) -> str | None:
        """For the summary, if the answer depends on it."""
        if self.way == "model":
            return None
        if self.way == "drop-columns":
            return f"without {self.n_left_out:,} columns that have missing values"
        missing = f"{self.n_missing:,} of {self.n_values:,} values missing"
        if self.way == "pairwise":
            return f"{missing}, rows compared over {self._shared} columns"
        return f"{missing}, the mean of the column in place of each"

    @property
    def note(self) -> str | None:
        """For stderr, if the answer depends on it."""
        if self.way == "model":
            return None
        if self.way == "drop-columns":
            many = f"{self.n_left_out:,} of {self.n_left_out + self.n_columns:,} columns"
            return f"{many} have missing values and are left out."
        share = (
            f"{self.n_missing:,} of {self.n_values:,} values ({100 * self.n_missing / self.n_values:.1f} %) are missing"
        )
        if self.way == "pairwise":
            return f"{share}; two rows are compared over the columns that both have, {self._shared}."
        filled = "the mean of its column stands in for each, and rows with many gaps look alike"
        return f"{share}; {filled} ({self.fewest})."

    @property
    def _shared(self) -> str:
        return f"{self.overlap:,} or more of {self.n_columns:,}"

    @property
    def facts(self) -> dict[str, Any]:
        """For programs."""
        told = {"way": self.way, "n_missing": self.n_missing, "n_columns_left_out": self.n_left_out}
        return told if self.overlap is None else {**told, "smallest_overlap": self.overlap}


def settle(leaves: Leaves, given: str | None, default: str, model: str) -> tuple[Leaves, Gaps | None]:
    """The leaves with the columns that remain, and what is to be said of their gaps; None if there are none.

    `default` is what is done unless `given` says otherwise: "pairwise" if rows are only compared, "model" if that knows
    gaps, or "refuse".
    """
    unknown = np.isnan(leaves.values)
    if not unknown.any():
        return leaves, None
    way = default if given is None else given
    if way == "refuse":
        raise ValueError(leaves.first_gap(model) + _options(leaves, default))
    if way == "pairwise" and default != "pairwise":
        raise click.UsageError(
            f"--missing pairwise is for models of similarities or distances, and {model} needs the points themselves; "
            "say --missing mean or --missing drop-columns"
        )
    n_missing, n_values = int(unknown.sum()), unknown.size
    found, n_left_out = leaves, 0
    if way != "model":  # columns without a value tell nothing
        kept = np.flatnonzero(~(unknown.any(axis=0) if way == "drop-columns" else unknown.all(axis=0)))
        if not len(kept):
            why = "has missing values; try --missing mean" if way == "drop-columns" else "is empty"
            raise ValueError(f"{leaves.table.source}: no column is left, since every one {why}")
        n_left_out = unknown.shape[1] - len(kept)
        found = leaves.of_columns(kept.tolist())
    if way == "mean":
        _require_values(found)
    gaps = Gaps(way, n_missing, n_values, n_left_out, len(found.variables), _overlap(found, way), _fewest(found))
    return found, gaps


def _options(leaves: Leaves, default: str) -> str:
    complete = int((~np.isnan(leaves.values)).all(axis=0).sum())
    pairs = "--missing pairwise (rows compared over the columns that both have), " if default == "pairwise" else ""
    other = ", or --model dasgupta, which compares rows over the columns that both have" if default == "refuse" else ""
    return (
        f"; add {pairs}--missing mean (the mean of the column stands in) or --missing drop-columns ({complete:,} of "
        f"{len(leaves.variables):,} columns have no gap){other}; palmette coalescent knows gaps"
    )


def _require_values(leaves: Leaves) -> None:
    empty = np.flatnonzero(np.isnan(leaves.values).all(axis=1))
    if len(empty):
        where = f"{leaves.table.source}, {leaves.table.places[empty[0]]} ({leaves.labels[empty[0]]!r})"
        raise ValueError(f"{where} has no value at all, and no mean tells anything of it; leave the row out")


def _overlap(leaves: Leaves, way: str) -> int | None:
    if way != "pairwise":
        return None
    shared = overlaps(leaves.values)
    return int(shared[~np.eye(len(shared), dtype=bool)].min(initial=leaves.values.shape[1]))


def _fewest(leaves: Leaves) -> str:
    missing = np.isnan(leaves.values).sum(axis=1)
    worst = int(missing.argmax())
    return f"{leaves.labels[worst]!r} misses most, {missing[worst]:,} of {leaves.values.shape[1]:,}"
