from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


def as_integers(values: ArrayLike, name: str) -> NDArray[np.int64]:
    """A new int64 array of `values`; anything but integers raises, with `name` in the message.

    >>> as_integers([1, 2], "membership")
    array([1, 2])
    """
    try:
        array = np.array(values)
    except ValueError:
        raise ValueError(f"{name} must be a rectangular array of integers; its rows differ in length") from None
    if array.dtype.kind not in "iu" and array.size:
        raise TypeError(f"{name} must hold integers, not {_kind(array)}; convert it with astype(int)")
    return array.astype(np.int64, copy=False)


def check_integer(name: str, value: int, least: int) -> int:
    """A whole number of at least `least`.

    >>> check_integer("n_jets", 3, 0)
    3
    """
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"{name} must be an integer, not {value!r}")
    if value < least:
        raise ValueError(f"{name} is {value}; it must be at least {least}")
    return int(value)


def check_positive(name: str, value: float, otherwise: str = "") -> float:
    """A positive, finite number; `otherwise` says what else would do.

    >>> check_positive("gamma", 2, ", or None")
    2.0
    """
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        raise TypeError(f"{name} must be a number{otherwise}, not {value!r}")
    if not 0 < value < np.inf:
        raise ValueError(f"{name} is {value}; give a positive number{otherwise}")
    return float(value)


def node_values(values: ArrayLike, n: int, n_nodes: int, name: str) -> NDArray[np.float64]:
    """One finite number per node; given one per inner node only, the leaves get 0.

    >>> node_values([1.0, 2.0], 3, 5, "heights")
    array([0., 0., 0., 1., 2.])
    """
    array = _floats(values, name)
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


def optional_node_values(values: ArrayLike | None, n_nodes: int, name: str) -> NDArray[np.float64] | None:
    """One number per node, NaN where there is none; `None` when there are none at all.

    >>> optional_node_values([np.nan, np.nan], 2, "support") is None
    True
    """
    if values is None:
        return None
    array = _floats(values, name)
    if array.shape != (n_nodes,):
        raise ValueError(f"{name} has shape {array.shape}; give one number per node ({n_nodes}), NaN for none")
    _refuse(array, np.isinf(array), f"{name} must be finite, or NaN where there is none")
    return None if np.isnan(array).all() else array


def branch_values(values: ArrayLike | None, n_nodes: int) -> NDArray[np.float64] | None:
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


def _floats(values: ArrayLike, name: str) -> NDArray[np.float64]:
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a flat array of numbers") from None


def _refuse(array: NDArray[np.float64], bad: NDArray[np.bool_], complaint: str) -> None:
    if bad.any():
        at = int(np.flatnonzero(bad)[0])
        raise ValueError(f"{complaint}, but entry {at} is {array[at]}")


def _kind(array: NDArray[Any]) -> str:
    return "a mixture" if array.dtype == object else str(array.dtype)
