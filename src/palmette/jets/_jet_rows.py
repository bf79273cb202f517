"""Tables with one row per jet: lists of E, px, py, pz, ids, and the true splits where they are known."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import numpy.typing as npt

from palmette._extras import require
from palmette._immutable import read_only
from palmette.jets._columns import Path, floats, is_list, values
from palmette.jets._kinematics import FIELDS, four_momenta
from palmette.jets.jet import Jets
from palmette.jets.simulated import GinkgoJets
from palmette.links import offsets_of

__all__ = ["CHILDREN", "jets_from_lists", "law_of", "lists_from_jets"]

CHILDREN = "children"

_LAW = b"palmette.law"


def jets_from_lists(
    batch: Any, momenta: dict[str, Path], ids: list[str], law: dict[str, Any] | None, first: int, where: str
) -> Jets:
    """The jets of some rows; `first` is the number of the first, which names it if nothing else does."""
    columns = {field: _flat(batch, path, where) for field, path in momenta.items()}
    one = next(iter(columns))
    sizes = columns[one][1]
    for field, (_, others) in columns.items():
        names = ".".join(momenta[field]), ".".join(momenta[one])
        _check_sizes(others, sizes, f"{names[0]} has {{}} entries, but {names[1]} has {{}}", first, where)
    particles = four_momenta({field: numbers for field, (numbers, _) in columns.items()})
    offsets = offsets_of(sizes)
    found = {name: values(batch.column(name)) for name in ids} or {"jet": first + np.arange(len(sizes))}
    if CHILDREN not in batch.schema.names:
        return Jets(particles, offsets, found)
    children = _children(batch, sizes, first, where)
    if law is None:
        return Jets(particles, offsets, found, children)
    return GinkgoJets(particles, offsets, children, **law, ids=found)


def lists_from_jets(jets: Jets) -> Any:
    """An Arrow table with one row per jet; the law of simulated jets goes to its metadata."""
    pyarrow = require("pyarrow", "parquet")
    columns = {name: pyarrow.array(column) for name, column in jets.ids.items()}
    edges = jets.offsets.astype(np.int32)
    columns |= {field: pyarrow.ListArray.from_arrays(edges, jets.momenta[:, i]) for i, field in enumerate(FIELDS)}
    if jets.children is not None:
        ends = 2 * offsets_of(np.maximum(jets.n_leaves - 1, 0))
        splits = jets.children.ravel().astype(np.int32)
        columns[CHILDREN] = pyarrow.ListArray.from_arrays(ends.astype(np.int32), splits)
    if jets.law is None:
        return pyarrow.table(columns)
    return pyarrow.table(columns, metadata={_LAW: json.dumps({**jets.law, "leaf_bounds": jets.leaf_bounds})})


def law_of(schema: Any) -> dict[str, Any] | None:
    """The law in the metadata of a table, if there is one that can be read: what `GinkgoJets` takes beside arrays."""
    try:
        law = json.loads((schema.metadata or {})[_LAW])
        bounds = law.get("leaf_bounds")
        found = {name: float(law[name]) for name in ("rate", "root_rate", "t_cut")}
        return {**found, "leaf_bounds": None if bounds is None else _bounds(*bounds)}
    except (AttributeError, KeyError, TypeError, ValueError):
        return None


def _bounds(fewest: Any, most: Any) -> tuple[int, int | None]:
    return int(fewest), None if most is None else int(most)


def _flat(batch: Any, path: Path, where: str) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """The numbers of all lists, and the length of each; a list that is missing is empty."""
    column, name = batch.column(path[0]), ".".join(path)
    if not is_list(column.type):
        raise ValueError(f"column {name} of {where} holds {column.type} where other columns hold lists")
    compute = require("pyarrow.compute", "parquet")
    lengths, numbers = compute.list_value_length(column).fill_null(0), column.flatten()
    if len(path) > 1:
        numbers = compute.struct_field(numbers, list(path[1:]))
    return floats(numbers, name, where), lengths.to_numpy(zero_copy_only=False).astype(np.int64)


def _children(batch: Any, sizes: npt.NDArray[np.int64], first: int, where: str) -> npt.NDArray[np.int64]:
    numbers, lengths = _flat(batch, (CHILDREN,), where)
    _check_sizes(
        lengths, 2 * np.maximum(sizes - 1, 0), f"{CHILDREN} has {{}} entries, not 2(n − 1) = {{}}", first, where
    )
    if not np.array_equal(numbers, np.floor(numbers)):  # NaN, too, is no whole number
        raise ValueError(f"column {CHILDREN} of {where} must hold whole numbers, two for each split")
    return read_only(numbers.astype(np.int64).reshape(-1, 2))


def _check_sizes(
    given: npt.NDArray[np.int64], expected: npt.NDArray[np.int64], complaint: str, first: int, where: str
) -> None:
    bad = np.flatnonzero(given != expected)
    if len(bad):
        i = int(bad[0])
        raise ValueError(f"in row {first + i} of {where}, {complaint.format(given[i], expected[i])}")
