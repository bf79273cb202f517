"""Small files for trying the commands: ``palmette demo --data``."""

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import palmette as pal
from palmette.whole_files import whole_file

__all__ = ["write_examples"]


def write_examples(folder: Path) -> list[Path]:
    """Write the tables, matrices and trees that the help of the commands speaks of; returns their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    worlds, languages = pal.datasets.load_worlds(), pal.datasets.load_numerals()
    points = worlds.points.round(4).tolist()
    gaps = [[None if (i + j) % 7 == 3 else value for j, value in enumerate(row)] for i, row in enumerate(points)]
    initials = [[word[0] for word in row] for row in languages.words]
    letters = [[None if (i + 2 * j) % 9 == 4 else x for j, x in enumerate(row)] for i, row in enumerate(initials)]
    alike = languages.similarity.round(4)
    tumours = pal.datasets.load_tumours()
    return [
        _table(folder / "tumours.csv", ("sample", "subtype", *tumours.variables), tumours, tumours.points.tolist()),
        _table(folder / "worlds.csv", ("name", "kind", *worlds.variables), worlds, points),
        _table(folder / "gaps.csv", ("name", "kind", *worlds.variables), worlds, gaps),
        _table(folder / "languages.csv", ("language", "family", *languages.labels), languages, alike.tolist()),
        _table(folder / "letters.csv", ("language", "family", *map(str, range(1, 11))), languages, letters),
        _write(folder / "distances.csv", [languages.labels, *(1 - alike).round(4).tolist()]),
        _trees(folder / "posterior.nex", languages),
    ]


def _table(path: Path, columns: Sequence[str], data: Any, values: Iterable[Sequence[Any]]) -> Path:
    rows = [[label, kind, *row] for label, kind, row in zip(data.labels, data.classes, values, strict=True)]
    return _write(path, [columns, *rows])


def _write(path: Path, rows: Iterable[Sequence[Any]]) -> Path:
    with whole_file(path) as place, place.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)
    return path


def _trees(path: Path, languages: Any) -> Path:
    model = pal.models.Dasgupta(languages.similarity, beta=4.0, labels=languages.labels)
    pal.interop.write_nexus(pal.HierarchyPosterior(model, progress=False).sample(200, rng=0), path)
    return path
