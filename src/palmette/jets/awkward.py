"""Four-momenta to and from awkward arrays of vector's records."""

from __future__ import annotations

from typing import Any

import numpy as np

from palmette._extras import require
from palmette.array_types import Floats, Ints
from palmette.jets._kinematics import FIELDS, choose_fields, four_momenta
from palmette.links import offsets_of

__all__ = ["from_awkward", "to_awkward"]

_NAMES: dict[str, tuple[str, ...]] = {"px": ("px", "x"), "py": ("py", "y"), "pt": ("pt", "rho"), "pz": ("pz", "z")}
_NAMES |= {"E": ("E", "energy", "e", "t"), "mass": ("mass", "m", "M", "tau")}


def to_awkward(momenta: Floats, sizes: Ints) -> Any:
    """One list of Momentum4D records per jet of so many particles: fields E, px, py, pz."""
    ak, _ = require("awkward", "hep"), require("vector", "hep")
    behavior = require("vector.backends.awkward", "hep").behavior
    columns = {name: np.ascontiguousarray(momenta[:, i]) for i, name in enumerate(FIELDS)}
    records = ak.zip(columns, with_name="Momentum4D", behavior=behavior)
    return ak.unflatten(records, sizes)


def from_awkward(array: Any) -> tuple[Floats, Ints]:
    """Momenta, and where each jet begins, of one list of records per jet.

    Numbers become float64 before anything is computed from them.
    """
    ak = require("awkward", "hep")
    sizes = _sizes(ak, array)
    n_particles = int(sizes.sum())
    columns = {field: _column(ak, array, name, n_particles) for field, name in _choose(array.fields).items()}
    return four_momenta(columns), offsets_of(sizes)


def _sizes(ak: Any, array: Any) -> Ints:
    if not isinstance(array, ak.Array) or array.ndim != 2 or not array.fields:
        kind = array.type if isinstance(array, ak.Array) else type(array).__name__
        raise TypeError(f"expected an awkward array of type n * var * {{E, px, py, pz}}, not {kind}")
    if ak.any(ak.is_none(array, axis=0)):
        i = int(ak.argmax(ak.is_none(array, axis=0)))
        raise ValueError(f"jet {i} is None; drop such jets first, or make them empty lists: ak.fill_none(array, [])")
    return np.asarray(ak.to_numpy(ak.num(array, axis=1)), dtype=np.int64)


def _choose(names: list[str]) -> dict[str, str]:
    chosen, missing = choose_fields(
        lambda field: next((name for name in _NAMES.get(field, (field,)) if name in names), None)
    )
    if missing:
        raise ValueError(
            f"the records have fields {', '.join(names)}; expected px, py or pt, phi and pz, eta or theta and E or "
            "mass among them"
        )
    return chosen


def _column(ak: Any, array: Any, name: str, n_particles: int) -> Floats:
    column = ak.to_numpy(ak.fill_none(ak.flatten(array[name], axis=1), np.nan))
    if column.dtype.kind not in "iuf" or column.shape != (n_particles,):
        raise TypeError(f"field {name} must hold one number per particle, not {array[name].type}")
    return np.asarray(column, dtype=np.float64)
