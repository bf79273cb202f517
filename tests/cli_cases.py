"""What is typed again and again, and tables that were written."""

from __future__ import annotations

import csv

WORLDS = ("worlds.csv", "--class", "kind")
DASGUPTA = ("--model", "dasgupta")


def rows_of(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
