"""Tables with one row per particle: the rows of a jet follow each other and share its ids."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from palmette._extras import require
from palmette._immutable import read_only
from palmette.jets._columns import floats, values
from palmette.jets._kinematics import FIELDS, four_momenta
from palmette.jets._unique_ids import SeenIds, describe
from palmette.jets.jet import Jets

__all__ = ["jets_from_rows", "rows_from_jets"]

Array = npt.NDArray[Any]


def jets_from_rows(
    batches: Iterable[Any], momenta: dict[str, str], ids: list[str], seen: SeenIds, where: str
) -> Iterator[Jets]:
    """The jets that end in each batch of rows; one that is cut by the end of a batch comes with the next."""
    rest: list[Array] | None = None
    for batch in batches:
        columns = [_id_column(batch.column(name), name, where) for name in ids]
        columns.append(
            four_momenta({field: floats(batch.column(name), name, where) for field, name in momenta.items()})
        )
        if rest is not None:
            columns = [np.concatenate(pair) for pair in zip(rest, columns, strict=True)]
        if len(columns[-1]) == 0:
            continue
        edges = _edges(columns[:-1])
        yield _jets(ids, columns, edges[:-1], seen, where)
        rest = [column[edges[-2] :] for column in columns]
    if rest is not None:
        yield _jets(ids, rest, np.array([0, len(rest[-1])]), seen, where)


def rows_from_jets(jets: Jets) -> Any:
    """An Arrow table with one row per particle."""
    pyarrow = require("pyarrow", "parquet")
    empty = np.flatnonzero(jets.n_leaves == 0)
    if len(empty):
        name = describe({name: column[empty[0]] for name, column in jets.ids.items()})
        raise ValueError(f"{name} has no particles, so it has no row in a table of particles; write Parquet instead")
    ids = {name: pyarrow.array(np.repeat(column, jets.n_leaves)) for name, column in jets.ids.items()}
    return pyarrow.table(ids | {field: jets.momenta[:, i] for i, field in enumerate(FIELDS)})


def _id_column(column: Any, name: str, where: str) -> Array:
    found = values(column)
    if column.null_count or (found.dtype.kind == "f" and np.isnan(found).any()):
        raise ValueError(f"column {name} of {where} has empty entries; every particle needs the ids of its jet")
    return found


def _edges(ids: list[Array]) -> npt.NDArray[np.int64]:
    """Where jets begin, and the end."""
    changes = np.any([column[1:] != column[:-1] for column in ids], axis=0)
    return np.concatenate([[0], np.flatnonzero(changes) + 1, [len(ids[0])]])


def _jets(names: list[str], columns: list[Array], edges: npt.NDArray[np.int64], seen: SeenIds, where: str) -> Jets:
    ids = {name.strip(): column[edges[:-1]] for name, column in zip(names, columns, strict=False)}
    seen.add(ids, where)
    return Jets(read_only(columns[-1][: edges[-1]]), edges, ids)
