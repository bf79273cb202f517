"""Ginkgo jets: many showers in a few arrays, with the hierarchies that made them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from palmette._immutable import read_only
from palmette.array_types import Floats, Ints
from palmette.checks import check_choice, check_integer
from palmette.jets.jet import Jet
from palmette.jets.simulated import GinkgoJets
from palmette.links import offsets_of
from palmette.models.particles import LARGEST, check_magnitude
from palmette.simulate.shower import ATTEMPTS, CAPACITY, TOO_MANY_LEAVES, simulate_showers

__all__ = ["PRESETS", "GinkgoJets", "Jet", "ginkgo"]

_UNBOUNDED = np.iinfo(np.int64).max
_CHUNK = 8192  # jets per kernel call; Ctrl-C is heard in between

#: What the presets stand for; `root_rate` is `rate` where it is not named.
PRESETS: dict[str, dict[str, float]] = {
    "qcd": {"momentum": 400.0, "mass": 30.0, "rate": 1.5, "t_cut": 16.0},
    "w": {"momentum": 400.0, "mass": 80.0, "rate": 1.5, "root_rate": 3.0, "t_cut": 16.0},
}


def ginkgo(
    n_jets: int,
    *,
    preset: str | None = "qcd",
    momentum: npt.ArrayLike | None = None,
    mass: float | None = None,
    rate: float | None = None,
    root_rate: float | None = None,
    t_cut: float | None = None,
    min_leaves: int | None = None,
    max_leaves: int | None = None,
    first: int = 0,
    rng: Any = None,
) -> GinkgoJets:
    """`n_jets` independent showers, each with its true hierarchy.

    The preset "qcd" has |p| = 400 along (1, 1, 1), mass 30, rate 1.5 and t_cut 16; "w" has mass 80 and
    root_rate 3. Whatever else is given takes the place of the preset's value; with `preset=None` give
    momentum, mass, rate and t_cut. `momentum` is a magnitude, along (1, 1, 1), or a vector of three;
    `root_rate` is `rate` unless given. Showers with fewer than `min_leaves` or more than `max_leaves`
    particles are drawn anew. Leaves are numbered as the shower is walked depth first.

    Jet i depends on the seed, the parameters and i only: asking for more jets does not change the first ones. The jets
    are `first`, `first` + 1, …, so a million can be made a few thousand at a time.

    >>> jets = ginkgo(1000, rng=1)
    >>> jets
    GinkgoJets(n_jets=1000, n_particles=7597)
    >>> jets[0].hierarchy == ginkgo(1, rng=1)[0].hierarchy
    True
    """
    given = {"momentum": momentum, "mass": mass, "rate": rate, "root_rate": root_rate, "t_cut": t_cut}
    values = _with_preset(preset, {name: value for name, value in given.items() if value is not None})
    law = {name: check_magnitude(name, values[name]) for name in ("rate", "root_rate", "t_cut")}
    mass = check_magnitude("mass", values["mass"])
    start = _start(values["momentum"], mass)
    fewest = 1 if min_leaves is None else check_integer("min_leaves", min_leaves, 1)
    most = _UNBOUNDED if max_leaves is None else check_integer("max_leaves", max_leaves, fewest)
    n_jets, first = check_integer("n_jets", n_jets, 0), check_integer("first", first, 0)
    seed = np.random.default_rng(rng).integers(0, 2**64, dtype=np.uint64)
    rates = np.array([law["root_rate"], law["rate"]])
    parts = []
    for begin in range(first, first + max(n_jets, 1), _CHUNK):
        end = min(begin + _CHUNK, first + n_jets)
        parts.append(simulate_showers(seed, begin, end, start, mass**2, rates, law["t_cut"], fewest, most))
        _check_sizes(begin, parts[-1][0])
    sizes, momenta, children = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    offsets = offsets_of(sizes)
    numbers = {"jet": np.arange(first, first + n_jets)}
    parameters = (law["rate"], law["root_rate"], law["t_cut"])
    arrays = (read_only(momenta), read_only(offsets), read_only(children))
    return GinkgoJets(*arrays, *parameters, numbers, (fewest, None if max_leaves is None else most))


def _with_preset(preset: str | None, given: dict[str, Any]) -> dict[str, Any]:
    if preset is not None:
        check_choice("preset", preset, PRESETS, ", or None")
    values = given if preset is None else {**PRESETS[preset], **given}
    missing = [name for name in PRESETS["qcd"] if name not in values]
    if missing:
        raise ValueError(f"without a preset, momentum, mass, rate and t_cut are needed; give {', '.join(missing)}")
    return {"root_rate": values["rate"], **values}


def _start(momentum: npt.ArrayLike, mass: float) -> Floats:
    try:
        vector = np.array(momentum, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"momentum must be a number or three numbers, not {momentum!r}") from None
    if vector.shape not in ((), (3,)) or not (np.abs(vector) <= LARGEST).all() or (vector.ndim == 0 and vector < 0):
        raise ValueError(f"momentum is {momentum!r}; expected a magnitude of at least 0, or a vector (px, py, pz)")
    if vector.ndim == 0:
        vector = np.full(3, vector / math.sqrt(3))
    return np.array([math.hypot(mass, *vector), *vector])


def _check_sizes(first: int, sizes: Ints) -> None:
    failed = np.flatnonzero(sizes < 0)
    if len(failed) == 0:
        return
    jet = first + int(failed[0])
    if sizes[failed[0]] == TOO_MANY_LEAVES:
        raise ValueError(f"jet {jet} grew beyond {CAPACITY} particles; raise t_cut, lower mass, or give max_leaves")
    raise ValueError(
        f"none of {ATTEMPTS} showers drawn for jet {jet} had a number of particles between min_leaves and "
        "max_leaves; widen these bounds, or change mass, rate or t_cut"
    )
