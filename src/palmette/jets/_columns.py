"""Which columns of a table are momenta, which name the jet, and what is in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from palmette._extras import require
from palmette.jets._kinematics import choose_fields

__all__ = ["Path", "find_ids", "find_momenta", "floats", "is_list", "is_scalar", "locate_momenta", "values"]

Path = tuple[str, ...]  #: a column, or a column of records and a field of these

_ALIASES = {"E": ("e", "energy"), "mass": ("mass", "m")}
_ID_NAMES = (
    *("run", "run_id", "run_number", "luminosityblock", "lumi"),
    *("event", "event_id", "event_number", "jet", "jet_id", "jet_index", "jet_number", "part"),
)


def find_momenta(names: Sequence[str], where: str) -> dict[str, str]:
    """The columns with E, px, py and pz, or mass, pt, phi and eta or theta in the place of some.

    Upper and lower case, E and energy, mass and m are the same.

    >>> find_momenta(["jet", "PX", "PY", "PZ", "Energy"], "table")
    {'E': 'Energy', 'px': 'PX', 'py': 'PY', 'pz': 'PZ'}
    """
    found, missing = _momenta_among(names)
    if missing:
        raise ValueError(
            f"{where} has no column {', '.join(missing)}; needed are E (or energy), px, py and pz, or mass for E, pt "
            f"and phi for px and py, eta or theta for pz, and there are {', '.join(names)}"
        )
    return found


def _momenta_among(names: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    return choose_fields(lambda field: _find(names, _ALIASES.get(field, (field,)), field))


def locate_momenta(schema: Any, where: str) -> tuple[dict[str, Path], bool]:
    """Where the momenta of an Arrow table are, and whether a row is a whole jet: lists of numbers, or of records.

    If there are neither, a row is one particle.
    """
    lists = [field.name for field in schema if is_list(field.type) and not _is_record(field.type.value_type)]
    found, missing = _momenta_among(lists)
    if not missing:
        return {field: (name,) for field, name in found.items()}, True
    records: dict[str, dict[str, Path]] = {}
    for field in schema:
        if is_list(field.type) and _is_record(field.type.value_type):
            kind = field.type.value_type
            inner, missing = _momenta_among([kind.field(i).name for i in range(kind.num_fields)])
            if not missing:
                records[field.name] = {which: (field.name, name) for which, name in inner.items()}
    if len(records) > 1:
        raise ValueError(f"{where} has several columns of particles, {', '.join(records)}; keep one of them")
    if records:
        return next(iter(records.values())), True
    found = find_momenta(schema.names, where)
    return {field: (name,) for field, name in found.items()}, any(is_list(schema.field(x).type) for x in found.values())


def _is_record(kind: Any) -> bool:
    return bool(require("pyarrow", "parquet").types.is_struct(kind))


def find_ids(names: Sequence[str], by: Sequence[str] | None, where: str) -> list[str]:
    """The columns that name the jet: those of `by`, or of the usual names those that are there.

    >>> find_ids(["event", "jet", "pdg_id", "px"], None, "table")
    ['event', 'jet']
    """
    if by is None:
        found = [name for name in names if name.strip().lower() in _ID_NAMES]
        if not found:
            raise ValueError(
                f"{where} has no column that names the jet, such as event or jet; "
                f'say which do, as in by=("event", "jet"): there are {", ".join(names)}'
            )
        return found
    matches = [(name, _find(names, (name.lower(),), name)) for name in by]
    for name, match in matches:
        if match is None:
            raise ValueError(f"{where} has no column {name!r}, which `by` asks for; there are {', '.join(names)}")
    return [match for _, match in matches if match is not None]


def _find(names: Sequence[str], wanted: tuple[str, ...], exact: str) -> str | None:
    if exact in names:
        return exact
    ranked = [name for want in wanted for name in names if name.strip().lower() == want]
    return ranked[0] if ranked else None


def is_list(kind: Any) -> bool:
    """Whether an Arrow type holds a list in each row."""
    types = require("pyarrow", "parquet").types
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def is_scalar(kind: Any) -> bool:
    """Whether an Arrow type holds a number, a text or a time in each row."""
    types = require("pyarrow", "parquet").types
    texts = (types.is_string, types.is_large_string, types.is_dictionary)
    return bool(types.is_primitive(kind) or any(is_text(kind) for is_text in texts))


def floats(column: Any, name: str, where: str) -> npt.NDArray[np.float64]:
    """The numbers of an Arrow column, NaN where there is none."""
    pyarrow = require("pyarrow", "parquet")
    types = pyarrow.types
    if not any(test(column.type) for test in (types.is_integer, types.is_floating, types.is_decimal, types.is_null)):
        raise ValueError(f"column {name} of {where} holds {column.type}; expected numbers")
    numbers = pyarrow.compute.cast(column, pyarrow.float64(), safe=False)
    return np.asarray(numbers.to_numpy(zero_copy_only=False), dtype=np.float64)


def values(column: Any) -> npt.NDArray[Any]:
    """The entries of an Arrow column of ids; a text that is missing is empty."""
    pyarrow = require("pyarrow", "parquet")
    if pyarrow.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pyarrow.types.is_string(column.type) or pyarrow.types.is_large_string(column.type):
        return np.asarray(column.fill_null("").to_pylist(), dtype=np.str_)
    return np.asarray(column.to_numpy(zero_copy_only=False))
