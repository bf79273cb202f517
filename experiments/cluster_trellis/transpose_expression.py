"""A table of genes × samples with a row of classes, as laboratories publish it, to one row per sample.

    python experiments/cluster_trellis/transpose_expression.py 220arrays_nonUBCcommon+12normal_50g.txt pam50.csv

The first row has the names of the samples, row `--classes-row` (2) their classes, empty where there is none; every
other row is a gene, its name first. Cells are separated by tabs, or by commas in a .csv file; empty cells and NA are
missing.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Sequence
from pathlib import Path

MISSING = {"", "NA", "NaN", "nan", "na"}


def transposed(rows: Sequence[Sequence[str]], classes_row: int = 2) -> list[list[str]]:
    """Header, then one row per sample: name, class, one cell per gene."""
    if len(rows) < max(3, classes_row) or classes_row < 2:
        raise ValueError(f"there are {len(rows)} rows; expected names, classes in row {classes_row}, and genes")
    names, classes = rows[0], rows[classes_row - 1]
    genes = [row for number, row in enumerate(rows[1:], start=2) if number != classes_row]
    width = len(names)
    for row in [classes, *genes]:
        if len(row) > width and any(cell.strip() for cell in row[width:]):
            raise ValueError(f"row {row[0]!r} has {len(row)} cells, and there are {width} columns")
    filled = [[cell.strip() for cell in [*row, *[""] * width][:width]] for row in [names, classes, *genes]]
    table = [["sample", "class", *(row[0] for row in filled[2:])]]
    for column in range(1, width):
        name, group, *values = (row[column] for row in filled)
        cells = ["" if value in MISSING else value for value in values]
        for gene, cell in zip(table[0][2:], cells, strict=True):
            _check(cell, gene, name)
        table.append([name, "" if group in MISSING else group, *cells])
    return table


def _check(cell: str, gene: str, sample: str) -> None:
    try:
        float(cell or 0)
    except ValueError:
        raise ValueError(f"gene {gene!r} of sample {sample!r} is {cell!r}, and no number") from None


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line, convert, say what there is."""
    command = argparse.ArgumentParser(description="Genes × samples with a row of classes to one row per sample.")
    command.add_argument("source", type=Path, help="text file with tabs, or .csv")
    command.add_argument("target", type=Path, help="CSV file to write")
    command.add_argument("--classes-row", type=int, default=2, help="number of the row of classes (default: 2)")
    given = command.parse_args(arguments)
    try:
        with given.source.open(encoding="utf-8-sig", newline="") as file:
            rows = [row for row in csv.reader(file, delimiter="," if given.source.suffix == ".csv" else "\t") if row]
        table = transposed(rows, given.classes_row)
    except (ValueError, OSError) as problem:
        command.error(str(problem))
    with given.target.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(table)
    annotated, gaps = sum(bool(row[1]) for row in table[1:]), sum(cell == "" for row in table[1:] for cell in row[2:])
    samples, genes = len(table) - 1, len(table[0]) - 2
    print(f"{samples} samples, {annotated} of them with a class; {genes} genes, {gaps} values missing")


if __name__ == "__main__":
    main()
