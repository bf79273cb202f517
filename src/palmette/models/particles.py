"""Checks of four-momenta; every message names the particle or the jet at fault."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

from palmette.array_types import Floats
from palmette.checks import check_number, check_points

__all__ = ["LARGEST", "SMALLEST", "check_magnitude", "check_particles", "check_totals", "jet_errors", "masses_squared"]

LARGEST, SMALLEST = 1e30, 1e-30  # within these bounds no product or ratio of a shower's law leaves float64

_COLUMNS = "(E, px, py, pz)"
_ROUNDING = 3e-5  # E² − |p|² of a massless particle is off by this share of E² if stored with six digits


def check_magnitude(name: str, value: float) -> float:
    """A positive number of a size that can be computed with.

    >>> check_magnitude("rate", 2)
    2.0
    """
    if not SMALLEST <= check_number(name, value) <= LARGEST:
        raise ValueError(f"{name} is {value}; it must be positive (between {SMALLEST:g} and {LARGEST:g})")
    return float(value)


def check_particles(momenta: npt.ArrayLike) -> Floats:
    """(N, 4) finite E, px, py, pz with E ≥ 0, of one jet or of many; warns if E² is well below |p|².

    >>> check_particles([[5, 3, 0, 0]])
    array([[5., 3., 0., 0.]])
    """
    particles = check_points(momenta, "momenta")
    if particles.shape[1] != 4:
        raise ValueError(f"momenta has shape {particles.shape}; expected (n, 4): one row {_COLUMNS} per particle")
    _refuse_row(particles, np.abs(particles).max(axis=1) > LARGEST, f"is beyond {LARGEST:g}; use larger units")
    _refuse_row(particles, particles[:, 0] < 0, f"has negative energy; the columns are {_COLUMNS}")
    spacelike = np.flatnonzero(_is_spacelike(particles))
    if len(spacelike):
        row = int(spacelike[0])
        warnings.warn(
            f"{len(spacelike)} of {len(particles)} particles have E² < |p|² by more than rounding, as row "
            f"{row}, {particles[row].tolist()}; they count as massless. The columns are {_COLUMNS}",
            UserWarning,
            stacklevel=3,
        )
    return particles


def check_totals(particles: Floats, offsets: npt.NDArray[np.integer[Any]]) -> None:
    """Refuse jets with E² < |p|² in total; jet i is rows offsets[i] to offsets[i + 1], at least one."""
    totals = np.add.reduceat(particles, offsets[:-1], axis=0)
    bad = np.flatnonzero(_is_spacelike(totals))
    if len(bad):
        jet, total = int(bad[0]), totals[bad[0]].tolist()
        raise ValueError(
            f"the total momentum of jet {jet}, {total}, has E² < |p|², which no shower can make; "
            f"the columns are {_COLUMNS}"
        )


def jet_errors(particles: Floats, offsets: npt.NDArray[np.integer[Any]]) -> list[str | None]:
    """What is wrong with each of many jets, or None: the checks of a single jet, but nothing is raised.

    Here a particle with E² well below |p|² is an error, too: nobody reads the warnings of a million jets.

    >>> jet_errors(np.array([[5, 3, 0, 0], [5, np.nan, 0, 0], [2, 3, 0, 0.0]]), np.array([0, 1, 2, 3, 3]))[1]
    'a particle is not finite: number 0, [5.0, nan, 0.0, 0.0]'
    """
    errors: list[str | None] = [None] * (len(offsets) - 1)
    filled = np.flatnonzero(np.diff(offsets) > 0)
    with np.errstate(invalid="ignore", over="ignore"):
        totals = np.add.reduceat(particles, offsets[filled], axis=0) if len(filled) else np.empty((0, 4))
        for jet in filled[_is_spacelike(totals)].tolist():
            errors[jet] = "the total momentum has E² < |p|², which no shower can make"
        complaints = {
            "has E² < |p|² by more than rounding": _is_spacelike(particles),
            "has negative energy": particles[:, 0] < 0,
            f"is beyond {LARGEST:g}": np.abs(particles).max(axis=1, initial=0.0) > LARGEST,
            "is not finite": ~np.isfinite(particles).all(axis=1),
        }
    jet_of = np.repeat(np.arange(len(errors)), np.diff(offsets))
    for complaint, bad in complaints.items():
        for row in np.flatnonzero(bad)[::-1].tolist():  # so that the first one is named
            jet = int(jet_of[row])
            errors[jet] = f"a particle {complaint}: number {row - offsets[jet]}, {particles[row].tolist()}"
    for jet in np.flatnonzero(np.diff(offsets) == 0).tolist():
        errors[jet] = "no particles"
    return errors


def masses_squared(momenta: Floats) -> Floats:
    """(N,): E² − |p|² of each row, 0 where rounding leaves less.

    >>> masses_squared(np.array([[5.0, 3.0, 0.0, 0.0], [1.0, 0.0, 0.0, 1.0]]))
    array([16.,  0.])
    """
    momentum = np.sqrt(np.square(momenta[:, 1:]).sum(axis=1))
    return np.asarray(np.maximum((momenta[:, 0] - momentum) * (momenta[:, 0] + momentum), 0.0))


def _is_spacelike(momenta: Floats) -> npt.NDArray[np.bool_]:
    energy = momenta[:, 0]
    momentum = np.sqrt(np.square(momenta[:, 1:]).sum(axis=1))
    spacelike: npt.NDArray[np.bool_] = (energy - momentum) * (energy + momentum) < -_ROUNDING * momentum**2
    return spacelike


def _refuse_row(particles: Floats, bad: npt.NDArray[np.bool_], complaint: str) -> None:
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise ValueError(f"row {row} of momenta, {particles[row].tolist()}, {complaint}")
