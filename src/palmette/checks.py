"""Checks of what people hand over; every message names what is at fault, what is accepted and what to do."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from palmette.array_types import Floats, Ints

__all__ = [
    "as_integers",
    "branch_values",
    "check_beta",
    "check_choice",
    "check_distribution",
    "check_finite_total",
    "check_integer",
    "check_matrix",
    "check_non_negative",
    "check_number",
    "check_points",
    "check_positive",
    "check_seconds",
    "check_share",
    "check_whole",
    "is_whole",
    "node_values",
    "optional_node_values",
    "seed_of",
]


def as_integers(values: ArrayLike, name: str) -> Ints:
    """A new int64 array of `values`; anything but integers raises, with `name` in the message.

    >>> as_integers([1, 2], "membership")
    array([1, 2])
    """
    try:
        array = np.array(values)
    except ValueError:
        raise ValueError(f"{name} must be a rectangular array of integers; its rows differ in length") from None
    if array.dtype.kind not in "iu" and array.size:
        kind = "a mixture" if array.dtype == object else array.dtype
        raise TypeError(f"{name} must hold integers, not {kind}; convert it with astype(int)")
    return array.astype(np.int64, copy=False)


def is_whole(value: object) -> bool:
    """Whether it is a whole number, of Python or of NumPy; True and False are none.

    >>> is_whole(3), is_whole(np.int8(3)), is_whole(3.0), is_whole(True)
    (True, True, False, False)
    """
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def check_integer(name: str, value: int, least: int) -> int:
    """A whole number of at least `least`, of any size.

    >>> check_integer("n_jets", 3, 0)
    3
    """
    if not is_whole(value):
        raise TypeError(f"{name} must be an integer, not {value!r}")
    if value < least:
        raise ValueError(f"{name} is {value}; it must be at least {least}")
    return int(value)


def check_whole(name: str, value: int) -> int:
    """A whole number of at least 0 and below 2^63, as 64 bits hold it.

    >>> check_whole("seed", 0)
    0
    """
    if not is_whole(value):
        raise TypeError(f"{name} must be a whole number, not {value!r}")
    if not 0 <= value < 2**63:
        raise ValueError(f"{name} is {value}; it must be at least 0 and below 2^63")
    return int(value)


def seed_of(rng: np.random.Generator | int | None, bits: int = 63) -> int:
    """A seed for kernels, of so many bits: the next number of a generator, or the first of one with this seed.

    >>> seed_of(0) == seed_of(np.random.default_rng(0))
    True
    """
    return int(np.random.default_rng(rng).integers(2**bits))


def check_number(name: str, value: float, otherwise: str = "") -> float:
    """A real number; `otherwise` says what else would do.

    >>> check_number("rate", 2)
    2.0
    """
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise TypeError(f"{name} must be a number{otherwise}, not {value!r}")
    return float(value)


def check_positive(name: str, value: float, otherwise: str = "") -> float:
    """A positive, finite number; `otherwise` says what else would do.

    >>> check_positive("gamma", 2, ", or None")
    2.0
    """
    if not 0 < check_number(name, value, otherwise) < np.inf:
        raise ValueError(f"{name} is {value}; give a positive number{otherwise}")
    return float(value)


def check_non_negative(name: str, value: float, called: str = "it") -> float:
    """A finite number of at least 0; `called` is what messages call it.

    >>> check_non_negative("leaf_variance", 0)
    0.0
    """
    if not 0 <= check_number(name, value) < np.inf:
        raise ValueError(f"{name} is {value}; {called} must be finite and at least 0")
    return float(value)


def check_share(name: str, value: float, *, below_one: bool = False) -> float:
    """A share of a whole, such as a probability: a number from 0 to 1, or `below_one`.

    >>> check_share("threshold", 1.0, below_one=True)
    Traceback (most recent call last):
    ValueError: threshold is 1.0; expected a probability of at least 0 and below 1
    """
    share = check_number(name, value)
    if not (0 <= share < 1 or (share == 1 and not below_one)):
        accepted = " of at least 0 and below 1" if below_one else ", from 0 to 1"
        raise ValueError(f"{name} is {value!r}; expected a probability{accepted}")
    return share


def check_choice(name: str, given: object, choices: Iterable[object], otherwise: str = "") -> None:
    """One of a few; `otherwise` says what else would do.

    >>> check_choice("rule", "rate2", ("rate1", "max-prob"))
    Traceback (most recent call last):
    ValueError: rule is 'rate2'; give one of 'rate1', 'max-prob'
    """
    accepted = tuple(choices)
    if not any(isinstance(given, type(choice)) and given == choice for choice in accepted):  # arrays compare otherwise
        raise ValueError(f"{name} is {given!r}; give one of {', '.join(map(repr, accepted))}{otherwise}")


def check_distribution(values: ArrayLike, name: str) -> Floats:
    """Probabilities that add up to 1, as a vector.

    >>> check_distribution([0.25, 0.75], "q")
    array([0.25, 0.75])
    """
    try:
        q = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a vector of probabilities, not {values!r}") from None
    if q.ndim != 1 or q.size == 0:
        raise ValueError(f"{name} has shape {q.shape}; give a vector of probabilities")
    if not (q >= 0).all() or not abs(q.sum() - 1.0) <= 1e-9:
        raise ValueError(
            f"{name} is {q.tolist()}; probabilities are at least 0 and add up to 1 (these to {q.sum():.12g})"
        )
    return np.asarray(q / q.sum())


def check_seconds(seconds: float | None) -> float:
    """A limit of time, +inf if there is none."""
    if seconds is None:
        return np.inf
    if isinstance(seconds, bool) or not isinstance(seconds, int | float | np.number) or not seconds >= 0:
        raise ValueError(
            f"seconds is {seconds!r}; expected how long to search at most, a number of at least 0, or None"
        )
    return float(seconds)


def node_values(values: ArrayLike, n: int, n_nodes: int, name: str) -> Floats:
    """One finite number per node; given one per inner node only, the leaves get 0.

    >>> node_values([1.0, 2.0], 3, 5, "heights")
    array([0., 0., 0., 1., 2.])
    """
    array = _flat_floats(values, name)
    if array.shape not in ((n_nodes,), (n_nodes - n,)):
        raise ValueError(
            f"{name} has shape {array.shape}; give one number per node ({n_nodes}) "
            f"or one per inner node ({n_nodes - n})"
        )
    _refuse(array, ~np.isfinite(array), f"{name} must be finite")
    array = array if len(array) == n_nodes else np.concatenate((np.zeros(n), array))
    # Differences of two values must not overflow.
    _refuse(array, np.abs(array) > np.finfo(np.float64).max / 2, f"{name} must not exceed half the float range")
    return array


def optional_node_values(values: ArrayLike | None, n_nodes: int, name: str) -> Floats | None:
    """One number per node, NaN where there is none; `None` when there are none at all.

    >>> optional_node_values([np.nan, np.nan], 2, "support") is None
    True
    """
    if values is None:
        return None
    array = _flat_floats(values, name)
    if array.shape != (n_nodes,):
        raise ValueError(f"{name} has shape {array.shape}; give one number per node ({n_nodes}), NaN for none")
    _refuse(array, np.isinf(array), f"{name} must be finite, or NaN where there is none")
    return None if np.isnan(array).all() else array


def branch_values(values: ArrayLike | None, n_nodes: int) -> Floats | None:
    """Branch lengths, which can be added up along any path without overflow.

    >>> branch_values([1.0, 2.0, np.nan], 3)
    array([ 1.,  2., nan])
    """
    array = optional_node_values(values, n_nodes, "branch_lengths")
    if array is not None:
        with np.errstate(over="ignore"):
            total = 2 * np.nansum(np.abs(array))
        if not np.isfinite(total):
            raise ValueError("branch_lengths add up to more than a float can hold; rescale them")
    return array


def _flat_floats(values: ArrayLike, name: str) -> Floats:
    # One number per node of a tree: text that is a number is one here, and is refused in data (`_as_floats`).
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a flat array of numbers") from None


def _refuse(array: Floats, bad: NDArray[np.bool_], complaint: str) -> None:
    if bad.any():
        at = int(np.flatnonzero(bad)[0])
        raise ValueError(f"{complaint}, but entry {at} is {array[at]}")


def check_matrix(values: ArrayLike, name: str) -> Floats:
    """A symmetric (n, n) matrix with a zero diagonal; whatever stood on the diagonal is not used.

    Asymmetry below 1e-9 of the largest entry, as rounding leaves it, is averaged out.
    """
    matrix = _as_floats(values, name)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"{name} has shape {matrix.shape}; expected a square matrix, one row and one column per leaf")
    if matrix.size == 0:
        raise ValueError(f"{name} is empty; at least one leaf is needed")
    np.fill_diagonal(matrix, 0.0)
    _check_entries(matrix, name)
    if (largest := np.abs(matrix).max()) > 1e300:
        raise ValueError(f"{name} holds entries as large as {largest:g}, whose sums overflow; divide it by a constant")
    gap = np.abs(matrix - matrix.T)
    if gap.max() > 1e-9 * np.abs(matrix).max():
        i, j = np.unravel_index(np.argmax(gap), gap.shape)
        raise ValueError(
            f"{name} is not symmetric: entry ({i}, {j}) is {matrix[i, j]:g} but ({j}, {i}) is {matrix[j, i]:g}; "
            f"symmetrise it first, e.g. (w + w.T) / 2"
        )
    return (matrix + matrix.T) / 2


def check_points(
    values: ArrayLike, name: str = "points", *, missing: bool = False, empty: bool = False, columns: bool = False
) -> Floats:
    """An (n, d) matrix of finite numbers, one row per leaf; NaN is let through if `missing`, n = 0 if `empty`.

    With `columns`, there must be one at least.
    """
    points = _as_floats(values, name)
    if points.ndim != 2:
        raise ValueError(f"{name} has shape {points.shape}; expected (n, d): one row per leaf, one column per variable")
    if len(points) == 0 and not empty:
        raise ValueError(f"{name} is empty; at least one leaf is needed")
    if columns and points.shape[1] == 0:
        raise ValueError(f"{name} has shape {points.shape}: there are no columns; give at least one")
    _check_entries(points, name, missing)
    return points


def check_beta(beta: float) -> float:
    """A finite inverse temperature β ≥ 0."""
    return check_non_negative("beta", beta, "the inverse temperature")


def check_finite_total(beta: float, total: float, name: str) -> None:
    """Refuse data whose total cost leaves the range of float64: every log potential must be finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        scale = np.float64(beta) * total
    if not scale < 1e300:
        raise ValueError(f"{name} is too large: costs overflow; divide {name}, or beta, by a constant")


def _as_floats(values: ArrayLike, name: str) -> Floats:
    try:
        if isinstance(values, np.ma.MaskedArray):
            values = np.ma.filled(values.astype(np.float64), np.nan)  # what is masked is missing
        array = np.asarray(values)
        if array.dtype.kind not in "biufO":  # text and dates would turn into numbers, complex ones lose a part
            raise TypeError
        return np.array(array, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be an array of real numbers, not {type(values).__name__}") from None


def _check_entries(array: Floats, name: str, missing: bool = False) -> None:
    bad = np.argwhere(np.isinf(array) if missing else ~np.isfinite(array))
    if len(bad):
        where = tuple(int(i) for i in bad[0])
        more = f" (and {len(bad) - 1} more)" if len(bad) > 1 else ""
        raise ValueError(
            f"{name} holds {array[where]} at row {where[0]}, column {where[1]}{more}; entries must be finite"
            f"{', or NaN where one is missing' if missing else ''}"
        )
