"""Checks of four-momenta; every message names the particle or the jet at fault."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

from palmette.inputs import check_points

__all__ = ["LARGEST", "SMALLEST", "check_particles", "check_positive", "check_totals"]

Floats = npt.NDArray[np.float64]

LARGEST, SMALLEST = 1e30, 1e-30  # within these bounds no product or ratio of a shower's law leaves float64

_COLUMNS = "(E, px, py, pz)"
_ROUNDING = 3e-5  # E² − |p|² of a massless particle is off by this share of E² if stored with six digits


def check_positive(name: str, value: float) -> float:
    """A positive number of a size that can be computed with.

    >>> check_positive("rate", 2)
    2.0
    """
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise TypeError(f"{name} must be a number, not {value!r}")
    if not SMALLEST <= value <= LARGEST:
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


def _is_spacelike(momenta: Floats) -> npt.NDArray[np.bool_]:
    energy = momenta[:, 0]
    momentum = np.sqrt(np.square(momenta[:, 1:]).sum(axis=1))
    spacelike: npt.NDArray[np.bool_] = (energy - momentum) * (energy + momentum) < -_ROUNDING * momentum**2
    return spacelike


def _refuse_row(particles: Floats, bad: npt.NDArray[np.bool_], complaint: str) -> None:
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise ValueError(f"row {row} of momenta, {particles[row].tolist()}, {complaint}")
