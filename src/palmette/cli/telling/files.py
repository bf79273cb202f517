"""The files that commands write: checked before anything is computed, written at the end."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import palmette as pal
from palmette._extras import require
from palmette.whole_files import whole_file, write_whole

__all__ = ["Files", "check_file", "write_rows"]

_ENDINGS = {
    **dict.fromkeys(("table", "membership", "impute"), (".csv", ".tsv", ".json", ".parquet")),
    "plot": (".png", ".svg", ".pdf"),
    "report": (".html", ".htm"),
}


@dataclass(frozen=True)
class Files:
    """Where each kind of result goes, None if it is not wanted."""

    newick: str | None = None
    table: str | None = None
    nexus: str | None = None
    membership: str | None = None
    plot: str | None = None
    report: str | None = None

    def __post_init__(self) -> None:
        seen: dict[Path, str] = {}
        for kind, name in vars(self).items():
            if name is not None:
                path = check_file(kind, name)
                if path in seen:
                    raise ValueError(f"--{seen[path]} and --{kind} are both {name}; give two files")
                seen[path] = kind
        if self.plot is not None:
            os.environ.setdefault("MPLBACKEND", "agg")
            require("matplotlib", "plot")

    @classmethod
    def of(cls, options: dict[str, Any], *sources: str) -> Files:
        """Taken out of the options of a command that reads `sources`, which none of them may replace."""
        files = {name: options.pop(name) for name in list(options) if name in cls.__dataclass_fields__}
        read = {Path(source).resolve() for source in sources if source != "-"}
        for kind, name in files.items():
            if name is not None and Path(name).resolve() in read:
                raise ValueError(f"--{kind} {name} is the file that is read; give another name")
        return cls(**files)

    def write_newick(self, hierarchy: pal.Hierarchy) -> None:
        """One hierarchy with its support."""
        if self.newick is not None:
            write_whole(self.newick, hierarchy.to_newick() + "\n")

    def write_nexus(self, draw: Callable[[], Iterable[pal.Hierarchy]]) -> None:
        """Many hierarchies, drawn if they are wanted."""
        if self.nexus is not None:
            pal.interop.write_nexus(draw(), Path(self.nexus))

    def write_table(self, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Rows of clusters; members are joined by "; " in text, and a list in JSON and Parquet."""
        if self.table is not None:
            write_rows(Path(self.table), columns, rows)

    def write_membership(self, partition: pal.Partition) -> None:
        """One row per leaf; clusters are counted from 1."""
        if self.membership is not None:
            rows = zip(partition.labels, (partition.membership + 1).tolist(), strict=True)
            write_rows(Path(self.membership), ("label", "cluster"), rows)

    def write_plot(self, draw: Callable[[], Any]) -> None:
        """What a function of `palmette.plot` returns, if it is wanted: Axes, or a Figure."""
        if self.plot is not None:
            drawn = draw()
            figure = getattr(drawn, "figure", drawn)
            with whole_file(self.plot) as place:
                figure.savefig(place, dpi=150, bbox_inches="tight")
            require("matplotlib.pyplot", "plot").close(figure)

    @property
    def written(self) -> list[str]:
        """What there is, for the summary."""
        return [name for name in vars(self).values() if name is not None]


def check_file(kind: str, name: str) -> Path:
    """The place of a file of this kind; refused if its ending is not known, or nothing can be written there."""
    path = Path(name)
    endings = _ENDINGS.get(kind)
    if endings is not None and path.suffix.lower() not in endings:
        raise ValueError(f"--{kind} {name}: the name must end in {', '.join(endings[:-1])} or {endings[-1]}")
    if path.suffix.lower() == ".parquet":
        require("pyarrow", "parquet")
    folder = path.parent
    if path.is_dir():
        raise ValueError(f"--{kind} {name}: this is a folder; give the name of a file")
    if not folder.is_dir():
        raise ValueError(f"--{kind} {name}: there is no folder {folder}; make it first")
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise ValueError(f"--{kind} {name}: not allowed to write there; give another place")
    return path.resolve()


def write_rows(target: Path, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """A table, as the ending of the name says."""
    with whole_file(target) as path:
        _rows_to(path, target.suffix.lower(), columns, rows)


def _rows_to(path: Path, ending: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    if ending == ".json":
        records = [dict(zip(columns, row, strict=True)) for row in rows]
        path.write_text(json.dumps(records, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    elif ending == ".parquet":
        pyarrow, parquet = require("pyarrow", "parquet"), require("pyarrow.parquet", "parquet")
        values = {name: list(column) for name, column in zip(columns, zip(*rows, strict=True), strict=False)}
        parquet.write_table(pyarrow.table(values or {name: [] for name in columns}), path)
    else:
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, delimiter="\t" if ending == ".tsv" else ",", lineterminator="\n")
            writer.writerow(columns)
            writer.writerows([_cell(value) for value in row] for row in rows)


def _cell(value: Any) -> Any:
    return "; ".join(value) if isinstance(value, tuple | list) else value
