"""Four-momenta from whatever they are given by: px, py or pt, phi; pz, eta or theta; E or mass.

px = pt cos φ,  py = pt sin φ,  pz = pt sinh η = pt / tan θ,  E² = m² + |p|²
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from palmette._immutable import read_only
from palmette.array_types import Floats

__all__ = ["FIELDS", "choose_fields", "four_momenta"]

FIELDS = ("E", "px", "py", "pz")

# Of each row the first kind whose fields are all there.
_KINDS = ((("E",), ("mass",)), (("px", "py"), ("pt", "phi")), (("pz",), ("eta",), ("theta",)))


def choose_fields(find: Callable[[str], str | None]) -> tuple[dict[str, str], list[str]]:
    """Which fields are used, each with the name that it goes by here, `find(field)`; and those that are missing.

    >>> choose_fields({"pt": "PT", "phi": "Phi", "eta": "Eta"}.get)
    ({'pt': 'PT', 'phi': 'Phi', 'eta': 'Eta'}, ['E'])
    """
    chosen: dict[str, str] = {}
    missing: list[str] = []
    for kinds in _KINDS:
        found = [{field: find(field) for field in kind} for kind in kinds]
        complete = next((kind for kind in found if None not in kind.values()), None)
        if complete is None:
            missing += [field for field, name in found[0].items() if name is None]
        else:
            chosen.update((field, str(name)) for field, name in complete.items())
    return chosen, missing


def four_momenta(columns: Mapping[str, Floats]) -> Floats:
    """(N, 4): E, px, py, pz from columns of the fields that `choose_fields` chose. A mass below 0 means E² < |p|².

    >>> four_momenta({"pt": np.array([3.0]), "phi": np.array([0.0]), "eta": np.array([0.0]), "mass": np.array([4.0])})
    array([[5., 3., 0., 0.]])
    """
    known = {name: np.asarray(column, dtype=np.float64) for name, column in columns.items()}
    if "pt" in known:
        known["px"], known["py"] = known["pt"] * np.cos(known["phi"]), known["pt"] * np.sin(known["phi"])
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        if "eta" in known or "theta" in known:
            across = known["pt"] if "pt" in known else np.hypot(known["px"], known["py"])
            slope = np.sinh(known["eta"]) if "eta" in known else 1.0 / np.tan(known["theta"])
            known["pz"] = across * slope
        if "mass" in known:
            squared = sum(np.square(known[name]) for name in FIELDS[1:]) + known["mass"] * np.abs(known["mass"])
            known["E"] = np.sqrt(np.maximum(squared, 0.0))
    return read_only(np.stack([known[name] for name in FIELDS], axis=1))
