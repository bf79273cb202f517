"""Jets to and from awkward arrays of vector's records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from palmette._extras import require
from palmette._immutable import read_only
from palmette.jets._columns import FIELDS
from palmette.jets.ragged import Jets

__all__ = ["from_awkward", "to_awkward"]

# Of each list the first kind whose fields are all there is used.
_KINDS: tuple[tuple[tuple[tuple[str, ...], ...], ...], ...] = (
    ((("px", "x"), ("py", "y")), (("pt", "rho"), ("phi",))),
    ((("pz", "z"),), (("eta",),), (("theta",),)),
    ((("E", "energy", "e", "t"),), (("mass", "m", "M", "tau"),)),
)
_VECTOR_NAMES = {"x": "px", "y": "py", "rho": "pt", "z": "pz", "energy": "E", "e": "E", "t": "E"} | dict.fromkeys(
    ("m", "M", "tau"), "mass"
)


def to_awkward(jets: Jets) -> Any:
    """One list of Momentum4D records per jet: fields E, px, py, pz."""
    ak, _ = require("awkward", "hep"), require("vector", "hep")
    behavior = require("vector.backends.awkward", "hep").behavior
    columns = {name: jets.momenta[:, i] for i, name in enumerate(FIELDS)}
    records = ak.zip(columns, with_name="Momentum4D", behavior=behavior)
    return ak.unflatten(records, jets.n_leaves)


def from_awkward(array: Any, ids: Mapping[str, npt.ArrayLike] | None = None) -> Jets:
    """Jets from one list of records per jet; numbers become float64 before anything is computed from them."""
    ak, vector = require("awkward", "hep"), require("vector", "hep")
    sizes = _sizes(ak, array)
    fields = _choose_fields(array.fields)
    columns = {_VECTOR_NAMES.get(name, name): _column(ak, array, name, int(sizes.sum())) for name in fields}
    if not set(FIELDS) <= set(columns):
        particles = vector.zip(columns)
        columns = {name: getattr(particles, name) for name in FIELDS}
    values = [np.asarray(columns[name], dtype=np.float64) for name in FIELDS]
    return Jets(read_only(np.stack(values, axis=1)), np.concatenate([[0], np.cumsum(sizes)]), ids)


def _sizes(ak: Any, array: Any) -> npt.NDArray[np.int64]:
    if not isinstance(array, ak.Array) or array.ndim != 2 or not array.fields:
        kind = array.type if isinstance(array, ak.Array) else type(array).__name__
        raise TypeError(f"expected an awkward array of type n * var * {{E, px, py, pz}}, not {kind}")
    if ak.any(ak.is_none(array, axis=0)):
        i = int(ak.argmax(ak.is_none(array, axis=0)))
        raise ValueError(f"jet {i} is None; drop such jets first, or make them empty lists: ak.fill_none(array, [])")
    return np.asarray(ak.to_numpy(ak.num(array, axis=1)), dtype=np.int64)


def _choose_fields(names: list[str]) -> list[str]:
    chosen = []
    for kinds in _KINDS:
        found = [[next((name for name in names_of if name in names), None) for names_of in kind] for kind in kinds]
        complete = [kind for kind in found if None not in kind]
        if not complete:
            accepted = " or ".join(", ".join(names_of[0] for names_of in kind) for kind in kinds)
            raise ValueError(f"the records have fields {', '.join(names)}; expected {accepted} among them")
        chosen += [name for name in complete[0] if name is not None]
    return chosen


def _column(ak: Any, array: Any, name: str, n_particles: int) -> npt.NDArray[np.float64]:
    column = ak.to_numpy(ak.fill_none(ak.flatten(array[name], axis=1), np.nan))
    if column.dtype.kind not in "iuf" or column.shape != (n_particles,):
        raise TypeError(f"field {name} must hold one number per particle, not {array[name].type}")
    return np.asarray(column, dtype=np.float64)
