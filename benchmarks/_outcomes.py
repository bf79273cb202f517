"""What became of each rival before each judge in each draw: lines of a file that a race adds to."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from _scores import LEVELS


class Outcome(NamedTuple):
    """One rival before one judge."""

    data: str
    leaves: int
    columns: str  # as asked for: a number, or "half"
    draw: int
    judge: str
    rival: str
    squared: float
    log_score: float
    named: tuple[int, ...]  # clusters with so much support, for each of the levels
    right: tuple[int, ...]  # how many of these the judge has


Key = tuple[str, int, str, int]


def key_of(outcome: Outcome) -> Key:
    return outcome[:4]


def read(path: Path) -> list[Outcome]:
    """All outcomes in a file; none if there is no file."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return [_of_cells(row) for row in csv.reader(file)]


def append(path: Path, outcomes: Iterable[Outcome]) -> None:
    """At the end of a file, which is made if need be."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(_cells(outcome) for outcome in outcomes)


def _cells(outcome: Outcome) -> list[object]:
    scores = [f"{outcome.squared:.6g}", f"{outcome.log_score:.6g}"]
    return [*outcome[:6], *scores, *outcome.named, *outcome.right]


def _of_cells(row: list[str]) -> Outcome:
    k = len(LEVELS)
    named, right = tuple(map(int, row[8 : 8 + k])), tuple(map(int, row[8 + k :]))
    scores = float(row[6]), float(row[7])
    return Outcome(row[0], int(row[1]), row[2], int(row[3]), row[4], row[5], *scores, named, right)
